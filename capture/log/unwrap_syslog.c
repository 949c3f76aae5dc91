/* syslog and its relatives: headers, and messages that come in parts. */
#include <stdlib.h>

#include "capture/log/unwrap_private.h"
#include "core/base/clock.h"

enum { OPEN_MAX = 64, MESSAGE_MAX = 16 << 20, PID_MAX = 24 };

/* ---- small readers */

static bool eat(struct slice *s, const char *text)
{
	size_t n = strlen(text);

	if (s->n < n || memcmp(s->p, text, n) != 0)
		return false;
	s->p += n;
	s->n -= n;
	return true;
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool eat_number(struct slice *s, uint64_t *ret)
{
	size_t n = 0;

	*ret = 0;
	while (n < s->n && n < 18 && is_digit(s->p[n]))
		*ret = 10 * *ret + (uint64_t)(s->p[n++] - '0');
	s->p += n;
	s->n -= n;
	return n > 0;
}

/* Up to a blank, which goes too. */
static bool eat_word(struct slice *s, struct slice *ret)
{
	const char *blank = s->n ? memchr(s->p, ' ', s->n) : NULL;

	if (!blank || blank == s->p)
		return false;
	*ret = (struct slice){ s->p, (size_t)(blank - s->p) };
	s->n -= ret->n + 1;
	s->p = blank + 1;
	return true;
}

bool unwrap_eat_iso(struct slice *s, int64_t *ret_ns)
{
	struct slice rest = *s, word;

	if (rest.n < 20 || rest.p[4] != '-' || rest.p[10] != 'T' || !eat_word(&rest, &word) ||
		!clock_parse(word, ret_ns))
		return false;
	*s = rest;
	return true;
}

/* ---- headers */

/* "Feb 11 13:15:39 " (RFC 3164, 4.1.2). */
static bool eat_bsd_time(struct slice *s, int64_t *ret_ns)
{
	static const char months[] = "JanFebMarAprMayJunJulAugSepOctNovDec";
	struct slice rest = *s;
	uint64_t day, hour, minute, second;
	int month = 0;

	if (rest.n < 16)
		return false;
	while (month < 12 && memcmp(months + 3 * month, rest.p, 3) != 0)
		month++;
	if (month == 12 || rest.p[3] != ' ')
		return false;
	rest.p += 4;
	rest.n -= 4;
	(void)eat(&rest, " ");
	if (!eat_number(&rest, &day) || !eat(&rest, " ") || !eat_number(&rest, &hour) ||
		!eat(&rest, ":") || !eat_number(&rest, &minute) || !eat(&rest, ":") ||
		!eat_number(&rest, &second) || !eat(&rest, " "))
		return false;
	if (day < 1 || day > 31 || hour > 23 || minute > 59 || second > 60)
		return false;
	*ret_ns = (clock_days(1972, month + 1, (int)day) * 86400 +
			  (int64_t)(hour * 3600 + minute * 60 + second)) *
		  NS_PER_S;
	*s = rest;
	return true;
}

static bool eat_time(struct slice *s, struct unwrapped *ret)
{
	ret->has_utc = unwrap_eat_iso(s, &ret->utc_ns);
	if (!ret->has_utc)
		ret->has_local = eat_bsd_time(s, &ret->local_ns);
	return ret->has_utc || ret->has_local;
}

/* Digits at the end of "postgres.4882". */
static struct slice last_digits(struct slice s)
{
	size_t n = 0;

	while (n < s.n && is_digit(s.p[s.n - 1 - n]))
		n++;
	return (struct slice){ s.p + s.n - n, n };
}

/* "postgres[123]: " or "postgres: ". */
static bool eat_tag(struct slice *s, struct slice *ret_tag, struct slice *ret_pid)
{
	size_t n = 0;

	while (n < s->n && s->p[n] != '[' && s->p[n] != ':' && s->p[n] != ' ')
		n++;
	*ret_tag = (struct slice){ s->p, n };
	*ret_pid = (struct slice){ NULL, 0 };
	s->p += n;
	s->n -= n;
	if (eat(s, "[")) {
		const char *close = s->n ? memchr(s->p, ']', s->n) : NULL;

		if (!close)
			return false;
		*ret_pid = last_digits((struct slice){ s->p, (size_t)(close - s->p) });
		s->n -= (size_t)(close + 1 - s->p);
		s->p = close + 1;
	}
	if (!eat(s, ":"))
		return false;
	(void)eat(s, " ");
	return n > 0;
}

/* RFC 5424, 6: behind "<pri>1 ": time host app procid msgid, structured data. */
static bool eat_5424(struct slice *s, struct unwrapped *ret, struct slice *ret_tag)
{
	struct slice host, pid, id;

	if (!eat_time(s, ret) || !eat_word(s, &host) || !eat_word(s, ret_tag) ||
		!eat_word(s, &pid) || !eat_word(s, &id))
		return false;
	ret->pid = last_digits(pid);
	if (eat(s, "[")) {
		const char *close = s->n ? memchr(s->p, ']', s->n) : NULL;

		if (!close)
			return false;
		s->n -= (size_t)(close + 1 - s->p);
		s->p = close + 1;
	} else {
		(void)eat(s, "-");
	}
	(void)eat(s, " ");
	(void)eat(s, "\xef\xbb\xbf");
	return true;
}

static bool eat_pri(struct slice *s)
{
	struct slice rest = *s;
	uint64_t pri;

	if (!eat(&rest, "<") || !eat_number(&rest, &pri) || !eat(&rest, ">"))
		return false;
	*s = rest;
	return true;
}

static bool starts_part(struct slice s)
{
	uint64_t n, m;

	return eat(&s, "[") && eat_number(&s, &n) && eat(&s, "-") && eat_number(&s, &m) &&
	       eat(&s, "]");
}

static bool is_postgres(struct slice tag, struct slice text)
{
	return memmem(tag.p, tag.n, "postgres", 8) || memmem(tag.p, tag.n, "postmaster", 10) ||
	       starts_part(text);
}

bool unwrap_syslog_header(struct slice line, struct unwrapped *ret, const char **ret_why)
{
	struct slice s = line, host, tag;

	*ret = (struct unwrapped){ 0 };
	*ret_why = "not a syslog line";
	if (eat_pri(&s) && eat(&s, "1 ")) {
		if (!eat_5424(&s, ret, &tag))
			return false;
	} else if (!eat_time(&s, ret) || !eat_word(&s, &host) || !eat_tag(&s, &tag, &ret->pid)) {
		return false;
	}
	*ret_why = "not of Postgres";
	ret->text = s;
	return is_postgres(tag, s);
}

/* "2019-03-14T00:22:56+00:00 app[postgres.4882]: [GREEN] [15-1]  text", or framed as
 * "<134>1 2019-... host app postgres.4882 - [GREEN] [15-1] ...". */
bool unwrap_logplex_header(struct slice line, struct unwrapped *ret, const char **ret_why)
{
	struct slice s = line, tag, host, id, color;

	*ret = (struct unwrapped){ 0 };
	*ret_why = "not a logplex line";
	if (!memmem(s.p, s.n < 200 ? s.n : 200, "postgres", 8))
		return *ret_why = "not of Postgres", false;
	if (eat_pri(&s) && eat(&s, "1 ")) {
		if (!eat_time(&s, ret) || !eat_word(&s, &host) || !eat_word(&s, &tag) ||
			!eat_word(&s, &id) || !eat(&s, "- "))
			return false;
		ret->pid = last_digits(id);
	} else if (!eat_time(&s, ret) || !eat_tag(&s, &tag, &ret->pid)) {
		return false;
	}
	/* The name of the database, which Heroku gives colours. */
	if (!starts_part(s) && s.n && s.p[0] == '[')
		(void)eat_word(&s, &color);
	ret->text = s;
	return s.n > 0;
}

/* ---- parts */

struct message {
	char pid[PID_MAX];
	size_t pid_n;
	uint64_t number;
	struct unwrapped at; /* of its first line; text and pid are not set */
	struct buf text;
};

/* A ring: messages leave in the order in which they began. */
struct unwrap_parts {
	struct message items[OPEN_MAX + 1]; /* one more, for what was given last */
	size_t first, count;
};

struct unwrap_parts *unwrap_parts_new(void)
{
	struct unwrap_parts *p = calloc(1, sizeof(*p));

	for (size_t i = 0; p && i <= OPEN_MAX; i++)
		buf_init(&p->items[i].text, MESSAGE_MAX);
	return p;
}

void unwrap_parts_free(struct unwrap_parts *p)
{
	if (!p)
		return;
	for (size_t i = 0; i <= OPEN_MAX; i++)
		buf_free(&p->items[i].text);
	free(p);
}

static struct message *message_at(struct unwrap_parts *p, size_t i)
{
	return &p->items[(p->first + i) % (OPEN_MAX + 1)];
}

static struct message *find(struct unwrap_parts *p, struct slice pid, uint64_t number)
{
	for (size_t i = p->count; i-- > 0;) {
		struct message *m = message_at(p, i);

		if (m->pid_n == pid.n && m->number == number &&
			(!pid.n || memcmp(m->pid, pid.p, pid.n) == 0))
			return m;
	}
	return NULL;
}

/* Control bytes as rsyslog writes them: #011 is a tab, #012 a newline. */
static void add_decoded(struct buf *to, struct slice s)
{
	while (s.n) {
		const char *at = memchr(s.p, '#', s.n);
		size_t n = at ? (size_t)(at - s.p) : s.n;

		buf_add(to, s.p, n);
		s.p += n;
		s.n -= n;
		if (eat(&s, "#011"))
			buf_add_byte(to, '\t');
		else if (eat(&s, "#012"))
			buf_add_byte(to, '\n');
		else if (eat(&s, "#"))
			buf_add_byte(to, '#');
	}
}

/* The first line of DETAIL and the like has the prefix again. */
static bool has_label(struct slice s)
{
	static const char *const labels[] = { "DETAIL:  ", "STATEMENT:  ", "CONTEXT:  ", "HINT:  ",
		"QUERY:  ", "LOCATION:  ", "BACKTRACE:  " };
	size_t n = s.n < 320 ? s.n : 320;

	for (size_t i = 0; i < LENGTH(labels); i++)
		if (memmem(s.p, n, labels[i], strlen(labels[i])))
			return true;
	return false;
}

static enum step give_first(struct unwrap_parts *p, struct unwrapped *ret)
{
	struct message *m = message_at(p, 0);

	*ret = m->at;
	ret->text = buf_slice(&m->text);
	ret->pid = (struct slice){ m->pid, m->pid_n };
	p->first = (p->first + 1) % (OPEN_MAX + 1);
	p->count--;
	return STEP_ITEM;
}

static enum step begin(struct unwrap_parts *p, const struct unwrapped *line, struct slice text,
	uint64_t number, struct unwrapped *ret)
{
	/* The room that is filled now is not the one given. */
	struct message *m = message_at(p, p->count);
	enum step step = STEP_MORE;

	m->pid_n = line->pid.n < PID_MAX ? line->pid.n : PID_MAX;
	if (m->pid_n)
		memcpy(m->pid, line->pid.p, m->pid_n);
	m->number = number;
	m->at = *line;
	buf_reset(&m->text);
	add_decoded(&m->text, text);
	p->count++;
	if (p->count == OPEN_MAX)
		step = give_first(p, ret);
	return step;
}

static enum step carry_on(struct message *m, struct slice text, const char **ret_why)
{
	bool is_line = text.p[0] == '\t' || (text.n >= 4 && memcmp(text.p, "#011", 4) == 0) ||
		       has_label(text);

	if (is_line)
		buf_add_byte(&m->text, '\n');
	add_decoded(&m->text, text);
	*ret_why = "message over 16 MiB";
	return m->text.is_full ? STEP_FAIL : STEP_MORE;
}

enum step unwrap_parts_put(struct unwrap_parts *p, const struct unwrapped *line,
	struct unwrapped *ret, const char **ret_why)
{
	struct slice text = line->text;
	uint64_t number = 0, part = 1;
	bool is_numbered = starts_part(text);
	struct message *m;

	if (is_numbered) {
		(void)(eat(&text, "[") && eat_number(&text, &number) && eat(&text, "-") &&
			eat_number(&text, &part) && eat(&text, "]"));
		(void)eat(&text, " ");
	}
	if (text.n == 0)
		return STEP_MORE;
	/* Without numbers (syslog_sequence_numbers = off) a tab tells. */
	bool is_more = part > 1 ||
		       (!is_numbered && (text.p[0] == '\t' ||
						(text.n >= 4 && memcmp(text.p, "#011", 4) == 0)));
	if (!is_more)
		return begin(p, line, text, number, ret);
	m = find(p, line->pid, number);
	*ret_why = "a part without its message";
	return m ? carry_on(m, text, ret_why) : STEP_FAIL;
}

enum step unwrap_parts_end(struct unwrap_parts *p, struct unwrapped *ret)
{
	return p->count ? give_first(p, ret) : STEP_END;
}
