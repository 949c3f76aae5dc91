#include "capture/wire/fragment.h"

#include <stdlib.h>

enum {
	BUCKETS = 256,
	HOLES_MAX = 64, /* more is an attack: pieces are at least a few hundred bytes */
	WAIT_S = 30, /* net.ipv4.ipfrag_time */
	NESTED_MAX = 4, /* a fragment in a tunnel in fragments */
	ROOM_MIN = 4096,
};

/* Bytes [from, to) did not come yet. */
struct hole {
	uint32_t from, to;
};

struct datagram {
	struct datagram *chain;
	struct datagram *older, *newer;
	struct packet_address from, to;
	uint32_t id;
	uint8_t protocol;
	bool is_v6;
	bool is_dropped; /* an IPv6 overlap: what still comes is dropped with it */
	unsigned bucket;
	uint64_t frames;
	int64_t first_ns;
	uint32_t end_n; /* known with the last piece, else UINT32_MAX */
	uint32_t top_n; /* no byte came from here on */
	struct hole holes[HOLES_MAX];
	size_t hole_count;
	unsigned char *bytes;
	size_t room;
};

struct fragment_table {
	struct fragment_limits limits;
	struct fragment_counts counts;
	struct datagram *buckets[BUCKETS];
	struct datagram *oldest, *newest;
	uint32_t count;
	size_t bytes_n;
	unsigned char *whole; /* lent until the next call */
};

struct fragment_table *fragment_table_new(const struct fragment_limits *limits)
{
	struct fragment_table *t = calloc(1, sizeof *t);

	if (!t)
		return NULL;
	t->limits = *limits;
	if (!t->limits.datagrams_max)
		t->limits.datagrams_max = 1024;
	if (!t->limits.bytes_max)
		t->limits.bytes_max = 8 << 20;
	return t;
}

const struct fragment_counts *fragment_counts(const struct fragment_table *t)
{
	return &t->counts;
}

/* ---- the table */

static unsigned bucket_of(const struct packet *p)
{
	uint32_t a, b, h;

	memcpy(&a, p->from.bytes + (p->is_v6 ? 12 : 0), 4);
	memcpy(&b, p->to.bytes + (p->is_v6 ? 12 : 0), 4);
	h = (p->fragment.id ^ a ^ b << 7) * UINT32_C(0x9e3779b1);
	return h >> 24;
}

static bool is_same(const struct datagram *d, const struct packet *p)
{
	return d->id == p->fragment.id && d->is_v6 == p->is_v6 &&
	       (d->is_v6 || d->protocol == p->fragment.protocol) &&
	       memcmp(d->from.bytes, p->from.bytes, 16) == 0 &&
	       memcmp(d->to.bytes, p->to.bytes, 16) == 0;
}

/* Out of the table; its bytes are the caller's. */
static unsigned char *detach(struct fragment_table *t, struct datagram *d)
{
	struct datagram **at = &t->buckets[d->bucket];
	unsigned char *bytes = d->bytes;

	while (*at != d)
		at = &(*at)->chain;
	*at = d->chain;
	*(d->older ? &d->older->newer : &t->oldest) = d->newer;
	*(d->newer ? &d->newer->older : &t->newest) = d->older;
	t->count--;
	t->bytes_n -= sizeof *d + d->room;
	free(d);
	return bytes;
}

static void give_up(struct fragment_table *t, struct datagram *d)
{
	t->counts.given_up++;
	free(detach(t, d));
}

void fragment_table_free(struct fragment_table *t)
{
	if (!t)
		return;
	while (t->oldest)
		give_up(t, t->oldest);
	free(t->whole);
	free(t);
}

static struct datagram *open_datagram(
	struct fragment_table *t, const struct packet *p, int64_t time_ns)
{
	struct datagram *d;

	while (t->oldest && (t->count >= t->limits.datagrams_max ||
				    time_ns - t->oldest->first_ns > WAIT_S * NS_PER_S))
		give_up(t, t->oldest);
	d = calloc(1, sizeof *d);
	if (!d)
		return NULL;
	d->from = p->from;
	d->to = p->to;
	d->id = p->fragment.id;
	d->protocol = p->fragment.protocol;
	d->is_v6 = p->is_v6;
	d->first_ns = time_ns;
	d->end_n = UINT32_MAX;
	d->holes[d->hole_count++] = (struct hole){ 0, UINT32_MAX };
	d->bucket = bucket_of(p);
	d->chain = t->buckets[d->bucket];
	t->buckets[d->bucket] = d;
	d->older = t->newest;
	*(t->newest ? &t->newest->newer : &t->oldest) = d;
	t->newest = d;
	t->count++;
	t->bytes_n += sizeof *d;
	return d;
}

static struct datagram *find(struct fragment_table *t, const struct packet *p, int64_t time_ns)
{
	struct datagram *d = t->buckets[bucket_of(p)];

	while (d && !is_same(d, p))
		d = d->chain;
	/* Identifications come again: a stale one is another datagram's. */
	if (d && time_ns - d->first_ns > WAIT_S * NS_PER_S) {
		give_up(t, d);
		d = NULL;
	}
	return d ? d : open_datagram(t, p, time_ns);
}

