/*
 * JSON lines by a map of paths: one pass over the line, no document. Laxer than
 * jsonline.h, for what servers put into JSON-like format strings (nginx's \xHH, a bare
 * "-"), and a list stands for its first value (Caddy's headers).
 */
#include <string.h>

#include "core/base/hex.h"
#include "core/base/utf8.h"
#include "core/format/accesslog_private.h"

enum { DEPTH_MAX = 32 };

struct walk {
	struct accesslog *a;
	struct accesslog_line *ret;
	const char **ret_why;
	const char *p, *end;
	int depth;
	bool is_bad_value; /* *ret_why is set */
};

static void skip_blanks(struct walk *w)
{
	while (w->p < w->end && (*w->p == ' ' || *w->p == '\t' || *w->p == '\n' || *w->p == '\r'))
		w->p++;
}

static bool take(struct walk *w, char c)
{
	skip_blanks(w);
	if (w->p == w->end || *w->p != c)
		return false;
	w->p++;
	return true;
}

/* ---- strings (RFC 8259, section 7) */

/* The escape behind a backslash; *p is moved past it. A half surrogate is U+FFFD. */
static char *decode_escape(const char **p, const char *end, char *to)
{
	static const char from[] = "ntrbf", plain[] = "\n\t\r\b\f";
	char c = *(*p)++;
	uint32_t code, low;

	if (c == 'x' && end - *p >= 2) {
		/* nginx's escape=default within a JSON string */
		char digits[4] = { '0', '0', (*p)[0], (*p)[1] };

		if (hex_value4(digits, &code)) {
			*p += 2;
			*to++ = (char)code;
			return to;
		}
	}
	if (c != 'u' || end - *p < 4 || !hex_value4(*p, &code)) {
		const char *at = c ? strchr(from, c) : NULL;

		*to++ = at ? plain[at - from] : c;
		return to;
	}
	*p += 4;
	if (code >= 0xd800 && code < 0xdc00 && end - *p >= 6 && (*p)[0] == '\\' && (*p)[1] == 'u' &&
		hex_value4(*p + 2, &low) && low >= 0xdc00 && low < 0xe000) {
		*p += 6;
		code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
	} else if (code >= 0xd800 && code < 0xe000) {
		code = 0xfffd;
	}
	return utf8_put(to, code);
}

/* Behind its opening quote. The decoded string is never longer than the text. */
static bool take_string(struct walk *w, struct slice *ret)
{
	const char *from = w->p;
	bool has_escape = false;

	for (; w->p < w->end && *w->p != '"'; w->p++)
		if (*w->p == '\\') {
			has_escape = true;
			w->p++;
		}
	if (w->p >= w->end)
		return false;
	*ret = (struct slice){ from, (size_t)(w->p++ - from) };
	if (!has_escape)
		return true;
	struct buf *b = &w->a->scratch;
	char *start = b->p + b->n, *to = start;
	for (const char *p = from, *end = from + ret->n; p < end;) {
		if (*p != '\\')
			*to++ = *p++;
		else if (++p < end)
			to = decode_escape(&p, end, to);
	}
	*ret = (struct slice){ start, (size_t)(to - start) };
	b->n += ret->n;
	return true;
}

/* ---- values */

static void give(struct walk *w, struct slice value)
{
	struct slice path = buf_slice(&w->a->path);

	for (size_t i = 0; i < w->a->count && !w->is_bad_value; i++) {
		const struct accesslog_element *el = &w->a->elements[i];

		if (slice_same(el->after, path))
			w->is_bad_value = !accesslog_set(w->a, el, value, w->ret, w->ret_why);
	}
}

static bool take_value(struct walk *w);

static bool take_members(struct walk *w)
{
	struct slice key;

	if (take(w, '}'))
		return true;
	do {
		size_t n = w->a->path.n;

		if (!take(w, '"') || !take_string(w, &key) || !take(w, ':'))
			return false;
		buf_add_byte(&w->a->path, '.');
		buf_add_slice(&w->a->path, key);
		if (!take_value(w))
			return false;
		w->a->path.n = n;
	} while (take(w, ','));
	return take(w, '}');
}

/* A list stands for its first value: {"User-Agent": ["curl"]}. */
static bool take_items(struct walk *w)
{
	if (take(w, ']'))
		return true;
	if (!take_value(w))
		return false;
	size_t n = w->a->path.n;
	/* No path has this: what follows is read and given to nobody. */
	buf_add_byte(&w->a->path, '\0');
	while (take(w, ','))
		if (!take_value(w))
			return false;
	w->a->path.n = n;
	return take(w, ']');
}

static bool take_plain(struct walk *w)
{
	const char *from = w->p;

	while (w->p < w->end && !strchr(",]} \t\r\n", *w->p) && *w->p)
		w->p++;
	struct slice s = { from, (size_t)(w->p - from) };
	if (!s.n)
		return false;
	if (!slice_is(s, "null"))
		give(w, s);
	return true;
}

static bool take_value(struct walk *w)
{
	struct slice s;
	bool ok;

	skip_blanks(w);
	if (w->p == w->end || w->depth == DEPTH_MAX)
		return false;
	switch (*w->p) {
	case '"':
		w->p++;
		if (!take_string(w, &s))
			return false;
		give(w, s);
		return true;
	case '{':
	case '[':
		w->depth++;
		ok = *w->p++ == '{' ? take_members(w) : take_items(w);
		w->depth--;
		return ok;
	default:
		return take_plain(w);
	}
}

