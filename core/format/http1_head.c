#include "core/format/http1_head.h"

#include <strings.h>

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

enum http1_event http1_read_head(struct http1 *p, struct slice b, size_t *ret_n)
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
