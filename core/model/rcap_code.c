#include "core/model/rcap_code.h"

#include <stdlib.h>

#include "core/model/rcap_block.h"

/* The optional fields of a request, in the order they are written. */
enum {
	HAS_STATEMENT = 1,
	HAS_PORTAL = 2,
	HAS_ROW_LIMIT = 4,
	HAS_SQLSTATE = 8,
	HAS_STATUS = 16,
	HAS_VALUES = 32,
	HAS_EDGES = 64,
	HAS_COPY = 128,
};

enum {
	FIXED_MAX = 192, /* bytes of a request without values, edges and rows */
	VALUE_MAX = 32, /* of a value without its bytes */
	EDGE_MAX = 32,
	COUNT_MAX = 65535,
};

static const char state_letters[4] = { '?', 'I', 'T', 'E' };

/* ---- writing: room is taken once per record, so these do not check */

static unsigned char *put_varint(unsigned char *p, uint64_t v)
{
	for (; v >= 0x80; v >>= 7)
		*p++ = (unsigned char)(v | 0x80);
	*p++ = (unsigned char)v;
	return p;
}

static uint64_t zigzag(uint64_t difference)
{
	return difference << 1 ^ (difference >> 63 ? UINT64_MAX : 0);
}

static unsigned char *put_difference(unsigned char *p, uint64_t now, uint64_t before)
{
	return put_varint(p, zigzag(now - before));
}

static unsigned char *put_slice(unsigned char *p, struct slice s)
{
	p = put_varint(p, s.n);
	if (s.n)
		memcpy(p, s.p, s.n);
	return p + s.n;
}

/* The payload was written two bytes into the room; a length that needs more than
 * one byte moves it up. */
static void close_frame(struct buf *to, unsigned char *room, uint8_t kind, unsigned char *end)
{
	size_t n = (size_t)(end - room) - 2;
	unsigned char length[10];
	size_t length_bytes = (size_t)(put_varint(length, n) - length);

	if (length_bytes > 1)
		memmove(room + 1 + length_bytes, room + 2, n);
	room[0] = kind;
	memcpy(room + 1, length, length_bytes);
	to->n += 1 + length_bytes + n;
}

/* Sums and differences of times must not overflow in whoever reads them: what is 73 years or
 * more from 1970 is a clock's mistake, and is written as the last time that readers take. */
#define TIME_BOUND (INT64_C(1) << 61)

static int64_t sane_time(int64_t ns)
{
	return ns >= TIME_BOUND ? TIME_BOUND - 1 : ns <= -TIME_BOUND ? 1 - TIME_BOUND : ns;
}

void rcap_code_session(const struct session_record *s, struct buf *to)
{
	size_t need =
		128 + s->client.n + s->server.n + s->user.n + s->database.n + s->application.n;
	unsigned char *room = (unsigned char *)buf_room(to, need);

	if (!room)
		return;
	unsigned char *p = put_varint(room + 2, s->id);
	*p++ = (unsigned char)s->protocol;
	p = put_difference(p, (uint64_t)sane_time(s->open_ns), 0);
	p = put_difference(p, (uint64_t)sane_time(s->close_ns), 0);
	p = put_varint(p, s->flags);
	p = put_slice(p, s->client);
	p = put_slice(p, s->server);
	p = put_slice(p, s->user);
	p = put_slice(p, s->database);
	p = put_slice(p, s->application);
	close_frame(to, room, RCAP_RECORD_SESSION, p);
}

static unsigned state_code(char state)
{
	for (unsigned i = 1; i < LENGTH(state_letters); i++)
		if (state_letters[i] == state)
			return i;
	return 0;
}

static unsigned char *put_value(unsigned char *p, const struct value *v)
{
	*p++ = (unsigned char)((v->is_bind ? 1 : 0) | (v->format & 1) << 1 | (v->role & 3) << 2 |
			       (v->action & 3) << 4 | (v->flags ? 64 : 0) |
			       (v->type_oid ? 128 : 0));
	p = put_varint(p, v->place);
	if (v->flags)
		*p++ = v->flags;
	if (v->type_oid)
		p = put_varint(p, v->type_oid);
	return put_slice(p, v->bytes);
}

static unsigned char *put_edge(unsigned char *p, const struct edge *e)
{
	p = put_varint(p, e->from_seq);
	p = put_varint(p, e->row);
	p = put_varint(p, e->column);
	p = put_varint(p, e->value);
	*p++ = e->is_strong;
	return p;
}

