/* The bytes of one connection's sides, in order and each once. */
#include <stdlib.h>

#include "capture/wire/flow_parts.h"

enum {
	HELD_MAX = 2048, /* pieces of a side: bounds what putting one in costs */
	FAR_MAX = 3, /* segments in a row far away: the numbers went on there */
	ONE_WAY_WAIT_S = 1,
};

/* A segment, or what is left of one. */
struct segment {
	uint32_t seq, n, wire_n;
	const unsigned char *bytes;
	int64_t time_ns;
};

static void advance(struct segment *g, uint32_t n)
{
	uint32_t kept_n = n < g->n ? n : g->n;

	g->seq += n;
	g->bytes += kept_n;
	g->n -= kept_n;
	g->wire_n -= n;
}

/* ---- handing on */

static void drop_side(struct flow_table *t, struct flow_side *s)
{
	while (s->held) {
		struct flow_held *h = s->held;

		s->held = h->next;
		free(h);
	}
	t->held_n -= s->held_n;
	s->held_n = s->held_count = 0;
	s->held_last = NULL;
}

void flow_order_drop(struct flow_table *t, struct flow *f)
{
	drop_side(t, &f->side[0]);
	drop_side(t, &f->side[1]);
}

static void lose_interest(struct flow_table *t, struct flow *f)
{
	flow_order_drop(t, f);
	f->owner = NULL;
}

static void tell_gap(
	struct flow_table *t, struct flow *f, int side, uint32_t missing_n, int64_t time_ns)
{
	t->counts.gaps++;
	t->counts.gap_n += missing_n;
	f->side[side].next_seq += missing_n;
	if (f->owner && !t->sink.gap(t->sink.data, f->owner, side, missing_n, time_ns))
		lose_interest(t, f);
}

/* A segment whose first byte is the expected one. */
static void deliver(struct flow_table *t, struct flow *f, int side, const struct segment *g)
{
	struct flow_side *s = &f->side[side];

	if (g->n) {
		history_add(t->history, &s->lately, g->seq, g->bytes, g->n);
		s->next_seq += g->n;
		if (f->owner && !t->sink.bytes(t->sink.data, f->owner, side,
					(struct slice){ (const char *)g->bytes, g->n }, g->time_ns))
			lose_interest(t, f);
	}
	/* The snapshot length cut the rest. */
	if (g->wire_n > g->n)
		tell_gap(t, f, side, g->wire_n - g->n, g->time_ns);
}

/* Its first byte is the expected one or was handed on before. */
static void deliver_rest(struct flow_table *t, struct flow *f, int side, struct segment g)
{
	struct flow_side *s = &f->side[side];
	uint32_t old_n = s->next_seq - g.seq;

	if (old_n > g.wire_n)
		old_n = g.wire_n;
	if (old_n) {
		t->counts.retransmitted_n += old_n;
		if (!history_agrees(
			    t->history, s->lately, g.seq, g.bytes, old_n < g.n ? old_n : g.n))
			t->counts.conflicting++;
		advance(&g, old_n);
	}
	if (g.wire_n)
		deliver(t, f, side, &g);
}

/* ---- holding */

/* An empty (cut) piece costs its header all the same. */
static size_t cost_of(const struct flow_held *h)
{
	return sizeof *h + h->n;
}

static void drain(struct flow_table *t, struct flow *f, int side)
{
	struct flow_side *s = &f->side[side];

	while (s->held && (int32_t)(s->held->seq - s->next_seq) <= 0) {
		struct flow_held *h = s->held;

		s->held = h->next;
		if (!s->held)
			s->held_last = NULL;
		s->held_count--;
		s->held_n -= cost_of(h);
		t->held_n -= cost_of(h);
		deliver_rest(t, f, side,
			(struct segment){ h->seq, h->n, h->wire_n, h->bytes, h->time_ns });
		free(h);
	}
}

static void skip_to_held(struct flow_table *t, struct flow *f, int side, int64_t time_ns)
{
	struct flow_side *s = &f->side[side];

	tell_gap(t, f, side, s->held->seq - s->next_seq, time_ns);
	drain(t, f, side);
}

