#include "core/format/pglog_learn.h"

#include <stdio.h>

#include "core/base/buf.h"

enum { GUESSES_MAX = 12, HEAD_MAX = 512 };

/* Debian, the manual's default, RDS old and new, Cloud SQL, Heroku, Azure, pgbadger,
 * pgreplay, others. */
static const char *const common[] = {
	"%m [%p] %q%u@%d ",
	"%m [%p] ",
	"%t [%p] ",
	"%t [%p]: ",
	"%t [%p]: [%l-1] ",
	"%t:%r:%u@%d:[%p]:",
	"%m:%r:%u@%d:[%p]:%l:%e:%s:%v:%x:%c:%q%a:",
	"%m [%p]: [%l-1] db=%d,user=%u ",
	"%m [%p]: [%l-1] db=%d,user=%u,host=%h ",
	"[%p]: [%l-1] db=%d,user=%u ",
	"%t-%c-",
	"%t-%c-user=%u,db=%d,app=%a,client=%r-",
	"%t [%p]: [%l-1] user=%u,db=%d,app=%a,client=%h ",
	"%t [%p]: user=%u,db=%d,app=%a,client=%h ",
	"%t [%p]: db=%d,user=%u,app=%a,client=%h ",
	"%m|%u|%d|%c|",
	"%t|%u|%d|%c|",
	"%p [%m] [%x] ",
	"%m %u %d %p %r %c ",
	"%m [%p] %u@%d ",
	"%m [%p] %u@%d/%a ",
	"%m [%p] %d %u ",
	"%m [%p] %q[user=%u,db=%d,app=%a] ",
	"%m [%p] %q[user=%u,db=%d,app=%a,client=%h] ",
	"%m [%p] %e %q%u@%d ",
	"%n [%p] ",
	"db=%d,user=%u,app=%a,client=%h ",
	"user=%u,db=%d,app=%a,client=%h ",
	" sql_error_code = %e ",
	"sql_error_code = %e ",
	"%q%u@%d ",
	"",
};

/* ---- where the label of a line is, without knowing its prefix */

static bool find_label(struct slice line, size_t *ret_at)
{
	struct slice severity, rest;
	size_t n = line.n < HEAD_MAX ? line.n : HEAD_MAX;

	for (size_t i = 0; i < n; i++) {
		char before = i ? line.p[i - 1] : ' ';

		/* Labels are capitals; none begins within a word. */
		if (line.p[i] < 'B' || line.p[i] > 'W' || (before >= 'A' && before <= 'Z'))
			continue;
		enum pglog_label label =
			pglog_label_at((struct slice){ line.p + i, line.n - i }, &severity, &rest);
		if (label != PGLOG_NO_LABEL && label != PGLOG_FOREIGN) {
			*ret_at = i;
			return true;
		}
	}
	return false;
}

/* "word:  " with a capital or a letter beyond ASCII in front: a label of another
 * language, when no English one is there. */
static bool find_foreign(struct slice line, struct slice *ret)
{
	struct slice rest;

	for (size_t i = 0; i < line.n && i < HEAD_MAX; i++) {
		char before = i ? line.p[i - 1] : ' ';

		if ((before & 0x80) || (before >= 'A' && before <= 'Z'))
			continue;
		if (pglog_label_at((struct slice){ line.p + i, line.n - i }, ret, &rest) ==
			PGLOG_FOREIGN)
			return true;
	}
	return false;
}

/* ---- a guess by the parts of one line */

struct guess {
	struct slice rest;
	struct buf out;
	bool has_time, has_pid, has_line;
	unsigned words;
};

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool is_word(char c)
{
	return is_digit(c) || ((c | 0x20) >= 'a' && (c | 0x20) <= 'z') || c == '_' || c == '.' ||
	       c == '-' || (c & 0x80);
}

static void step(struct guess *g, size_t n, const char *escape)
{
	buf_add_text(&g->out, escape);
	g->rest.p += n;
	g->rest.n -= n;
}

/* How far an escape of fixed shape reaches here, found by matching it alone with a
 * byte behind it that no log has. */
static size_t reach(struct slice s, char escape)
{
	static const char end[] = "\1LOG:  ";
	const char source[] = { '%', escape, '\1', '\0' };
	char line[96];
	struct pglog_prefix p;
	struct pglog_prefix_head head;
	struct err unused = { 0 };

	if (!pglog_prefix_compile(&p, source, &unused))
		return 0;
	for (size_t n = s.n < 64 ? s.n : 64; n; n--) {
		memcpy(line, s.p, n);
		memcpy(line + n, end, sizeof(end));
		if (s.p[n - 1] != ' ' && s.p[0] != ' ' &&
			pglog_prefix_match(&p, (struct slice){ line, n + sizeof(end) - 1 }, &head))
			return n;
	}
	return 0;
}

static bool guess_time(struct guess *g)
{
	size_t n;

	if ((n = reach(g->rest, 'm')))
		step(g, n, "%m");
	else if ((n = reach(g->rest, 't')))
		step(g, n, g->has_time ? "%s" : "%t");
	else
		return false;
	g->has_time = true;
	return true;
}

