/* Where messages begin and end, and what is a body. */
#include "core/base/hex.h"
#include "core/format/http1_head.h"

void http1_init(struct http1 *p, bool is_answer)
{
	*p = (struct http1){ .is_answer = is_answer };
	buf_init(&p->partial, HTTP1_HEAD_MAX + 4);
}

void http1_free(struct http1 *p)
{
	buf_free(&p->partial);
}

static enum http1_event refuse(struct http1 *p, const char *why)
{
	p->phase = HTTP1_REFUSED;
	p->refusal = why;
	buf_free(&p->partial);
	return HTTP1_BAD;
}

static void take(struct slice *in, size_t n)
{
	in->p += n;
	in->n -= n;
}

/* ---- heads that come in pieces */

/* Up to and with the empty line that ends the head, or all; resumes at the line it was in. */
static size_t head_end(struct http1 *p, struct slice in, bool *is_end)
{
	const char *at = in.p, *end = in.p + in.n;

	*is_end = false;
	while (at < end) {
		const char *nl = memchr(at, '\n', (size_t)(end - at));
		size_t n = (size_t)((nl ? nl : end) - at);
		bool is_cr = n ? (nl ? nl : end)[-1] == '\r' : p->was_cr;

		p->line_n += (uint32_t)n;
		p->was_cr = is_cr;
		if (!nl)
			break;
		at = nl + 1;
		*is_end = p->line_n == 0 || (p->line_n == 1 && is_cr);
		p->line_n = 0;
		p->was_cr = false;
		if (*is_end)
			break;
	}
	return *is_end ? (size_t)(at - in.p) : in.n;
}

/* Makes a head of what came of one: up to its last whole line. An answer's status line
 * may be cut behind the status. */
static bool end_partial(struct http1 *p)
{
	struct buf *b = &p->partial;
	const char *nl = memrchr(b->p, '\n', b->n);

	if (nl)
		b->n = (size_t)(nl + 1 - b->p);
	else if (p->is_answer && http1_is_status_line(buf_slice(b)))
		buf_add(b, "\r\n", 2);
	else
		return false;
	buf_add(b, "\r\n", 2);
	return !b->is_full;
}

bool http1_cut_head(struct http1 *p)
{
	size_t n;

	if (p->phase != HTTP1_IN_HEAD || !p->partial.n)
		return false;
	if (end_partial(p)) {
		enum http1_event event = http1_read_head(p, buf_slice(&p->partial), &n);

		/* Where it ends is not known, whatever its length says. */
		p->phase = HTTP1_IN_HEAD;
		p->refusal = NULL;
		p->head.is_cut = true;
		return event == HTTP1_HEAD;
	}
	if (p->is_answer || !http1_is_request_line(buf_slice(&p->partial)))
		return false;
	p->head = (struct http1_head){ .bytes = buf_slice(&p->partial), .is_cut = true };
	p->head.version = 11;
	p->head.method.p = p->partial.p;
	p->head.method.n = (size_t)((char *)memchr(p->partial.p, ' ', p->partial.n) - p->partial.p);
	return true;
}

static enum http1_event lose(struct http1 *p, struct slice *in)
{
	http1_lose(p);
	take(in, in->n);
	return HTTP1_LOSING;
}

static enum http1_event collect(struct http1 *p, struct slice *in)
{
	bool is_end;
	size_t n = head_end(p, *in, &is_end), read_n;
	enum http1_event event;

	if (n > HTTP1_HEAD_MAX - p->partial.n) {
		buf_add(&p->partial, in->p, HTTP1_HEAD_MAX - p->partial.n);
		if (!http1_cut_head(p))
			return refuse(p, "a head over 64 KiB");
		p->refusal = "a head over 64 KiB";
		p->phase = HTTP1_REFUSING;
		return HTTP1_HEAD;
	}
	buf_add(&p->partial, in->p, n);
	take(in, n);
	if (p->partial.is_full)
		return refuse(p, "out of memory");
	if (!is_end)
		return HTTP1_MORE;
	event = http1_read_head(p, buf_slice(&p->partial), &read_n);
	return event == HTTP1_LOSING || event == HTTP1_MORE ? lose(p, in) : event;
}

/* An unfinished first line that can't become one is not waited for. */
static bool may_begin(const struct http1 *p, struct slice in)
{
	if (p->is_answer)
		return memcmp(in.p, "HTTP/", in.n < 5 ? in.n : 5) == 0;
	for (size_t i = 0; i < in.n && i < 33 && in.p[i] != ' '; i++)
		if (in.p[i] <= ' ' || in.p[i] > '~' || i == 32)
			return false;
	return in.p[0] != ' ';
}

static enum http1_event begin(struct http1 *p, struct slice *in, int64_t time_ns)
{
	enum http1_event event;
	size_t n = 0;

	while (in->n && (*in->p == '\r' || *in->p == '\n'))
		take(in, 1);
	if (!in->n)
		return HTTP1_MORE;
	p->start_ns = time_ns;
	buf_reset(&p->partial);
	if (!may_begin(p, *in))
		return lose(p, in);
	event = http1_read_head(p, *in, &n);
	if (event == HTTP1_LOSING)
		return lose(p, in);
	if (event != HTTP1_MORE) {
		take(in, n);
		return event;
	}
	p->phase = HTTP1_IN_HEAD;
	p->line_n = 0;
	p->was_cr = false;
	return collect(p, in);
}

/* ---- bodies */

static enum http1_event give(
	struct http1 *p, struct slice *in, uint64_t most, enum http1_phase at_end)
{
	size_t n = in->n < most ? in->n : (size_t)most;