void flow_order_flush(struct flow_table *t, struct flow *f, int64_t time_ns)
{
	for (int side = 0; side < 2; side++)
		while (f->owner && f->side[side].held)
			skip_to_held(t, f, side, time_ns);
}

static struct flow_held *keep(struct flow_table *t, struct flow_side *s, struct flow_held **at,
	const struct segment *g, uint32_t wire_n)
{
	uint32_t n = wire_n < g->n ? wire_n : g->n;
	struct flow_held *h = malloc(sizeof *h + n);

	if (!h)
		return NULL;
	*h = (struct flow_held){ *at, g->seq, n, wire_n, g->time_ns };
	if (n)
		memcpy(h->bytes, g->bytes, n);
	*at = h;
	if (!h->next)
		s->held_last = h;
	s->held_count++;
	s->held_n += cost_of(h);
	t->held_n += cost_of(h);
	return h;
}

/* n bytes of g are held already. */
static void compare(
	struct flow_table *t, const struct flow_held *h, const struct segment *g, uint32_t n)
{
	uint32_t skip_n = g->seq - h->seq, both_n = n < g->n ? n : g->n;

	t->counts.retransmitted_n += n;
	if (skip_n >= h->n)
		return;
	if (both_n > h->n - skip_n)
		both_n = h->n - skip_n;
	if (both_n && memcmp(h->bytes + skip_n, g->bytes, both_n) != 0)
		t->counts.conflicting++;
}

static uint32_t end_of(const struct flow_held *h)
{
	return h->seq + h->wire_n;
}

/* Keeps what nobody sent before: what came first wins, whatever comes between. */
static bool hold(struct flow_table *t, struct flow_side *s, struct segment g)
{
	struct flow_held **at = &s->held, *h;

	if (s->held_last && (int32_t)(g.seq - end_of(s->held_last)) >= 0)
		at = &s->held_last->next;
	while (g.wire_n) {
		uint32_t n = g.wire_n;

		h = *at;
		if (h && (int32_t)(end_of(h) - g.seq) <= 0) {
			at = &h->next;
			continue;
		}
		if (h && (int32_t)(h->seq - g.seq) <= 0) {
			n = end_of(h) - g.seq < n ? end_of(h) - g.seq : n;
			compare(t, h, &g, n);
		} else {
			n = h && h->seq - g.seq < n ? h->seq - g.seq : n;
			h = keep(t, s, at, &g, n);
			if (!h)
				return false;
		}
		advance(&g, n);
		at = &h->next;
	}
	return true;
}

static bool is_over_cap(const struct flow_table *t, const struct flow_side *s)
{
	return s->held_n > t->limits.held_per_flow_max || s->held_count > HELD_MAX ||
	       t->held_n > t->limits.held_total_max;
}

static bool hold_early(struct flow_table *t, struct flow *f, int side, const struct segment *g)
{
	struct flow_side *s = &f->side[side];

	t->counts.reordered++;
	if (!hold(t, s, *g))
		return false;
	while (f->owner && s->held && is_over_cap(t, s)) {
		t->counts.hold_full++;
		skip_to_held(t, f, side, g->time_ns);
	}
	/* Nothing acknowledges, so nothing else would ever tell. */
	while (f->owner && s->held && !s->is_acked &&
		g->time_ns - s->held->time_ns > ONE_WAY_WAIT_S * NS_PER_S)
		skip_to_held(t, f, side, g->time_ns);
	return true;
}

/* ---- a segment */

/* One frame captured twice: on lo, on "any", on both sides of a bridge or VLAN. The IPv4
 * identification of a retransmission is another; IPv6 has none, but no retransmission
 * comes within a millisecond with the same acknowledgement. */
static bool is_duplicate(const struct flow_side *s, const struct packet *p, int64_t time_ns)
{
	for (int i = 0; i < FLOW_SEEN; i++) {
		const struct flow_seen *o = &s->seen[i];

		if (o->n == p->wire_n && o->seq == p->seq && o->ack == p->ack &&
			(p->ip_id ? o->ip_id == p->ip_id : time_ns - o->time_ns < NS_PER_MS))
			return true;
	}
	return false;
}

static void remember(struct flow_side *s, const struct packet *p, int64_t time_ns)
{
	s->seen[s->seen_at++ % FLOW_SEEN] =
		(struct flow_seen){ time_ns, p->seq, p->ack, p->wire_n, p->ip_id };
}

