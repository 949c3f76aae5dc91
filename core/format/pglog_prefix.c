#include "core/format/pglog_prefix.h"

#include <stdio.h>

/* Names have 63 bytes, an application's name at most as many; titles and types less. */
enum { FREE_MAX = 256, STEPS_MAX = 20000 };

/* ---- compile */

static bool add_text(struct pglog_prefix *p, size_t *used, char c)
{
	struct pglog_prefix_item *last = p->count ? &p->items[p->count - 1] : NULL;

	if (!last || last->escape) {
		if (p->count == PGLOG_PREFIX_ITEMS_MAX)
			return false;
		last = &p->items[p->count++];
		*last = (struct pglog_prefix_item){ .at = (uint8_t)*used };
	}
	p->text[(*used)++] = c;
	last->n++;
	return true;
}

static bool add_escape(struct pglog_prefix *p, char letter)
{
	if (p->count == PGLOG_PREFIX_ITEMS_MAX)
		return false;
	p->items[p->count++] = (struct pglog_prefix_item){ .escape = letter };
	return true;
}

static bool refuse_escape(char letter, struct err *e)
{
	err_set(e, ERR_USAGE, "log_line_prefix has no escape '%%%c'", letter);
	return err_hint(
		e, "see the setting log_line_prefix in postgresql.conf: SHOW log_line_prefix");
}

bool pglog_prefix_compile(struct pglog_prefix *p, const char *source, struct err *e)
{
	size_t used = 0;
	bool ok = true;

	*p = (struct pglog_prefix){ 0 };
	if (strlen(source) >= PGLOG_PREFIX_BYTES_MAX)
		return err_set(e, ERR_USAGE, "a log_line_prefix has at most %d bytes",
			PGLOG_PREFIX_BYTES_MAX - 1);
	snprintf(p->source, sizeof(p->source), "%s", source);
	for (const char *c = source; *c && ok; c++) {
		if (*c != '%' || c[1] == '\0' || c[1] == '%') {
			ok = add_text(p, &used, *c);
			c += *c == '%' && c[1];
			continue;
		}
		c++;
		/* Padding shows as blanks, which every escape stands beside itself. */
		while (*c == '-' || (*c >= '0' && *c <= '9'))
			c++;
		if (!*c || !strchr("mtnspclvxeudahrLibQPq?", *c))
			return refuse_escape(*c, e);
		ok = add_escape(p, *c);
	}
	return ok || err_set(e, ERR_USAGE, "the log_line_prefix has too many parts");
}

bool pglog_prefix_has(const struct pglog_prefix *p, char escape)
{
	for (size_t i = 0; i < p->count; i++)
		if (p->items[i].escape == escape)
			return true;
	return false;
}

/* ---- shapes */

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool is_letter(char c)
{
	return (c | 0x20) >= 'a' && (c | 0x20) <= 'z';
}

static bool is_hex(char c)
{
	return is_digit(c) || (c >= 'a' && c <= 'f');
}

static size_t digits(struct slice s, size_t at)
{
	size_t from = at;

	while (at < s.n && is_digit(s.p[at]))
		at++;
	return at - from;
}

/* "2026-11-30 12:00:00[.123] CET" or "+03"; 0 when it is none. Postgres writes
 * offsets without a colon. */
static size_t stamp_length(struct slice s, bool has_ms)
{
	static const char shape[] = "dddd-dd-dd dd:dd:dd";
	size_t n = sizeof(shape) - 1, from;

	if (s.n <= n + 1)
		return 0;
	for (size_t i = 0; i < n; i++)
		if (shape[i] == 'd' ? !is_digit(s.p[i]) : s.p[i] != shape[i])
			return 0;
	if (has_ms != (s.p[n] == '.'))
		return 0;
	if (has_ms)
		n += 1 + digits(s, n + 1);
	if (n + 1 >= s.n || s.p[n] != ' ')
		return 0;
	from = ++n;
	if (s.p[n] == '+' || s.p[n] == '-')
		return (from = digits(s, n + 1)) == 2 || from == 4 ? n + 1 + from : 0;
	while (n < s.n && is_letter(s.p[n]))
		n++;
	return n > from && n - from <= 6 ? n : 0;
}

static size_t hex_pair(struct slice s)
{
	size_t n = 0, from;

	while (n < s.n && is_hex(s.p[n]))
		n++;
	if (n == 0 || n >= s.n || s.p[n] != '.')
		return 0;
	for (from = ++n; n < s.n && is_hex(s.p[n]);)
		n++;
	return n > from ? n : 0;
}

static size_t sqlstate_length(struct slice s)
{
	size_t n = 0;

	while (n < s.n && (is_digit(s.p[n]) || (s.p[n] >= 'A' && s.p[n] <= 'Z')))
		n++;
	return n == 5 ? 5 : 0;
}

/* "3/1234", or nothing. */
static size_t vxid_length(struct slice s)
{
	size_t n = digits(s, 0);

	if (n == 0 && s.n && s.p[0] == '-')
		n = 1 + digits(s, 1);
	return n && n < s.n && s.p[n] == '/' ? n + 1 + digits(s, n + 1) : 0;
}

static size_t epoch_length(struct slice s)
{
	size_t n = digits(s, 0);

	return n && n < s.n && s.p[n] == '.' ? n + 1 + digits(s, n + 1) : n;
}

