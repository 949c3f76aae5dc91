/* HTTP/2 streams to exchanges (RFC 9113, 5 and 8), gRPC's status among their fields. */
#include <stdlib.h>

#include "capture/wire/bigendian.h"
#include "capture/wire/http2.h"
#include "capture/wire/http_conn.h"

enum { BUCKETS = 64, STREAMS_MAX = 4096, SETTINGS_MAX = 16, HEADER_TABLE_SIZE = 1 };

struct http2_side {
	struct http2_cutter cutter;
	struct http2_fields *fields; /* of the blocks that this side sends */
	struct buf block; /* HEADERS or PUSH_PROMISE and its CONTINUATIONs */
	uint32_t block_stream; /* 0: none is open */
	uint64_t block_wire_n;
	int64_t block_ns;
	bool is_block_end, is_block_push;
	/* Table sizes of SETTINGS that the other side has not acknowledged; -1: unchanged. */
	int64_t settings[SETTINGS_MAX];
	uint32_t settings_count;
};

struct http2 {
	struct http2_side side[2]; /* 0 client, 1 server */
	struct http_exchange *buckets[BUCKETS];
	uint32_t count;
	uint32_t last_stream; /* the highest that the client opened */
	bool is_late;
};

bool http2_begin(struct http_conn *c, bool is_late)
{
	struct http2 *h = calloc(1, sizeof *h);

	if (!h)
		return false;
	c->two = h;
	h->is_late = is_late;
	for (int i = 0; i < 2; i++) {
		struct http2_side *s = &h->side[i];

		http2_cutter_init(&s->cutter, is_late ? HTTP2_OUT_OF_STEP
					      : i     ? HTTP2_IN_FRAMES
						      : HTTP2_IN_PREFACE);
		buf_init(&s->block, HTTP2_BLOCK_MAX);
		s->fields = http2_fields_new(is_late);
		if (!s->fields) {
			http2_free(c);
			return false;
		}
	}
	c->mode = HTTP_TWO;
	return true;
}

void http2_free(struct http_conn *c)
{
	struct http2 *h = c->two;

	if (!h)
		return;
	for (int i = 0; i < 2; i++) {
		http2_cutter_free(&h->side[i].cutter);
		http2_fields_free(h->side[i].fields);
		buf_free(&h->side[i].block);
	}
	free(h);
	c->two = NULL;
}

/* ---- streams */

static struct http_exchange **place_of(struct http2 *h, uint32_t stream)
{
	struct http_exchange **at = &h->buckets[stream / 2 % BUCKETS];

	while (*at && (*at)->stream != stream)
		at = &(*at)->next;
	return at;
}

static struct http_exchange *find(struct http2 *h, uint32_t stream)
{
	return *place_of(h, stream);
}

static void put(struct http2 *h, struct http_exchange *x, uint32_t stream)
{
	struct http_exchange **at = place_of(h, stream);

	x->stream = stream;
	x->next = *at;
	*at = x;
	h->count++;
}

static void finish(struct http_conn *c, uint32_t stream, uint32_t flags, int64_t end_ns)
{
	struct http_exchange **at = place_of(c->two, stream), *x = *at;

	if (!x)
		return;
	*at = x->next;
	x->next = NULL;
	c->two->count--;
	x->flags |= flags;
	x->is_body_cut = x->is_body_cut || !x->is_asked;
	http_exchange_emit(c, x, end_ns);
}

/* In the order of their streams, so that the same input gives the same output. */
static void finish_above(struct http_conn *c, uint32_t last, uint32_t flags, int64_t end_ns)
{
	struct http2 *h = c->two;

	while (h->count) {
		uint32_t lowest = UINT32_MAX;

		for (int i = 0; i < BUCKETS; i++)
			for (struct http_exchange *x = h->buckets[i]; x; x = x->next)
				if (x->stream > last && x->stream < lowest)
					lowest = x->stream;
		if (lowest == UINT32_MAX)
			return;
		finish(c, lowest, flags, end_ns);
	}
}

/* ---- requests */

struct request_fields {
	struct buf text; /* names and values, one behind the other */
	struct http_span spans[HTTP1_FIELDS_MAX];
	uint32_t count;
	struct http_span method, target, authority, host;
	bool has_unknown, is_over;
};

static struct http_span keep(struct request_fields *r, const struct http2_field *f)
{
	struct http_span s = { .name_at = (uint32_t)r->text.n };

	if (f->name.n + f->value.n > HTTP1_HEAD_MAX - r->text.n) {
		r->is_over = true;
		return (struct http_span){ 0 };
	}
	buf_add_slice(&r->text, f->name);
	s.name_n = (uint32_t)f->name.n;
	s.value_at = (uint32_t)r->text.n;
	buf_add_slice(&r->text, f->value);
	s.value_n = (uint32_t)f->value.n;
	return s;
}

