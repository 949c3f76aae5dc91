#include "capture/wire/match.h"

#include <stdlib.h>

#include "capture/wire/detect.h"

enum { LATE_CHUNKS_MAX = 16384, PIECES_MAX = 16 };

struct match {
	struct wire wire;
	struct match_options options;
};

/* First bytes, until they tell. */
struct piece {
	size_t n;
	int64_t time_ns;
	int side;
};

struct opening {
	struct buf bytes[2]; /* of each side */
	struct piece pieces[PIECES_MAX];
	size_t count;
	bool is_unknown; /* the client's say nothing: the server's may */
};

enum stage {
	STAGE_OPENING, /* the first bytes are being looked at */
	STAGE_LATE, /* joined late, no evidence yet */
	STAGE_READING,
	STAGE_DARK, /* encrypted: only its end is awaited */
};

struct conn {
	struct match *match;
	struct conn_info info;
	enum stage stage;
	bool is_pg_port;
	uint32_t late_chunks;
	struct opening *opening; /* NULL: nothing held */
	const struct conn_protocol *protocol; /* NULL: not known yet */
	void *state;
	struct tls *tls; /* when it is read through */
	bool is_tls_over; /* the protocol wants no more of what is inside */
};

struct match *match_new(
	const struct match_options *o, const struct request_sink *sink, struct ledger *ledger)
{
	struct match *m = calloc(1, sizeof *m);

	if (!m)
		return NULL;
	m->options = *o;
	m->wire.sink = *sink;
	m->wire.ledger = ledger;
	m->wire.held_max = o->held_max ? o->held_max : 256 << 20;
	m->wire.pg = pg_wire_new(m->wire.held_max / 2);
	if (m->wire.pg)
		return m;
	free(m);
	return NULL;
}

void match_free(struct match *m)
{
	if (!m)
		return;
	pg_wire_free(m->wire.pg);
	http_wire_free(m->wire.http);
	free(m);
}

void match_set_time(struct match *m, int64_t now_ns)
{
	if (now_ns > m->wire.now_ns)
		m->wire.now_ns = now_ns;
}

void match_silence(struct match *m)
{
	m->wire.has_failed = true;
}

bool match_ok(const struct match *m, struct err *e)
{
	if (m->wire.has_failed)
		*e = m->wire.err;
	return !m->wire.has_failed;
}

void match_use_keys(struct match *m, struct tls_keys *keys)
{
	m->options.tls_keys = keys;
}

const struct wire_servers *match_servers(const struct match *m)
{
	return &m->wire.servers;
}

const struct wire_server *match_server(const struct match *m)
{
	return m->wire.servers.count ? &m->wire.servers.items[0] : &m->wire.server;
}

uint32_t match_in_flight(const struct match *m)
{
	return m->wire.in_flight[PROTOCOL_PG] + m->wire.in_flight[PROTOCOL_HTTP];
}

/* ---- beginning */

static bool has_port(const struct match_options *o, uint16_t port)
{
	if (!o->port_count)
		return port == MATCH_PG_PORT;
	for (size_t i = 0; i < o->port_count; i++)
		if (o->ports[i] == port)
			return true;
	return false;
}

static void *on_open(void *data, const struct flow_info *f)
{
	struct match *m = data;
	struct ledger *l = m->wire.ledger;
	struct conn *c;
	int server_side = -1;

	for (int i = 0; i < 2; i++)
		if (has_port(&m->options, f->address[i].port))
			server_side = server_side < 0 ? i : -1;
	if (m->options.port_count && server_side < 0) {
		l->flows[FLOWS_OTHER_PORT]++;
		return NULL;
	}
	c = calloc(1, sizeof *c);
	if (!c) {
		l->lost[LOST_EVICTED]++;
		l->flows[FLOWS_SILENT]++;
		return NULL;
	}
	c->match = m;
	c->info = (struct conn_info){ .flow = *f, .client = f->client };
	c->is_pg_port = server_side >= 0 && f->address[server_side].port == MATCH_PG_PORT;
	if (f->client < 0) {
		c->stage = STAGE_LATE;
		c->info.is_joined_late = true;
		c->info.client = server_side < 0 ? -1 : !server_side;
	}
	return c;
}

