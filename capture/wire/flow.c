#include "capture/wire/flow.h"

#include <stdlib.h>

#include "capture/wire/flow_parts.h"

enum {
	LINGERING_MAX = 4096,
	LINGER_S = 120, /* twice the longest life of a segment */
	WINDOW_MIN = 65535, /* of the peer, as far as resets go: it may have shrunk since */
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

static void move(struct flow_table *t, struct flow *f, enum flow_place to)
{
	if (to == f->place && t->lists[to].newest == f)
		return;
	list_remove(&t->lists[f->place], f);
	f->place = to;
	list_push(&t->lists[to], f);
}

struct flow_table *flow_table_new(const struct flow_sink *sink, const struct flow_limits *limits)
{
	struct flow_table *t = calloc(1, sizeof *t);

	if (!t)
		return NULL;
	t->history = history_new();
	if (!t->history) {
		free(t);
		return NULL;
	}
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
	struct flow *f = t->buckets[hash % FLOW_BUCKETS];

	while (f && !is_same_key(&f->key, k))
		f = f->chain;
	return f;
}

/* ---- ending */

static void forget(struct flow_table *t, struct flow *f)
{
	struct flow **at = &t->buckets[f->hash % FLOW_BUCKETS];

	while (*at != f)
		at = &(*at)->chain;
	*at = f->chain;
	list_remove(&t->lists[f->place], f);
	free(f);
}

static void count_end(struct flow_counts *c, const struct flow *f, enum flow_end why)
{
	c->half_open += f->place == FLOW_NO_BYTES;
	c->one_way += f->place == FLOW_LIVE && f->side[0].is_known != f->side[1].is_known;
	switch (why) {
	case FLOW_CLOSED:
		c->closed++;
		break;
	case FLOW_RESET:
		c->reset++;
		break;
	case FLOW_REUSED:
		c->reused++;
		break;
	case FLOW_EVICTED:
		c->evicted++;
		break;
	case FLOW_INPUT_ENDED:
	case FLOW_SHED:
		break;
	}
}

static void end_flow(struct flow_table *t, struct flow *f, enum flow_end why, int64_t time_ns)
{
	if (f->place == FLOW_LINGERING)
		return;
	flow_order_flush(t, f, time_ns);
	flow_order_drop(t, f);
	if (f->owner)
		t->sink.close(t->sink.data, f->owner, why, time_ns);
	f->owner = NULL;
	count_end(&t->counts, f, why);
	move(t, f, FLOW_LINGERING);
	if (t->lists[FLOW_LINGERING].count > LINGERING_MAX)
		forget(t, t->lists[FLOW_LINGERING].oldest);
}

/* The one of all that are open that was quiet the longest, or NULL. Half-open ones go
 * first when they are many: a scan must not drive out those that work. */
static struct flow *quietest(const struct flow_table *t)
{
	struct flow *a = t->lists[FLOW_NO_BYTES].oldest, *b = t->lists[FLOW_LIVE].oldest;