static size_t size_bound(const struct request_record *q)
{
	size_t n = FIXED_MAX;

	if (q->value_count > COUNT_MAX || q->edge_count > COUNT_MAX ||
		q->copy_data.n > RCAP_RECORD_MAX)
		return SIZE_MAX;
	for (size_t i = 0; i < q->value_count; i++) {
		if (q->values[i].bytes.n > RCAP_RECORD_MAX)
			return SIZE_MAX;
		n += VALUE_MAX + q->values[i].bytes.n;
	}
	return n + q->edge_count * EDGE_MAX + q->copy_data.n;
}

static unsigned presence(const struct request_record *q)
{
	return (q->statement ? HAS_STATEMENT : 0) | (q->portal ? HAS_PORTAL : 0) |
	       (q->row_limit ? HAS_ROW_LIMIT : 0) | (q->sqlstate[0] ? HAS_SQLSTATE : 0) |
	       (q->status ? HAS_STATUS : 0) | (q->value_count ? HAS_VALUES : 0) |
	       (q->edge_count ? HAS_EDGES : 0) | (q->copy_data.n ? HAS_COPY : 0);
}

static unsigned char *put_optional(unsigned char *p, const struct request_record *q, unsigned has)
{
	if (has & HAS_STATEMENT)
		p = put_varint(p, q->statement);
	if (has & HAS_PORTAL)
		p = put_varint(p, q->portal);
	if (has & HAS_ROW_LIMIT)
		p = put_varint(p, q->row_limit);
	if (has & HAS_SQLSTATE) {
		memcpy(p, q->sqlstate, 5);
		p += 5;
	}
	if (has & HAS_STATUS)
		p = put_varint(p, q->status);
	if (has & HAS_VALUES) {
		p = put_varint(p, q->value_count);
		for (size_t i = 0; i < q->value_count; i++)
			p = put_value(p, &q->values[i]);
	}
	if (has & HAS_EDGES) {
		p = put_varint(p, q->edge_count);
		for (size_t i = 0; i < q->edge_count; i++)
			p = put_edge(p, &q->edges[i]);
	}
	if (has & HAS_COPY)
		p = put_slice(p, q->copy_data);
	/* Since minor version 1, at the end: readers of before step over it. */
	if (q->grpc)
		*p++ = q->grpc;
	return p;
}

static unsigned char *put_times(
	unsigned char *p, const struct rcap_state *state, const struct request_record *q)
{
	p = put_difference(p, (uint64_t)q->end_ns, (uint64_t)state->end_ns);
	p = put_varint(p, (uint64_t)q->end_ns - (uint64_t)q->start_ns);
	/* 0: no answer; else 1 + zigzag of the distance from the start */
	p = put_varint(p, q->first_byte_ns
				  ? 1 + zigzag((uint64_t)q->first_byte_ns - (uint64_t)q->start_ns)
				  : 0);
	return put_varint(p, (uint64_t)q->think_ns + 1);
}

void rcap_code_request(
	struct rcap_state *state, const struct request_record *request, struct buf *to)
{
	struct request_record q = *request;
	size_t bound = size_bound(&q);

	if (bound > RCAP_RECORD_MAX) {
		q.value_count = q.edge_count = 0;
		q.copy_data = (struct slice){ NULL, 0 };
		q.flags |= REQUEST_VALUE_LOST;
		bound = FIXED_MAX;
	}
	q.start_ns = sane_time(q.start_ns);
	q.end_ns = sane_time(q.end_ns);
	q.first_byte_ns = sane_time(q.first_byte_ns);
	q.think_ns = sane_time(q.think_ns);
	/* A clock that was set back in between: the request keeps its end. */
	if (q.start_ns > q.end_ns)
		q.start_ns = q.end_ns;
	if (q.think_ns < -1)
		q.think_ns = 0;
	unsigned char *room = (unsigned char *)buf_room(to, bound);
	if (!room)
		return;
	unsigned has = presence(&q);
	unsigned char *p = room + 2;
	*p++ = (unsigned char)has;
	*p++ = (unsigned char)((q.form & 15) | state_code(q.state_before) << 4 |
			       state_code(q.state_after) << 6);
	p = put_varint(p, q.session);
	p = put_difference(p, q.seq, state->seq);
	p = put_times(p, state, &q);
	p = put_varint(p, q.route);
	p = put_varint(p, q.template_id);
	p = put_varint(p, q.flags);
	p = put_varint(p, q.in_flight);
	p = put_varint(p, q.rows);
	p = put_varint(p, q.bytes_in);
	p = put_varint(p, q.bytes_out);
	p = put_optional(p, &q, has);
	close_frame(to, room, RCAP_RECORD_REQUEST, p);
	state->end_ns = q.end_ns;
	state->seq = q.seq;
}

