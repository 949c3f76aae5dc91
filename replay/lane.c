#include "replay/lane.h"

#include <stdlib.h>

enum { CONNECTING_MAX = 48, ATTEMPTS_MAX = 3 };

#define CONNECT_TIMEOUT_NS (15 * NS_PER_S)
/* A session that opens in mid-run connects so long before its first request, which
 * covers the fork of a backend and the check of the mark (measured 2-4 ms). */
#define CONNECT_LEAD_NS (20 * NS_PER_MS)
/* A statement not prepared in the run yet is prepared ahead only with this much time. */
#define PREPARE_LEAD_NS NS_PER_MS

struct lane *lane_new(struct drive *d, struct plan_lane *plan)
{
	struct lane *l = calloc(1, sizeof(*l));

	if (!l)
		return NULL;
	l->plan = plan;
	plan->owner = l;
	d->lanes[d->lane_count++] = l;
	return l;
}

static int64_t due_of(const struct drive *d, const struct lane *l, const struct plan_item *item)
{
	if (d->o->is_serial)
		return l->has_previous ? l->replied_ns : 0;
	return schedule_due(plan_schedule(d->plan), &(struct schedule_turn){
							    .offset_ns = item->offset_ns,
							    .think_ns = item->think_ns,
							    .is_chained = item->is_chained,
							    .has_previous = l->has_previous,
							    .previous_end_ns = l->replied_ns,
						    });
}

static void drop(struct drive *d, struct lane *l)
{
	plan_release(d->plan, plan_take(d->plan, l->plan));
}

/* Counts and drops what at the head of the queue will not be sent; the first item
 * that may be, or NULL. */
static struct plan_item *next_item(struct drive *d, struct lane *l)
{
	for (;;) {
		struct plan_item *item = plan_peek(d->plan, l->plan);

		if (!item || item->kind == PLAN_CLOSE)
			return item;
		if (!item->is_chained)
			l->is_unit_lost = false;
		if (item->skip != SKIP_NONE)
			measure_skip(d->measure, item, item->skip);
		else if (l->is_unit_lost)
			measure_unsent(d->measure, item);
		else if (item->kind == PLAN_PREPARE && l->driver.state == DRIVER_READY &&
			 !driver_pg_needs_prepare(&l->driver, item))
			;
		else
			return item;
		drop(d, l);
	}
}

static void sleep_until(struct drive *d, struct lane *l, int64_t wake_ns)
{
	heap_set(&d->heap, &l->timer, wake_ns);
}

static void sleep_long(struct drive *d, struct lane *l)
{
	heap_remove(&d->heap, &l->timer);
}

/* Connection attempts failed for good, so far: what is due now cannot be sent. */
static void fail_what_is_due(struct drive *d, struct lane *l)
{
	struct plan_item *item;

	while ((item = next_item(d, l)) && item->kind != PLAN_CLOSE &&
		due_of(d, l, item) <= d->now_ns) {
		measure_unsent(d->measure, item);
		drop(d, l);
		l->is_unit_lost = true;
	}
}

static void connection_failed(struct drive *d, struct lane *l, const struct err *why)
{
	driver_pg_close(&l->driver);
	d->last_failure = *why;
	if (why->kind == ERR_REFUSED)
		d->fatal = *why;
	d->measure->result->connects_failed++;
	l->attempts++;
	uint32_t doublings = l->attempts < 5 ? l->attempts : 5;
	l->retry_ns = d->now_ns + ((50 * NS_PER_MS) << doublings);
}

void lane_open(struct drive *d, struct lane *l)
{
	struct err why = { 0 };

	l->opened_ns = d->now_ns;
	if (!driver_pg_open(&l->driver, d->o->dsn, d->epoll_fd, l, &d->mark, &l->cells, &why)) {
		connection_failed(d, l, &why);
		return;
	}
	d->connecting++;
	sleep_until(d, l, d->now_ns + CONNECT_TIMEOUT_NS);
}

/* When to connect: as production did, or in time for the first request. Before the
 * start at once, after a failure later. */
