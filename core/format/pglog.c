#include "core/format/pglog.h"

#include "core/base/clock.h"

/* ---- small readers: each eats what it understood */

static bool eat(struct slice *s, const char *text)
{
	size_t n = strlen(text);

	if (s->n < n || memcmp(s->p, text, n) != 0)
		return false;
	s->p += n;
	s->n -= n;
	return true;
}

/* Stamps are most of what is read here: a call of memcmp() for a dash would show. */
static bool eat_byte(struct slice *s, char c)
{
	if (!s->n || *s->p != c)
		return false;
	s->p++;
	s->n--;
	return true;
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* So many digits exactly. */
static bool eat_digits(struct slice *s, unsigned count, int *ret)
{
	int v = 0;

	if (s->n < count)
		return false;
	for (unsigned i = 0; i < count; i++) {
		if (!is_digit(s->p[i]))
			return false;
		v = 10 * v + (s->p[i] - '0');
	}
	s->p += count;
	s->n -= count;
	*ret = v;
	return true;
}

/* Digits after the point, as billionths. */
static int64_t eat_fraction(struct slice *s)
{
	int64_t v = 0, unit = NS_PER_S / 10;

	while (s->n && is_digit(*s->p)) {
		v += (*s->p - '0') * unit;
		unit /= 10;
		s->p++;
		s->n--;
	}
	return v;
}

/* ---- time */

static bool is_utc(struct slice zone)
{
	return slice_is(zone, "UTC") || slice_is(zone, "GMT") || slice_is(zone, "UCT") ||
	       slice_is(zone, "Z");
}

/* "+03", "-0330", "+05:45"; ISO signs, as Postgres logs them. */
static bool parse_offset(struct slice zone, int64_t *ret_ns)
{
	bool is_west = zone.n && zone.p[0] == '-';
	int hours, minutes = 0;

	if (!eat_byte(&zone, '+') && !eat_byte(&zone, '-'))
		return false;
	if (!eat_digits(&zone, 2, &hours))
		return false;
	(void)eat_byte(&zone, ':');
	if (zone.n && !eat_digits(&zone, 2, &minutes))
		return false;
	if (zone.n || hours > 15 || minutes > 59)
		return false;
	int64_t ns = (hours * 3600 + minutes * 60) * NS_PER_S;
	*ret_ns = is_west ? -ns : ns;
	return true;
}

/* An abbreviation or an offset; never the rest of a prefix. */
static bool is_zone(struct slice s)
{
	for (size_t i = 0; i < s.n; i++)
		if (!is_digit(s.p[i]) && !(s.p[i] >= 'A' && s.p[i] <= 'Z') &&
			!(s.p[i] >= 'a' && s.p[i] <= 'z') && !strchr("+-:_/", s.p[i]))
			return false;
	return s.n > 0 && s.n <= 32;
}

bool pglog_parse_stamp(struct slice text, struct pglog_stamp *ret)
{
	struct slice s = text;
	int year, month, day, hour, minute, second;
	int64_t fraction = 0;

	*ret = (struct pglog_stamp){ 0 };
	if (!eat_digits(&s, 4, &year) || !eat_byte(&s, '-') || !eat_digits(&s, 2, &month) ||
		!eat_byte(&s, '-') || !eat_digits(&s, 2, &day) || !eat_byte(&s, ' ') ||
		!eat_digits(&s, 2, &hour) || !eat_byte(&s, ':') || !eat_digits(&s, 2, &minute) ||
		!eat_byte(&s, ':') || !eat_digits(&s, 2, &second))
		return false;
	if (eat_byte(&s, '.'))
		fraction = eat_fraction(&s);
	if (!eat_byte(&s, ' ') || !is_zone(s) || year < 1970 || year > 2200 || month < 1 ||
		month > 12 || day < 1 || day > 31 || hour > 23 || minute > 59 || second > 60)
		return false;
	ret->local_ns = clock_days(year, month, day) * 86400 * NS_PER_S +
			(hour * 3600 + minute * 60 + second) * NS_PER_S + fraction;
	ret->zone = s;
	ret->has_offset = is_utc(s) || parse_offset(s, &ret->offset_ns);
	return true;
}

/* ---- which format */

static bool is_stamped(struct slice s)
{
	int n;

	return eat_digits(&s, 4, &n) && eat_byte(&s, '-') && eat_digits(&s, 2, &n) &&
	       eat_byte(&s, '-') && eat_digits(&s, 2, &n) && eat_byte(&s, ' ') &&
	       eat_digits(&s, 2, &n) && eat_byte(&s, ':') && eat_digits(&s, 2, &n) &&
	       eat_byte(&s, ':') && eat_digits(&s, 2, &n);
}

static bool holds(struct slice s, const char *text)
{
	return memmem(s.p, s.n, text, strlen(text)) != NULL;
}

enum pglog_format pglog_detect(struct slice first_bytes)
{
	struct slice s = first_bytes;
	const char *comma;
	struct pglog_stamp stamp;

	if (s.n == 0)
		return PGLOG_NONE;
	/* log_time: a record as CloudNativePG has it */
	if (s.p[0] == '{' && (holds(s, "\"timestamp\":") || holds(s, "\"log_time\":")) &&
		(holds(s, "\"error_severity\":") || holds(s, "\"session_id\":")))
		return PGLOG_JSON;
	/* Some exports quote every field. */
	bool is_quoted = eat_byte(&s, '"');
	if (is_stamped(s) && (comma = memchr(s.p, ',', s.n < 64 ? s.n : 64)) &&
		comma - s.p > is_quoted &&
		pglog_parse_stamp((struct slice){ s.p, (size_t)(comma - s.p) - is_quoted }, &stamp))
		return PGLOG_CSV;
	if (holds(s, "LOG:  ") || holds(s, "ERROR:  ") || holds(s, "FATAL:  ") ||
		holds(s, "STATEMENT:  ") || holds(s, "DETAIL:  "))
		return PGLOG_STDERR;
	return PGLOG_NONE;
}

/* ---- messages */

static bool is_failure(struct slice severity)
{
	return slice_is(severity, "ERROR") || slice_is(severity, "FATAL") ||
	       slice_is(severity, "PANIC");
}

/* "12.345 ms" */
static bool eat_duration(struct slice *s, int64_t *ret_ns)
{
	int64_t ms = 0;

	if (s->n == 0 || !is_digit(*s->p))
		return false;
	while (s->n && is_digit(*s->p)) {
		/* with one digit more, 100 years */
		if (ms > INT64_C(320000000000))
			return false;
		ms = 10 * ms + (*s->p - '0');
		s->p++;
		s->n--;
	}
	int64_t fraction = eat_byte(s, '.') ? eat_fraction(s) : 0;
	*ret_ns = ms * NS_PER_MS + fraction / 1000;
	return eat(s, " ms");
}

/* The words a statement can begin with (PostgreSQL 18, gram.y, stmt). */
static bool begins_as_sql(struct slice s)
{
	static const char *const words[] = { "abort", "alter", "analyse", "analyze", "begin",
		"call", "checkpoint", "close", "cluster", "comment", "commit", "copy", "create",
		"deallocate", "declare", "delete", "discard", "do", "drop", "end", "execute",
		"explain", "fetch", "grant", "import", "insert", "listen", "load", "lock", "merge",
		"move", "notify", "prepare", "reassign", "refresh", "reindex", "release", "reset",
		"revoke", "rollback", "savepoint", "security", "select", "set", "show", "start",
		"table", "truncate", "unlisten", "update", "vacuum", "values", "with" };
	size_t n = 0;

	while (s.n && strchr(" \t\r\n(;", *s.p)) {
		s.p++;
		s.n--;
	}
	if (s.n == 0 || (s.n > 1 && (memcmp(s.p, "--", 2) == 0 || memcmp(s.p, "/*", 2) == 0)))
		return true;
	while (n < s.n && ((s.p[n] | 0x20) >= 'a' && (s.p[n] | 0x20) <= 'z'))
		n++;
	for (size_t i = 0; n && i < LENGTH(words); i++)
		if ((s.p[0] | 0x20) == words[i][0] && strlen(words[i]) == n &&
			strncasecmp(s.p, words[i], n) == 0)
			return true;
	return false;
}

/* Where the name ends: at the first ": " that SQL follows, else at the first. */
static const char *name_end(struct slice s)
{
	const char *first = memmem(s.p, s.n, ": ", 2), *at = first, *end = s.p + s.n;

	/* Names have 63 bytes on the server, but a client may send any length. */
	for (int tries = 0; at && tries < 64; tries++) {
		if (begins_as_sql((struct slice){ at + 2, (size_t)(end - at) - 2 }))
			return at;
		at = memmem(at + 1, (size_t)(end - at) - 1, ": ", 2);
	}
	return first;
}

/* "NAME[/PORTAL]: SQL" */
static bool split_name(struct slice s, struct pglog_meaning *m)
{
	const char *end = name_end(s);

	if (!end)
		return false;
	struct slice name = { s.p, (size_t)(end - s.p) };
	m->name = name;
	m->text = (struct slice){ end + 2, s.n - name.n - 2 };
	const char *slash = name.n ? memrchr(name.p, '/', name.n) : NULL;
	if (slash) {
		m->portal = (struct slice){ slash + 1, name.n - (size_t)(slash + 1 - name.p) };
		name.n = (size_t)(slash - name.p);
	}
	if (!slice_is(name, "<unnamed>"))
		m->statement = name;
	return true;
}

static void mean_statement(struct slice s, struct pglog_meaning *m)
{
	if (eat(&s, "statement: ")) {
		m->kind = PGLOG_STATEMENT;
		m->text = s;
	} else if (eat(&s, "execute fetch from ")) {
		m->kind = split_name(s, m) ? PGLOG_FETCH : PGLOG_OTHER;
	} else if (eat(&s, "execute ")) {
		m->kind = split_name(s, m) ? PGLOG_EXECUTE : PGLOG_OTHER;
	} else if (eat(&s, "fastpath function call: ")) {
		m->kind = PGLOG_FASTPATH;
	} else if (m->has_duration && eat(&s, "parse ")) {
		m->kind = split_name(s, m) ? PGLOG_PARSE_BIND : PGLOG_OTHER;
		if (m->portal.n) {
			m->statement = m->name;
			m->portal.n = 0;
		}
	} else if (m->has_duration && eat(&s, "bind ")) {
		m->kind = split_name(s, m) ? PGLOG_PARSE_BIND : PGLOG_OTHER;
	} else if (m->has_duration && eat(&s, "plan:")) {
		m->kind = PGLOG_PLAN;
	}
}

static enum pglog_kind mean_connection(struct slice s)
{
	if (eat(&s, "connection received: "))
		return PGLOG_RECEIVED;
	/* replication connections never send statements that count */
	if (eat(&s, "connection authorized: "))
		return PGLOG_AUTHORIZED;
	return eat(&s, "disconnection: ") ? PGLOG_DISCONNECTED : PGLOG_OTHER;
}

struct pglog_meaning pglog_mean(const struct pglog_line *line)
{
	struct pglog_meaning m = { 0 };
	struct slice s = line->message;

	if (is_failure(line->severity)) {
		m.kind = PGLOG_ERROR;
		m.text = line->query;
		return m;
	}
	if (eat(&s, "duration: ")) {
		if (!eat_duration(&s, &m.duration_ns))
			return m;
		m.has_duration = true;
		if (s.n == 0) {
			/* log_duration alone: Parse and Bind print the same words */
			bool is_part = slice_is(line->command_tag, "PARSE") ||
				       slice_is(line->command_tag, "BIND");

			m.kind = is_part ? PGLOG_PARSE_BIND : PGLOG_DURATION;
			return m;
		}
		if (!eat(&s, "  "))
			(void)eat_byte(&s, ' ');
	}
	mean_statement(s, &m);
	if (m.kind == PGLOG_OTHER && !m.has_duration)
		m.kind = mean_connection(line->message);
	return m;
}

/* ---- bind values */

/* Lower case up to 16, upper case from 17. */
bool pglog_has_parameters(struct slice detail, struct slice *ret_rest)
{
	*ret_rest = detail;
	return eat(ret_rest, "parameters: ") || eat(ret_rest, "Parameters: ");
}

/* "unnamed portal with parameters: ..." and the like, as one of the lines. */
struct slice pglog_context_parameters(struct slice context)
{
	static const char words[] = " with parameters: ";
	const char *at = context.n ? memmem(context.p, context.n, words, sizeof(words) - 1) : NULL;

	if (!at)
		return (struct slice){ NULL, 0 };
	at += sizeof(" with ") - 1;
	const char *end = context.p + context.n;
	return (struct slice){ at, (size_t)(end - at) };
}

void pglog_split_port(struct pglog_line *line)
{
	struct slice c = line->client;
	const char *colon = c.n ? memrchr(c.p, ':', c.n) : NULL;

	if (!colon)
		return;
	line->client.n = (size_t)(colon - c.p);
	line->port = (struct slice){ colon + 1, c.n - line->client.n - 1 };
}

/* After the opening quote, up to the closing one; '' is '. */
static bool unquote(struct slice *rest, struct buf *scratch)
{
	while (rest->n) {
		const char *quote = memchr(rest->p, '\'', rest->n);

		if (!quote)
			return false;
		size_t n = (size_t)(quote - rest->p);
		bool is_doubled = n + 1 < rest->n && quote[1] == '\'';
		buf_add(scratch, rest->p, n + is_doubled);
		rest->p += n + 1 + is_doubled;
		rest->n -= n + 1 + is_doubled;
		if (!is_doubled)
			return true;
	}
	return false;
}

enum step pglog_next_parameter(
	struct slice *rest, struct buf *scratch, struct slice *ret_value, bool *ret_is_null)
{
	/* Behind a CONTEXT's list further lines of it may follow. */
	if (rest->n == 0 || *rest->p == '\n')
		return STEP_END;
	(void)eat(rest, ", ");
	if (!eat_byte(rest, '$'))
		return STEP_FAIL;
	while (rest->n && is_digit(*rest->p)) {
		rest->p++;
		rest->n--;
	}
	if (!eat(rest, " = "))
		return STEP_FAIL;
	size_t before = scratch->n;
	*ret_is_null = eat(rest, "NULL");
	*ret_value = (struct slice){ NULL, 0 };
	if (*ret_is_null)
		return STEP_ITEM;
	if (!eat_byte(rest, '\'') || !unquote(rest, scratch) || scratch->is_full)
		return STEP_FAIL;
	*ret_value = (struct slice){ scratch->p + before, scratch->n - before };
	if (scratch->n == before)
		*ret_value = SLICE("");
	return STEP_ITEM;
}
