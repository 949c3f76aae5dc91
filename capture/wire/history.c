#include "capture/wire/history.h"

#include <stdlib.h>

enum {
	ROOM = 1 << 18,
	PIECE_MAX = 2048, /* of longer ones the tail is kept */
	LOOK_BACK = 64, /* pieces: bounds what a retransmission costs */
};

struct piece {
	uint64_t before; /* mark of the piece before it */
	uint32_t seq, n;
};

struct history {
	uint64_t at; /* where the next piece goes; never wraps */
	_Alignas(8) unsigned char bytes[ROOM];
};

struct history *history_new(void)
{
	struct history *h = calloc(1, sizeof *h);

	if (h)
		h->at = ROOM; /* no piece has mark 0 */
	return h;
}

void history_free(struct history *h)
{
	free(h);
}

static size_t size_of(uint32_t n)
{
	return (sizeof(struct piece) + n + 7) & ~(size_t)7;
}

void history_add(struct history *h, struct history_mark *m, uint32_t seq,
	const unsigned char *bytes, uint32_t n)
{
	uint32_t cut_n = n > PIECE_MAX ? n - PIECE_MAX : 0;
	struct piece p = { m->at, seq + cut_n, n - cut_n };
	size_t place = h->at % ROOM, size = size_of(p.n);

	if (place + size > ROOM) {
		h->at += ROOM - place;
		place = 0;
	}
	memcpy(h->bytes + place, &p, sizeof p);
	memcpy(h->bytes + place + sizeof p, bytes + cut_n, p.n);
	m->at = h->at;
	h->at += size;
}

static bool is_kept(const struct history *h, uint64_t at)
{
	return at && h->at - at <= ROOM - size_of(PIECE_MAX);
}

static bool piece_agrees(const struct piece *p, const unsigned char *kept, uint32_t seq,
	const unsigned char *bytes, uint32_t n)
{
	int32_t ahead = (int32_t)(seq - p->seq);
	uint32_t skip_kept = ahead > 0 ? (uint32_t)ahead : 0,
		 skip_new = ahead < 0 ? (uint32_t)-ahead : 0;

	if (skip_kept >= p->n || skip_new >= n)
		return true;
	n = n - skip_new < p->n - skip_kept ? n - skip_new : p->n - skip_kept;
	return memcmp(kept + skip_kept, bytes + skip_new, n) == 0;
}

bool history_agrees(const struct history *h, struct history_mark m, uint32_t seq,
	const unsigned char *bytes, uint32_t n)
{
	for (int i = 0; i < LOOK_BACK && is_kept(h, m.at); i++) {
		const unsigned char *place = h->bytes + m.at % ROOM;
		struct piece p;

		memcpy(&p, place, sizeof p);
		if (!piece_agrees(&p, place + sizeof p, seq, bytes, n))
			return false;
		/* Pieces were added in the order of their numbers. */
		if ((int32_t)(p.seq - seq) <= 0)
			break;
		m.at = p.before;
	}
	return true;
}