	if (!n)
		return HTTP1_MORE;
	p->piece = (struct slice){ in->p, n };
	take(in, n);
	if (p->phase != HTTP1_UNTIL_CLOSE) {
		p->left -= n;
		if (!p->left)
			p->phase = at_end;
	}
	return HTTP1_BODY;
}

/* RFC 9112, 7.1: the size in hex; extensions are passed over. */
static enum http1_event chunk_line(struct http1 *p, struct slice *in)
{
	while (in->n) {
		char c = *in->p;
		int digit = p->is_past_digits ? -1 : hex_value(c);

		take(in, 1);
		if (++p->line_n > HTTP1_CHUNK_LINE_MAX)
			return refuse(p, "a chunk's line over 4 KiB");
		if (digit >= 0) {
			if (p->left >> 58)
				return refuse(p, "a chunk's size that no file could have");
			p->left = p->left << 4 | (uint64_t)digit;
			p->has_digit = true;
		} else if (!p->has_digit ||
			   (!p->is_past_digits && !strchr("\r\n; \t", c ? c : 'x'))) {
			return refuse(p, "a chunk's size that is no plain number");
		} else if (c == '\n') {
			p->phase = p->left ? HTTP1_IN_CHUNK : HTTP1_IN_TRAILER;
			p->line_n = p->lines_n = 0;
			p->has_digit = p->is_past_digits = p->was_cr = false;
			return HTTP1_MORE;
		} else {
			p->is_past_digits = true;
		}
	}
	return HTTP1_MORE;
}

static enum http1_event chunk_end(struct http1 *p, struct slice *in)
{
	while (in->n) {
		char c = *in->p;

		if (c != '\n' && (c != '\r' || p->was_cr))
			return refuse(p, "a chunk longer than its size");
		take(in, 1);
		p->was_cr = c == '\r';
		if (c == '\n') {
			p->phase = HTTP1_IN_CHUNK_LINE;
			break;
		}
	}
	return HTTP1_MORE;
}

static enum http1_event trailer(struct http1 *p, struct slice *in)
{
	bool is_end;
	size_t n = head_end(p, *in, &is_end);

	take(in, n);
	p->lines_n = p->lines_n + n > UINT32_MAX ? UINT32_MAX : p->lines_n + (uint32_t)n;
	if (p->lines_n > HTTP1_HEAD_MAX)
		return refuse(p, "a trailer over 64 KiB");
	if (is_end)
		p->phase = HTTP1_ENDING;
	return HTTP1_MORE;
}

static enum http1_event look_for_boundary(struct http1 *p, struct slice *in, int64_t time_ns)
{
	if (in->n && (p->is_answer ? http1_is_status_line(*in) : http1_is_request_line(*in))) {
		p->phase = HTTP1_BETWEEN;
		return begin(p, in, time_ns);
	}
	take(in, in->n);
	return HTTP1_MORE;
}

/* One step; HTTP1_MORE with bytes left means that another phase goes on. */
static enum http1_event step(struct http1 *p, struct slice *in, int64_t time_ns)
{
	switch (p->phase) {
	case HTTP1_BETWEEN:
		return begin(p, in, time_ns);
	case HTTP1_IN_HEAD:
		return collect(p, in);
	case HTTP1_IN_LENGTH:
		return give(p, in, p->left, HTTP1_ENDING);
	case HTTP1_IN_CHUNK_LINE:
		return chunk_line(p, in);
	case HTTP1_IN_CHUNK:
		return give(p, in, p->left, HTTP1_IN_CHUNK_END);
	case HTTP1_IN_CHUNK_END:
		return chunk_end(p, in);
	case HTTP1_IN_TRAILER:
		return trailer(p, in);
	case HTTP1_UNTIL_CLOSE:
		return give(p, in, in->n, HTTP1_UNTIL_CLOSE);
	case HTTP1_ENDING:
		p->phase = HTTP1_BETWEEN;
		return HTTP1_END;
	case HTTP1_REFUSING:
		return refuse(p, p->refusal);
	case HTTP1_LOST:
		return look_for_boundary(p, in, time_ns);
	default:
		take(in, in->n);
		return HTTP1_MORE;
	}
}

enum http1_event http1_next(struct http1 *p, struct slice *in, int64_t time_ns)
{
	enum http1_event event;

	do
		event = step(p, in, time_ns);
	while (event == HTTP1_MORE && (in->n || p->phase == HTTP1_ENDING));
	return event;
}

void http1_no_body(struct http1 *p)
{
	p->phase = HTTP1_ENDING;
}

void http1_opaque(struct http1 *p)
{
	p->phase = HTTP1_OPAQUE;
}

void http1_lose(struct http1 *p)
{
	p->phase = HTTP1_LOST;
	buf_reset(&p->partial);
}

bool http1_gap(struct http1 *p, uint64_t missing_n)
{
	switch (p->phase) {
	case HTTP1_UNTIL_CLOSE:
	case HTTP1_OPAQUE:
	case HTTP1_REFUSED:
		return true;
	case HTTP1_IN_LENGTH:
	case HTTP1_IN_CHUNK:
		if (missing_n > p->left)
			break;
		p->left -= missing_n;
		if (!p->left)
			p->phase = p->phase == HTTP1_IN_LENGTH ? HTTP1_ENDING : HTTP1_IN_CHUNK_END;
		return true;
	default:
		break;
	}
	http1_lose(p);
	return false;
}

bool http1_close(struct http1 *p)
{
	bool was_body = p->phase == HTTP1_UNTIL_CLOSE || p->phase == HTTP1_ENDING;

	if (was_body)
		p->phase = HTTP1_BETWEEN;
	return was_body;
}

bool http1_is_inside(const struct http1 *p)
{
	return p->phase >= HTTP1_IN_HEAD && p->phase <= HTTP1_ENDING;
}