/* ---- one datagram */

static bool make_room(struct fragment_table *t, struct datagram *d, size_t n)
{
	size_t room = d->room ? d->room : ROOM_MIN;
	unsigned char *bytes;

	if (n <= d->room)
		return true;
	while (room < n)
		room *= 2;
	while (t->bytes_n + room - d->room > t->limits.bytes_max && t->oldest != d)
		give_up(t, t->oldest);
	bytes = t->bytes_n + room - d->room > t->limits.bytes_max ? NULL : realloc(d->bytes, room);
	if (!bytes)
		return false;
	t->bytes_n += room - d->room;
	d->bytes = bytes;
	d->room = room;
	return true;
}

/* Fills what is missing of [from, to); says how many bytes that was. False: too many
 * holes. */
static bool fill(struct datagram *d, uint32_t from, uint32_t to, const unsigned char *bytes,
	uint32_t *ret_new_n)
{
	*ret_new_n = 0;
	for (size_t i = 0; i < d->hole_count;) {
		struct hole h = d->holes[i];
		uint32_t a = from > h.from ? from : h.from, b = to < h.to ? to : h.to;

		if (a >= b) {
			i++;
			continue;
		}
		memcpy(d->bytes + a, bytes + (a - from), b - a);
		*ret_new_n += b - a;
		d->holes[i] = d->holes[--d->hole_count];
		if (d->hole_count + 2 > HOLES_MAX)
			return false;
		if (h.from < a)
			d->holes[d->hole_count++] = (struct hole){ h.from, a };
		if (b < h.to)
			d->holes[d->hole_count++] = (struct hole){ b, h.to };
	}
	return true;
}

static bool is_copy(const struct datagram *d, const struct packet *p)
{
	uint32_t from = p->fragment.offset_n, to = from + p->payload_n;

	for (size_t i = 0; i < d->hole_count; i++)
		if (from < d->holes[i].to && to > d->holes[i].from)
			return false;
	return to <= d->room && memcmp(d->bytes + from, p->payload, p->payload_n) == 0;
}

/* The last piece says where the datagram ends: the hole behind it closes. */
static void note_end(struct datagram *d, uint32_t end_n)
{
	d->end_n = end_n;
	for (size_t i = 0; i < d->hole_count; i++)
		if (d->holes[i].to == UINT32_MAX && d->holes[i].from >= end_n)
			d->holes[i--] = d->holes[--d->hole_count];
}

/* False: the datagram is spoilt. */
static bool add(struct fragment_table *t, struct datagram *d, const struct packet *p)
{
	uint32_t from = p->fragment.offset_n, to = from + p->payload_n, new_n;
	bool is_last = !p->fragment.has_more;

	/* Two ends that differ, or bytes behind the end. */
	if (to > d->end_n ||
		(is_last && (to < d->top_n || (d->end_n != UINT32_MAX && d->end_n != to))))
		return false;
	d->top_n = to > d->top_n ? to : d->top_n;
	/* RFC 8200: what the first piece says comes next counts. */
	if (from == 0)
		d->protocol = p->fragment.protocol;
	if (is_copy(d, p))
		return true;
	if (!make_room(t, d, to) || !fill(d, from, to, p->payload, &new_n))
		return false;
	if (new_n < p->payload_n) {
		t->counts.overlaps++;
		if (d->is_v6)
			return false;
	}
	if (is_last)
		note_end(d, to);
	return true;
}

static enum packet_verdict feed_one(
	struct fragment_table *t, struct packet *p, int64_t time_ns, uint64_t *frames)
{
	struct datagram *d = find(t, p, time_ns);
	unsigned char *bytes;
	size_t n;

	if (!d)
		return PACKET_FRAGMENT;
	d->frames += *frames;
	if (d->is_dropped)
		return PACKET_FRAGMENT;
	if (!add(t, d, p)) {
		d->is_dropped = true;
		t->bytes_n -= d->room;
		d->room = 0;
		free(d->bytes);
		d->bytes = NULL;
		return PACKET_FRAGMENT;
	}
	if (d->hole_count)
		return PACKET_FRAGMENT;
	t->counts.whole++;
	*frames = d->frames;
	n = d->end_n;
	p->fragment.protocol = d->protocol;
	bytes = detach(t, d);
	/* p's own payload may lie in the one that is freed now. */
	free(t->whole);
	t->whole = bytes;
	return packet_decode_whole(p, bytes, n, p);
}

enum packet_verdict fragment_feed(
	struct fragment_table *t, struct packet *p, int64_t time_ns, uint64_t *ret_frames)
{
	enum packet_verdict v = PACKET_FRAGMENT;
	const unsigned char *before;

	*ret_frames = 1;
	for (int i = 0; i < NESTED_MAX; i++) {
		before = t->whole;
		v = feed_one(t, p, time_ns, ret_frames);
		if (v != PACKET_FRAGMENT || t->whole == before)
			return v;
	}
	return PACKET_BAD;
}
