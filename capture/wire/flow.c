#include "capture/wire/flow.h"

#include <stdlib.h>

enum {
	BUCKETS = 1 << 14,
	LINGERING_MAX = 4096, /* ended flows kept so that late segments do not open new ones */
	GAP_MAX = 1 << 24, /* an acknowledgement further ahead than this is garbage */
};

struct held {
	struct held *next;
	uint32_t seq, n, wire_n;
	int64_t time_ns;
	unsigned char bytes[];
};

struct side {
	uint32_t next_seq;
	bool is_known; /* next_seq is set */
	bool has_syn, has_fin, is_done;
	uint32_t syn_seq, fin_seq;
	struct held *held; /* by sequence number */
	size_t held_n;
};

/* Both ends, the smaller one first. */
struct flow_key {
	uint64_t words[4];
	uint64_t ports; /* and the IP version */
};

struct flow {
	struct flow *chain;
	struct flow *older, *newer; /* in the list of live or of lingering flows */
	uint64_t hash;
	struct flow_key key;
	struct flow_info info;
	struct side side[2];
	void *owner;
	int64_t last_ns;
	bool is_ended; /* lingering */
};

struct flow_list {
	struct flow *oldest, *newest;
	uint32_t count;
};

struct flow_table {
	struct flow_sink sink;
	struct flow_limits limits;
	struct flow_counts counts;
	struct flow *buckets[BUCKETS];
	struct flow_list live, lingering;
	size_t held_n;
};

static void list_push(struct flow_list *l, struct flow *f)
{
	f->older = l->newest;
	f->newer = NULL;
	*(l->newest ? &l->newest->newer : &l->oldest) = f;
	l->newest = f;
	l->count++;
}

static void list_remove(struct flow_list *l, struct flow *f)
{
	*(f->older ? &f->older->newer : &l->oldest) = f->newer;
	*(f->newer ? &f->newer->older : &l->newest) = f->older;
	l->count--;
}

static void list_touch(struct flow_list *l, struct flow *f)
{
	if (l->newest == f)
		return;
	list_remove(l, f);
	list_push(l, f);
}

struct flow_table *flow_table_new(const struct flow_sink *sink, const struct flow_limits *limits)
{
	struct flow_table *t = calloc(1, sizeof *t);

	if (!t)
		return NULL;
	t->sink = *sink;
	t->limits = *limits;
	if (!t->limits.flows_max)
		t->limits.flows_max = 65536;
	if (!t->limits.held_per_flow_max)
		t->limits.held_per_flow_max = 1 << 20;
	if (!t->limits.held_total_max)
		t->limits.held_total_max = 64 << 20;
	return t;
}

const struct flow_counts *flow_counts(const struct flow_table *t)
{
	return &t->counts;
}

/* ---- finding */

/* The finaliser of MurmurHash3 (Austin Appleby), seeded: ports and addresses are the sender's. */
static uint64_t mix(uint64_t h, uint64_t v)
{
	h ^= v;
	h ^= h >> 33;
	h *= UINT64_C(0xff51afd7ed558ccd);
	h ^= h >> 33;
	h *= UINT64_C(0xc4ceb9fe1a85ec53);
	return h ^ h >> 33;
}

static int compare_address(const struct packet_address *a, const struct packet_address *b)
{
	uint64_t x[2], y[2];

	memcpy(x, a->bytes, 16);
	memcpy(y, b->bytes, 16);
	for (int i = 0; i < 2; i++)
		if (x[i] != y[i])
			return x[i] < y[i] ? -1 : 1;
	return (int)a->port - (int)b->port;
}

/* Both directions of a connection have one key: the smaller address is side 0. */
static int side_of_sender(const struct packet *p)
{
	return compare_address(&p->from, &p->to) <= 0 ? 0 : 1;
}

static struct flow_key key_of(const struct packet *p, int sender)
{
	const struct packet_address *a = sender ? &p->to : &p->from,
				    *b = sender ? &p->from : &p->to;
	struct flow_key k;

