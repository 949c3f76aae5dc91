#include "capture/log/gor_message.h"

static struct slice in_head(const struct gor_message *m, struct slice s, const char *head)
{
	return s.n ? (struct slice){ m->head.p + (s.p - head), s.n } : (struct slice){ 0 };
}

/* The parser's head lives until its next call only. */
static bool keep_head(struct gor_message *m, struct raw_http *ret)
{
	const struct http1_head *h = &m->parser.head;

	buf_reset(&m->head);
	buf_add_slice(&m->head, h->bytes);
	if (m->head.is_full)
		return false;
	ret->method = in_head(m, h->method, h->bytes.p);
	ret->target = in_head(m, h->target, h->bytes.p);
	ret->authority = in_head(m, h->host, h->bytes.p);
	ret->version = h->version;
	ret->is_chunked = h->is_chunked;
	ret->field_count = h->field_count;
	ret->fields = m->fields;
	for (size_t i = 0; i < h->field_count; i++) {
		const struct http_span *s = &m->spans[i];

		m->fields[i].name = (struct slice){ m->head.p + s->name_at, s->name_n };
		m->fields[i].value = (struct slice){ m->head.p + s->value_at, s->value_n };
	}
	return true;
}

static void keep_body(struct gor_message *m, struct raw_http *ret)
{
	struct slice piece = m->parser.piece;
	size_t room = HTTP_BODY_MAX - m->body.n;

	ret->body_n += piece.n;
	ret->is_body_cut |= piece.n > room;
	buf_add(&m->body, piece.p, piece.n < room ? piece.n : room);
}

static void begin(struct gor_message *m, bool is_answer)
{
	http1_free(&m->parser);
	http1_init(&m->parser, is_answer);
	m->parser.spans = m->spans;
	buf_reset(&m->body);
	m->has_more = m->is_cut = false;
}

bool gor_message_request(
	struct gor_message *m, struct slice payload, struct raw_http *ret, const char **ret_why)
{
	bool has_head = false;

	*ret = (struct raw_http){ 0 };
	*ret_why = "no HTTP request";
	begin(m, false);
	for (;;) {
		switch (http1_next(&m->parser, &payload, 0)) {
		case HTTP1_HEAD:
			if (!keep_head(m, ret))
				return false;
			has_head = true;
			break;
		case HTTP1_BODY:
			keep_body(m, ret);
			break;
		case HTTP1_MORE:
			/* Older versions took the chunks apart and left the header. */
			m->is_cut = has_head;
			ret->is_body_cut |= m->is_cut;
			ret->body = buf_slice(&m->body);
			return has_head;
		case HTTP1_END:
			m->has_more = payload.n > 0;
			ret->body = buf_slice(&m->body);
			return true;
		default:
			ret->is_body_cut = true;
			ret->body = buf_slice(&m->body);
			return has_head;
		}
	}
}

bool gor_message_response(
	struct gor_message *m, struct slice payload, uint16_t *ret_status, struct slice *ret_type)
{
	for (;;) {
		begin(m, true);
		if (http1_next(&m->parser, &payload, 0) != HTTP1_HEAD)
			return false;
		const struct http1_head *h = &m->parser.head;
		buf_reset(&m->head);
		buf_add_slice(&m->head, h->bytes);
		*ret_status = h->status;
		*ret_type = in_head(m, h->content_type, h->bytes.p);
		/* 100 Continue stands before the answer. */
		if (h->status >= 200 || h->status == 101)
			return true;
	}
}

void gor_message_free(struct gor_message *m)
{
	http1_free(&m->parser);
	buf_free(&m->head);
	buf_free(&m->body);
}
