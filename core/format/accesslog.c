#include "core/format/accesslog.h"

#include <stdio.h>
#include <stdlib.h>

#include "core/base/hex.h"
#include "core/format/accesslog_private.h"

struct accesslog *accesslog_new(const struct accesslog_options *o, struct err *e)
{
	struct accesslog *a = calloc(1, sizeof *a);
	bool ok;

	if (!a) {
		err_set(e, ERR_ENV, "out of memory");
		return NULL;
	}
	/* Elements point into it: it must not move. */
	if (!buf_room(&a->literals, 8192)) {
		accesslog_free(a);
		err_set(e, ERR_ENV, "out of memory");
		return NULL;
	}
	snprintf(a->name, sizeof a->name, "%s",
		o->fields ? "fields"
		: o->spec ? "log format"
			  : o->preset);
	ok = o->fields ? accesslog_compile_fields(a, o->fields, e)
	     : o->spec ? accesslog_compile(a, o->spec, e)
		       : accesslog_load_preset(a, o->preset, e);
	if (ok)
		return a;
	accesslog_free(a);
	return NULL;
}

void accesslog_free(struct accesslog *a)
{
	if (!a)
		return;
	buf_free(&a->literals);
	buf_free(&a->scratch);
	buf_free(&a->path);
	free(a);
}

const char *accesslog_name(const struct accesslog *a)
{
	return a->name;
}

static bool has(const struct accesslog *a, enum accesslog_field first, enum accesslog_field last)
{
	for (size_t i = 0; i < a->count; i++)
		if (a->elements[i].field >= first && a->elements[i].field <= last)
			return true;
	return false;
}

bool accesslog_has_duration(const struct accesslog *a)
{
	unsigned marks = 0;

	for (size_t i = 0; i < a->count; i++)
		if (a->elements[i].field == FIELD_TIME)
			marks |= a->elements[i].mark;
	return marks == (MARK_START | MARK_END) || has(a, FIELD_DURATION, FIELD_DURATION_PART);
}

bool accesslog_has_connection(const struct accesslog *a)
{
	return has(a, FIELD_CONNECTION, FIELD_CONNECTION) || has(a, FIELD_PORT, FIELD_PORT);
}

bool accesslog_has_agent(const struct accesslog *a)
{
	return has(a, FIELD_AGENT, FIELD_AGENT);
}

bool accesslog_add(struct accesslog *a, struct accesslog_element el, struct slice after)
{
	struct buf *b = &a->literals;

	if (a->count == ACCESSLOG_ELEMENTS_MAX || after.n > b->cap - 1 - b->n)
		return false;
	el.after = (struct slice){ b->p + b->n, after.n };
	buf_add_slice(b, after);
	a->elements[a->count++] = el;
	return true;
}

/* ---- values */

static char plain_of(char c)
{
	static const char from[] = "ntrbfv", to[] = "\n\t\r\b\f\v";
	const char *at = strchr(from, c);

	return c && at ? to[at - from] : c;
}

/* nginx writes \xHH, Apache \" and C's letters too (ap_escape_logitem). */
static struct slice unescape(struct accesslog *a, struct slice s)
{
	char *to;

	if (a->escape == ESCAPE_NONE || a->is_json || !s.n || !memchr(s.p, '\\', s.n))
		return s;
	/* The line's length was set aside: earlier values do not move. */
	to = a->scratch.p + a->scratch.n;
	struct slice out = { to, 0 };
	for (size_t i = 0; i < s.n; i++) {
		if (s.p[i] != '\\' || i + 1 == s.n) {
			*to++ = s.p[i];
		} else if (s.p[i + 1] == 'x' && i + 3 < s.n && hex_value(s.p[i + 2]) >= 0 &&
			   hex_value(s.p[i + 3]) >= 0) {
			*to++ = (char)(hex_value(s.p[i + 2]) << 4 | hex_value(s.p[i + 3]));
			i += 3;
		} else {
			*to++ = plain_of(s.p[++i]);
		}
	}
	out.n = (size_t)(to - out.p);
	a->scratch.n += out.n;
	return out;
}

