#include "core/base/ring.h"

#include <pthread.h>
#include <stdlib.h>
#include <time.h>

struct ring {
	pthread_mutex_t lock; /* held for one memcpy, never across an allocation */
	pthread_cond_t has_record;
	size_t size;
	size_t start; /* of the oldest record */
	size_t used;
	uint64_t dropped;
	bool is_finished;
	char bytes[]; /* records: uint32 length, then the bytes; both wrap */
};

enum { LENGTH_BYTES = sizeof(uint32_t) };

struct ring *ring_new(size_t size_bytes)
{
	pthread_condattr_t attr;
	struct ring *r = size_bytes < SIZE_MAX / 2 ? calloc(1, sizeof(*r) + size_bytes) : NULL;

	if (!r)
		return NULL;
	r->size = size_bytes;
	pthread_mutex_init(&r->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&r->has_record, &attr);
	pthread_condattr_destroy(&attr);
	return r;
}

static void copy_in(struct ring *r, size_t at, const void *from, size_t n)
{
	size_t before_wrap = r->size - at < n ? r->size - at : n;

	memcpy(r->bytes + at, from, before_wrap);
	memcpy(r->bytes, (const char *)from + before_wrap, n - before_wrap);
}

static void copy_out(const struct ring *r, size_t at, void *to, size_t n)
{
	size_t before_wrap = r->size - at < n ? r->size - at : n;

	memcpy(to, r->bytes + at, before_wrap);
	memcpy((char *)to + before_wrap, r->bytes, n - before_wrap);
}

static uint32_t oldest_length(const struct ring *r)
{
	uint32_t n;

	copy_out(r, r->start, &n, LENGTH_BYTES);
	return n;
}

static void forget_oldest(struct ring *r)
{
	size_t n = oldest_length(r) + (size_t)LENGTH_BYTES;

	r->start = (r->start + n) % r->size;
	r->used -= n;
}

void ring_put(struct ring *r, struct slice record)
{
	pthread_mutex_lock(&r->lock);
	if (r->size < LENGTH_BYTES || record.n > r->size - LENGTH_BYTES || record.n > UINT32_MAX) {
		r->dropped++;
		pthread_mutex_unlock(&r->lock);
		return;
	}
	uint32_t n = (uint32_t)record.n;
	for (; r->size - r->used < LENGTH_BYTES + record.n; r->dropped++)
		forget_oldest(r);
	size_t end = (r->start + r->used) % r->size;
	copy_in(r, end, &n, LENGTH_BYTES);
	if (n)
		copy_in(r, (end + LENGTH_BYTES) % r->size, record.p, n);
	r->used += LENGTH_BYTES + record.n;
	pthread_cond_signal(&r->has_record);
	pthread_mutex_unlock(&r->lock);
}

static struct timespec deadline_in(int64_t timeout_ns)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	timeout_ns = timeout_ns < 0 ? 0 : timeout_ns;
	t.tv_sec += timeout_ns / NS_PER_S;
	t.tv_nsec += timeout_ns % NS_PER_S;
	if (t.tv_nsec >= NS_PER_S) {
		t.tv_nsec -= NS_PER_S;
		t.tv_sec++;
	}
	return t;
}

/* Room for the oldest record, made outside the lock so that the writer never
 * waits for an allocation. The record may change meanwhile: hence the loop. */
static bool make_room(struct ring *r, struct buf *into)
{
	while (into->cap <= oldest_length(r)) {
		size_t need = oldest_length(r);

		pthread_mutex_unlock(&r->lock);
		bool ok = buf_room(into, need) != NULL;
		pthread_mutex_lock(&r->lock);
		if (!ok)
			return false;
		if (!r->used)
			return false;
	}
	return true;
}

enum step ring_take(struct ring *r, int64_t timeout_ns, struct buf *into)
{
	struct timespec deadline = deadline_in(timeout_ns);
	enum step step = STEP_ITEM;

	buf_reset(into);
	pthread_mutex_lock(&r->lock);
	while (!r->used && !r->is_finished)
		if (pthread_cond_timedwait(&r->has_record, &r->lock, &deadline) != 0)
			break;
	if (!r->used) {
		step = r->is_finished ? STEP_END : STEP_MORE;
	} else if (make_room(r, into)) {
		into->n = oldest_length(r);
		copy_out(r, (r->start + LENGTH_BYTES) % r->size, into->p, into->n);
		into->p[into->n] = '\0';
		forget_oldest(r);
	} else {
		/* No memory for it here: it is lost, and said. */
		if (r->used)
			forget_oldest(r);
		r->dropped++;
		step = STEP_MORE;
	}
	pthread_mutex_unlock(&r->lock);
	return step;
}

void ring_finish(struct ring *r)
{
	pthread_mutex_lock(&r->lock);
	r->is_finished = true;
	pthread_cond_broadcast(&r->has_record);
	pthread_mutex_unlock(&r->lock);
}

uint64_t ring_dropped(struct ring *r)
{
	pthread_mutex_lock(&r->lock);
	uint64_t n = r->dropped;
	pthread_mutex_unlock(&r->lock);
	return n;
}

void ring_destroy(struct ring *r)
{
	if (!r)
		return;
	pthread_cond_destroy(&r->has_record);
	pthread_mutex_destroy(&r->lock);
	free(r);
}