	memcpy(k.words, a->bytes, 16);
	memcpy(k.words + 2, b->bytes, 16);
	k.ports = (uint64_t)p->is_v6 << 32 | (uint64_t)a->port << 16 | b->port;
	return k;
}

static uint64_t hash_of(const struct flow_table *t, const struct flow_key *k)
{
	uint64_t h = mix(t->limits.hash_seed, k->words[0] ^ k->ports);

	h = mix(h, k->words[2]);
	return k->words[1] | k->words[3] ? mix(mix(h, k->words[1]), k->words[3]) : h;
}

static bool is_same_key(const struct flow_key *a, const struct flow_key *b)
{
	return ((a->words[0] ^ b->words[0]) | (a->words[1] ^ b->words[1]) |
		       (a->words[2] ^ b->words[2]) | (a->words[3] ^ b->words[3]) |
		       (a->ports ^ b->ports)) == 0;
}

static struct flow *find(const struct flow_table *t, uint64_t hash, const struct flow_key *k)
{
	struct flow *f = t->buckets[hash % BUCKETS];

	while (f && !is_same_key(&f->key, k))
		f = f->chain;
	return f;
}

/* ---- ending */

static void drop_held(struct flow_table *t, struct side *s)
{
	while (s->held) {
		struct held *h = s->held;

		s->held = h->next;
		free(h);
	}
	t->held_n -= s->held_n;
	s->held_n = 0;
}

/* An empty (cut) segment costs its header all the same. */
static size_t cost_of(const struct held *h)
{
	return sizeof *h + h->n;
}

static void forget(struct flow_table *t, struct flow *f)
{
	struct flow **at = &t->buckets[f->hash % BUCKETS];

	while (*at != f)
		at = &(*at)->chain;
	*at = f->chain;
	list_remove(f->is_ended ? &t->lingering : &t->live, f);
	free(f);
}

static void end_flow(struct flow_table *t, struct flow *f, enum flow_end why, int64_t time_ns)
{
	if (f->is_ended)
		return;
	drop_held(t, &f->side[0]);
	drop_held(t, &f->side[1]);
	if (f->owner)
		t->sink.close(t->sink.data, f->owner, why, time_ns);
	f->owner = NULL;
	switch (why) {
	case FLOW_CLOSED:
		t->counts.closed++;
		break;
	case FLOW_RESET:
		t->counts.reset++;
		break;
	case FLOW_REUSED:
		t->counts.reused++;
		break;
	case FLOW_EVICTED:
		t->counts.evicted++;
		break;
	case FLOW_INPUT_ENDED:
	case FLOW_SHED:
		break;
	}
	list_remove(&t->live, f);
	f->is_ended = true;
	list_push(&t->lingering, f);
	if (t->lingering.count > LINGERING_MAX)
		forget(t, t->lingering.oldest);
}

void flow_end_chosen(struct flow_table *t, bool (*is_chosen)(void *data, const struct flow_info *f),
	void *data, int64_t time_ns)
{
	for (struct flow *f = t->live.oldest, *next; f; f = next) {
		next = f->newer;
		if (!is_chosen(data, &f->info))
			continue;
		end_flow(t, f, FLOW_SHED, time_ns);
		/* Not kept among the ended ones: it goes on when its packets come again. */
		forget(t, f);
	}
}

void flow_end_all(struct flow_table *t, int64_t time_ns)
{
	while (t->live.oldest)
		end_flow(t, t->live.oldest, FLOW_INPUT_ENDED, time_ns);
}

void flow_table_free(struct flow_table *t)
{
	if (!t)
		return;
	if (t->live.oldest)
		flow_end_all(t, t->live.newest->last_ns);
	while (t->lingering.oldest)
		forget(t, t->lingering.oldest);
	free(t);
}

