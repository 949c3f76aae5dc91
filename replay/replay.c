#include "replay/replay.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "core/driver/target.h"
#include "replay/drive.h"
#include "replay/fidelity.h"

#define CHECK_TIMEOUT_NS (15 * NS_PER_S)
#define DEFAULT_TIMEOUT_NS (60 * NS_PER_S)

/* One connection that asks for the mark, as every later one will. */
static bool wait_for_check(struct driver_pg *d, int epoll_fd, const struct run *r, struct err *e)
{
	int64_t deadline_ns = clock_mono_ns(&(struct clock){ 0 }) + CHECK_TIMEOUT_NS;
	struct driver_answer answer;
	struct epoll_event event;

	for (;;) {
		enum driver_news news = driver_pg_next(d, &answer);

		if (news == DRIVER_OPENED)
			return true;
		if (news == DRIVER_GONE) {
			*e = d->why;
			return false;
		}
		if (run_stopped(r))
			return err_set(e, ERR_INTERRUPTED, "interrupted before the start");
		if (clock_mono_ns(&(struct clock){ 0 }) > deadline_ns) {
			err_set(e, ERR_ENV, "the target did not answer within 15 s");
			return err_hint(e, "is the server running, and not stopped?");
		}
		if (epoll_wait(epoll_fd, &event, 1, 100) == 1)
			driver_pg_ready(d, event.events);
	}
}

static bool refuse_superuser(struct err *e)
{
	err_set(e, ERR_REFUSED, "traffic is not replayed as a superuser");
	return err_hint(e,
		"use the role reprod_replay that 'reprod snapshot build' makes, another role "
		"without superuser rights, or --allow-superuser");
}

/* Refuses a capture of HTTP alone, before its target is asked anything. */
static bool has_statements(const struct rcap *c, const char *path, struct err *e)
{
	uint64_t http = 0;

	for (size_t i = 0; i < rcap_route_count(c); i++) {
		const struct rcap_route *route = rcap_route(c, (uint32_t)i);

		if (route && route->requests && route->protocol != PROTOCOL_HTTP)
			return true;
		http += route ? route->requests : 0;
	}
	if (!http)
		return true;
	err_set(e, ERR_INPUT, "'%s' holds %llu HTTP requests and no statement", path,
		(unsigned long long)http);
	return err_hint(e, "statements are replayed; for HTTP: reprod capture export FILE --to k6 "
			   "(or gor, vegeta, wsesslog)");
}

/* Everything that may refuse, before a captured statement is sent. */
static bool check_target(const struct replay_options *o, const struct run *r,
	const struct json *head, struct mark *ret_mark, struct err *e)
{
	struct driver_pg d = { 0 };
	struct cells cells = { 0 };
	int epoll_fd;
	bool ok = false;

	if (!target_is_not_source(o->dsn, head, e))
		return false;
	epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (epoll_fd < 0)
		return err_os(e, ERR_ENV, errno, "could not make an event queue");
	if (!driver_pg_open(&d, o->dsn, epoll_fd, NULL, NULL, &cells, e) ||
		!wait_for_check(&d, epoll_fd, r, e))
		goto out;
	if (!target_fits_capture(&d.mark, head, e))
		goto out;
	if (driver_pg_is_superuser(&d) && !o->may_be_superuser) {
		refuse_superuser(e);
		goto out;
	}
	*ret_mark = d.mark;
	ok = true;
out:
	driver_pg_close(&d);
	cells_free(&cells);
	close(epoll_fd);
	return ok;
}

static void fill_in(
	struct replay_result *ret, const struct plan *plan, const struct replay_options *o)
{
	const struct plan_totals *t = plan_totals(plan);

	ret->sessions_planned = o->is_serial ? (t->sessions ? 1 : 0) : t->sessions;
	ret->left_out = t->left_out;
	ret->own_requests = t->own;
	ret->passes = t->passes;
	ret->was_capped = t->was_capped;
	ret->planned_ns = schedule_length(plan_schedule(plan));
	ret->is_serial = o->is_serial;
}

static bool drive(struct drive *d, struct replay_result *ret, struct err *e)
{
	bool ok = drive_open(d, e) && drive_run(d, e);

	drive_close(d);
	fill_in(ret, d->plan, d->o);
	if (!measure_finish(d->measure, ok ? e : &(struct err){ 0 }))
		ok = false;
	fidelity_judge_delivery(ret);
	return ok;
}

bool replay_run(const struct run *r, const struct replay_options *o, struct replay_result *ret,
	struct err *e)
{
	struct plan_options want = {
		.path = o->capture_path,
		.windows = o->windows,
		.window_count = o->window_count,
		.speed = o->speed,
		.route = o->route,
		.is_serial = o->is_serial,
		.is_closed = o->is_closed,
		.is_looping = o->loop_until_ns > 0,
		.max_sessions = o->max_sessions,
		.own = o->own_fingerprints,
		.own_count = o->own_count,
	};
	struct measure *m = NULL;
	bool ok = false;

	*ret = (struct replay_result){ 0 };
	struct plan *plan = plan_open(&want, e);
	if (!plan)
		return false;
	if (!has_statements(plan_capture(plan), o->capture_path, e) ||
		!check_target(o, r, rcap_head(plan_capture(plan)), &ret->mark, e))
		goto out;
	m = calloc(1, sizeof(*m));
	if (!m) {
		err_set(e, ERR_ENV, "could not allocate memory for results");
		goto out;
	}
	if (!measure_init(m, ret, plan_capture(plan), o->judged_fingerprint, e))
		goto out;
	struct drive d = { .run = r,
		.o = o,
		.plan = plan,
		.measure = m,
		.mark = ret->mark,
		.epoll_fd = -1,
		.timer_fd = -1,
		.timeout_ns = o->request_timeout_ns ? o->request_timeout_ns : DEFAULT_TIMEOUT_NS };
	ok = drive(&d, ret, e);
out:
	if (m)
		measure_free(m);
	free(m);
	plan_close(plan);
	return ok;
}
