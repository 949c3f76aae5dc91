#include "recipes/cell.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <unistd.h>

#include "recipes/job.h"
#include "recipes/own.h"
#include "recipes/switch.h"
#include "replay/replay.h"

#define REQUEST_TIMEOUT_NS (30 * NS_PER_S)

void cell_plan(struct cell_plan *p, const struct recipe *recipe, bool wants_quiet)
{
	double speed = recipe->speed > 0 ? recipe->speed : 1;
	int64_t last = -1;

	*p = (struct cell_plan){ 0 };
	for (size_t i = 0; i < recipe->window_count; i++) {
		const struct recipe_window *w = &recipe->windows[i];
		bool has_inside = w->inside_to_s > w->inside_from_s;
		int64_t length_ns = (int64_t)((double)(w->to_ns - w->from_ns) / speed);
		int64_t from_ns = p->length_ns + (int64_t)(w->inside_from_s * 1e9 / speed);
		int64_t to_ns = p->length_ns + (int64_t)(w->inside_to_s * 1e9 / speed);

		/* Without either it is the warm-up, which every arm needs. */
		if (!has_inside && w->is_quiet && !wants_quiet)
			continue;
		p->windows[p->window_count++] = i;
		if (w->is_quiet)
			p->quiet[p->quiet_count++] =
				(struct span){ p->length_ns, p->length_ns + length_ns };
		if (has_inside && p->inside_count > 0 && w->occurrence == last)
			p->inside[p->inside_count - 1].to_ns = to_ns;
		else if (has_inside)
			p->inside[p->inside_count++] = (struct span){ from_ns, to_ns };
		if (has_inside)
			last = w->occurrence;
		p->length_ns += length_ns;
	}
}

static const struct recipe_condition *cause_of(const struct recipe *recipe)
{
	for (size_t i = 0; i < recipe->condition_count; i++) {
		if (*recipe->occurrences_of &&
			strcmp(recipe->conditions[i].id, recipe->occurrences_of) == 0)
			return &recipe->conditions[i];
	}
	return NULL;
}

/* The run that was started for a planned span; false when none was. */
static bool run_of(
	const struct cell *c, const struct recipe_condition *cause, struct span s, struct span *ret)
{
	for (size_t k = 0; k < c->job_run_count && k < cause->offset_count; k++) {
		int64_t planned_ns = (int64_t)(cause->offsets_s[k] * 1e9);

		if (planned_ns >= s.from_ns - NS_PER_MS && planned_ns < s.to_ns) {
			*ret = c->job_runs[k];
			return true;
		}
	}
	return false;
}

size_t cell_inside(const struct cell *c, const struct cell_plan *plan, const struct recipe *recipe,
	struct span *ret)
{
	const struct recipe_condition *cause = c->job_runs ? cause_of(recipe) : NULL;
	int64_t lag_ns = (int64_t)(recipe->lag_s * 1e9);
	size_t n = 0;

	for (size_t i = 0; i < plan->inside_count; i++) {
		struct span s = plan->inside[i], ran;
		int64_t length_ns = s.to_ns - s.from_ns;

		if (cause && !run_of(c, cause, s, &ran))
			continue;
		if (cause) {
			int64_t end_ns =
				ran.to_ns < 0 ? ran.from_ns + length_ns : ran.to_ns + lag_ns;

			s.from_ns = ran.from_ns;
			s.to_ns = end_ns - s.from_ns > length_ns / 4 ? end_ns
								     : s.from_ns + length_ns / 4;
		}
		if (n > 0 && ret[n - 1].to_ns > s.from_ns)
			ret[n - 1].to_ns = s.from_ns;
		ret[n++] = s;
	}
	return n;
}

/* ---- conditions */

static const struct recipe_condition *condition_of(
	const struct cell_spec *s, enum recipe_switch how)
{
	for (size_t i = 0; i < s->recipe->condition_count; i++) {
		if (s->recipe->conditions[i].how == how && s->is_tested[i])
			return &s->recipe->conditions[i];
	}
	return NULL;
}

static bool is_off(const struct cell_spec *s, enum recipe_switch how)
{
	const struct recipe_condition *c = condition_of(s, how);

	return c && !s->is_on[c - s->recipe->conditions];
}