static struct flow *open_flow(struct flow_table *t, const struct packet *p, int sender,
	uint64_t hash, const struct flow_key *key, int64_t time_ns)
{
	struct flow *f;

	if (t->live.count >= t->limits.flows_max)
		end_flow(t, t->live.oldest, FLOW_EVICTED, time_ns);
	f = calloc(1, sizeof *f);
	if (!f)
		return NULL;
	f->hash = hash;
	f->key = *key;
	f->info.is_v6 = p->is_v6;
	f->info.address[sender] = p->from;
	f->info.address[!sender] = p->to;
	f->info.client = -1;
	if (p->flags & TCP_SYN)
		f->info.client = p->flags & TCP_ACK ? !sender : sender;
	f->info.open_ns = time_ns;
	f->last_ns = time_ns;
	f->chain = t->buckets[hash % BUCKETS];
	t->buckets[hash % BUCKETS] = f;
	list_push(&t->live, f);
	t->counts.opened++;
	t->counts.joined_late += f->info.client < 0;
	f->owner = t->sink.open(t->sink.data, &f->info);
	return f;
}

/* ---- putting in order */

static void lose_interest(struct flow_table *t, struct flow *f)
{
	drop_held(t, &f->side[0]);
	drop_held(t, &f->side[1]);
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

/* A segment whose first new byte is the expected one. */
static void deliver(struct flow_table *t, struct flow *f, int side, const unsigned char *bytes,
	uint32_t n, uint32_t wire_n, int64_t time_ns)
{
	f->side[side].next_seq += n;
	if (n && f->owner &&
		!t->sink.bytes(t->sink.data, f->owner, side,
			(struct slice){ (const char *)bytes, n }, time_ns))
		lose_interest(t, f);
	/* The snapshot length cut the rest. */
	if (wire_n > n)
		tell_gap(t, f, side, wire_n - n, time_ns);
}

static void deliver_from(struct flow_table *t, struct flow *f, int side, uint32_t seq,
	const unsigned char *bytes, uint32_t n, uint32_t wire_n, int64_t time_ns)
{
	uint32_t old_n = f->side[side].next_seq - seq;

	if (old_n >= wire_n) {
		t->counts.retransmitted_n += wire_n;
		return;
	}
	t->counts.retransmitted_n += old_n;
	if (old_n > n)
		deliver(t, f, side, NULL, 0, wire_n - old_n, time_ns);
	else
		deliver(t, f, side, bytes + old_n, n - old_n, wire_n - old_n, time_ns);
}

static void drain(struct flow_table *t, struct flow *f, int side)
{
	struct side *s = &f->side[side];

	while (s->held && (int32_t)(s->held->seq - s->next_seq) <= 0) {
		struct held *h = s->held;

		s->held = h->next;
		s->held_n -= cost_of(h);
		t->held_n -= cost_of(h);
		deliver_from(t, f, side, h->seq, h->bytes, h->n, h->wire_n, h->time_ns);
		free(h);
	}
}

static void skip_to_held(struct flow_table *t, struct flow *f, int side, int64_t time_ns)
{
	struct side *s = &f->side[side];

	tell_gap(t, f, side, s->held->seq - s->next_seq, time_ns);
	drain(t, f, side);
}

/* Keeps a segment that came early. Where it overlaps an earlier one, the order of
 * delivery decides: equal starts keep the first. */
static bool hold(struct flow_table *t, struct flow *f, int side, const struct packet *p,
	uint32_t seq, int64_t time_ns)
{
	struct side *s = &f->side[side];
	struct held **at = &s->held, *h;

	t->counts.reordered++;
	while (*at && (int32_t)((*at)->seq - seq) <= 0)
		at = &(*at)->next;
	h = malloc(sizeof *h + p->payload_n);
	if (!h)
		return false;
	*h = (struct held){ *at, seq, p->payload_n, p->wire_n, time_ns };
	memcpy(h->bytes, p->payload, p->payload_n);
	*at = h;
	s->held_n += cost_of(h);
	t->held_n += cost_of(h);
	while (f->owner && s->held &&
		(s->held_n > t->limits.held_per_flow_max || t->held_n > t->limits.held_total_max)) {
		t->counts.hold_full++;
		skip_to_held(t, f, side, time_ns);
	}
	return true;
}

static bool feed_payload(
	struct flow_table *t, struct flow *f, int side, const struct packet *p, int64_t time_ns)
{
	struct side *s = &f->side[side];
	uint32_t seq = p->seq + (p->flags & TCP_SYN ? 1 : 0);
	int32_t ahead;

	if (!s->is_known) {
		s->is_known = true;
		s->next_seq = seq;
	}
	ahead = (int32_t)(seq - s->next_seq);
	if (ahead > 0)
		return hold(t, f, side, p, seq, time_ns);
	deliver_from(t, f, side, seq, p->payload, p->payload_n, p->wire_n, time_ns);
	drain(t, f, side);
	return true;
}

/* What the other side acknowledges has arrived there: when we do not have it, we
 * never will. A bare acknowledgement does not hurry us unless newer bytes are held:
 * the packet may only have been captured late. */
static void feed_ack(struct flow_table *t, struct flow *f, int acked_side, const struct packet *p,
	int64_t time_ns)
{
	struct side *s = &f->side[acked_side];
	int32_t ahead = (int32_t)(p->ack - s->next_seq);

	if (!s->is_known || ahead <= 0 || ahead > GAP_MAX)
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

static void note_fin(
	struct flow_table *t, struct flow *f, int side, const struct packet *p, int64_t time_ns)
{
	struct side *s = &f->side[side];

	if (p->flags & TCP_FIN) {
		s->has_fin = true;
		s->fin_seq = p->seq + p->wire_n;
		if (!s->is_known) {
			s->is_known = true;
			s->next_seq = s->fin_seq;
		}
	}
	for (int i = 0; i < 2; i++)
		if (f->side[i].has_fin &&
			(!f->owner || (int32_t)(f->side[i].next_seq - f->side[i].fin_seq) >= 0))
			f->side[i].is_done = true;
	if (f->side[0].is_done && f->side[1].is_done)
		end_flow(t, f, FLOW_CLOSED, time_ns);
}

/* A SYN that is not the old one again starts anew on the same ports. */
static bool is_new_connection(const struct flow *f, int sender, const struct packet *p)
{
	const struct side *s = &f->side[sender];

	if (!(p->flags & TCP_SYN))
		return false;
	if (f->is_ended)
		return true;
	if (p->flags & TCP_ACK)
		return false;
	if (!s->has_syn)
		return s->is_known || f->info.client < 0;
	return s->syn_seq != p->seq;
}

static void note_syn(struct flow *f, int sender, const struct packet *p)
{
	struct side *s = &f->side[sender];

	if (!(p->flags & TCP_SYN) || s->has_syn)
		return;
	s->has_syn = true;
	s->syn_seq = p->seq;
	if (s->is_known)
		return;
	s->is_known = true;
	s->next_seq = p->seq + 1;
}

static bool feed_known(
	struct flow_table *t, struct flow *f, int sender, const struct packet *p, int64_t time_ns)
{
	f->last_ns = time_ns;
	list_touch(&t->live, f);
	if (!f->owner && !(p->flags & (TCP_FIN | TCP_RST)))
		return true;
	note_syn(f, sender, p);
	if (p->flags & TCP_ACK)
		feed_ack(t, f, !sender, p, time_ns);
	if (p->wire_n && f->owner && !feed_payload(t, f, sender, p, time_ns))
		return false;
	if (p->flags & TCP_RST)
		end_flow(t, f, FLOW_RESET, time_ns);
	else if (p->flags & TCP_FIN || f->side[0].has_fin || f->side[1].has_fin)
		note_fin(t, f, sender, p, time_ns);
	return true;
}

bool flow_feed(struct flow_table *t, const struct packet *p, int64_t time_ns)
{
	int sender = side_of_sender(p);
	struct flow_key key = key_of(p, sender);
	uint64_t hash = hash_of(t, &key);
	struct flow *f = find(t, hash, &key);

	if (f && is_new_connection(f, sender, p)) {
		end_flow(t, f, FLOW_REUSED, time_ns);
		forget(t, f);
		f = NULL;
	}
	if (!f) {
		/* Without a SYN, only bytes make a connection worth following. */
		if (!(p->flags & TCP_SYN) && !p->wire_n)
			return true;
		f = open_flow(t, p, sender, hash, &key, time_ns);
		if (!f)
			return false;
	}
	return f->is_ended || feed_known(t, f, sender, p, time_ns);
}
