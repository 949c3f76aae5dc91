#include "core/model/record.h"

#include "core/base/buf.h"

void record_seal_session(struct session_record *s)
{
	s->is_sealed = true;
}

void record_seal_request(struct request_record *q)
{
	q->is_sealed = true;
}

static const struct value *literal_of(const struct value *values, size_t count, size_t slot)
{
	/* The usual case: literals come first and in slot order. */
	if (slot < count && !values[slot].is_bind && values[slot].place == slot)
		return &values[slot];
	for (size_t i = 0; i < count; i++)
		if (!values[i].is_bind && values[i].place == slot)
			return &values[i];
	return NULL;
}

static bool is_usable(const struct value *v)
{
	return v && v->action != VALUE_DROPPED && !(v->flags & (VALUE_IS_CUT | VALUE_IS_UNKNOWN)) &&
	       v->bytes.n;
}

bool record_statement_text(
	struct slice template_text, const struct value *values, size_t count, struct buf *out)
{
	const char *p = template_text.p;
	const char *end = template_text.n ? p + template_text.n : p;

	for (size_t slot = 0; p != end; slot++) {
		const char *at = memchr(p, TEMPLATE_SLOT, (size_t)(end - p));

		buf_add(out, p, (size_t)((at ? at : end) - p));
		if (!at)
			break;
		const struct value *v = literal_of(values, count, slot);
		if (!is_usable(v))
			return false;
		buf_add_slice(out, v->bytes);
		p = at + 1;
	}
	return !out->is_full;
}

enum { FILLER_MAX = 64 << 20 };

static void add_filler(struct buf *out, size_t n)
{
	char *room = n <= FILLER_MAX ? buf_room(out, n) : NULL;

	if (room) {
		memset(room, 'x', n);
		out->n += n;
	} else {
		(void)buf_room(out, SIZE_MAX);
	}
}

bool record_http_text(
	struct slice template_text, const struct value *values, size_t count, struct buf *out)
{
	size_t line = out->n; /* where the line at hand begins */
	bool is_first = true, is_body = false, is_missing = false;

	for (size_t i = 0, slot = 0; i < template_text.n; i++) {
		char c = template_text.p[i];

		if (c == TEMPLATE_SLOT) {
			const struct value *v = literal_of(values, count, slot++);

			if (is_usable(v))
				buf_add_slice(out, v->bytes);
			else if (is_body)
				add_filler(out, v ? v->type_oid : 0);
			else
				is_missing = true;
			continue;
		}
		buf_add_byte(out, (unsigned char)c);
		if (c != '\n' || is_body || out->is_full)
			continue;
		if (is_missing && is_first)
			return false;
		is_body = out->n - line == 2;
		if (is_missing)
			out->n = line;
		line = out->n;
		is_first = is_missing = false;
	}
	return !out->is_full;
}