static void drop_opening(struct conn *c)
{
	if (!c->opening)
		return;
	buf_free(&c->opening->bytes[0]);
	buf_free(&c->opening->bytes[1]);
	free(c->opening);
	c->opening = NULL;
}

/* The owner is gone after this. */
static void free_conn(struct conn *c)
{
	drop_opening(c);
	if (c->tls && tls_state(c->tls) == TLS_READING)
		c->match->wire.ledger->encrypted[TLS_READING]++;
	tls_free(c->tls);
	free(c);
}

static bool end_as(struct conn *c, enum ledger_flow kind)
{
	c->match->wire.ledger->flows[kind]++;
	return false;
}

/* Out of memory before anything was known of it. */
static bool give_up(struct conn *c)
{
	c->match->wire.ledger->lost[LOST_EVICTED]++;
	return end_as(c, FLOWS_SILENT);
}

static bool open_protocol(struct conn *c, const struct conn_protocol *p)
{
	c->state = p->open(&c->match->wire, &c->info);
	if (!c->state)
		return give_up(c);
	c->protocol = p;
	c->stage = STAGE_READING;
	return true;
}

static bool close_protocol(struct conn *c, enum flow_end why, int64_t time_ns)
{
	c->protocol->close(c->state, why, time_ns);
	c->protocol = NULL;
	c->state = NULL;
	return false;
}

/* ---- TLS */

/* Nothing inside can be read. What is known to be Postgres is a session all the same. */
static bool go_dark(struct conn *c, enum tls_state why, int64_t time_ns)
{
	c->match->wire.ledger->encrypted[why]++;
	tls_free(c->tls);
	c->tls = NULL;
	if (!c->protocol && !c->is_pg_port)
		return end_as(c, FLOWS_TLS);
	if (!c->protocol && !open_protocol(c, &conn_pg))
		return false;
	c->protocol->encrypted(c->state, time_ns);
	c->stage = STAGE_DARK;
	return true;
}

static bool read_bytes(struct conn *c, int side, struct slice bytes, int64_t time_ns);
static bool read_gap(struct conn *c, int side, uint64_t missing_n, int64_t time_ns);

static bool on_plain(void *data, int side, struct slice plain, int64_t time_ns)
{
	struct conn *c = data;

	c->is_tls_over = !read_bytes(c, side, plain, time_ns);
	return !c->is_tls_over;
}

/* In what was lost inside TLS. */
static bool on_plain_gap(void *data, int side, uint64_t missing_n, int64_t time_ns)
{
	struct conn *c = data;

	c->is_tls_over = !read_gap(c, side, missing_n, time_ns);
	return !c->is_tls_over;
}

static bool begin_tls(struct conn *c, int64_t time_ns)
{
	struct tls_sink sink = { on_plain, on_plain_gap, c };

	if (!c->match->options.tls_keys)
		return go_dark(c, TLS_NO_KEY, time_ns);
	c->tls = tls_new(c->match->options.tls_keys, c->info.client, &sink);
	if (!c->tls)
		return go_dark(c, TLS_NO_KEY, time_ns);
	c->info.is_tls = true;
	if (!c->protocol)
		c->stage = STAGE_OPENING;
	return true;
}

/* The key failed, or packets did: what was read so far stays. */
static bool leave_tls(struct conn *c, int side, int64_t time_ns)
{
	enum tls_state why = tls_state(c->tls);

	if (c->is_tls_over)
		return false;
	if (!c->protocol || (c->protocol->wants_tls && c->protocol->wants_tls(c->state)))
		return go_dark(c, why, time_ns);
	c->match->wire.ledger->encrypted[why]++;
	c->protocol->gap(c->state, side, 1, time_ns);
	c->stage = STAGE_DARK;
	return true;
}

/* ---- bytes */

static bool feed(struct conn *c, int side, struct slice bytes, int64_t time_ns);

/* What was looked at goes on: what is inside TLS not through it again. */
static bool feed_again(
	struct conn *c, bool is_inside, int side, struct slice bytes, int64_t time_ns)
{
	return is_inside ? read_bytes(c, side, bytes, time_ns) : feed(c, side, bytes, time_ns);
}