bool accesslog_read_json(
	struct accesslog *a, struct slice line, struct accesslog_line *ret, const char **ret_why)
{
	struct walk w = { .a = a, .ret = ret, .ret_why = ret_why, .end = line.p + line.n };
	const char *brace = memchr(line.p, '{', line.n);

	buf_reset(&a->path);
	/* A collector may put its own stamp in front. */
	w.p = brace;
	bool ok = brace && take_value(&w);
	if (!ok || w.is_bad_value) {
		if (!ok)
			*ret_why = "not JSON, or cut";
		return false;
	}
	return true;
}

/* ---- field maps */

struct role {
	const char *name;
	struct accesslog_element el;
};

static const struct role roles[] = {
	{ "request", { FIELD_REQUEST, 0, 0, { 0 } } },
	{ "method", { FIELD_METHOD, 0, 0, { 0 } } },
	{ "target", { FIELD_TARGET, 0, 0, { 0 } } },
	{ "path", { FIELD_PATH, 0, 0, { 0 } } },
	{ "query", { FIELD_QUERY, 0, 0, { 0 } } },
	{ "protocol", { FIELD_PROTOCOL, 0, 0, { 0 } } },
	{ "status", { FIELD_STATUS, 0, 0, { 0 } } },
	{ "bytes_in", { FIELD_BYTES_IN, 0, 0, { 0 } } },
	{ "bytes_out", { FIELD_BYTES_OUT, 0, 0, { 0 } } },
	{ "host", { FIELD_HOST, 0, 0, { 0 } } },
	{ "user", { FIELD_USER, 0, 0, { 0 } } },
	{ "address", { FIELD_ADDRESS, 0, 0, { 0 } } },
	{ "port", { FIELD_PORT, 0, 0, { 0 } } },
	{ "agent", { FIELD_AGENT, 0, 0, { 0 } } },
	{ "connection", { FIELD_CONNECTION, 0, 0, { 0 } } },
	{ "connection_requests", { FIELD_CONNECTION_REQUESTS, 0, 0, { 0 } } },
	{ "start", { FIELD_TIME, MARK_START, NS_PER_S, { 0 } } },
	{ "start_ms", { FIELD_TIME, MARK_START, NS_PER_MS, { 0 } } },
	{ "start_us", { FIELD_TIME, MARK_START, NS_PER_US, { 0 } } },
	{ "start_ns", { FIELD_TIME, MARK_START, 1, { 0 } } },
	{ "end", { FIELD_TIME, MARK_END, NS_PER_S, { 0 } } },
	{ "end_ms", { FIELD_TIME, MARK_END, NS_PER_MS, { 0 } } },
	{ "end_us", { FIELD_TIME, MARK_END, NS_PER_US, { 0 } } },
	{ "end_ns", { FIELD_TIME, MARK_END, 1, { 0 } } },
	{ "duration", { FIELD_DURATION, 0, NS_PER_S, { 0 } } },
	{ "duration_ms", { FIELD_DURATION, 0, NS_PER_MS, { 0 } } },
	{ "duration_us", { FIELD_DURATION, 0, NS_PER_US, { 0 } } },
	{ "duration_ns", { FIELD_DURATION, 0, 1, { 0 } } },
};

static const struct role *find_role(struct slice name)
{
	for (size_t i = 0; i < LENGTH(roles); i++)
		if (slice_is(name, roles[i].name))
			return &roles[i];
	return NULL;
}

static bool refuse_role(struct slice name, struct err *e)
{
	CLEANUP(buf_free) struct buf names = { 0 };

	for (size_t i = 0; i < LENGTH(roles); i++)
		buf_addf(&names, "%s%s", i ? " " : "", roles[i].name);
	err_set(e, ERR_USAGE, "'%.*s' is no field of an access log", (int)name.n, name.p);
	return err_hint(e, "known are %s", buf_text(&names));
}

static bool add_pair(struct accesslog *a, struct slice pair, struct err *e)
{
	const char *equals = memchr(pair.p, '=', pair.n);
	size_t n = equals ? (size_t)(equals - pair.p) : pair.n;
	const struct role *role = find_role((struct slice){ pair.p, n });
	CLEANUP(buf_free) struct buf path = { 0 };

	if (!role)
		return refuse_role((struct slice){ pair.p, n }, e);
	struct slice text = { pair.p + n + 1, equals ? pair.n - n - 1 : 0 };
	if (!text.n)
		return err_set(e, ERR_USAGE, "field '%s' has no path: %s=.its.path", role->name,
			role->name);
	if (*text.p != '.')
		buf_add_byte(&path, '.');
	buf_add_slice(&path, text);
	return accesslog_add(a, role->el, buf_slice(&path)) ||
	       err_set(e, ERR_USAGE, "too many fields, or their paths are too long");
}

static bool has_needed(const struct accesslog *a)
{
	bool has_time = false, has_request = false, has_method = false, has_target = false;

	for (size_t i = 0; i < a->count; i++) {
		uint8_t f = a->elements[i].field;

		has_time |= f == FIELD_TIME;
		has_request |= f == FIELD_REQUEST;
		has_method |= f == FIELD_METHOD;
		has_target |= f == FIELD_TARGET || f == FIELD_PATH;
	}
	return has_time && (has_request || (has_method && has_target));
}

bool accesslog_compile_fields(struct accesslog *a, const char *fields, struct err *e)
{
	a->is_json = true;
	for (const char *p = fields; *p;) {
		size_t n = strcspn(p, ",");

		if (n && !add_pair(a, (struct slice){ p, n }, e))
			return false;
		p += n + (p[n] == ',');
	}
	return has_needed(a) ||
	       err_set(e, ERR_USAGE,
		       "--fields needs start= or end=, and request= or method= and target=");
}