/* ---- reading */

/* Most fields are one byte; the rest goes the checked way. */
static inline uint64_t get(struct cursor *c)
{
	if (!c->is_short && c->p < c->end && *c->p < 0x80)
		return *c->p++;
	return cursor_varint(c);
}

static inline uint64_t unzigzag(uint64_t v)
{
	return v >> 1 ^ (v & 1 ? UINT64_MAX : 0);
}

static uint64_t get_max(struct cursor *c, uint64_t max)
{
	uint64_t v = get(c);

	if (v <= max)
		return v;
	c->is_short = true;
	return 0;
}

enum step rcap_next_record(struct cursor *c, uint8_t *ret_kind, struct slice *ret_payload)
{
	if (!c->is_short && cursor_left(c) == 0)
		return STEP_END;
	*ret_kind = cursor_u8(c);
	size_t n = (size_t)get_max(c, RCAP_RAW_MAX);
	*ret_payload = cursor_bytes(c, n);
	return c->is_short ? STEP_FAIL : STEP_ITEM;
}

static bool is_sane_time(int64_t ns)
{
	return sane_time(ns) == ns;
}

bool rcap_decode_session(struct slice payload, struct session_record *ret)
{
	struct cursor c = cursor_of(payload.p, payload.n);

	*ret = (struct session_record){ .is_sealed = true };
	ret->id = get(&c);
	uint8_t protocol = cursor_u8(&c);
	ret->protocol = (enum protocol)protocol;
	ret->open_ns = (int64_t)unzigzag(get(&c));
	ret->close_ns = (int64_t)unzigzag(get(&c));
	ret->flags = (uint32_t)get_max(&c, UINT32_MAX);
	ret->client = cursor_counted(&c);
	ret->server = cursor_counted(&c);
	ret->user = cursor_counted(&c);
	ret->database = cursor_counted(&c);
	ret->application = cursor_counted(&c);
	return !c.is_short && (protocol == PROTOCOL_PG || protocol == PROTOCOL_HTTP) &&
	       is_sane_time(ret->open_ns) && is_sane_time(ret->close_ns);
}

static bool grow(void **items, size_t *room, size_t need, size_t size)
{
	if (need <= *room)
		return true;
	size_t n = need < 16 ? 16 : need;
	void *p = realloc(*items, n * size);
	if (!p)
		return false;
	*items = p;
	*room = n;
	return true;
}

/* A count is believed only as far as the bytes left could hold so many. */
static size_t get_count(struct cursor *c, size_t least_bytes)
{
	uint64_t n = get_max(c, COUNT_MAX);

	if (n * least_bytes > cursor_left(c))
		c->is_short = true;
	return c->is_short ? 0 : (size_t)n;
}

static bool get_values(struct rcap_decoder *d, struct cursor *c, struct request_record *ret)
{
	size_t n = get_count(c, 3);

	d->is_out_of_memory = !grow((void **)&d->values, &d->value_room, n, sizeof(*d->values));
	if (d->is_out_of_memory)
		return false;
	for (size_t i = 0; i < n && !c->is_short; i++) {
		uint8_t bits = cursor_u8(c);
		struct value *v = &d->values[i];

		*v = (struct value){ .is_bind = bits & 1,
			.format = bits >> 1 & 1,
			.role = bits >> 2 & 3,
			.action = bits >> 4 & 3 };
		v->place = (uint16_t)get_max(c, UINT16_MAX);
		v->flags = bits & 64 ? cursor_u8(c) : 0;
		v->type_oid = bits & 128 ? (uint32_t)get_max(c, UINT32_MAX) : 0;
		v->bytes = cursor_counted(c);
	}
	ret->values = d->values;
	ret->value_count = n;
	return !c->is_short;
}

static bool get_edges(struct rcap_decoder *d, struct cursor *c, struct request_record *ret)
{
	size_t n = get_count(c, 5);

	d->is_out_of_memory = !grow((void **)&d->edges, &d->edge_room, n, sizeof(*d->edges));
	if (d->is_out_of_memory)
		return false;
	for (size_t i = 0; i < n && !c->is_short; i++) {
		struct edge *e = &d->edges[i];

		e->from_seq = get(c);
		e->row = (uint32_t)get_max(c, UINT32_MAX);
		e->column = (uint16_t)get_max(c, UINT16_MAX);
		e->value = (uint16_t)get_max(c, UINT16_MAX);
		e->is_strong = cursor_u8(c) != 0;
		if (e->value >= ret->value_count)
			return false;
	}
	ret->edges = d->edges;
	ret->edge_count = n;
	return !c->is_short;
}