static int64_t open_time(const struct drive *d, const struct lane *l, const struct plan_item *item)
{
	int64_t open_ns = d->now_ns;

	if (d->has_started) {
		open_ns = due_of(d, l, item) - CONNECT_LEAD_NS;
		if (!l->has_connected && l->plan->open_ns < open_ns)
			open_ns = l->plan->open_ns;
	}
	return l->attempts && open_ns < l->retry_ns ? l->retry_ns : open_ns;
}

static void turn_closed(struct drive *d, struct lane *l)
{
	if (l->attempts >= ATTEMPTS_MAX)
		fail_what_is_due(d, l);
	struct plan_item *item = next_item(d, l);
	for (; item && item->kind == PLAN_CLOSE; item = next_item(d, l))
		drop(d, l);
	if (!item || d->is_ending) {
		sleep_long(d, l);
		return;
	}
	/* Enough tries before the start; the next when its first request is due. */
	if (!d->has_started && l->attempts >= ATTEMPTS_MAX) {
		sleep_long(d, l);
		return;
	}
	int64_t open_ns = open_time(d, l, item);
	if (open_ns > d->now_ns) {
		sleep_until(d, l, open_ns);
	} else if (d->connecting >= CONNECTING_MAX) {
		sleep_until(d, l, d->now_ns + NS_PER_MS);
	} else {
		lane_open(d, l);
		if (l->driver.state == DRIVER_CLOSED)
			sleep_until(d, l, l->retry_ns);
	}
}

static struct driver_order order_of(const struct drive *d, const struct plan_item *item)
{
	struct driver_order order = { .item = item,
		.template_text = rcap_template(plan_capture(d->plan), item->q.template_id) };

	if (item->has_cells)
		order.wanted =
			plan_cells(d->plan, item->q.session, item->q.seq, &order.wanted_count);
	return order;
}

static bool add_flight(struct lane *l, struct plan_item *item, int64_t due_ns)
{
	if (l->flight_count == l->flight_room) {
		size_t room = l->flight_room ? 2 * l->flight_room : 4;
		struct flight *p = realloc(l->flights, room * sizeof(*p));
		if (!p)
			return false;
		l->flights = p;
		l->flight_room = room;
	}
	l->flights[l->flight_count++] = (struct flight){ item, due_ns };
	return true;
}

static struct measure_times times_of(const struct lane *l, const struct flight *f, int64_t end_ns)
{
	return (struct measure_times){ f->due_ns, l->free_ns, l->sent_ns, end_ns };
}

/* Sends one item of a batch; it is taken from the queue in every case. False: lost. */
static bool put(struct drive *d, struct lane *l, int64_t due_ns)
{
	struct plan_item *item = plan_take(d->plan, l->plan);
	struct driver_order order = order_of(d, item);

	if (!add_flight(l, item, due_ns)) {
		measure_unsent(d->measure, item);
		plan_release(d->plan, item);
		return false;
	}
	struct flight *f = &l->flights[l->flight_count - 1];
	struct measure_times times = times_of(l, f, 0);
	enum driver_put put = driver_pg_put(&l->driver, &order, &d->scratch);
	d->measure->result->keys_substituted += put == DRIVER_PUT_SENT ? d->scratch.substituted : 0;
	if (put == DRIVER_PUT_SENT) {
		measure_sent(d->measure, item, &times);
		return true;
	}
	l->flight_count--;
	if (put == DRIVER_PUT_IMPOSSIBLE)
		measure_skip(d->measure, item, SKIP_VALUE_LOST);
	else
		measure_unsent(d->measure, item);
	plan_release(d->plan, item);
	return put == DRIVER_PUT_IMPOSSIBLE;
}

