#include "replay/driver_pg.h"

#include <libpq-fe.h>
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

enum { QUEUE_MAX = 4096 };

/* Shared by its owner and its thread; the last one out frees it. */
struct canceller {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	PGcancel *queue[QUEUE_MAX];
	size_t count;
	bool is_closing, has_ended, is_left;
};

static void destroy(struct canceller *c)
{
	for (size_t i = 0; i < c->count; i++)
		PQfreeCancel(c->queue[i]);
	pthread_cond_destroy(&c->changed);
	pthread_mutex_destroy(&c->lock);
	free(c);
}

/* NULL: no more. */
static PGcancel *wait_for_one(struct canceller *c)
{
	while (!c->count && !c->is_closing)
		pthread_cond_wait(&c->changed, &c->lock);
	return c->count ? c->queue[--c->count] : NULL;
}

static void *cancel_all(void *data)
{
	struct canceller *c = data;
	PGcancel *one;
	char why[256];

	pthread_mutex_lock(&c->lock);
	while ((one = wait_for_one(c))) {
		pthread_mutex_unlock(&c->lock);
		/* A failure leaves the statement running; its connection is closed anyway. */
		(void)PQcancel(one, why, sizeof(why));
		PQfreeCancel(one);
		pthread_mutex_lock(&c->lock);
	}
	c->has_ended = true;
	bool is_left = c->is_left;
	pthread_cond_broadcast(&c->changed);
	pthread_mutex_unlock(&c->lock);
	if (is_left)
		destroy(c);
	return NULL;
}

struct canceller *canceller_new(struct err *e)
{
	struct canceller *c = calloc(1, sizeof(*c));
	pthread_condattr_t attr;
	pthread_t thread;

	if (!c) {
		err_set(e, ERR_ENV, "could not allocate memory");
		return NULL;
	}
	pthread_mutex_init(&c->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&c->changed, &attr);
	pthread_condattr_destroy(&attr);
	int failed = pthread_create(&thread, NULL, cancel_all, c);
	if (failed) {
		err_os(e, ERR_ENV, failed, "could not start a thread");
		destroy(c);
		return NULL;
	}
	pthread_detach(thread);
	return c;
}

void canceller_cancel(struct canceller *c, struct driver_pg *d)
{
	PGcancel *one = d->conn ? PQgetCancel(d->conn) : NULL;

	if (!one)
		return;
	pthread_mutex_lock(&c->lock);
	bool has_room = c->count < QUEUE_MAX;
	if (has_room)
		c->queue[c->count++] = one;
	pthread_cond_broadcast(&c->changed);
	pthread_mutex_unlock(&c->lock);
	if (!has_room)
		PQfreeCancel(one);
}

void canceller_free(struct canceller *c)
{
	struct timespec deadline;

	if (!c)
		return;
	clock_gettime(CLOCK_MONOTONIC, &deadline);
	deadline.tv_sec++;
	pthread_mutex_lock(&c->lock);
	c->is_closing = true;
	pthread_cond_broadcast(&c->changed);
	while (!c->has_ended && pthread_cond_timedwait(&c->changed, &c->lock, &deadline) == 0)
		;
	c->is_left = !c->has_ended;
	bool is_left = c->is_left;
	pthread_mutex_unlock(&c->lock);
	if (!is_left)
		destroy(c);
}