static bool is_none(struct slice s)
{
	return s.n == 0 || slice_is(s, "-");
}

static bool parse_count(struct slice s, uint64_t *ret)
{
	*ret = 0;
	if (s.n == 0 || s.n > 18)
		return false;
	for (size_t i = 0; i < s.n; i++) {
		if (s.p[i] < '0' || s.p[i] > '9')
			return false;
		*ret = *ret * 10 + (uint64_t)(s.p[i] - '0');
	}
	return true;
}

static bool fail(const char **ret_why, const char *why)
{
	*ret_why = why;
	return false;
}

/* A token of RFC 9110, section 5.6.2. */
static bool is_method(struct slice s)
{
	if (s.n == 0 || s.n > 32)
		return false;
	for (size_t i = 0; i < s.n; i++) {
		char c = s.p[i];

		if (!((c | 32) >= 'a' && (c | 32) <= 'z') && !(c >= '0' && c <= '9') &&
			(!c || !strchr("!#$%&'*+-.^_`|~", c)))
			return false;
	}
	return s.p[0] != '-' || s.n > 1;
}

/* The target may hold blanks when a client sent them: the protocol is the last word. */
static bool set_request(struct slice s, struct accesslog_line *ret, const char **ret_why)
{
	const char *blank = s.n ? memchr(s.p, ' ', s.n) : NULL;
	const char *last = s.n ? memrchr(s.p, ' ', s.n) : NULL;

	if (!blank || !is_method((struct slice){ s.p, (size_t)(blank - s.p) }))
		return fail(ret_why, "no request line (TLS or junk on the port)");
	ret->method = (struct slice){ s.p, (size_t)(blank - s.p) };
	struct slice rest = { blank + 1, s.n - ret->method.n - 1 };
	if (last > blank && (size_t)(s.p + s.n - last) > 5 && memcmp(last + 1, "HTTP/", 5) == 0) {
		ret->protocol = (struct slice){ last + 1, (size_t)(s.p + s.n - last - 1) };
		rest.n = (size_t)(last - rest.p);
	}
	ret->target = rest;
	return rest.n > 0 || fail(ret_why, "no request line (TLS or junk on the port)");
}

static void set_address(struct slice s, struct accesslog_line *ret)
{
	const char *colon = s.n ? memrchr(s.p, ':', s.n) : NULL;
	bool is_bracketed = s.n && s.p[0] == '[';

	ret->address = s;
	if (!colon || (!is_bracketed && memchr(s.p, ':', s.n) != colon))
		return;
	if (is_bracketed && colon[-1] != ']')
		return;
	ret->address.n = (size_t)(colon - s.p);
	ret->port = (struct slice){ colon + 1, s.n - ret->address.n - 1 };
}

/* The query follows the path in whatever order they were logged. */
static void join_query(struct accesslog *a, struct slice query, struct accesslog_line *ret)
{
	struct buf *b = &a->scratch;
	size_t at = b->n;

	if (query.n && *query.p == '?')
		query = (struct slice){ query.p + 1, query.n - 1 };
	if (is_none(query) || (ret->target.n && memchr(ret->target.p, '?', ret->target.n)))
		return;
	buf_add_slice(b, ret->target);
	buf_add_byte(b, '?');
	buf_add_slice(b, query);
	if (!b->is_full)
		ret->target = (struct slice){ b->p + at, b->n - at };
}

static bool set_time(const struct accesslog_element *el, struct slice value,
	struct accesslog_line *ret, const char **ret_why)
{
	int64_t ns, fineness_ns;
	int64_t *to = el->mark == MARK_START ? &ret->start_ns : &ret->end_ns;
	bool is_zoneless;