	if (!a || !b)
		return a ? a : b;
	if (t->lists[FLOW_NO_BYTES].count > t->limits.flows_max / 2)
		return a;
	return a->last_ns < b->last_ns ? a : b;
}

void flow_end_chosen(struct flow_table *t, bool (*is_chosen)(void *data, const struct flow_info *f),
	void *data, int64_t time_ns)
{
	for (int place = FLOW_NO_BYTES; place <= FLOW_LIVE; place++)
		for (struct flow *f = t->lists[place].oldest, *next; f; f = next) {
			next = f->newer;
			if (!is_chosen(data, &f->info))
				continue;
			end_flow(t, f, FLOW_SHED, time_ns);
			/* Not kept among the ended: it goes on when its packets come again. */
			forget(t, f);
		}
}

void flow_end_all(struct flow_table *t, int64_t time_ns)
{
	struct flow *f;

	while ((f = quietest(t)))
		end_flow(t, f, FLOW_INPUT_ENDED, time_ns);
}

static int64_t last_time(const struct flow_table *t)
{
	const struct flow *a = t->lists[FLOW_NO_BYTES].newest, *b = t->lists[FLOW_LIVE].newest;

	if (!a || !b)
		return a ? a->last_ns : b ? b->last_ns : 0;
	return a->last_ns > b->last_ns ? a->last_ns : b->last_ns;
}

void flow_table_free(struct flow_table *t)
{
	if (!t)
		return;
	flow_end_all(t, last_time(t));
	while (t->lists[FLOW_LINGERING].oldest)
		forget(t, t->lists[FLOW_LINGERING].oldest);
	history_free(t->history);
	free(t);
}

static struct flow *open_flow(struct flow_table *t, const struct packet *p, int sender,
	uint64_t hash, const struct flow_key *key, int64_t time_ns)
{
	struct flow *f;

	if (t->lists[FLOW_NO_BYTES].count + t->lists[FLOW_LIVE].count >= t->limits.flows_max)
		end_flow(t, quietest(t), FLOW_EVICTED, time_ns);
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
	f->chain = t->buckets[hash % FLOW_BUCKETS];
	t->buckets[hash % FLOW_BUCKETS] = f;
	list_push(&t->lists[f->place], f);
	t->counts.opened++;
	t->counts.joined_late += f->info.client < 0;
	f->owner = t->sink.open(t->sink.data, &f->info);
	return f;
}

/* ---- a packet */

static void note_fin(
	struct flow_table *t, struct flow *f, int side, const struct packet *p, int64_t time_ns)
{
	struct flow_side *s = &f->side[side];

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

/* A SYN that is not the old one again starts anew on the same ports; so do bytes long
 * after the end. */
static bool is_new_connection(
	const struct flow *f, int sender, const struct packet *p, int64_t time_ns)
{
	const struct flow_side *s = &f->side[sender];

	if (!(p->flags & TCP_SYN))
		return f->place == FLOW_LINGERING && p->wire_n &&
		       time_ns - f->last_ns > LINGER_S * NS_PER_S;
	if (f->place == FLOW_LINGERING)
		return true;
	if (p->flags & TCP_ACK)
		return false;
	if (!s->has_syn)
		return s->is_known || f->info.client < 0;
	return s->syn_seq != p->seq;
}

static void note_syn(struct flow *f, int sender, const struct packet *p)
{
	struct flow_side *s = &f->side[sender];

	if (!(p->flags & TCP_SYN) || s->has_syn)
		return;
	s->has_syn = true;
	s->syn_seq = p->seq;
	s->window_shift = p->window_shift;
	if (s->is_known)
		return;
	s->is_known = true;
	s->next_seq = p->seq + 1;
}

/* RFC 5961, section 3, as far as someone who listens can tell: the receiver ignores a
 * reset before what it acknowledged or behind its window. */
static bool is_valid_reset(const struct flow *f, int sender, const struct packet *p)
{
	const struct flow_side *s = &f->side[sender], *peer = &f->side[!sender];
	int64_t window = FLOW_GAP_MAX, ahead = (int32_t)(p->seq - s->next_seq);

	/* Nothing of the sender was seen, as when it refuses; or nobody follows. */
	if (!f->owner || !s->is_known)
		return true;
	if (!s->is_acked)
		return ahead >= -window && ahead <= window;
	if (s->has_syn && peer->has_syn) {
		window = (int64_t)peer->window << peer->window_shift;
		if (window < WINDOW_MIN)
			window = WINDOW_MIN;
	}
	ahead = (int32_t)(p->seq - s->acked_seq);
	return ahead >= 0 && ahead <= window;
}

static void feed_end(
	struct flow_table *t, struct flow *f, int sender, const struct packet *p, int64_t time_ns)
{
	if (!(p->flags & TCP_RST)) {
		note_fin(t, f, sender, p, time_ns);
		return;
	}
	if (is_valid_reset(f, sender, p))
		end_flow(t, f, FLOW_RESET, time_ns);
	else
		t->counts.resets_ignored++;
}

static bool feed_known(
	struct flow_table *t, struct flow *f, int sender, const struct packet *p, int64_t time_ns)
{
	f->last_ns = time_ns;
	move(t, f, p->wire_n ? FLOW_LIVE : f->place);
	if (!f->owner && !(p->flags & (TCP_FIN | TCP_RST)))
		return true;
	note_syn(f, sender, p);
	/* What stands in a reset acknowledges nothing (and its bytes are a message). */
	if (!(p->flags & TCP_RST)) {
		if (p->flags & TCP_ACK)
			flow_order_ack(t, f, !sender, p, time_ns);
		f->side[sender].window = p->window;
		t->counts.urgent += (p->flags & TCP_URG) != 0;
		if (p->wire_n && f->owner && !flow_order_bytes(t, f, sender, p, time_ns))
			return false;
	}
	if (p->flags & (TCP_FIN | TCP_RST) || f->side[0].has_fin || f->side[1].has_fin)
		feed_end(t, f, sender, p, time_ns);
	return true;
}

bool flow_feed(struct flow_table *t, const struct packet *p, int64_t time_ns)
{
	int sender = side_of_sender(p);
	struct flow_key key = key_of(p, sender);
	uint64_t hash = hash_of(t, &key);
	struct flow *f = find(t, hash, &key);

	if (f && is_new_connection(f, sender, p, time_ns)) {
		end_flow(t, f, FLOW_REUSED, time_ns);
		forget(t, f);
		f = NULL;
	}
	if (!f) {
		/* Without a SYN, only bytes make a connection worth following. */
		if (!(p->flags & TCP_SYN) && (!p->wire_n || p->flags & TCP_RST))
			return true;
		f = open_flow(t, p, sender, hash, &key, time_ns);
		if (!f)
			return false;
	}
	return f->place == FLOW_LINGERING || feed_known(t, f, sender, p, time_ns);
}
