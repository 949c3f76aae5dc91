#include "core/format/http1.h"

#include <strings.h>

#include "core/base/hex.h"

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

/* ---- start lines */

static bool is_token(struct slice s)
{
	for (size_t i = 0; i < s.n; i++)
		if ((s.p[i] < 'A' || s.p[i] > 'Z') &&
			(s.p[i] <= ' ' || s.p[i] == 127 || strchr("()<>@,;:\\\"/[]?={}", s.p[i])))
			return false;
	return s.n > 0;
}

/* "HTTP/1.x": 10 or 11 (a higher minor reads as 1.1), else 0. */
static uint8_t version_of(const char *p)
{
	if (memcmp(p, "HTTP/1.", 7) != 0 || p[7] < '0' || p[7] > '9')
		return 0;
	return p[7] == '0' ? 10 : 11;
}

static struct slice trimmed(const char *from, const char *to)
{
	while (from < to && (*from == ' ' || *from == '\t' || *from == '\r' || *from == '\n'))
		from++;
	while (to > from && (to[-1] == ' ' || to[-1] == '\t' || to[-1] == '\r' || to[-1] == '\n'))
		to--;
	return (struct slice){ from, (size_t)(to - from) };
}

/* A method in capitals and a version that is not where it should be, as in "GET /HTTP/1.1"
 * or "GET / HTTP/1.": servers answer it, though mostly with 400. */
static bool read_odd_request_line(struct http1_head *h, struct slice line)
{
	const char *end = line.p + line.n, *p = line.p, *version;

	while (p < end && ((*p >= 'A' && *p <= 'Z') || *p == '-' || *p == '_'))
		p++;
	if (p - line.p < 3 || p - line.p > 32 || p == end || *p != ' ')
		return false;
	h->version = 10;
	h->method = (struct slice){ line.p, (size_t)(p - line.p) };
	h->target = trimmed(p, end);
	version = memmem(h->target.p, h->target.n, "HTTP/", 5);
	if (version && version > h->target.p && version[-1] == ' ')
		h->target = trimmed(p, version);
	return version != NULL;
}

/* RFC 9112, 3. A target with blanks in it is kept whole. */
static bool read_plain_request_line(struct http1_head *h, struct slice line)
{
	const char *end = line.p + line.n, *blank = memchr(line.p, ' ', line.n);

	if (!blank || end - blank < 10 || end[-9] != ' ')
		return false;
	h->version = version_of(end - 8);
	h->method = (struct slice){ line.p, (size_t)(blank - line.p) };
	h->target = trimmed(blank, end - 9);
	return h->version && h->target.n && h->method.n <= 32 && is_token(h->method);
}