/* The one length that an escape of fixed shape can have. */
static bool fixed_length(char escape, struct slice s, size_t *ret_n)
{
	switch (escape) {
	case 'm':
		return (*ret_n = stamp_length(s, true)) > 0;
	case 't':
	case 's':
		return (*ret_n = stamp_length(s, false)) > 0;
	case 'n':
		return (*ret_n = epoch_length(s)) > 0;
	case 'p':
	case 'l':
		return (*ret_n = digits(s, 0)) > 0;
	case 'c':
		return (*ret_n = hex_pair(s)) > 0;
	case 'e':
		return (*ret_n = sqlstate_length(s)) > 0;
	case 'v':
		*ret_n = vxid_length(s);
		return true;
	default: /* x, P, Q: none is blanks or nothing */
		*ret_n = s.n && s.p[0] == '-' ? 1 + digits(s, 1) : digits(s, 0);
		return true;
	}
}

static bool is_fixed(char escape)
{
	return strchr("mtsnplcevxPQ", escape) != NULL;
}

/* ---- match */

struct matcher {
	const struct pglog_prefix *p;
	const char *end;
	unsigned steps;
	struct pglog_prefix_head *head;
};

static void store(struct pglog_prefix_head *h, char escape, struct slice value)
{
	if (slice_is(value, "[unknown]"))
		value.n = 0;
	switch (escape) {
	case 'm':
		h->time_ms = value;
		break;
	case 't':
		h->time = value;
		break;
	case 'n':
		h->epoch = value;
		break;
	case 's':
		h->session_start = value;
		break;
	case 'c':
		h->session_id = value;
		break;
	case 'p':
		h->pid = value;
		break;
	case 'u':
		h->user = value;
		break;
	case 'd':
		h->database = value;
		break;
	case 'a':
		h->application = value;
		break;
	case 'e':
		h->sqlstate = value;
		break;
	case 'i':
		h->command_tag = value;
		break;
	case 'b':
		h->backend_type = value;
		break;
	case 'r':
		h->client = value;
		break;
	case 'h':
		if (!h->client.n)
			h->client = value;
		break;
	default:
		break;
	}
}

static bool match_from(struct matcher *m, size_t item, const char *at);

static bool match_label(struct matcher *m, const char *at)
{
	struct slice rest = { at, (size_t)(m->end - at) };

	m->head->label = pglog_label_at(rest, &m->head->severity, &m->head->text);
	return m->head->label != PGLOG_NO_LABEL;
}

/* Addresses hold no blank. */
static bool may_hold(char escape, char c)
{
	return c != ' ' || !strchr("hrL?", escape);
}

/* Padding is blanks on either side; the escape itself takes none of them. */
static const char *skip_blanks(const struct matcher *m, const char *at)
{
	while (at < m->end && *at == ' ')
		at++;
	return at;
}

static bool match_fixed(struct matcher *m, size_t item, const char *at)
{
	char escape = m->p->items[item].escape;
	size_t n;

	if (!fixed_length(escape, (struct slice){ at, (size_t)(m->end - at) }, &n)) {
		const char *padded = skip_blanks(m, at);

		if (padded == at ||
			!fixed_length(
				escape, (struct slice){ padded, (size_t)(m->end - padded) }, &n))
			return false;
		at = padded;
	}
	if (match_from(m, item + 1, at + n) ||
		(at + n < m->end && at[n] == ' ' &&
			match_from(m, item + 1, skip_blanks(m, at + n)))) {
		store(m->head, escape, (struct slice){ at, n });
		return true;
	}
	return false;
}

static struct slice trim(struct slice s)
{
	while (s.n && s.p[0] == ' ') {
		s.p++;
		s.n--;
	}
	while (s.n && s.p[s.n - 1] == ' ')
		s.n--;
	return s;
}

/* The shortest first. What follows is text nearly always, and found quickly. */
static bool match_free(struct matcher *m, size_t item, const char *at)
{
	const struct pglog_prefix_item *next =
		item + 1 < m->p->count ? &m->p->items[item + 1] : NULL;
	char escape = m->p->items[item].escape;
	const char *last = m->end - at > FREE_MAX ? at + FREE_MAX : m->end;

	for (const char *stop = at; stop <= last; stop++) {
		if (stop > at && !may_hold(escape, stop[-1]))
			return false;
		if (next && !next->escape && (stop == m->end || *stop != m->p->text[next->at]))
			continue;
		if (match_from(m, item + 1, stop)) {
			store(m->head, escape, trim((struct slice){ at, (size_t)(stop - at) }));
			return true;
		}
	}
	return false;
}

static bool match_from(struct matcher *m, size_t item, const char *at)
{
	const struct pglog_prefix_item *i = &m->p->items[item];

	if (++m->steps > STEPS_MAX)
		return false;
	if (item == m->p->count)
		return match_label(m, at);
	if (i->escape == 'q')
		return match_from(m, item + 1, at) || match_label(m, at);
	if (i->escape)
		return is_fixed(i->escape) ? match_fixed(m, item, at) : match_free(m, item, at);
	return (size_t)(m->end - at) >= i->n && memcmp(at, m->p->text + i->at, i->n) == 0 &&
	       match_from(m, item + 1, at + i->n);
}

bool pglog_prefix_match(
	const struct pglog_prefix *p, struct slice line, struct pglog_prefix_head *ret)
{
	struct matcher m = { .p = p, .end = line.p + line.n, .head = ret };

	*ret = (struct pglog_prefix_head){ 0 };
	return match_from(&m, 0, line.p);
}