/* RFC 9293, section 3.8.4: a byte of garbage before what is expected. */
static bool is_keepalive(const struct packet *p, int32_t ahead)
{
	return ahead == -1 && p->wire_n == 1 && !(p->flags & (TCP_SYN | TCP_FIN | TCP_RST));
}

/* Garbage, unless it goes on there: then a long stretch was not captured. */
static bool is_stray(struct flow_table *t, struct flow *f, int side, const struct segment *g)
{
	struct flow_side *s = &f->side[side];

	s->far_count = s->far_count && g->seq == s->far_seq ? s->far_count + 1 : 1;
	s->far_seq = g->seq + g->wire_n;
	if (s->far_count < FAR_MAX) {
		t->counts.out_of_window++;
		return true;
	}
	s->far_count = 0;
	while (f->owner && s->held)
		skip_to_held(t, f, side, g->time_ns);
	if (f->owner && g->seq != s->next_seq)
		tell_gap(t, f, side, g->seq - s->next_seq, g->time_ns);
	return !f->owner;
}

static bool feed_odd(
	struct flow_table *t, struct flow *f, int side, const struct packet *p, struct segment *g)
{
	struct flow_side *s = &f->side[side];
	int32_t ahead = (int32_t)(g->seq - s->next_seq);

	if (is_keepalive(p, ahead)) {
		t->counts.keepalives++;
		return true;
	}
	if (is_duplicate(s, p, g->time_ns)) {
		t->counts.duplicated++;
		return true;
	}
	remember(s, p, g->time_ns);
	if (ahead > FLOW_GAP_MAX || ahead < -FLOW_GAP_MAX) {
		if (is_stray(t, f, side, g))
			return true;
		ahead = 0;
	}
	if (ahead > 0)
		return hold_early(t, f, side, g);
	/* What is held came first. */
	if (s->held && (int32_t)(s->held->seq - g->seq - g->wire_n) < 0) {
		if (!hold(t, s, *g))
			return false;
	} else {
		deliver_rest(t, f, side, *g);
	}
	drain(t, f, side);
	return true;
}

bool flow_order_bytes(
	struct flow_table *t, struct flow *f, int side, const struct packet *p, int64_t time_ns)
{
	struct flow_side *s = &f->side[side];
	struct segment g = { p->seq + (p->flags & TCP_SYN ? 1 : 0), p->payload_n, p->wire_n,
		p->payload, time_ns };

	if (!s->is_known) {
		s->is_known = true;
		s->next_seq = g.seq;
	}
	if (g.seq != s->next_seq || s->held)
		return feed_odd(t, f, side, p, &g);
	if (g.wire_n == 1 && f->side[!side].is_known && !f->side[!side].window)
		t->counts.window_probes++;
	remember(s, p, time_ns);
	deliver(t, f, side, &g);
	return true;
}

/* What the other side acknowledges has arrived there: when we do not have it, we
 * never will. A bare acknowledgement does not hurry us unless newer bytes are held:
 * the packet may only have been captured late. */
void flow_order_ack(struct flow_table *t, struct flow *f, int acked_side, const struct packet *p,
	int64_t time_ns)
{
	struct flow_side *s = &f->side[acked_side];
	int32_t ahead = (int32_t)(p->ack - s->next_seq);

	if (!s->is_known || ahead > FLOW_GAP_MAX)
		return;
	if (!s->is_acked || (int32_t)(p->ack - s->acked_seq) > 0)
		s->acked_seq = p->ack;
	s->is_acked = true;
	if (ahead <= 0)
		return;
	while (s->held && (int32_t)(p->ack - s->held->seq) > 0)
		skip_to_held(t, f, acked_side, time_ns);
	ahead = (int32_t)(p->ack - s->next_seq);
	if (ahead <= 0 || !p->wire_n)
		return;
	/* The FIN takes a number of its own. */
	if (s->has_fin && p->ack == s->fin_seq + 1)
		ahead--;
	if (ahead <= 0)
		return;
	tell_gap(t, f, acked_side, (uint32_t)ahead, time_ns);
	drain(t, f, acked_side);
}
