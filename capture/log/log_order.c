#include "capture/log/log_order.h"

#include <stdlib.h>

#include "capture/log/http_copy.h"

enum { WAITING_MAX = 100000, CHUNK_BYTES = 256 << 10 };

static const int64_t hold_ns = 60 * NS_PER_S;
static const size_t waiting_bytes_max = (size_t)64 << 20;

/* What waits is given back in the order in which it came: memory is taken from the end
 * of a chain of chunks and freed at its beginning. (A malloc for each cost a tenth of
 * the whole reading.) */
struct chunk {
	struct chunk *next;
	size_t used, size, live;
	_Alignas(16) char bytes[];
};

struct held {
	struct chunk *chunk;
	bool is_session;
	bool is_counted; /* in_flight is known */
	uint64_t number; /* order of arrival */
	int64_t end_ns;
	size_t size;
	union {
		struct raw_session session;
		struct raw_request request;
	};
	/* binds and texts follow */
};

/* The keys lie in the heap itself: looking them up in what waits was a quarter of the
 * whole reading. */
struct start {
	int64_t start_ns;
	uint64_t number;
	struct held *held;
};

struct log_order {
	const struct request_sink *sink;
	/* first in, first out; a ring */
	struct held **queue;
	size_t head, count, room;
	size_t bytes;
	uint64_t number;
	int64_t newest_ns;
	struct chunk *oldest, *newest, *spare;
	/* heaps: requests by start, ends of those in flight */
	struct start *starts;
	int64_t *ends;
	size_t start_count, start_room, end_count, end_room;
};

struct log_order *log_order_new(const struct request_sink *sink)
{
	struct log_order *o = calloc(1, sizeof(*o));

	if (o) {
		o->sink = sink;
		o->newest_ns = INT64_MIN;
	}
	return o;
}

void log_order_free(struct log_order *o)
{
	if (!o)
		return;
	for (struct chunk *c = o->oldest, *next; c; c = next) {
		next = c->next;
		free(c);
	}
	free(o->spare);
	free(o->queue);
	free(o->starts);
	free(o->ends);
	free(o);
}

/* ---- two binary heaps, smallest on top */

static bool grow(void **items, size_t *room, size_t count, size_t size)
{
	if (count < *room)
		return true;
	size_t n = *room ? 2 * *room : 256;
	void *p = realloc(*items, n * size);
	if (!p)
		return false;
	*items = p;
	*room = n;
	return true;
}

enum { WAYS = 4 };

static bool is_before(const struct start *a, const struct start *b)
{
	if (a->start_ns != b->start_ns)
		return a->start_ns < b->start_ns;
	return a->number < b->number;
}

/* A heap of four children a node: what waits is a second's requests, more than the
 * near caches hold, and half the levels are half the misses (LaMarca and Ladner 1996). */
static bool push_start(struct log_order *o, struct held *h)
{
	struct start new = { h->request.start_ns, h->number, h };

	if (!grow((void **)&o->starts, &o->start_room, o->start_count, sizeof(*o->starts)))
		return false;
	size_t at = o->start_count++;
	for (; at && is_before(&new, &o->starts[(at - 1) / WAYS]); at = (at - 1) / WAYS)
		o->starts[at] = o->starts[(at - 1) / WAYS];
	o->starts[at] = new;
	return true;
}

static struct held *pop_start(struct log_order *o)
{
	struct start top = o->starts[0], last = o->starts[--o->start_count];
	size_t at = 0, child;

	while ((child = WAYS * at + 1) < o->start_count) {
		size_t end = child + WAYS < o->start_count ? child + WAYS : o->start_count;

		for (size_t i = child + 1; i < end; i++)
			if (is_before(&o->starts[i], &o->starts[child]))
				child = i;
		if (!is_before(&o->starts[child], &last))
			break;
		o->starts[at] = o->starts[child];
		at = child;
	}
	if (o->start_count)
		o->starts[at] = last;
	return top.held;
}

static bool push_end(struct log_order *o, int64_t end_ns)
{
	if (!grow((void **)&o->ends, &o->end_room, o->end_count, sizeof(*o->ends)))
		return false;
	size_t at = o->end_count++;
	for (; at && end_ns < o->ends[(at - 1) / 2]; at = (at - 1) / 2)
		o->ends[at] = o->ends[(at - 1) / 2];
	o->ends[at] = end_ns;
	return true;
}

static void pop_end(struct log_order *o)
{
	int64_t last = o->ends[--o->end_count];
	size_t at = 0, child;

	while ((child = 2 * at + 1) < o->end_count) {
		if (child + 1 < o->end_count && o->ends[child + 1] < o->ends[child])
			child++;
		if (o->ends[child] >= last)
			break;
		o->ends[at] = o->ends[child];
		at = child;
	}
	if (o->end_count)
		o->ends[at] = last;
}

/* ---- memory */

static struct chunk *new_chunk(struct log_order *o, size_t n)
{
	size_t size = n > CHUNK_BYTES ? n : CHUNK_BYTES;
	struct chunk *c = size == CHUNK_BYTES ? o->spare : NULL;

	if (c)
		o->spare = NULL;
	else if (!(c = malloc(sizeof(*c) + size)))
		return NULL;
	*c = (struct chunk){ .size = size };
	if (o->newest)
		o->newest->next = c;
	else
		o->oldest = c;
	return o->newest = c;
}

