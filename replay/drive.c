#include "replay/drive.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "replay/lane.h"
#include "replay/priority.h"

enum { EVENTS_MAX = 128, FILL_ITEMS = 256 };

#define TICK_NS (10 * NS_PER_MS)
#define IDLE_NS (100 * NS_PER_MS)
#define CONNECT_ALL_NS (120 * NS_PER_S)
#define START_LEAD_NS (20 * NS_PER_MS)

void drive_tell_time(struct drive *d)
{
	d->now_ns = clock_mono_ns(&d->clock) - d->start_ns;
}

/* Soft limit up to the hard one: a thousand sessions are a thousand sockets. */
static bool raise_file_limit(size_t wanted, struct err *e)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= wanted)
		return true;
	rlim_t was = limit.rlim_cur;
	limit.rlim_cur = limit.rlim_max < wanted ? limit.rlim_max : wanted;
	if (setrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur >= wanted)
		return true;
	err_set(e, ERR_ENV, "%zu open files are needed, the limit is %llu (hard limit %llu)",
		wanted, (unsigned long long)was, (unsigned long long)limit.rlim_max);
	return err_hint(e, "raise it with 'ulimit -Hn', or drive fewer sessions with --sessions");
}

bool drive_open(struct drive *d, struct err *e)
{
	struct epoll_event event = { .events = EPOLLIN };

	d->lane_room = plan_lane_count(d->plan);
	d->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	d->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	if (d->epoll_fd < 0 || d->timer_fd < 0 ||
		epoll_ctl(d->epoll_fd, EPOLL_CTL_ADD, d->timer_fd, &event) != 0)
		return err_os(e, ERR_ENV, errno, "could not make the event loop");
	d->lanes = calloc(d->lane_room + 1, sizeof(*d->lanes));
	if (!d->lanes || !heap_init(&d->heap, d->lane_room + 1))
		return err_set(
			e, ERR_ENV, "could not allocate memory for %zu sessions", d->lane_room);
	d->canceller = canceller_new(e);
	return d->canceller && raise_file_limit(d->lane_room + 64, e);
}

void drive_close(struct drive *d)
{
	for (size_t i = 0; i < d->lane_count; i++)
		lane_free(d, d->lanes[i]);
	free(d->lanes);
	heap_free(&d->heap);
	statement_free(&d->scratch);
	canceller_free(d->canceller);
	if (d->epoll_fd > 0)
		close(d->epoll_fd);
	if (d->timer_fd > 0)
		close(d->timer_fd);
}

/* New sessions get their lane; those that have work again get their turn. */
static bool wake_touched(struct drive *d, struct err *e)
{
	struct plan_lane *plan;

	while ((plan = plan_next_touched(d->plan))) {
		struct lane *l = plan->owner ? plan->owner : lane_new(d, plan);

		if (!l)
			return err_set(e, ERR_ENV, "could not allocate memory for a session");
		if (!d->has_started)
			continue;
		enum driver_state state = l->driver.state;
		if (state == DRIVER_CLOSED || state == DRIVER_READY)
			heap_set(&d->heap, &l->timer, d->now_ns);
	}
	return true;
}

static bool fill(struct drive *d, size_t max_items, bool *ret_has_more, struct err *e)
{
	*ret_has_more = false;
	if (d->is_plan_done)
		return true;
	enum step step = plan_fill(d->plan, max_items, e);
	if (step == STEP_FAIL)
		return false;
	d->is_plan_done = step == STEP_END;
	*ret_has_more = step == STEP_ITEM;
	return wake_touched(d, e);
}

static void set_timer(struct drive *d, int64_t wake_ns)
{
	int64_t at_ns = wake_ns + d->start_ns;

	/* Ringing early does no harm; a system call for each request would. */
	if (d->armed_ns > d->now_ns && d->armed_ns <= wake_ns)
		return;
	d->armed_ns = wake_ns;
	struct itimerspec when = { .it_value = { .tv_sec = at_ns / NS_PER_S,
					   .tv_nsec = at_ns % NS_PER_S } };

	timerfd_settime(d->timer_fd, TFD_TIMER_ABSTIME, &when, NULL);
}

/* The events of at most until_ns; the heap's first timer and the tick end it too. */
static void wait_for_events(struct drive *d, int64_t until_ns)
{
	struct epoll_event events[EVENTS_MAX];
	const struct timer *first = heap_first(&d->heap);
	int64_t wake_ns = first && first->wake_ns < until_ns ? first->wake_ns : until_ns;
	int timeout_ms = -1;

	drive_tell_time(d);
	if (wake_ns <= d->now_ns)
		timeout_ms = 0;
	else
		set_timer(d, wake_ns);
	int n = epoll_wait(d->epoll_fd, events, EVENTS_MAX, timeout_ms);
	for (int i = 0; i < n; i++)
		if (events[i].data.ptr)
			lane_ready(d, events[i].data.ptr, events[i].events);
	drive_tell_time(d);
}

static void run_timers(struct drive *d)
{
	struct timer *t;

	drive_tell_time(d);
	int64_t now_ns = d->now_ns;
	/* Each at most once: signals and ticks are looked at in between, come what may. */
	for (size_t left = d->heap.count; left > 0; left--) {
		t = heap_first(&d->heap);
		if (!t || t->wake_ns > now_ns)
			return;
		heap_remove(&d->heap, t);
		lane_turn(d, (struct lane *)t);
	}
}