/* Unanswered ones end as told; the connection goes. */
static void give_up(struct drive *d, struct lane *l, enum measure_end how)
{
	for (; l->flight_at < l->flight_count; l->flight_at++) {
		struct flight *f = &l->flights[l->flight_at];
		struct measure_times times = times_of(l, f, d->now_ns);

		measure_end(d->measure, f->item, &times, how, &(struct driver_answer){ 0 });
		plan_release(d->plan, f->item);
	}
	if (l->driver.state == DRIVER_BUSY)
		d->busy--;
	driver_pg_close(&l->driver);
	l->flight_count = l->flight_at = 0;
	l->is_unit_lost = true;
	l->is_preparing = false;
	l->free_ns = l->replied_ns = d->now_ns;
}

static void send_batch(struct drive *d, struct lane *l, struct plan_item *item, int64_t due_ns)
{
	bool is_pipeline = item->is_piped || driver_pg_needs_prepare(&l->driver, item);
	bool is_alive = true, goes_on = true;

	/* A Parse alone is no pipeline: it takes its own Sync. */
	if (item->kind == PLAN_PREPARE && !item->is_piped)
		is_pipeline = false;
	l->flight_count = l->flight_at = 0;
	l->has_cancelled = false;
	driver_pg_begin(&l->driver, is_pipeline);
	drive_tell_time(d);
	l->sent_ns = d->now_ns;
	while (is_alive && goes_on && item) {
		goes_on = item->is_piped && is_pipeline && l->flight_count + 1 < DRIVER_BATCH_MAX;
		is_alive = put(d, l, due_ns);
		item = goes_on ? next_item(d, l) : NULL;
		goes_on = item && item->kind != PLAN_CLOSE;
	}
	if (!is_alive) {
		give_up(d, l, MEASURE_LOST);
		return;
	}
	if (!l->flight_count && !is_pipeline)
		return;
	driver_pg_send(&l->driver);
	d->busy++;
	if (l->driver.state == DRIVER_LOST) {
		d->busy--;
		give_up(d, l, MEASURE_LOST);
	}
}

static bool prepare_early(
	struct drive *d, struct lane *l, const struct plan_item *item, int64_t due_ns)
{
	if (item->kind != PLAN_REQUEST || l->prepared_for == item ||
		due_ns - d->now_ns < PREPARE_LEAD_NS || !driver_pg_needs_prepare(&l->driver, item))
		return false;
	struct driver_order order = order_of(d, item);
	l->prepared_for = item;
	if (driver_pg_prepare(&l->driver, &order, &d->scratch) != DRIVER_PUT_SENT)
		return false;
	l->is_preparing = true;
	l->sent_ns = d->now_ns;
	d->busy++;
	return true;
}

static void turn_busy(struct drive *d, struct lane *l)
{
	int64_t wake_ns = l->sent_ns + d->timeout_ns;

	if (d->now_ns >= wake_ns) {
		canceller_cancel(d->canceller, &l->driver);
		give_up(d, l, MEASURE_CENSORED);
		turn_closed(d, l);
		return;
	}
	const struct plan_item *item =
		l->flight_at < l->flight_count ? l->flights[l->flight_at].item : NULL;
	if (item && item->q.flags & REQUEST_CANCELLED && !l->has_cancelled) {
		int64_t cancel_ns = l->sent_ns + item->q.end_ns - item->q.start_ns;

		l->has_cancelled = d->now_ns >= cancel_ns;
		if (l->has_cancelled)
			canceller_cancel(d->canceller, &l->driver);
		else if (cancel_ns < wake_ns)
			wake_ns = cancel_ns;
	}
	sleep_until(d, l, wake_ns);
}

static void turn_ready(struct drive *d, struct lane *l)
{
	while (l->driver.state == DRIVER_READY) {
		struct plan_item *item = next_item(d, l);

		if (!item || !d->has_started || (d->is_ending && !item->is_chained)) {
			sleep_long(d, l);
			return;
		}
		bool is_close = item->kind == PLAN_CLOSE;
		int64_t due_ns = is_close ? item->offset_ns : due_of(d, l, item);
		if (due_ns > d->now_ns && (is_close || !prepare_early(d, l, item, due_ns))) {
			sleep_until(d, l, due_ns);
			return;
		}
		if (is_close)
			driver_pg_close(&l->driver);
		else if (!l->is_preparing)
			send_batch(d, l, item, due_ns);
	}
	if (l->driver.state == DRIVER_BUSY)
		turn_busy(d, l);
	else
		turn_closed(d, l);
}