static bool get_optional(
	struct rcap_decoder *d, struct cursor *c, unsigned has, struct request_record *ret)
{
	ret->statement = has & HAS_STATEMENT ? (uint32_t)get_max(c, UINT32_MAX) : 0;
	ret->portal = has & HAS_PORTAL ? (uint32_t)get_max(c, UINT32_MAX) : 0;
	ret->row_limit = has & HAS_ROW_LIMIT ? (uint32_t)get_max(c, UINT32_MAX) : 0;
	if (has & HAS_SQLSTATE) {
		struct slice s = cursor_bytes(c, 5);

		if (s.n)
			memcpy(ret->sqlstate, s.p, s.n);
	}
	ret->status = has & HAS_STATUS ? (uint16_t)get_max(c, UINT16_MAX) : 0;
	if (has & HAS_VALUES && !get_values(d, c, ret))
		return false;
	if (has & HAS_EDGES && !get_edges(d, c, ret))
		return false;
	if (has & HAS_COPY)
		ret->copy_data = cursor_counted(c);
	if (!c->is_short && cursor_left(c))
		ret->grpc = cursor_u8(c);
	return !c->is_short;
}

static bool get_times(struct rcap_decoder *d, struct cursor *c, struct request_record *ret)
{
	ret->end_ns = (int64_t)((uint64_t)d->state.end_ns + unzigzag(get(c)));
	uint64_t duration = get(c);
	ret->start_ns = (int64_t)((uint64_t)ret->end_ns - duration);
	uint64_t first_byte = get(c);
	if (first_byte)
		ret->first_byte_ns = (int64_t)((uint64_t)ret->start_ns + unzigzag(first_byte - 1));
	uint64_t think = get(c);
	ret->think_ns = (int64_t)(think - 1);
	return !c->is_short && is_sane_time(ret->start_ns) && is_sane_time(ret->end_ns) &&
	       ret->start_ns <= ret->end_ns && is_sane_time(ret->first_byte_ns) &&
	       ret->think_ns >= -1 && is_sane_time(ret->think_ns);
}

bool rcap_decode_request(struct rcap_decoder *d, struct slice payload, struct request_record *ret)
{
	struct cursor c = cursor_of(payload.p, payload.n);

	*ret = (struct request_record){ .is_sealed = true };
	unsigned has = cursor_u8(&c);
	unsigned bits = cursor_u8(&c);
	ret->form = bits & 15;
	ret->state_before = state_letters[bits >> 4 & 3];
	ret->state_after = state_letters[bits >> 6 & 3];
	ret->session = get(&c);
	ret->seq = d->state.seq + unzigzag(get(&c));
	if (!get_times(d, &c, ret))
		return false;
	ret->route = (uint32_t)get_max(&c, UINT32_MAX);
	ret->template_id = (uint32_t)get_max(&c, UINT32_MAX);
	ret->flags = (uint32_t)get_max(&c, UINT32_MAX);
	ret->in_flight = (uint32_t)get_max(&c, UINT32_MAX);
	ret->rows = get(&c);
	ret->bytes_in = get(&c);
	ret->bytes_out = get(&c);
	if (!get_optional(d, &c, has, ret))
		return false;
	d->state.end_ns = ret->end_ns;
	d->state.seq = ret->seq;
	return ret->form >= FORM_SIMPLE && ret->form <= FORM_HTTP;
}

bool rcap_is_error(const struct request_record *q)
{
	return q->sqlstate[0] || q->status >= 500 || q->grpc > 1;
}

int64_t rcap_latency_us(const struct request_record *q)
{
	/* Skipped by the server, or an error of which a log tells only the end. */
	if (q->flags & REQUEST_SKIPPED || (q->flags & REQUEST_GAP && q->end_ns == q->start_ns))
		return -1;
	int64_t ns = sane_time(q->end_ns) - sane_time(q->start_ns);
	return ns > 0 ? (ns + NS_PER_US / 2) / NS_PER_US : 0;
}

void rcap_decoder_free(struct rcap_decoder *d)
{
	free(d->values);
	free(d->edges);
	*d = (struct rcap_decoder){ 0 };
}