static size_t digits(struct slice s)
{
	size_t n = 0;

	while (n < s.n && is_digit(s.p[n]))
		n++;
	return n;
}

static size_t word(struct slice s)
{
	size_t n = 0;

	if (s.n >= 9 && memcmp(s.p, "[unknown]", 9) == 0)
		return 9;
	if (s.n >= 7 && memcmp(s.p, "[local]", 7) == 0)
		return 7;
	if (s.n && s.p[0] == '-')
		return 0;
	while (n < s.n && is_word(s.p[n]))
		n++;
	return n;
}

static bool guess_number(struct guess *g)
{
	size_t n = digits(g->rest), more;

	if (!n)
		return false;
	struct slice behind = { g->rest.p + n, g->rest.n - n };
	if (n == 10 && behind.n > 3 && behind.p[0] == '.' &&
		digits((struct slice){ behind.p + 1, 3 }) == 3) {
		step(g, 14, "%n");
		g->has_time = true;
	} else if (behind.n && behind.p[0] == '/') {
		more = digits((struct slice){ behind.p + 1, behind.n - 1 });
		step(g, n + 1 + more, "%v");
	} else if (behind.n > 1 && behind.p[0] == '-' && behind.p[1] == '1' && !g->has_line) {
		/* "[%l-1]", for readers of syslog */
		step(g, n + 2, "%l-1");
		g->has_line = true;
	} else if (n == 5 && memcmp(g->rest.p, "00000", 5) == 0) {
		step(g, n, "%e");
	} else if (behind.n && is_word(behind.p[0]) && behind.p[0] != '-') {
		return false;
	} else if (!g->has_pid) {
		step(g, n, "%p");
		g->has_pid = true;
	} else if (!g->has_line) {
		step(g, n, "%l");
		g->has_line = true;
	} else {
		step(g, n, "%x");
	}
	return true;
}

/* "host(port)", also "[local]" beside a name that says so. */
static size_t remote(struct slice s)
{
	size_t n = 0;

	while (n < s.n && (is_word(s.p[n]) || s.p[n] == ':'))
		n++;
	if (!n || n >= s.n || s.p[n] != '(')
		return 0;
	size_t port = digits((struct slice){ s.p + n + 1, s.n - n - 1 });
	return port && n + 1 + port < s.n && s.p[n + 1 + port] == ')' ? n + port + 2 : 0;
}

static const char *escape_of_key(struct slice key)
{
	static const char *const keys[][2] = { { "user", "%u" }, { "usr", "%u" }, { "u", "%u" },
		{ "username", "%u" }, { "db", "%d" }, { "database", "%d" }, { "dbname", "%d" },
		{ "d", "%d" }, { "app", "%a" }, { "appli", "%a" }, { "application", "%a" },
		{ "application_name", "%a" }, { "appname", "%a" }, { "a", "%a" },
		{ "client", "%r" }, { "host", "%r" }, { "remote", "%r" }, { "ip", "%r" },
		{ "h", "%r" }, { "r", "%r" }, { "pid", "%p" }, { "p", "%p" }, { "session", "%c" },
		{ "sid", "%c" }, { "sess", "%c" }, { "c", "%c" }, { "line", "%l" }, { "l", "%l" },
		{ "xid", "%x" }, { "tx", "%x" }, { "vxid", "%v" }, { "vtx", "%v" },
		{ "state", "%e" }, { "sqlstate", "%e" }, { "error", "%e" }, { "err", "%e" },
		{ "sql_error_code", "%e" }, { "tag", "%i" }, { "cmd", "%i" }, { "ps", "%i" },
		{ "backend", "%b" }, { "qid", "%Q" }, { "query_id", "%Q" } };

	for (size_t i = 0; i < LENGTH(keys); i++)
		if (key.n == strlen(keys[i][0]) && strncasecmp(key.p, keys[i][0], key.n) == 0)
			return keys[i][1];
	return "%?";
}

/* "user=alice": the value reaches to the separator that the next key stands behind. */
static bool guess_pair(struct guess *g)
{
	struct slice s = g->rest;
	size_t n = 0, value;

	while (n < s.n && (is_word(s.p[n]) && s.p[n] != '-' && s.p[n] != '.'))
		n++;
	size_t equals = n;
	while (equals < s.n && s.p[equals] == ' ')
		equals++;
	if (!n || equals >= s.n || s.p[equals] != '=')
		return false;
	value = equals + 1;
	while (value < s.n && s.p[value] == ' ' && equals > n)
		value++;
	buf_add(&g->out, s.p, value);
	g->rest.p += value;
	g->rest.n -= value;
	size_t end = 0;
	while (end < g->rest.n && !strchr(",;|])", g->rest.p[end]) && g->rest.p[end] != ' ') {
		if (g->rest.p[end] == '[' || g->rest.p[end] == '(')
			while (end + 1 < g->rest.n && g->rest.p[end] != ']' &&
				g->rest.p[end] != ')')
				end++;
		end++;
	}
	const char *escape = escape_of_key((struct slice){ s.p, n });
	g->has_pid |= escape[1] == 'p';
	step(g, end, escape);
	return true;
}