/* What lives in the snapshot does not exist in the test database. */
static bool is_void(const struct cell_spec *s, size_t i)
{
	return !s->is_tested[i] ||
	       (s->recipe->conditions[i].is_in_snapshot && is_off(s, SWITCH_DATA));
}

static bool reset(const struct cell_spec *s, const struct run *r, struct err *e)
{
	char text[RECIPE_CONDITIONS_MAX][512];
	const char *settings[RECIPE_CONDITIONS_MAX + 1] = { NULL };
	size_t n = 0;

	for (size_t i = 0; i < s->recipe->condition_count; i++) {
		if (!is_void(s, i) && switch_setting(&s->recipe->conditions[i], s->is_on[i],
					      text[n], sizeof(text[n]))) {
			settings[n] = text[n];
			n++;
		}
	}
	return site_reset(s->site, n ? settings : NULL, r, e);
}

static void invalid(struct cell *c, const char *fmt, ...) PRINTF_LIKE(2, 3);

static void invalid(struct cell *c, const char *fmt, ...)
{
	va_list ap;

	if (!c->is_valid)
		return;
	c->is_valid = false;
	va_start(ap, fmt);
	vsnprintf(c->reason, sizeof(c->reason), fmt, ap);
	va_end(ap);
}

/* The state must be the one that earlier runs of this state had, and another one
 * than the opposite state's. */
static void compare_reading(
	struct cell *c, const struct cell_spec *s, size_t i, const char *text, const char *when)
{
	const struct recipe_condition *condition = &s->recipe->conditions[i];
	char *same = s->known[i][s->is_on[i]];
	const char *other = s->known[i][!s->is_on[i]];
	/* ANALYZE samples at random: no two leave the same statistics. */
	bool is_sampled = condition->how == SWITCH_STATS && !s->is_on[i];

	if (condition->how == SWITCH_DATA || !*text)
		return;
	if (!*same)
		snprintf(same, 128, "%s", text);
	if (strcmp(same, text) != 0 && !is_sampled)
		invalid(c, "condition '%s' drifted %s", condition->id, when);
	else if (*other && strcmp(other, text) == 0 && condition->how != SWITCH_BLOAT)
		invalid(c, "condition '%s' reads the same on and off", condition->id);
}

static bool read_back(struct cell *c, const struct cell_spec *s, struct pg *admin, const char *when,
	struct switch_reading *readings, struct err *e)
{
	for (size_t i = 0; i < s->recipe->condition_count; i++) {
		struct switch_reading now;

		if (is_void(s, i))
			continue;
		if (!switch_read(&s->recipe->conditions[i], admin, s->site, &now, e))
			return false;
		compare_reading(c, s, i, now.text, when);
		if (readings[i].text[0] && strcmp(readings[i].text, now.text) != 0)
			invalid(c, "condition '%s' drifted during the run",
				s->recipe->conditions[i].id);
		readings[i] = now;
	}
	return true;
}

static bool switch_all(
	struct cell *c, const struct cell_spec *s, struct switch_reading *readings, struct err *e)
{
	struct pg *admin = site_admin(s->site, e);
	bool ok = admin != NULL;

	for (size_t i = 0; ok && i < s->recipe->condition_count; i++) {
		if (!is_void(s, i))
			ok = switch_apply(&s->recipe->conditions[i], s->is_on[i], admin, e);
	}
	ok = ok && read_back(c, s, admin, "before the run", readings, e);
	pg_close(admin);
	return ok;
}

static bool read_again(
	struct cell *c, const struct cell_spec *s, struct switch_reading *readings, struct err *e)
{
	struct pg *admin = site_admin(s->site, e);
	bool ok = admin && read_back(c, s, admin, "during the run", readings, e);

	pg_close(admin);
	return ok;
}

/* ---- jobs */

struct jobs {
	struct job items[RECIPE_CONDITIONS_MAX];
	size_t count;
	bool has_failed;
};

static bool tick(void *data, int64_t elapsed_ns)
{
	struct jobs *jobs = data;

	for (size_t i = 0; i < jobs->count; i++) {
		job_tick(&jobs->items[i], elapsed_ns);
		jobs->has_failed |= jobs->items[i].failed > 0;
	}
	/* Such a run will not count: no need to see its end. */
	return !jobs->has_failed;
}