static void on_request_field(void *data, const struct http2_field *f)
{
	struct request_fields *r = data;
	struct http_span s;

	if (f->is_unknown) {
		r->has_unknown = true;
		return;
	}
	s = keep(r, f);
	if (slice_is(f->name, ":method"))
		r->method = s;
	else if (slice_is(f->name, ":path"))
		r->target = s;
	else if (slice_is(f->name, ":authority"))
		r->authority = s;
	else if (f->name.n && f->name.p[0] != ':' && r->count < HTTP1_FIELDS_MAX)
		r->spans[r->count++] = s;
	if (slice_is(f->name, "host"))
		r->host = s;
}

static bool is_value(const struct request_fields *r, struct http_span s, const char *text)
{
	return slice_is((struct slice){ r->text.p + s.value_at, s.value_n }, text);
}

static void set_request(struct http_conn *c, struct http_exchange *x, struct request_fields *r)
{
	x->version = 20;
	x->method = r->method;
	x->target = r->target;
	x->authority = r->authority.value_n ? r->authority : r->host;
	x->is_connect = r->method.value_n && is_value(r, r->method, "CONNECT");
	if (!r->method.value_n || (!r->target.value_n && !x->is_connect))
		x->flags |= REQUEST_TEXT_UNKNOWN;
	if (r->has_unknown || r->is_over || r->text.is_full)
		x->flags |= REQUEST_VALUE_LOST;
	http_exchange_keep_head(c, x, buf_slice(&r->text), r->spans, r->count);
}

static void open_request(struct http_conn *c, uint32_t stream, struct request_fields *r)
{
	struct http2 *h = c->two;
	struct http2_side *s = &h->side[0];
	struct http_exchange *x;

	h->last_stream = stream > h->last_stream ? stream : h->last_stream;
	if (h->count >= STREAMS_MAX) {
		c->wire->ledger->requests_seen++;
		c->wire->ledger->requests_unpaired[UNPAIRED_SHED]++;
		return;
	}
	x = http_exchange_open(c, s->block_ns);
	if (!x)
		return;
	put(h, x, stream);
	set_request(c, x, r);
	x->bytes_in = s->block_wire_n;
	x->is_asked = s->is_block_end;
}

/* A block that is broken leaves the table in doubt: what came before is unknown from here. */
static void decode(struct http_conn *c, struct http2_side *s,
	void (*field)(void *data, const struct http2_field *field), void *data, bool *has_unknown)
{
	bool is_whole = !s->block.is_full &&
			http2_fields_decode(s->fields, buf_slice(&s->block), field, data);

	if (!is_whole) {
		*has_unknown = true;
		if (!http2_fields_restart(s->fields))
			s->cutter.phase = HTTP2_REFUSED;
	}
	c->wire->ledger->lost[LOST_FIELDS] += *has_unknown;
}

static void on_request_block(struct http_conn *c, struct http2_side *s)
{
	struct http_exchange *x = find(c->two, s->block_stream);
	struct request_fields r;

	memset(&r, 0, offsetof(struct request_fields, spans));
	memset(&r.count, 0, sizeof r - offsetof(struct request_fields, count));
	buf_init(&r.text, HTTP1_HEAD_MAX + 1);
	decode(c, s, on_request_field, &r, &r.has_unknown);
	if (x) { /* trailers */
		x->bytes_in += s->block_wire_n;
		x->is_asked = x->is_asked || s->is_block_end;
	} else if (s->block_stream & 1 && s->block_stream > c->two->last_stream) {
		open_request(c, s->block_stream, &r);
	}
	buf_free(&r.text);
}

/* ---- answers */

struct answer_fields {
	uint16_t status;
	uint8_t grpc;
	uint32_t type_n;
	char type[128];
	bool has_unknown;
};

/* At most three digits; 1000: not a number. */
static unsigned small_number(struct slice s)
{
	unsigned n = 0;

	if (!s.n || s.n > 3)
		return 1000;
	for (size_t i = 0; i < s.n; i++) {
		if (s.p[i] < '0' || s.p[i] > '9')
			return 1000;
		n = n * 10 + (unsigned)(s.p[i] - '0');
	}
	return n;
}

static void on_answer_field(void *data, const struct http2_field *f)
{
	struct answer_fields *a = data;
	unsigned n;

	if (f->is_unknown) {
		a->has_unknown = true;
	} else if (slice_is(f->name, ":status")) {
		n = small_number(f->value);
		a->status = n < 1000 ? (uint16_t)n : 0;
	} else if (slice_is(f->name, "grpc-status")) {
		n = small_number(f->value);
		a->grpc = n < 255 ? (uint8_t)(n + 1) : 0;
	} else if (slice_is(f->name, "content-type") && f->value.n < sizeof a->type) {
		a->type_n = (uint32_t)f->value.n;
		memcpy(a->type, f->value.p, f->value.n);
	}
}