static bool guess_word(struct guess *g)
{
	static const char *const order[] = { "%u", "%d", "%a" };
	size_t n = remote(g->rest), user;

	if (n) {
		step(g, n, "%r");
		return true;
	}
	if ((n = reach(g->rest, 'c')) && n > 8) {
		step(g, n, "%c");
		return true;
	}
	n = user = word(g->rest);
	if (!n)
		return false;
	if (n == 7 && g->rest.p[0] == '[') {
		step(g, n, "%r");
		return true;
	}
	if (n < g->rest.n && g->rest.p[n] == '@') {
		struct slice behind = { g->rest.p + n + 1, g->rest.n - n - 1 };

		step(g, user + 1 + word(behind), "%u@%d");
		g->words = 2;
		return true;
	}
	step(g, n, g->words < 3 ? order[g->words] : "%?");
	g->words++;
	return true;
}

static void guess_text(struct guess *g)
{
	if (*g->rest.p == '%')
		buf_add_byte(&g->out, '%');
	buf_add_byte(&g->out, (unsigned char)*g->rest.p);
	g->rest.p++;
	g->rest.n--;
}

static void guess_prefix(struct slice head, char source[PGLOG_PREFIX_BYTES_MAX])
{
	struct guess g = { .rest = head };

	buf_init(&g.out, PGLOG_PREFIX_BYTES_MAX - 1);
	while (g.rest.n)
		if (!guess_time(&g) && !guess_pair(&g) && !guess_number(&g) && !guess_word(&g))
			guess_text(&g);
	snprintf(source, PGLOG_PREFIX_BYTES_MAX, "%s", buf_text(&g.out));
	buf_free(&g.out);
}

/* ---- which is best */

struct score {
	size_t lines;
	bool has_time, has_session, has_pid, has_user, has_database, has_application, has_client,
		has_state;
};

/* A part that is empty in every line tells nothing. */
static struct score score_of(const struct pglog_prefix *p, const struct slice *lines, size_t count)
{
	struct pglog_prefix_head h;
	struct score s = { 0 };

	for (size_t i = 0; i < count; i++) {
		if (!pglog_prefix_match(p, lines[i], &h) || h.label == PGLOG_FOREIGN)
			continue;
		s.lines++;
		s.has_time |= h.time.n || h.time_ms.n || h.epoch.n;
		s.has_session |= h.session_id.n > 0;
		s.has_pid |= h.pid.n > 0;
		s.has_user |= h.user.n > 0;
		s.has_database |= h.database.n > 0;
		s.has_application |= h.application.n > 0;
		s.has_client |= h.client.n > 0;
		s.has_state |= h.sqlstate.n > 0;
	}
	return s;
}

static unsigned worth(const struct score *s)
{
	return 4u * s->has_session + 2u * s->has_pid + 2u * s->has_time + s->has_user +
	       s->has_database + s->has_application + s->has_client + s->has_state;
}

struct best {
	struct pglog_learned *learned;
	struct score score;
};

static void consider(struct best *best, const char *source, const struct slice *lines, size_t count)
{
	struct pglog_prefix p;
	struct err unused = { 0 };

	if (!pglog_prefix_compile(&p, source, &unused))
		return;
	struct score s = score_of(&p, lines, count);
	if (s.lines < best->score.lines || s.lines == 0 ||
		(s.lines == best->score.lines && worth(&s) <= worth(&best->score)))
		return;
	best->score = s;
	best->learned->prefix = p;
}

/* Lines of a session tell more than those of the server: later ones are tried, too. */
static void consider_guesses(
	struct best *best, const struct slice *lines, size_t count, size_t labelled)
{
	char source[PGLOG_PREFIX_BYTES_MAX];
	size_t every = labelled / GUESSES_MAX + 1, seen = 0, at;

	for (size_t i = 0; i < count; i++)
		if (find_label(lines[i], &at) && seen++ % every == 0) {
			guess_prefix((struct slice){ lines[i].p, at }, source);
			consider(best, source, lines, count);
		}
}

bool pglog_learn(const struct slice *lines, size_t count, struct pglog_learned *ret)
{
	struct best best = { .learned = ret };
	struct slice foreign;
	size_t at;

	*ret = (struct pglog_learned){ 0 };
	for (size_t i = 0; i < count; i++) {
		bool is_labelled = find_label(lines[i], &at);

		ret->lines += is_labelled;
		if (is_labelled || (lines[i].n && lines[i].p[0] == '\t') ||
			!find_foreign(lines[i], &foreign))
			continue;
		ret->foreign++;
		snprintf(ret->example, sizeof(ret->example), "%.*s", (int)foreign.n, foreign.p);
	}
	if (ret->lines == 0)
		return false;
	for (size_t i = 0; i < LENGTH(common); i++)
		consider(&best, common[i], lines, count);
	consider_guesses(&best, lines, count, ret->lines);
	ret->matched = best.score.lines < ret->lines ? best.score.lines : ret->lines;
	ret->has_user = best.score.has_user || best.score.has_database;
	return 2 * ret->matched >= ret->lines;
}