static struct held *new_held(struct log_order *o, size_t extra, int64_t end_ns)
{
	size_t size = (sizeof(struct held) + extra + 15) / 16 * 16;
	struct chunk *c = o->newest;

	if ((!c || c->size - c->used < size) && !(c = new_chunk(o, size)))
		return NULL;
	struct held *h = (struct held *)(c->bytes + c->used);
	*h = (struct held){ .chunk = c, .size = size, .end_ns = end_ns };
	c->used += size;
	c->live++;
	return h;
}

/* Only the oldest is ever released. */
static void release(struct log_order *o, struct held *h)
{
	struct chunk *c = h->chunk;

	if (--c->live)
		return;
	if (c == o->newest) {
		c->used = 0;
		return;
	}
	o->oldest = c->next;
	if (!o->spare && c->size == CHUNK_BYTES)
		o->spare = c;
	else
		free(c);
}

/* ---- out */

/* Everything that started up to then gets its in_flight. */
static bool count_until(struct log_order *o, int64_t until_ns)
{
	while (o->start_count && o->starts[0].start_ns <= until_ns) {
		struct held *h = pop_start(o);

		while (o->end_count && o->ends[0] <= h->request.start_ns)
			pop_end(o);
		if (!push_end(o, h->end_ns))
			return false;
		h->request.in_flight = (uint32_t)o->end_count;
		h->is_counted = true;
	}
	return true;
}

static bool emit_first(struct log_order *o, struct err *e)
{
	struct held *h = o->queue[o->head];

	/* Also those that start while it runs come before it in the order of starts. */
	if (!h->is_session && !h->is_counted && !count_until(o, h->request.start_ns))
		return err_set(e, ERR_ENV, "out of memory");
	o->head = (o->head + 1) & (o->room - 1);
	o->count--;
	o->bytes -= h->size;
	bool ok = h->is_session ? o->sink->session(o->sink->data, &h->session, e)
				: o->sink->request(o->sink->data, &h->request, e);
	release(o, h);
	return ok;
}

static bool emit_old(struct log_order *o, struct err *e)
{
	while (o->count && (o->queue[o->head]->end_ns <= o->newest_ns - hold_ns ||
				   o->count > WAITING_MAX || o->bytes > waiting_bytes_max))
		if (!emit_first(o, e))
			return false;
	return true;
}

bool log_order_flush(struct log_order *o, struct err *e)
{
	while (o->count)
		if (!emit_first(o, e))
			return false;
	return true;
}

/* ---- in */

static bool enqueue(struct log_order *o, struct held *h, struct err *e)
{
	if (o->count == o->room) {
		size_t room = o->room ? 2 * o->room : 256;
		struct held **queue = malloc(room * sizeof(struct held *));

		if (!queue)
			return err_set(e, ERR_ENV, "out of memory");
		for (size_t i = 0; i < o->count; i++)
			queue[i] = o->queue[(o->head + i) & (o->room - 1)];
		free(o->queue);
		o->queue = queue;
		o->head = 0;
		o->room = room;
	}
	h->number = o->number++;
	o->queue[(o->head + o->count++) & (o->room - 1)] = h;
	o->bytes += h->size;
	if (h->end_ns > o->newest_ns)
		o->newest_ns = h->end_ns;
	if (!h->is_session && !push_start(o, h))
		return err_set(e, ERR_ENV, "out of memory");
	return emit_old(o, e);
}

static void keep(struct slice *s, char **to)
{
	if (s->n)
		memcpy(*to, s->p, s->n);
	s->p = *to;
	*to += s->n;
}

bool log_order_session(
	struct log_order *o, const struct raw_session *s, int64_t at_ns, struct err *e)
{
	struct held *h = new_held(
		o, s->client.n + s->server.n + s->user.n + s->database.n + s->application.n, at_ns);

	if (!h)
		return err_set(e, ERR_ENV, "out of memory");
	char *to = (char *)(h + 1);
	h->is_session = true;
	h->session = *s;
	keep(&h->session.client, &to);
	keep(&h->session.server, &to);
	keep(&h->session.user, &to);
	keep(&h->session.database, &to);
	keep(&h->session.application, &to);
	return enqueue(o, h, e);
}

bool log_order_request(struct log_order *o, const struct raw_request *q, struct err *e)
{
	size_t http_size = q->http ? http_copy_size(q->http) : 0;
	size_t extra = q->bind_count * sizeof(*q->binds) + http_size + q->text.n;

	for (size_t i = 0; i < q->bind_count; i++)
		extra += q->binds[i].bytes.n;
	struct held *h = new_held(o, extra, q->end_ns);
	if (!h)
		return err_set(e, ERR_ENV, "out of memory");
	struct raw_value *binds = (struct raw_value *)(h + 1);
	char *to = (char *)(binds + q->bind_count);
	h->request = *q;
	if (q->http)
		h->request.http = http_copy(q->http, to);
	to += http_size;
	h->request.binds = binds;
	h->request.edges = NULL;
	h->request.edge_count = 0;
	keep(&h->request.text, &to);
	for (size_t i = 0; i < q->bind_count; i++) {
		binds[i] = q->binds[i];
		keep(&binds[i].bytes, &to);
	}
	return enqueue(o, h, e);
}