static bool hold(struct conn *c, int side, struct slice bytes, int64_t time_ns)
{
	struct opening *o = c->opening;

	if (!o) {
		o = c->opening = calloc(1, sizeof *o);
		if (!o)
			return give_up(c);
		buf_init(&o->bytes[0], DETECT_MAX);
		buf_init(&o->bytes[1], DETECT_MAX);
	}
	if (o->count == PIECES_MAX || o->bytes[side].n + bytes.n > DETECT_MAX)
		return end_as(c, FLOWS_OTHER);
	o->pieces[o->count++] = (struct piece){ bytes.n, time_ns, side };
	buf_add_slice(&o->bytes[side], bytes);
	return !o->bytes[side].is_full || give_up(c);
}

/* What was held goes to the protocol as it came. */
static bool replay(struct conn *c, bool is_inside)
{
	struct opening *o = c->opening;
	size_t at[2] = { 0, 0 };
	bool is_going_on = true;

	c->opening = NULL;
	for (size_t i = 0; i < o->count && is_going_on; i++) {
		const struct piece *p = &o->pieces[i];
		struct slice bytes = { o->bytes[p->side].p + at[p->side], p->n };

		at[p->side] += p->n;
		is_going_on = feed_again(c, is_inside, p->side, bytes, p->time_ns);
	}
	buf_free(&o->bytes[0]);
	buf_free(&o->bytes[1]);
	free(o);
	return is_going_on;
}

static bool begin_reading(struct conn *c, enum detect what, struct slice first, int64_t time_ns)
{
	switch (what) {
	case DETECT_PG:
		return open_protocol(c, &conn_pg);
	case DETECT_HTTP:
		return open_protocol(c, &conn_http);
	case DETECT_TLS:
		if (c->info.is_tls)
			return end_as(c, FLOWS_OTHER);
		c->info.is_joined_late = false;
		c->is_pg_port |= detect_hello_is_pg(first);
		return begin_tls(c, time_ns);
	case DETECT_TLS_LATE:
		if (c->info.is_tls)
			return end_as(c, FLOWS_OTHER);
		return go_dark(c, TLS_NO_HANDSHAKE, time_ns);
	default:
		return end_as(c, FLOWS_OTHER);
	}
}

/* What no client of a known protocol says may still be answered as one: with 400. */
static bool wait_for_server(struct conn *c, int side, struct slice bytes, int64_t time_ns)
{
	if (c->opening && c->opening->bytes[!side].n)
		return end_as(c, FLOWS_OTHER);
	if (bytes.n && !hold(c, side, bytes, time_ns))
		return false;
	c->opening->is_unknown = true;
	return true;
}

static bool open_by_first_bytes(struct conn *c, int side, struct slice bytes, int64_t time_ns)
{
	bool is_client = side == c->info.client, is_inside = c->info.is_tls;
	struct slice first = bytes;
	enum detect what;

	if (c->opening && c->opening->bytes[side].n) {
		if (!hold(c, side, bytes, time_ns))
			return false;
		first = buf_slice(&c->opening->bytes[side]);
	}
	what = is_client ? detect_client(first) : detect_server(first);
	if (what == DETECT_NONE && is_client && !c->info.is_tls)
		return wait_for_server(
			c, side, first.p == bytes.p ? bytes : (struct slice){ 0 }, time_ns);
	if (what == DETECT_MORE)
		return first.p != bytes.p || hold(c, side, bytes, time_ns);
	/* The server's bytes came after some of the client's: those decide. */
	if (!c->opening)
		return begin_reading(c, what, first, time_ns) &&
		       feed_again(c, is_inside, side, bytes, time_ns);
	if (first.p == bytes.p && !hold(c, side, bytes, time_ns))
		return false;
	return begin_reading(c, what, first, time_ns) && replay(c, is_inside);
}

static bool open_by_chunk(struct conn *c, int side, struct slice bytes, int64_t time_ns)
{
	bool is_client = false, is_inside = c->info.is_tls;
	enum detect what = detect_chunk(bytes, side, c->info.client, &is_client);

	if (what == DETECT_NONE)
		return ++c->late_chunks < LATE_CHUNKS_MAX || end_as(c, FLOWS_OTHER);
	if (what != DETECT_TLS_LATE || c->info.client < 0)
		c->info.client = is_client ? side : !side;
	return begin_reading(c, what, bytes, time_ns) &&
	       feed_again(c, is_inside, side, bytes, time_ns);
}

