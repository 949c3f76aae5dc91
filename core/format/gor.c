#include "core/format/gor.h"

#include <inttypes.h>
#include <strings.h>

enum { SEPARATOR_N = sizeof(GOR_SEPARATOR) - 1, META_MAX = 256 };

/* ---- the meta line */

static bool take_number(struct slice *s, int64_t *ret)
{
	size_t n = 0;

	*ret = 0;
	for (; n < s->n && s->p[n] >= '0' && s->p[n] <= '9'; n++)
		if (__builtin_mul_overflow(*ret, 10, ret) ||
			__builtin_add_overflow(*ret, s->p[n] - '0', ret))
			return false;
	*s = (struct slice){ s->p + n, s->n - n };
	return n > 0;
}

static bool take_blank(struct slice *s)
{
	if (!s->n || *s->p != ' ')
		return false;
	*s = (struct slice){ s->p + 1, s->n - 1 };
	return true;
}

static bool take_id(struct slice *s, struct slice *ret)
{
	size_t n = 0;

	while (n < s->n &&
		((s->p[n] >= '0' && s->p[n] <= '9') ||
			((s->p[n] | 32) >= 'a' && (s->p[n] | 32) <= 'z') || s->p[n] == '-'))
		n++;
	*ret = (struct slice){ s->p, n };
	*s = (struct slice){ s->p + n, s->n - n };
	return n >= 4 && n <= 128;
}

/* Without its newline. Further fields are those of later versions. */
static bool parse_meta(struct slice line, struct gor_record *ret)
{
	if (line.n < 2 || line.p[0] < '1' || line.p[0] > '3')
		return false;
	ret->type = (enum gor_type)line.p[0];
	struct slice s = { line.p + 1, line.n - 1 };
	if (!take_blank(&s) || !take_id(&s, &ret->id) || !take_blank(&s) ||
		!take_number(&s, &ret->time_ns))
		return false;
	ret->length_ns = -1;
	if (s.n && s.p[0] == '\r')
		return s.n == 1;
	if (!s.n)
		return true;
	return take_blank(&s) && (take_number(&s, &ret->length_ns) || true);
}

/* The meta line at the front; its size with the newline, 0: none, -1: not all there. */
static int64_t meta_size(struct slice s, struct gor_record *ret)
{
	size_t most = s.n < META_MAX ? s.n : META_MAX;
	const char *end = most ? memchr(s.p, '\n', most) : NULL;

	if (!end)
		return most < META_MAX && (!most || (s.p[0] >= '1' && s.p[0] <= '3')) ? -1 : 0;
	if (!parse_meta((struct slice){ s.p, (size_t)(end - s.p) }, ret))
		return 0;
	return end - s.p + 1;
}

bool gor_detect(struct slice first)
{
	struct gor_record r;
	int64_t n = meta_size(first, &r);

	if (n <= 0 || r.time_ns < NS_PER_S)
		return false;
	struct slice rest = { first.p + n, first.n - (size_t)n };
	if (r.type != GOR_REQUEST)
		return rest.n < 5 || memcmp(rest.p, "HTTP/", 5) == 0;
	return rest.n == 0 || (rest.p[0] >= 'A' && rest.p[0] <= 'Z');
}

/* ---- where a record ends */

static const char *find_separator(const char *from, const char *end)
{
	return end > from ? memmem(from, (size_t)(end - from), GOR_SEPARATOR, SEPARATOR_N) : NULL;
}

static bool is_separator(const char *p, const char *end)
{
	return (size_t)(end - p) >= SEPARATOR_N && memcmp(p, GOR_SEPARATOR, SEPARATOR_N) == 0;
}