	if (!accesslog_parse_time(value, el->unit_ns, &ns, &fineness_ns, &is_zoneless))
		return fail(ret_why, "a time that does not read");
	/* Some logs have two stamps; the finer one counts. */
	if (*to != ACCESSLOG_UNKNOWN && fineness_ns >= ret->fineness_ns)
		return true;
	*to = ns;
	ret->fineness_ns = fineness_ns;
	ret->is_zoneless = is_zoneless;
	return true;
}

static bool set_duration(const struct accesslog *a, const struct accesslog_element *el,
	struct slice value, struct accesslog_line *ret, const char **ret_why)
{
	int64_t ns;

	/* ALB's -1: that part did not happen. */
	if (is_none(value) || slice_is(value, "-1") || slice_is(value, "-1.000"))
		return true;
	if (el->mark == NEEDS_POINT && !a->is_json && !memchr(value.p, '.', value.n))
		return fail(ret_why, "a duration without its unit");
	/* HAProxy's "+12": logged before the end. */
	if (*value.p == '+')
		value = (struct slice){ value.p + 1, value.n - 1 };
	if (!accesslog_parse_duration(value, el->unit_ns, &ns) || ns > INT64_C(1000000) * NS_PER_S)
		return fail(ret_why, "a duration that does not read");
	if (el->field == FIELD_DURATION_PART)
		ret->duration_ns = (ret->duration_ns < 0 ? 0 : ret->duration_ns) + ns;
	else if (ret->duration_ns <= 0 || ns > 0)
		ret->duration_ns = ns;
	return true;
}

static bool set_status(struct slice value, struct accesslog_line *ret, const char **ret_why)
{
	uint64_t n = 0;

	if (is_none(value) || slice_is(value, "-1"))
		return true;
	if (!parse_count(value, &n) || n > 999)
		return fail(ret_why, "a status that is no number");
	ret->status = (uint16_t)n;
	return true;
}

bool accesslog_set(struct accesslog *a, const struct accesslog_element *el, struct slice value,
	struct accesslog_line *ret, const char **ret_why)
{
	switch (el->field) {
	case FIELD_IGNORED:
	case FIELD_UPSTREAM:
		return true;
	case FIELD_REQUEST:
		return set_request(unescape(a, value), ret, ret_why);
	case FIELD_METHOD:
		ret->method = unescape(a, value);
		return true;
	case FIELD_TARGET:
		ret->target = unescape(a, value);
		return true;
	case FIELD_PATH:
		if (!ret->target.n)
			ret->target = unescape(a, value);
		return true;
	case FIELD_QUERY:
		join_query(a, unescape(a, value), ret);
		return true;
	case FIELD_PROTOCOL:
		ret->protocol = value;
		return true;
	case FIELD_STATUS:
		return set_status(value, ret, ret_why);
	case FIELD_BYTES_IN:
		(void)parse_count(value, &ret->bytes_in);
		return true;
	case FIELD_BYTES_OUT:
		(void)parse_count(value, &ret->bytes_out);
		return true;
	case FIELD_HOST:
		if (!is_none(value))
			ret->host = unescape(a, value);
		return true;
	case FIELD_SERVER_NAME:
		if (!ret->host.n && !is_none(value))
			ret->host = value;
		return true;
	case FIELD_USER:
		if (!is_none(value))
			ret->user = unescape(a, value);
		return true;
	case FIELD_ADDRESS:
		if (!is_none(value))
			set_address(value, ret);
		return true;
	case FIELD_PORT:
		ret->port = value;
		return true;
	case FIELD_AGENT:
		ret->agent = value;
		return true;
	case FIELD_CONNECTION:
		if (!is_none(value))
			ret->connection = value;
		return true;
	case FIELD_CONNECTION_REQUESTS:
		(void)parse_count(value, &ret->connection_requests);
		return true;
	case FIELD_TIME:
		return set_time(el, value, ret, ret_why);
	default:
		return set_duration(a, el, value, ret, ret_why);
	}
}

/* ---- lines of text */