static bool is_interim(const struct answer_fields *a)
{
	return a->status >= 100 && a->status < 200;
}

static void set_answer(struct http_exchange *x, const struct answer_fields *a, int64_t start_ns)
{
	if (a->grpc)
		x->grpc = a->grpc;
	if (x->is_answered || is_interim(a))
		return;
	x->is_answered = true;
	x->status = a->status;
	x->first_byte_ns = start_ns;
	http_exchange_set_type(x, (struct slice){ a->type, a->type_n });
}

static void on_answer_block(struct http_conn *c, struct http2_side *s, int64_t time_ns)
{
	struct http_exchange *x = find(c->two, s->block_stream);
	struct answer_fields a;

	memset(&a, 0, sizeof a);
	decode(c, s, on_answer_field, &a, &a.has_unknown);
	if (s->is_block_push || !(s->block_stream & 1))
		return;
	if (!x) {
		if (a.status >= 200 && s->block_stream > c->two->last_stream)
			http_count_stray(c);
		return;
	}
	x->bytes_out += s->block_wire_n;
	x->last_ns = time_ns;
	set_answer(x, &a, s->block_ns);
	if (s->is_block_end)
		finish(c, s->block_stream, 0, time_ns);
}

/* ---- frames */

static void end_block(struct http_conn *c, int side, int64_t time_ns)
{
	struct http2_side *s = &c->two->side[side];

	if (side == 0)
		on_request_block(c, s);
	else
		on_answer_block(c, s, time_ns);
	s->block_stream = 0;
	buf_reset(&s->block);
}

static void begin_block(struct http_conn *c, int side, const struct http2_frame *f, int64_t time_ns)
{
	struct http2_side *s = &c->two->side[side];
	struct slice fragment = f->payload;

	buf_reset(&s->block);
	s->is_block_push = f->type == HTTP2_PUSH_PROMISE;
	if (s->is_block_push) {
		c->wire->ledger->lost[LOST_PUSH]++;
		if (fragment.n < 4)
			return;
		fragment = (struct slice){ fragment.p + 4, fragment.n - 4 };
	}
	s->block_stream = f->stream;
	s->block_wire_n = f->wire_n;
	s->block_ns = f->start_ns;
	s->is_block_end = !s->is_block_push && f->flags & HTTP2_END_STREAM;
	buf_add_slice(&s->block, fragment);
	if (f->flags & HTTP2_END_HEADERS)
		end_block(c, side, time_ns);
}

static void go_on_block(struct http_conn *c, int side, const struct http2_frame *f, int64_t time_ns)
{
	struct http2_side *s = &c->two->side[side];

	if (!s->block_stream || s->block_stream != f->stream)
		return;
	buf_add_slice(&s->block, f->payload);
	s->block_wire_n += f->wire_n;
	if (f->flags & HTTP2_END_HEADERS)
		end_block(c, side, time_ns);
}

static void on_request_data(
	struct http_conn *c, struct http_exchange *x, const struct http2_frame *f)
{
	x->bytes_in += f->wire_n;
	if (x->is_connect)
		x->body_n += f->payload.n;
	else if (f->payload.n)
		http_exchange_keep_body(c, x, f->payload);
	if (f->is_last && f->flags & HTTP2_END_STREAM)
		x->is_asked = true;
}

static void on_data(struct http_conn *c, int side, const struct http2_frame *f, int64_t time_ns)
{
	struct http_exchange *x = find(c->two, f->stream);

	if (!x)
		return;
	if (side == 0) {
		on_request_data(c, x, f);
		return;
	}
	x->bytes_out += f->wire_n;
	x->last_ns = time_ns;
	if (f->is_last && f->flags & HTTP2_END_STREAM)
		finish(c, f->stream, 0, time_ns);
}

/* SETTINGS of one side limit the table of the other's blocks, from its ACK on. */
static void on_settings(struct http_conn *c, int side, const struct http2_frame *f)
{
	struct http2_side *s = &c->two->side[side], *peer = &c->two->side[!side];
	int64_t size = -1;

	if (f->flags & HTTP2_ACK) {
		if (!peer->settings_count)
			return;
		if (peer->settings[0] >= 0)
			http2_fields_set_table(s->fields, (uint32_t)peer->settings[0]);
		peer->settings_count--;
		memmove(peer->settings, peer->settings + 1,
			peer->settings_count * sizeof *peer->settings);
		return;
	}
	for (size_t at = 0; at + 6 <= f->payload.n; at += 6)
		if (be16_at(f->payload.p + at) == HEADER_TABLE_SIZE)
			size = be32_at(f->payload.p + at + 2);
	if (s->settings_count < SETTINGS_MAX)
		s->settings[s->settings_count++] = size;
}