/* Head and Content-Length together; 0 when the head does not say. */
static size_t stated_size(struct slice s)
{
	static const char name[] = "content-length:";
	const char *head_end = memmem(s.p, s.n, "\r\n\r\n", 4);
	size_t head_n = head_end ? (size_t)(head_end - s.p) + 4 : 0;

	for (const char *p = s.p; head_n && p < head_end;) {
		const char *line_end = memchr(p, '\n', (size_t)(s.p + head_n - p));

		if (!line_end)
			break;
		struct slice value = { p + sizeof name - 1, 0 };
		if ((size_t)(line_end - p) > sizeof name - 1 &&
			strncasecmp(p, name, sizeof name - 1) == 0) {
			int64_t n;

			value.n = (size_t)(line_end - value.p);
			while (take_blank(&value))
				;
			return take_number(&value, &n) && n <= (int64_t)GOR_RECORD_MAX
				       ? head_n + (size_t)n
				       : 0;
		}
		p = line_end + 1;
	}
	return 0;
}

/* Payload's end and what comes after. NULL: not there yet. */
static const char *find_end(
	struct slice payload, bool is_last, size_t *ret_skip, const char **ret_why)
{
	const char *end = payload.p + payload.n;
	size_t stated = stated_size(payload);
	struct gor_record ignored;

	*ret_skip = SEPARATOR_N;
	*ret_why = NULL;
	if (stated && stated <= payload.n && is_separator(payload.p + stated, end))
		return payload.p + stated;
	/* The separator of a whole body is still to come. */
	if (stated && !is_last && payload.n < stated + SEPARATOR_N)
		return NULL;
	if (stated && is_last && stated == payload.n) {
		*ret_skip = 0;
		return end;
	}
	for (const char *p = payload.p; (p = find_separator(p, end)); p++) {
		struct slice after = { p + SEPARATOR_N, (size_t)(end - p) - SEPARATOR_N };
		int64_t n = meta_size(after, &ignored);

		if (n > 0 || (is_last && !after.n))
			return p;
		if (n < 0 && !is_last)
			return NULL;
	}
	if (!is_last)
		return NULL;
	*ret_skip = 0;
	if (stated > payload.n)
		*ret_why = "cut at the end of the file";
	return end;
}

/* ---- records */

/* Steps over bytes that are no record, to the meta line behind the next separator. */
static enum step resync(struct slice *rest, bool is_last, const char **ret_why)
{
	const char *end = rest->p + rest->n, *p = find_separator(rest->p, end);

	*ret_why = "no meta line";
	if (!p && !is_last && rest->n < GOR_RECORD_MAX)
		return STEP_MORE;
	p = p ? p + SEPARATOR_N : end;
	*rest = (struct slice){ p, (size_t)(end - p) };
	return STEP_FAIL;
}

enum step gor_next(struct slice *rest, bool is_last, struct gor_record *ret, const char **ret_why)
{
	size_t skip;

	if (!rest->n)
		return is_last ? STEP_END : STEP_MORE;
	int64_t meta_n = meta_size(*rest, ret);
	if (meta_n < 0 && !is_last)
		return STEP_MORE;
	if (meta_n <= 0)
		return resync(rest, is_last, ret_why);
	struct slice payload = { rest->p + meta_n, rest->n - (size_t)meta_n };
	bool is_too_long = rest->n >= GOR_RECORD_MAX;
	const char *end = find_end(payload, is_last || is_too_long, &skip, ret_why);
	if (!end)
		return STEP_MORE;
	ret->payload = (struct slice){ payload.p, (size_t)(end - payload.p) };
	*rest = (struct slice){ end + skip, (size_t)(rest->p + rest->n - end) - skip };
	if (is_too_long && !is_last && !skip)
		*ret_why = "longer than a record may be";
	return *ret_why ? STEP_FAIL : STEP_ITEM;
}

/* 16 hex digits are both ports and the client's address; Ack and a counter follow. */
struct slice gor_connection(struct slice id)
{
	return id.n == 24 ? (struct slice){ id.p, 16 } : id;
}

void gor_write(struct buf *to, const struct gor_record *r)
{
	buf_addf(to, "%c %.*s %" PRId64 " %" PRId64 "\n", (char)r->type, (int)r->id.n, r->id.p,
		r->time_ns, r->length_ns < 0 ? 0 : r->length_ns);
	buf_add_slice(to, r->payload);
	buf_add(to, GOR_SEPARATOR, SEPARATOR_N);
}