static bool open_jobs(
	struct jobs *jobs, const struct cell_spec *s, const struct run *r, struct err *e)
{
	for (size_t i = 0; i < s->recipe->condition_count; i++) {
		const struct recipe_condition *c = &s->recipe->conditions[i];
		struct job_spec spec = {
			.condition = c, .dsn = s->site->traffic_dsn, .log_path = s->log_path
		};
		char path[4096];

		if (c->how != SWITCH_FILE || !s->is_tested[i] || !s->is_on[i])
			continue;
		if (!recipe_resolve(s->recipe, c->file, path))
			return err_set(e, ERR_INPUT, "the path of '%s' is too long", c->id);
		spec.path = path;
		spec.confine.is_open = s->may_run_commands;
		site_confine(s->site, &spec.confine);
		snprintf(spec.confine.role, sizeof(spec.confine.role), "%s", c->role);
		if (!site_admit_role(s->site, c->role, e) || !confine_user(&spec.confine, e) ||
			!job_open(&jobs->items[jobs->count], &spec, r, e))
			return err_in(e, "condition '%s'", c->id);
		jobs->count++;
	}
	return true;
}

static void close_jobs(struct jobs *jobs, struct cell *c, const struct recipe *recipe)
{
	for (size_t i = 0; i < jobs->count; i++) {
		struct job *j = &jobs->items[i];

		if (strcmp(j->condition->id, recipe->occurrences_of) == 0 && !c->job_runs &&
			(c->job_runs = calloc(j->started + 1, sizeof(*c->job_runs)))) {
			memcpy(c->job_runs, j->runs, j->started * sizeof(*c->job_runs));
			c->job_run_count = j->started;
		}
		c->jobs_started += j->started;
		c->jobs_delayed += j->delayed;
		if (j->failed > 0)
			invalid(c, "'%s' failed: %.180s", j->condition->id, j->error);
		else if (!job_was_sound(j))
			invalid(c, "'%s' was never started", j->condition->id);
		job_close(j);
	}
	jobs->count = 0;
}

/* ---- the drive */

static bool take_samples(struct cell *c, const struct replay_result *result, struct err *e)
{
	c->requests = calloc(result->sample_count ? result->sample_count : 1, sizeof(*c->requests));
	if (!c->requests)
		return err_set(
			e, ERR_ENV, "could not get memory for %zu requests", result->sample_count);
	for (size_t i = 0; i < result->sample_count; i++) {
		const struct replay_sample *s = &result->samples[i];

		c->requests[c->count++] = (struct inside_request){
			.start_ns = s->sent_ns, .end_ns = s->end_ns, .is_censored = s->is_censored
		};
		c->censored += s->is_censored;
	}
	return true;
}

/* With everything on, the lab must have answered as production did: as many rows a
 * request within a factor of two, and not many more errors. */
static void check_outcome(
	struct cell *c, const struct cell_spec *s, const struct replay_result *result)
{
	for (size_t i = 0; i < result->route_count; i++) {
		const struct replay_route *q = &result->routes[i];
		double wrong = q->sent ? (double)q->failed / (double)q->sent : 0;
		double captured = q->captured_requests ? (double)q->captured_errors /
								 (double)q->captured_requests
						       : 0;

		if (q->fingerprint != s->recipe->fingerprint || q->sent == 0)
			continue;
		if (wrong > captured + 0.05)
			invalid(c,
				"outcome: %.0f %% of the route's requests failed, %.0f %% in production",
				100 * wrong, 100 * captured);
		else if (q->captured_rows > 0 &&
			 (q->rows * 2 < q->captured_rows || q->rows > q->captured_rows * 2))
			invalid(c, "outcome: the route returned %llu rows, %llu in production",
				(unsigned long long)q->rows, (unsigned long long)q->captured_rows);
	}
}