/* Where the literal comes that ends a value. Within quotes a backslash takes the next
 * byte with it; a list of upstreams goes on behind its comma or colon. */
static const char *find_after(const struct accesslog *a, const struct accesslog_element *el,
	const char *p, const char *end)
{
	char first = el->after.p[0];
	bool is_quoted = first == '"' && a->escape != ESCAPE_NONE;
	const char *from = p;

	/* An unquoted request line holds blanks: its last word tells its end. */
	if (el->field == FIELD_REQUEST && first != '"') {
		const char *last = memmem(p, (size_t)(end - p), " HTTP/", 6);

		p = last ? last + 6 : p;
	}
	for (; p < end; p++) {
		p = memchr(p, first, (size_t)(end - p));
		if (!p)
			return NULL;
		if ((size_t)(end - p) < el->after.n || memcmp(p, el->after.p, el->after.n) != 0)
			continue;
		if (is_quoted && p > from) {
			const char *back = p;

			while (back > from && back[-1] == '\\')
				back--;
			if ((p - back) % 2)
				continue;
		}
		if (el->field == FIELD_UPSTREAM && first == ' ' &&
			((p > from && p[-1] == ',') || (p > from && p[-1] == ':') ||
				(p + 1 < end && p[1] == ':')))
			continue;
		return p;
	}
	return NULL;
}

static bool read_text(
	struct accesslog *a, struct slice line, struct accesslog_line *ret, const char **ret_why)
{
	const char *p = line.p, *end = line.p + line.n;

	if (a->is_loose)
		p = memmem(line.p, line.n, a->before.p, a->before.n);
	if (!p || (size_t)(end - p) < a->before.n || memcmp(p, a->before.p, a->before.n) != 0)
		return fail(ret_why, "not of this format");
	p += a->before.n;
	for (size_t i = 0; i < a->count; i++) {
		const struct accesslog_element *el = &a->elements[i];
		const char *stop = el->after.n ? find_after(a, el, p, end) : end;

		if (!stop)
			return fail(ret_why, "not of this format");
		if (!accesslog_set(a, el, (struct slice){ p, (size_t)(stop - p) }, ret, ret_why))
			return false;
		p = stop + el->after.n;
	}
	return p == end || a->has_rest || fail(ret_why, "more than the format has");
}

static bool is_whole(const struct accesslog_line *ret, const char **ret_why)
{
	if (ret->start_ns == ACCESSLOG_UNKNOWN && ret->end_ns == ACCESSLOG_UNKNOWN)
		return fail(ret_why, "no time");
	if (!is_method(ret->method) || !ret->target.n || slice_is(ret->target, "-"))
		return fail(ret_why, "no request line (TLS or junk on the port)");
	if (ret->start_ns != ACCESSLOG_UNKNOWN && ret->end_ns != ACCESSLOG_UNKNOWN &&
		ret->end_ns < ret->start_ns)
		return fail(ret_why, "it ends before it began");
	return true;
}

enum step accesslog_read(
	struct accesslog *a, struct slice line, struct accesslog_line *ret, const char **ret_why)
{
	*ret = (struct accesslog_line){
		.start_ns = ACCESSLOG_UNKNOWN, .end_ns = ACCESSLOG_UNKNOWN, .duration_ns = -1
	};
	*ret_why = NULL;
	while (line.n && (line.p[line.n - 1] == '\r' || line.p[line.n - 1] == '\n'))
		line.n--;
	if (!line.n || line.p[0] == '#')
		return STEP_END;
	buf_reset(&a->scratch);
	/* Room for each value once unescaped, and for a target joined of its parts. */
	if (!buf_room(&a->scratch, 3 * line.n + 16)) {
		*ret_why = "longer than a line may be";
		return STEP_FAIL;
	}
	bool ok = a->is_json ? accesslog_read_json(a, line, ret, ret_why)
			     : read_text(a, line, ret, ret_why);
	return ok && is_whole(ret, ret_why) ? STEP_ITEM : STEP_FAIL;
}