/* Plain bytes, from the wire or from inside TLS. */
static bool read_bytes(struct conn *c, int side, struct slice bytes, int64_t time_ns)
{
	if (c->stage == STAGE_READING) {
		if (c->protocol->bytes(c->state, side, bytes, time_ns))
			return true;
		if (!c->info.is_tls && c->protocol->wants_tls && c->protocol->wants_tls(c->state))
			return begin_tls(c, time_ns);
		return close_protocol(c, FLOW_CLOSED, time_ns);
	}
	if (c->stage == STAGE_OPENING)
		return open_by_first_bytes(c, side, bytes, time_ns);
	return c->stage == STAGE_DARK || open_by_chunk(c, side, bytes, time_ns);
}

static bool feed(struct conn *c, int side, struct slice bytes, int64_t time_ns)
{
	if (!c->tls || c->stage == STAGE_DARK)
		return read_bytes(c, side, bytes, time_ns);
	return tls_feed(c->tls, side, bytes, time_ns) || leave_tls(c, side, time_ns);
}

/* ---- the flow's callbacks */

static bool on_bytes(void *data, void *owner, int side, struct slice bytes, int64_t time_ns)
{
	struct conn *c = owner;

	(void)data;
	if (feed(c, side, bytes, time_ns))
		return true;
	free_conn(c);
	return false;
}

/* In plain bytes, from the wire or from inside TLS. */
static bool read_gap(struct conn *c, int side, uint64_t missing_n, int64_t time_ns)
{
	if (c->stage == STAGE_DARK || c->stage == STAGE_LATE)
		return true;
	if (c->stage == STAGE_READING)
		return c->protocol->gap(c->state, side, missing_n, time_ns) ||
		       close_protocol(c, FLOW_CLOSED, time_ns);
	drop_opening(c);
	c->info.is_joined_late = true;
	c->stage = STAGE_LATE;
	return true;
}

static bool gap(struct conn *c, int side, uint64_t missing_n, int64_t time_ns)
{
	if (!c->tls || c->stage == STAGE_DARK)
		return read_gap(c, side, missing_n, time_ns);
	return tls_gap(c->tls, side, missing_n, time_ns) || leave_tls(c, side, time_ns);
}

static bool on_gap(void *data, void *owner, int side, uint64_t missing_n, int64_t time_ns)
{
	struct conn *c = owner;

	(void)data;
	if (gap(c, side, missing_n, time_ns))
		return true;
	free_conn(c);
	return false;
}

static enum ledger_flow kind_of_unread(const struct conn *c)
{
	if (c->tls)
		return c->is_pg_port ? FLOWS_ENCRYPTED : FLOWS_TLS;
	if (c->opening && c->opening->is_unknown)
		return FLOWS_OTHER;
	return c->late_chunks >= 64 ? FLOWS_OTHER : FLOWS_SILENT;
}

/* False: the protocol was closed by what came out at last. */
static bool end_tls(struct conn *c, int64_t time_ns)
{
	bool is_whole = tls_end(c->tls, time_ns);

	if (c->is_tls_over)
		return false;
	if (tls_state(c->tls) == TLS_READING)
		return true;
	c->match->wire.ledger->encrypted[tls_state(c->tls)]++;
	if (!c->protocol)
		return true;
	if (c->protocol->wants_tls && c->protocol->wants_tls(c->state))
		c->protocol->encrypted(c->state, time_ns);
	else if (!is_whole)
		c->protocol->gap(c->state, !c->info.client, 1, time_ns);
	return true;
}

static void on_close(void *data, void *owner, enum flow_end why, int64_t time_ns)
{
	struct conn *c = owner;
	struct ledger *l = c->match->wire.ledger;

	(void)data;
	l->lost[LOST_EVICTED] += why == FLOW_EVICTED;
	if (c->tls && c->stage != STAGE_DARK && !end_tls(c, time_ns)) {
		free_conn(c);
		return;
	}
	if (c->protocol)
		close_protocol(c, why, time_ns);
	else
		l->flows[kind_of_unread(c)]++;
	free_conn(c);
}

struct flow_sink match_flow_sink(struct match *m)
{
	return (struct flow_sink){ on_open, on_bytes, on_gap, on_close, m };
}