static void weigh(struct cell *c, const struct cell_spec *s, const struct replay_result *result)
{
	c->planned = result->planned;
	c->sent = result->sent;
	c->failed = result->failed;
	for (size_t i = 0; i < result->skip_count; i++)
		c->skipped += result->skipped[i].count;
	c->lateness_p99_ms = result->lateness_us.total
				     ? (double)hist_quantile(&result->lateness_us, 0.99) / 1000.0
				     : NAN;
	if (!result->is_delivered)
		invalid(c, "delivery: %.200s", result->delivery_reason);
	if (s->is_all_on)
		check_outcome(c, s, result);
}

/* Captured sessions of the recipe's jobs are the conditions, not the traffic. */
static bool find_own(struct own *own, const struct recipe *recipe, struct err *e)
{
	for (size_t i = 0; i < recipe->condition_count; i++) {
		const struct recipe_condition *c = &recipe->conditions[i];
		char path[4096];

		if (c->how == SWITCH_FILE && recipe_resolve(recipe, c->file, path) &&
			!own_add_file(own, path, e))
			return false;
	}
	return true;
}

static bool drive(struct cell *c, const struct cell_spec *s, const struct run *r, struct err *e)
{
	struct own own = { 0 };
	struct replay_window windows[RECIPE_WINDOWS_MAX];
	struct replay_result result = { 0 };
	struct jobs jobs = { 0 };
	bool is_serial = is_off(s, SWITCH_CONCURRENCY), ok, sees_cpu;
	int64_t cpu_before_ns = 0, cpu_after_ns = 0;
	struct replay_options options = { .capture_path = s->capture,
		.dsn = s->site->traffic_dsn,
		.windows = windows,
		.window_count = s->plan->window_count,
		.speed = s->recipe->speed,
		.is_serial = is_serial,
		.loop_until_ns = is_serial ? s->plan->length_ns : 0,
		.own_fingerprints = own.fingerprints,
		.judged_fingerprint = s->recipe->fingerprint,
		.request_timeout_ns = REQUEST_TIMEOUT_NS,
		.tick = tick,
		.tick_data = &jobs };

	for (size_t i = 0; i < s->plan->window_count; i++) {
		const struct recipe_window *w = &s->recipe->windows[s->plan->windows[i]];

		windows[i] = (struct replay_window){ w->from_ns, w->to_ns };
	}
	if (!find_own(&own, s->recipe, e))
		return false;
	options.own_count = own.count;
	ok = open_jobs(&jobs, s, r, e);
	sees_cpu = ok && site_cpu_ns(s->site, &cpu_before_ns);
	ok = ok && replay_run(r, &options, &result, e);
	sees_cpu = sees_cpu && site_cpu_ns(s->site, &cpu_after_ns);
	if (ok && result.is_interrupted && !jobs.has_failed)
		ok = err_set(e, ERR_INTERRUPTED, "interrupted");
	if (ok) {
		close_jobs(&jobs, c, s->recipe);
		weigh(c, s, &result);
		ok = take_samples(c, &result, e);
	}
	if (ok && sees_cpu && result.duration_ns > 0)
		c->cpu_share = (double)(cpu_after_ns - cpu_before_ns) / (double)result.duration_ns /
			       (double)sysconf(_SC_NPROCESSORS_ONLN);
	for (size_t i = 0; i < jobs.count; i++)
		job_close(&jobs.items[i]);
	replay_result_free(&result);
	return ok;
}

bool cell_run(struct cell *c, const struct cell_spec *spec, const struct run *r, struct err *e)
{
	struct switch_reading readings[RECIPE_CONDITIONS_MAX] = { 0 };
	int64_t began_ns = clock_mono_ns(&r->clock);
	bool ok;

	*c = (struct cell){ .is_valid = true, .cpu_share = NAN, .lateness_p99_ms = NAN };
	ok = reset(spec, r, e) && switch_all(c, spec, readings, e);
	/* A run that starts in the wrong state needs no drive to be invalid. */
	if (ok && c->is_valid)
		ok = drive(c, spec, r, e) && read_again(c, spec, readings, e);
	c->took_ns = clock_mono_ns(&r->clock) - began_ns;
	if (!ok)
		cell_free(c);
	return ok;
}

void cell_free(struct cell *c)
{
	free(c->requests);
	free(c->job_runs);
	*c = (struct cell){ 0 };
}