void lane_turn(struct drive *d, struct lane *l)
{
	switch (l->driver.state) {
	case DRIVER_CLOSED:
		turn_closed(d, l);
		break;
	case DRIVER_CONNECTING:
	case DRIVER_CHECKING:
		if (d->now_ns < l->opened_ns + CONNECT_TIMEOUT_NS)
			break;
		err_set(&l->driver.why, ERR_ENV,
			"the target did not take a connection within 15 s");
		d->connecting--;
		connection_failed(d, l, &l->driver.why);
		turn_closed(d, l);
		break;
	case DRIVER_READY:
		turn_ready(d, l);
		break;
	case DRIVER_BUSY:
		turn_busy(d, l);
		break;
	case DRIVER_LOST:
		give_up(d, l, MEASURE_LOST);
		turn_closed(d, l);
		break;
	}
}

static void answered(struct drive *d, struct lane *l, const struct driver_answer *answer)
{
	struct flight *f = &l->flights[l->flight_at++];
	struct measure_times times = times_of(l, f, d->now_ns);

	measure_end(d->measure, f->item, &times, MEASURE_ANSWERED, answer);
	plan_release(d->plan, f->item);
}

static void became_free(struct drive *d, struct lane *l)
{
	d->busy--;
	l->free_ns = d->now_ns;
	if (!l->is_preparing) {
		l->replied_ns = d->now_ns;
		l->has_previous = true;
	}
	l->is_preparing = false;
	l->flight_count = l->flight_at = 0;
}

static void opened(struct drive *d, struct lane *l)
{
	d->connecting--;
	d->measure->result->connects++;
	if (!l->has_connected)
		d->measure->result->sessions++;
	l->has_connected = true;
	l->attempts = 0;
	l->free_ns = d->now_ns;
}

static void gone(struct drive *d, struct lane *l, enum driver_state before)
{
	struct err why = l->driver.why;

	if (before == DRIVER_CONNECTING || before == DRIVER_CHECKING) {
		d->connecting--;
		connection_failed(d, l, &why);
		return;
	}
	d->last_failure = why;
	if (before == DRIVER_BUSY)
		d->busy--;
	give_up(d, l, MEASURE_LOST);
}

void lane_ready(struct drive *d, struct lane *l, uint32_t events)
{
	enum driver_state before = l->driver.state;
	struct driver_answer answer;
	enum driver_news news;

	if (before == DRIVER_CLOSED)
		return;
	driver_pg_ready(&l->driver, events);
	if (l->driver.state == DRIVER_CONNECTING || l->driver.state == DRIVER_CHECKING)
		before = l->driver.state;
	drive_tell_time(d);
	while ((news = driver_pg_next(&l->driver, &answer)) != DRIVER_NOTHING) {
		if (news == DRIVER_ANSWERED)
			answered(d, l, &answer);
		else if (news == DRIVER_FREE)
			became_free(d, l);
		else if (news == DRIVER_OPENED)
			opened(d, l);
		else
			break;
	}
	if (news == DRIVER_GONE)
		gone(d, l, before);
	if (news == DRIVER_GONE || l->driver.state == DRIVER_READY)
		lane_turn(d, l);
}

void lane_stop(struct drive *d, struct lane *l)
{
	if (l->driver.state == DRIVER_BUSY)
		canceller_cancel(d->canceller, &l->driver);
	if (l->driver.state != DRIVER_CLOSED)
		give_up(d, l, MEASURE_CENSORED);
}

void lane_free(struct drive *d, struct lane *l)
{
	for (; l->flight_at < l->flight_count; l->flight_at++)
		plan_release(d->plan, l->flights[l->flight_at].item);
	driver_pg_close(&l->driver);
	cells_free(&l->cells);
	free(l->flights);
	l->plan->owner = NULL;
	free(l);
}