static void on_frame(struct http_conn *c, int side, const struct http2_frame *f, int64_t time_ns)
{
	switch (f->type) {
	case HTTP2_DATA:
		on_data(c, side, f, time_ns);
		break;
	case HTTP2_HEADERS:
	case HTTP2_PUSH_PROMISE:
		begin_block(c, side, f, time_ns);
		break;
	case HTTP2_CONTINUATION:
		go_on_block(c, side, f, time_ns);
		break;
	case HTTP2_RST_STREAM:
		finish(c, f->stream, REQUEST_CANCELLED, time_ns);
		break;
	case HTTP2_SETTINGS:
		on_settings(c, side, f);
		break;
	case HTTP2_GOAWAY:
		/* What the server says it will never look at. */
		if (side == 1 && f->payload.n >= 4)
			finish_above(c, be32_at(f->payload.p) & 0x7fffffff, 0, time_ns);
		break;
	default:
		break;
	}
}

void http2_bytes(struct http_conn *c, bool from_client, struct slice bytes, int64_t time_ns)
{
	int side = from_client ? 0 : 1;
	struct http2_cutter *cutter = &c->two->side[side].cutter;
	struct http2_frame f;
	enum step step;

	while ((step = http2_cut(cutter, &bytes, time_ns, &f)) == STEP_ITEM) {
		http_begin_session(c, time_ns);
		on_frame(c, side, &f, time_ns);
	}
	if (step == STEP_FAIL || cutter->phase == HTTP2_REFUSED) {
		finish_above(c, 0, 0, time_ns);
		c->mode = HTTP_REFUSED;
	}
}

void http2_gap(struct http_conn *c, bool from_client, uint64_t missing_n, int64_t time_ns)
{
	struct http2_side *s = &c->two->side[from_client ? 0 : 1];
	struct http_exchange *x;

	(void)time_ns;
	if (http2_cutter_gap(&s->cutter, missing_n)) {
		x = find(c->two, s->cutter.frame.stream);
		if (!x)
			return;
		x->flags |= REQUEST_GAP;
		x->is_body_cut = x->is_body_cut || from_client;
		x->body_n += from_client ? missing_n : 0;
		return;
	}
	c->resyncs++;
	s->block_stream = 0;
	/* Ends of streams may be among what is missing: only closing will tell. */
	for (int i = 0; i < BUCKETS; i++)
		for (x = c->two->buckets[i]; x; x = x->next)
			x->flags |= REQUEST_GAP;
	if (!http2_fields_restart(s->fields))
		s->cutter.phase = HTTP2_REFUSED;
}

void http2_end(struct http_conn *c, uint32_t flags, int64_t time_ns)
{
	finish_above(c, 0, flags, time_ns);
}

/* ---- h2c by Upgrade (RFC 7540, 3.2) */

static int base64url_digit(char ch)
{
	if (ch >= 'A' && ch <= 'Z')
		return ch - 'A';
	if (ch >= 'a' && ch <= 'z')
		return ch - 'a' + 26;
	if (ch >= '0' && ch <= '9')
		return ch - '0' + 52;
	return ch == '-' || ch == '+' ? 62 : ch == '_' || ch == '/' ? 63 : -1;
}

static size_t base64url(struct slice text, char *to, size_t max)
{
	uint32_t bits = 0;
	size_t n = 0, bit_count = 0;

	for (size_t i = 0; i < text.n && n < max; i++) {
		int digit = base64url_digit(text.p[i]);

		if (digit < 0)
			break;
		bits = bits << 6 | (uint32_t)digit;
		bit_count += 6;
		if (bit_count >= 8) {
			bit_count -= 8;
			to[n++] = (char)(bits >> bit_count & 255);
		}
	}
	return n;
}

/* The 101 acknowledges the settings, so they hold at once. */
void http2_upgrade(struct http_conn *c, struct http_exchange *upgraded, struct slice settings)
{
	char bytes[120];
	size_t n = base64url(settings, bytes, sizeof bytes);
	struct http2 *h = c->two;

	for (size_t at = 0; at + 6 <= n; at += 6)
		if (be16_at(bytes + at) == HEADER_TABLE_SIZE)
			http2_fields_set_table(h->side[1].fields, be32_at(bytes + at + 2));
	put(h, upgraded, 1);
	h->last_stream = 1;
}
