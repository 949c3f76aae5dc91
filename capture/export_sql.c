#include "capture/export_sql.h"

#include <inttypes.h>
#include <stdlib.h>
#include <strings.h>

bool export_sql_is_alone(struct slice route)
{
	static const char *const words[] = { "begin", "commit", "rollback", "start", "end", "abort",
		"savepoint", "release", "set", "reset", "prepare", "execute", "deallocate",
		"declare", "fetch", "move", "close", "copy", "listen", "unlisten", "lock",
		"discard" };

	if (!route.n || *route.p == '(' || memchr(route.p, ';', route.n))
		return false;
	for (size_t i = 0; i < LENGTH(words); i++) {
		size_t n = strlen(words[i]);

		if (route.n >= n && strncasecmp(route.p, words[i], n) == 0 &&
			(route.n == n || route.p[n] == ' '))
			return false;
	}
	return true;
}

/* ---- binds as literals */

enum { OID_BOOL = 16, OID_INT8 = 20, OID_INT2 = 21, OID_INT4 = 23 };

static bool add_binary(const struct value *v, struct buf *to)
{
	static const struct {
		uint32_t oid;
		size_t n;
	} sizes[] = { { OID_INT8, 8 }, { OID_INT4, 4 }, { OID_INT2, 2 } };
	uint64_t bits = 0;

	if (v->type_oid == OID_BOOL && v->bytes.n == 1) {
		buf_add_text(to, *v->bytes.p ? "true" : "false");
		return true;
	}
	for (size_t i = 0; i < LENGTH(sizes); i++) {
		if (v->type_oid != sizes[i].oid || v->bytes.n != sizes[i].n)
			continue;
		for (size_t k = 0; k < v->bytes.n; k++)
			bits = bits << 8 | (unsigned char)v->bytes.p[k];
		unsigned shift = 64 - 8 * (unsigned)v->bytes.n;
		buf_addf(to, "'%" PRId64 "'", (int64_t)(bits << shift) >> shift);
		return true;
	}
	return false;
}

static bool add_bind(const struct value *v, struct buf *to)
{
	if (v->flags & VALUE_IS_NULL) {
		buf_add_text(to, "NULL");
		return true;
	}
	if (v->action == VALUE_DROPPED || v->flags & (VALUE_IS_CUT | VALUE_IS_UNKNOWN))
		return false;
	if (v->format == 1)
		return add_binary(v, to);
	bool has_backslash = memchr(v->bytes.p ? v->bytes.p : "", '\\', v->bytes.n) != NULL;
	buf_add_text(to, has_backslash ? " E'" : "'");
	for (size_t i = 0; i < v->bytes.n; i++) {
		char c = v->bytes.p[i];

		if (c == '\'' || c == '\\')
			buf_add_byte(to, (unsigned char)c);
		buf_add_byte(to, (unsigned char)c);
	}
	buf_add_byte(to, '\'');
	return true;
}

static const struct value *bind_of(const struct request_record *q, uint64_t number)
{
	for (size_t i = 0; i < q->value_count; i++)
		if (q->values[i].is_bind && q->values[i].place + UINT64_C(1) == number)
			return &q->values[i];
	return NULL;
}

/* ---- the text, as pgbench reads it */

static bool is_name_start(char c)
{
	return ((c | 32) >= 'a' && (c | 32) <= 'z') || c == '_' || (unsigned char)c >= 0x80 ||
	       (c >= '0' && c <= '9');
}

/* Within '...' (also E'...'): the colon ends a piece, a newline joins it with the next. */
static const char *add_quoted(const char *p, const char *end, bool is_escaping, struct buf *to)
{
	buf_add_byte(to, (unsigned char)*p++);
	while (p < end) {
		char c = *p++;

		buf_add_byte(to, (unsigned char)c);
		if (c == '\'' && (p == end || *p != '\''))
			return p;
		if ((c == '\'' || (c == '\\' && is_escaping)) && p < end)
			buf_add_byte(to, (unsigned char)*p++);
		else if (c == ':' && p < end && is_name_start(*p))
			buf_add_text(to, "'\n'");
	}
	return NULL;
}

static bool is_escaping(const struct slice *s, const char *quote)
{
	return quote > s->p && (quote[-1] | 32) == 'e' &&
	       (quote == s->p + 1 || !is_name_start(quote[-2]));
}

static const char *skip_identifier(const char *p, const char *end, struct buf *to)
{
	const char *close = memchr(p + 1, '"', (size_t)(end - p - 1));

	if (!close || memchr(p, ':', (size_t)(close - p)))
		return NULL;
	buf_add(to, p, (size_t)(close + 1 - p));
	return close + 1;
}

/* Dollar quotes have no pieces; a bind's place is no dollar quote. */
static const char *add_dollar(
	const struct request_record *q, const char *p, const char *end, struct buf *to)
{
	uint64_t number = 0;
	const char *digit = p + 1;

	while (digit < end && *digit >= '0' && *digit <= '9' && number < 100000)
		number = number * 10 + (uint64_t)(*digit++ - '0');
	const struct value *v = number ? bind_of(q, number) : NULL;
	return v && add_bind(v, to) ? digit : NULL;
}

static bool add_for_pgbench(struct slice text, struct buf *to)
{
	const char *p = text.p, *end = text.p + text.n;

	while (p && p < end) {
		if (*p == '\'') {
			p = add_quoted(p, end, is_escaping(&text, p), to);
		} else if (*p == '"') {
			p = skip_identifier(p, end, to);
		} else if (*p == ':' && p + 1 < end && p[1] == ':') {
			buf_add_text(to, "::");
			p += 2;
		} else if (*p == ':' && p + 1 < end && is_name_start(p[1])) {
			buf_add_text(to, ": ");
			p++;
		} else if (*p == '\\') {
			return false;
		} else {
			buf_add_byte(to, (unsigned char)*p++);
		}
	}
	return p != NULL;
}

/* Within quotes a dollar is text. */
static bool put_binds(const struct request_record *q, struct slice text, struct buf *to)
{
	const char *p = text.p, *end = text.p + text.n;

	while (p && p < end) {
		if (*p == '\'' || *p == '"') {
			const char *from = p;
			char quote = *p++;
			bool escapes = quote == '\'' && is_escaping(&text, from);

			while (p < end && *p != quote)
				p += escapes && *p == '\\' && p + 1 < end ? 2 : 1;
			if (p >= end)
				return false;
			buf_add(to, from, (size_t)(++p - from));
		} else if (*p == '$' && (p == text.p || !is_name_start(p[-1]))) {
			p = add_dollar(q, p, end, to);
		} else {
			buf_add_byte(to, (unsigned char)*p++);
		}
	}
	return p != NULL;
}

bool export_sql(struct slice template_text, const struct request_record *q, struct buf *to)
{
	CLEANUP(buf_free) struct buf literals = { 0 };
	CLEANUP(buf_free) struct buf whole = { 0 };

	buf_reset(to);
	return template_text.n &&
	       record_statement_text(template_text, q->values, q->value_count, &literals) &&
	       literals.n && put_binds(q, buf_slice(&literals), &whole) &&
	       add_for_pgbench(buf_slice(&whole), to) && !to->is_full && !whole.is_full;
}