static size_t connected(const struct drive *d)
{
	size_t n = 0;

	for (size_t i = 0; i < d->lane_count; i++)
		n += d->lanes[i]->driver.state == DRIVER_READY;
	return n;
}

/* Sessions that were open at the start connect before it, some at a time. */
static bool connect_all(struct drive *d, struct err *e)
{
	int64_t deadline_ns;

	d->start_ns = clock_mono_ns(&d->clock) + CONNECT_ALL_NS;
	drive_tell_time(d);
	deadline_ns = d->now_ns + CONNECT_ALL_NS;
	for (size_t i = 0; i < d->lane_count; i++)
		if (d->lanes[i]->plan->open_ns <= 0 || d->o->is_serial)
			heap_set(&d->heap, &d->lanes[i]->timer, d->now_ns);
	while ((d->connecting || heap_first(&d->heap)) && d->now_ns < deadline_ns) {
		run_timers(d);
		if (d->fatal.kind || run_stopped(d->run))
			break;
		wait_for_events(d, d->now_ns + IDLE_NS);
	}
	if (d->fatal.kind || connected(d))
		return true;
	if (d->last_failure.kind) {
		*e = d->last_failure;
		return false;
	}
	return true;
}

static void start(struct drive *d)
{
	int64_t shift_ns;

	d->start_ns = clock_mono_ns(&d->clock) + START_LEAD_NS;
	drive_tell_time(d);
	d->has_started = true;
	d->armed_ns = INT64_MIN;
	shift_ns = -START_LEAD_NS;
	for (size_t i = 0; i < d->lane_count; i++) {
		struct lane *l = d->lanes[i];

		/* Times so far were on the clock of the connecting phase. */
		l->opened_ns = l->free_ns = l->retry_ns = shift_ns;
		heap_set(&d->heap, &l->timer, shift_ns);
	}
}

static bool has_ended(const struct drive *d)
{
	if (d->is_stopping || d->fatal.kind)
		return true;
	if (d->busy || d->connecting)
		return false;
	if (d->is_ending)
		return !heap_first(&d->heap);
	/* A window is run to its end also when its traffic ends early: what runs beside
	 * the traffic was promised that time. */
	bool is_paced = !d->o->is_serial && !d->o->is_closed;
	return d->is_plan_done && !heap_first(&d->heap) &&
	       (!is_paced || d->now_ns >= schedule_length(plan_schedule(d->plan)));
}

static void look_at_clock_and_signals(struct drive *d, int64_t *next_tick_ns)
{
	if (run_stopped(d->run)) {
		d->is_stopping = true;
		d->measure->result->is_interrupted = true;
	}
	if (d->o->loop_until_ns && d->now_ns >= d->o->loop_until_ns)
		d->is_ending = true;
	if (d->now_ns < *next_tick_ns)
		return;
	*next_tick_ns = d->now_ns + TICK_NS / 2;
	if (d->now_ns >= 0 && d->o->tick && !d->o->tick(d->o->tick_data, d->now_ns)) {
		d->is_stopping = true;
		d->measure->result->is_interrupted = true;
	}
}

/* The loop rests until then at the latest: a tick, or the end of the run. */
static int64_t rest_until(const struct drive *d, int64_t pause_ns)
{
	int64_t ends_ns =
		d->o->loop_until_ns ? d->o->loop_until_ns : schedule_length(plan_schedule(d->plan));
	int64_t until_ns = d->now_ns + pause_ns;

	return ends_ns > d->now_ns && ends_ns < until_ns ? ends_ns : until_ns;
}

static bool loop(struct drive *d, struct err *e)
{
	int64_t next_tick_ns = 0, pause_ns = d->o->tick ? TICK_NS / 2 : IDLE_NS;
	bool has_more = false;

	while (!has_ended(d)) {
		run_timers(d);
		if (!d->is_ending && !fill(d, FILL_ITEMS, &has_more, e))
			return false;
		look_at_clock_and_signals(d, &next_tick_ns);
		if (!has_ended(d))
			wait_for_events(d, has_more ? d->now_ns : rest_until(d, pause_ns));
	}
	return true;
}

/* What the queues still hold is not lost from sight. A looping run's read-ahead was
 * never promised. */
static void count_leftovers(struct drive *d)
{
	for (size_t i = 0; i < d->lane_count; i++) {
		struct plan_item *item;

		while (!d->o->loop_until_ns && (item = plan_take(d->plan, d->lanes[i]->plan))) {
			measure_skip(d->measure, item, item->skip ? item->skip : SKIP_RUN_ENDED);
			plan_release(d->plan, item);
		}
	}
}

static int64_t own_cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return t.tv_sec * NS_PER_S + t.tv_nsec;
}

bool drive_run(struct drive *d, struct err *e)
{
	struct replay_result *r = d->measure->result;
	struct priority priority;
	bool has_more = true;

	while (has_more)
		if (!fill(d, FILL_ITEMS, &has_more, e))
			return false;
	if (!connect_all(d, e))
		return false;
	priority_raise(&priority);
	start(d);
	int64_t cpu_ns = own_cpu_ns();
	bool ok = d->fatal.kind ? true : loop(d, e);
	drive_tell_time(d);
	r->own_cpu_ns = own_cpu_ns() - cpu_ns;
	priority_restore(&priority);
	r->duration_ns = d->now_ns > 0 ? d->now_ns : 0;
	for (size_t i = 0; i < d->lane_count; i++)
		lane_stop(d, d->lanes[i]);
	count_leftovers(d);
	if (ok && d->fatal.kind) {
		*e = d->fatal;
		return false;
	}
	return ok;
}
