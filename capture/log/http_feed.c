#include "capture/log/http_feed.h"

#include <stdlib.h>

#include "capture/log/http_copy.h"
#include "capture/log/http_lanes.h"
#include "capture/log/log_order.h"

enum { WAITING_MAX = 100000 };

static const int64_t hold_ns = 60 * NS_PER_S;
static const size_t waiting_bytes_max = (size_t)64 << 20;

struct waiting {
	struct http_feed_item item;
	uint64_t number; /* order of arrival */
	size_t size;
	/* the request, key, client, user follow */
};

struct http_feed {
	struct log_order *order;
	struct http_lanes *lanes;
	/* a heap by end */
	struct waiting **heap;
	size_t count, room;
	/* lines of one second, not yet in the heap */
	struct waiting **second;
	size_t second_count, second_room;
	size_t bytes;
	uint64_t number, late;
	int64_t newest_ns, gone_ns;
};

struct http_feed *http_feed_new(const struct request_sink *sink)
{
	struct http_feed *f = calloc(1, sizeof *f);

	if (!f)
		return NULL;
	f->newest_ns = f->gone_ns = INT64_MIN;
	f->order = log_order_new(sink);
	f->lanes = f->order ? http_lanes_new(f->order) : NULL;
	if (f->lanes)
		return f;
	http_feed_free(f);
	return NULL;
}

void http_feed_free(struct http_feed *f)
{
	if (!f)
		return;
	for (size_t i = 0; i < f->count; i++)
		free(f->heap[i]);
	for (size_t i = 0; i < f->second_count; i++)
		free(f->second[i]);
	free(f->heap);
	free(f->second);
	http_lanes_free(f->lanes);
	log_order_free(f->order);
	free(f);
}

uint64_t http_feed_late(const struct http_feed *f)
{
	return f->late;
}

/* ---- a copy */

static void keep(struct slice *s, char **to)
{
	if (s->n)
		memcpy(*to, s->p, s->n);
	s->p = *to;
	*to += s->n;
}

static struct waiting *copy_item(const struct http_feed_item *i)
{
	size_t http_size = http_copy_size(i->http);
	size_t size = sizeof(struct waiting) + http_size + i->key.n + i->client.n + i->user.n;
	struct waiting *w = malloc(size);

	if (!w)
		return NULL;
	w->item = *i;
	w->size = size;
	w->item.http = http_copy(i->http, w + 1);
	char *to = (char *)(w + 1) + http_size;
	keep(&w->item.key, &to);
	keep(&w->item.client, &to);
	keep(&w->item.user, &to);
	return w;
}

/* ---- a heap, the earliest end on top */

static bool grow(struct waiting ***items, size_t count, size_t *room)
{
	if (count < *room)
		return true;
	size_t n = *room ? 2 * *room : 256;
	struct waiting **more = realloc(*items, n * sizeof *more);

	if (!more)
		return false;
	*items = more;
	*room = n;
	return true;
}

static bool is_before(const struct waiting *a, const struct waiting *b)
{
	if (a->item.end_ns != b->item.end_ns)
		return a->item.end_ns < b->item.end_ns;
	return a->number < b->number;
}

static bool push(struct http_feed *f, struct waiting *w)
{
	if (!grow(&f->heap, f->count, &f->room))
		return false;
	size_t at = f->count++;
	for (; at && is_before(w, f->heap[(at - 1) / 2]); at = (at - 1) / 2)
		f->heap[at] = f->heap[(at - 1) / 2];
	f->heap[at] = w;
	if (w->item.end_ns > f->newest_ns)
		f->newest_ns = w->item.end_ns;
	return true;
}

static struct waiting *pop(struct http_feed *f)
{
	struct waiting *top = f->heap[0], *last = f->heap[--f->count];
	size_t at = 0, child;

	while ((child = 2 * at + 1) < f->count) {
		if (child + 1 < f->count && is_before(f->heap[child + 1], f->heap[child]))
			child++;
		if (!is_before(f->heap[child], last))
			break;
		f->heap[at] = f->heap[child];
		at = child;
	}
	if (f->count)
		f->heap[at] = last;
	return top;
}