static bool read_request_line(struct http1_head *h, struct slice line)
{
	return read_plain_request_line(h, line) || read_odd_request_line(h, line);
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* RFC 9112, 4. */
static bool read_plain_status_line(struct http1_head *h, struct slice line)
{
	const char *p = line.p;

	if (line.n < 12 || p[8] != ' ' || !is_digit(p[9]) || !is_digit(p[10]) || !is_digit(p[11]))
		return false;
	if (line.n > 12 && p[12] != ' ')
		return false;
	h->version = version_of(p);
	h->status = (uint16_t)((p[9] - '0') * 100 + (p[10] - '0') * 10 + p[11] - '0');
	return h->version && h->status >= 100;
}

/* More blanks, or a version that nobody speaks: it is the answer all the same. */
static bool read_odd_status_line(struct http1 *p, struct slice line)
{
	const char *end = line.p + line.n, *at = line.p + 5, *blank = memchr(line.p, ' ', line.n);
	char plain[12] = "HTTP/1.1 200";

	if (!blank || line.n < 10 || memcmp(line.p, "HTTP/", 5) != 0 || !is_digit(*at))
		return false;
	for (; at < blank; at++)
		if (!is_digit(*at) && *at != '.')
			return false;
	while (at < end && *at == ' ')
		at++;
	if (end - at < 3 || (end - at > 3 && at[3] != ' '))
		return false;
	memcpy(plain + 9, at, 3);
	if (blank - line.p != 8 || !version_of(line.p))
		p->refusal = "a version of HTTP that does not exist";
	return read_plain_status_line(&p->head, (struct slice){ plain, sizeof plain });
}

static bool read_start_line(struct http1 *p, struct slice line)
{
	if (!p->is_answer)
		return read_request_line(&p->head, line);
	return read_plain_status_line(&p->head, line) || read_odd_status_line(p, line);
}

bool http1_is_status_line(struct slice b)
{
	struct http1_head h;

	return b.n >= 12 && read_plain_status_line(&h, (struct slice){ b.p, 12 });
}

bool http1_is_request_line(struct slice b)
{
	const char *nl = memchr(b.p, '\n', b.n);
	const char *blank = memchr(b.p, ' ', b.n < 33 ? b.n : 33);
	struct http1_head h;

	if (!blank || b.p + b.n - blank < 2)
		return false;
	if (nl)
		return read_plain_request_line(&h, trimmed(b.p, nl));
	/* The line goes on in the next segment: a method in capitals, then a target. */
	for (const char *p = b.p; p < blank; p++)
		if (!((*p >= 'A' && *p <= 'Z') || *p == '-' || *p == '_'))
			return false;
	return blank - b.p >= 3 && (blank[1] == '/' || blank[1] == '*' || blank[1] == 'h' ||
					   (blank - b.p == 7 && memcmp(b.p, "CONNECT", 7) == 0));
}

/* ---- fields */

static bool is_name(const char *p, size_t n, const char *name)
{
	return strncasecmp(p, name, n) == 0;
}

/* RFC 9112, 6.3: a list of equal plain numbers is that number. */
static bool read_length(struct http1_head *h, struct slice v)
{
	const char *p = v.p, *end = v.p + v.n;

	for (;;) {
		uint64_t n = 0;
		const char *digits = p;

		for (; p < end && is_digit(*p); p++)
			if (n > (INT64_MAX - 9) / 10)
				return false;
			else
				n = n * 10 + (uint64_t)(*p - '0');
		if (p == digits || (h->has_length && h->length != n))
			return false;
		h->has_length = true;
		h->length = n;
		while (p < end && (*p == ' ' || *p == '\t'))
			p++;
		if (p == end)
			return true;
		if (*p++ != ',')
			return false;
		while (p < end && (*p == ' ' || *p == '\t'))
			p++;
	}
}

/* The codings in order; only the last one may be "chunked" (RFC 9112, 6.1). */
static bool read_codings(struct http1_head *h, struct slice v, bool *has_coding)
{
	const char *p = v.p, *end = v.p + v.n;

	while (p < end) {
		const char *comma = memchr(p, ',', (size_t)(end - p));
		struct slice coding = trimmed(p, comma ? comma : end);
		bool is_chunked = coding.n == 7 && is_name(coding.p, 7, "chunked");

		p = comma ? comma + 1 : end;
		if (!coding.n)
			continue;
		if (h->is_chunked)
			return false;
		h->is_chunked = is_chunked;
		*has_coding = *has_coding || !(coding.n == 8 && is_name(coding.p, 8, "identity"));
	}
	return true;
}

static bool has_word(struct slice v, const char *word, size_t word_n)
{
	const char *p = v.p, *end = v.p + v.n;

	while (p < end) {
		const char *comma = memchr(p, ',', (size_t)(end - p));
		struct slice item = trimmed(p, comma ? comma : end);

		if (item.n == word_n && is_name(item.p, word_n, word))
			return true;
		p = comma ? comma + 1 : end;
	}
	return false;
}

/* NULL, or why the message is refused. */
static const char *read_field(
	struct http1_head *h, const char *name, size_t n, struct slice v, bool *has_coding)
{
	switch (n) {
	case 4:
		if (is_name(name, n, "host") && !h->host.n)
			h->host = v;
		break;
	case 7:
		if (is_name(name, n, "upgrade"))
			h->upgrade = v;
		break;
	case 10:
		if (is_name(name, n, "connection") && has_word(v, "upgrade", 7))
			h->is_upgrade = true;
		break;
	case 12:
		if (is_name(name, n, "content-type"))
			h->content_type = v;
		break;
	case 14:
		if (is_name(name, n, "content-length") && !read_length(h, v))
			return "a Content-Length that is no plain number, or two that differ";
		break;
	case 17:
		if (is_name(name, n, "transfer-encoding") && !read_codings(h, v, has_coding))
			return "a Transfer-Encoding in which chunked is not the last";
		break;
	default:
		break;
	}
	return NULL;
}

/* The first letters of the names above. */
static bool may_matter(char c)
{
	switch (c | 0x20) {
	case 'c':
	case 'h':
	case 't':
	case 'u':
		return true;
	default:
		return false;
	}
}

static void add_span(
	struct http1 *p, const char *base, const char *name, size_t name_n, struct slice value)
{
	struct http1_head *h = &p->head;

	if (!p->spans || h->field_count == HTTP1_FIELDS_MAX)
		return;
	p->spans[h->field_count++] = (struct http_span){ (uint32_t)(name - base), (uint32_t)name_n,
		(uint32_t)(value.p - base), (uint32_t)value.n };
}

/* The line break that ends the field which begins at p: folds (RFC 9112, 5.2) are part of it. */
static const char *field_end(struct http1_head *h, const char *p, const char *end)
{
	const char *nl = memchr(p, '\n', (size_t)(end - p));

	while (nl && nl + 1 < end && (nl[1] == ' ' || nl[1] == '\t')) {
		h->has_fold = true;
		nl = memchr(nl + 1, '\n', (size_t)(end - nl - 1));
	}
	return nl && nl + 1 < end ? nl : NULL;
}

/* RFC 9112, 6.3. */
static enum http1_event frame(struct http1 *p, bool has_coding)
{
	struct http1_head *h = &p->head;

	if (p->is_answer && (h->status < 200 || h->status == 204 || h->status == 304)) {
		p->phase = HTTP1_ENDING;
	} else if (p->refusal) {
		p->phase = HTTP1_REFUSING;
	} else if (h->is_chunked) {
		p->phase = HTTP1_IN_CHUNK_LINE;
	} else if (has_coding) {
		p->phase = p->is_answer ? HTTP1_UNTIL_CLOSE : HTTP1_REFUSING;
		p->refusal = p->is_answer ? NULL : "a request whose Transfer-Encoding has no end";
	} else if (h->has_length) {
		p->left = h->length;
		p->phase = h->length ? HTTP1_IN_LENGTH : HTTP1_ENDING;
	} else {
		p->phase = p->is_answer ? HTTP1_UNTIL_CLOSE : HTTP1_ENDING;
	}
	p->line_n = p->lines_n = 0;
	p->left = p->phase == HTTP1_IN_LENGTH ? h->length : 0;
	p->has_digit = p->is_past_digits = p->was_cr = false;
	return HTTP1_HEAD;
}

/* The fields from *at on; moves it behind the empty line. */
static enum http1_event read_fields(
	struct http1 *p, const char *base, const char **io_at, const char *end, bool *has_coding)
{
	struct http1_head *h = &p->head;
	const char *at = *io_at;

	for (;;) {
		const char *colon, *why, *nl;

		if (at < end && *at == '\n')
			break;
		if (at + 1 < end && *at == '\r' && at[1] == '\n') {
			at++;
			break;
		}
		nl = at < end ? field_end(h, at, end) : NULL;
		if (!nl)
			return HTTP1_MORE;
		if (p->spans || may_matter(*at)) {
			colon = memchr(at, ':', (size_t)(nl - at));
			if (colon) {
				struct slice v = trimmed(colon + 1, nl);
				size_t n = (size_t)(colon - at);

				while (n && (at[n - 1] == ' ' || at[n - 1] == '\t'))
					n--;
				add_span(p, base, at, n, v);
				why = may_matter(*at) ? read_field(h, at, n, v, has_coding) : NULL;
				if (why && !p->refusal)
					p->refusal = why;
			}
		}
		at = nl + 1;
	}
	*io_at = at + 1;
	return HTTP1_HEAD;
}

/* ---- the same fields again */

static struct slice slice_at(const char *base, uint32_t at, size_t n)
{
	return n ? (struct slice){ base + at, n } : (struct slice){ 0 };
}

/* line_n: the start line's bytes. True when the fields behind it are those of the memo. */
static bool recall(struct http1 *p, const char *base, size_t line_n, size_t rest_n)
{
	const struct http1_memo *m = p->memo;
	const char *fields = base + line_n;
	struct http1_head first = p->head;

	if (!m || !m->n || m->n > rest_n || m->has_spans != (p->spans != NULL) ||
		memcmp(fields, m->bytes, m->n) != 0)
		return false;
	p->head = m->head;
	p->head.method = first.method;
	p->head.target = first.target;
	p->head.status = first.status;
	p->head.version = first.version;
	p->head.host = slice_at(fields, m->host_at, m->head.host.n);
	p->head.content_type = slice_at(fields, m->content_type_at, m->head.content_type.n);
	p->head.upgrade = slice_at(fields, m->upgrade_at, m->head.upgrade.n);
	for (uint32_t i = 0; p->spans && i < p->head.field_count; i++)
		p->spans[i] = (struct http_span){ m->spans[i].name_at + (uint32_t)line_n,
			m->spans[i].name_n, m->spans[i].value_at + (uint32_t)line_n,
			m->spans[i].value_n };
	return true;
}

static void memorise(
	struct http1 *p, const char *base, size_t line_n, size_t fields_n, bool has_coding)
{
	struct http1_memo *m = p->memo;
	const char *fields = base + line_n;
	const struct http1_head *h = &p->head;

	if (!m || p->refusal || h->has_fold || fields_n > HTTP1_MEMO_BYTES ||
		h->field_count > HTTP1_MEMO_FIELDS)
		return;
	m->n = (uint32_t)fields_n;
	m->has_spans = p->spans != NULL;
	m->has_coding = has_coding;
	m->head = *h;
	m->host_at = h->host.n ? (uint32_t)(h->host.p - fields) : 0;
	m->content_type_at = h->content_type.n ? (uint32_t)(h->content_type.p - fields) : 0;
	m->upgrade_at = h->upgrade.n ? (uint32_t)(h->upgrade.p - fields) : 0;
	for (uint32_t i = 0; p->spans && i < h->field_count; i++)
		m->spans[i] = (struct http_span){ p->spans[i].name_at - (uint32_t)line_n,
			p->spans[i].name_n, p->spans[i].value_at - (uint32_t)line_n,
			p->spans[i].value_n };
	memcpy(m->bytes, fields, fields_n);
}

/* Reads a head that begins at b.p. HTTP1_MORE: it is not whole. */
static enum http1_event read_head(struct http1 *p, struct slice b, size_t *ret_n)
{
	struct http1_head *h = &p->head;
	const char *end = b.p + b.n, *at, *nl = memchr(b.p, '\n', b.n);
	bool has_coding = false;
	size_t line_n;

	if (!nl)
		return HTTP1_MORE;
	*h = (struct http1_head){ 0 };
	p->refusal = NULL;
	at = nl + 1;
	line_n = (size_t)(at - b.p);
	if (!read_start_line(p, trimmed(b.p, nl)))
		return HTTP1_LOSING;
	if (recall(p, b.p, line_n, b.n - line_n)) {
		at += p->memo->n;
		has_coding = p->memo->has_coding;
	} else {
		enum http1_event event = read_fields(p, b.p, &at, end, &has_coding);

		if (event != HTTP1_HEAD)
			return event;
		memorise(p, b.p, line_n, (size_t)(at - b.p) - line_n, has_coding);
	}
	*ret_n = (size_t)(at - b.p);
	h->bytes = (struct slice){ b.p, *ret_n };
	return frame(p, has_coding);
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
		enum http1_event event = read_head(p, buf_slice(&p->partial), &n);

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
	event = read_head(p, buf_slice(&p->partial), &read_n);
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
	event = read_head(p, *in, &n);
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