/* ---- out */

static bool emit(struct http_feed *f, struct err *e)
{
	struct waiting *w = pop(f);

	f->bytes -= w->size;
	if (w->item.end_ns < f->gone_ns)
		f->late++;
	else
		f->gone_ns = w->item.end_ns;
	bool ok = http_lanes_take(f->lanes, &w->item, e);
	free(w);
	return ok;
}

static bool emit_old(struct http_feed *f, struct err *e)
{
	while (f->count && (f->heap[0]->item.end_ns <= f->newest_ns - hold_ns ||
				   f->count > WAITING_MAX || f->bytes > waiting_bytes_max))
		if (!emit(f, e))
			return false;
	return true;
}

/* ---- stamps of whole seconds */

static void move(struct http_feed_item *i, int64_t by_ns)
{
	i->start_ns += by_ns;
	i->end_ns += by_ns;
	if (i->first_byte_ns)
		i->first_byte_ns += by_ns;
}

/* The n lines of a second end at its (2k + 1)/2n-th parts. */
static bool spread_second(struct http_feed *f, struct err *e)
{
	size_t n = f->second_count;

	f->second_count = 0;
	for (size_t k = 0; k < n; k++) {
		struct waiting *w = f->second[k];

		move(&w->item, (int64_t)((2 * k + 1) * (uint64_t)NS_PER_S / (2 * (uint64_t)n)));
		if (push(f, w))
			continue;
		for (; k < n; k++)
			free(f->second[k]);
		return err_set(e, ERR_ENV, "out of memory");
	}
	return emit_old(f, e);
}

static bool join_second(struct http_feed *f, struct waiting *w, struct err *e)
{
	if (f->second_count &&
		(f->second[0]->item.end_ns != w->item.end_ns || f->second_count == WAITING_MAX) &&
		!spread_second(f, e)) {
		free(w);
		return false;
	}
	if (grow(&f->second, f->second_count, &f->second_room)) {
		f->second[f->second_count++] = w;
		return true;
	}
	free(w);
	return err_set(e, ERR_ENV, "out of memory");
}

/* Lines come in the order of their ends, so those that began in one second don't stand
 * together: each is put somewhere in it, evenly (multiples of the golden ratio). */
static int64_t place_of_start(uint64_t number)
{
	uint64_t part = number * UINT64_C(0x9e3779b97f4a7c15);

	return (int64_t)((part >> 32) * (uint64_t)NS_PER_S >> 32);
}

/* Stamps are added to and subtracted from: one that is 73 years or more from 1970 is a clock's
 * mistake, and stands at a bound where that cannot overflow. */
static void bound(int64_t *ns)
{
	const int64_t most = INT64_C(1) << 61;

	*ns = *ns > most ? most : *ns < -most ? -most : *ns;
}

bool http_feed_take(struct http_feed *f, const struct http_feed_item *i, struct err *e)
{
	struct waiting *w = copy_item(i);

	if (!w)
		return err_set(e, ERR_ENV, "out of memory");
	bound(&w->item.start_ns);
	bound(&w->item.first_byte_ns);
	bound(&w->item.end_ns);
	w->number = f->number++;
	f->bytes += w->size;
	if (i->fineness_ns >= NS_PER_S) {
		if (!i->is_start_stamped || i->start_ns == i->end_ns)
			return join_second(f, w, e);
		move(&w->item, place_of_start(w->number));
	}
	if (!push(f, w)) {
		free(w);
		return err_set(e, ERR_ENV, "out of memory");
	}
	return emit_old(f, e);
}

bool http_feed_finish(struct http_feed *f, struct err *e)
{
	if (!spread_second(f, e))
		return false;
	while (f->count)
		if (!emit(f, e))
			return false;
	return http_lanes_finish(f->lanes, e) && log_order_flush(f->order, e);
}
