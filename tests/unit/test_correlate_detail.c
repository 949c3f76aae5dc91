/* What a finding tells beside its verdict: reach and gaps, dose, contexts, shams, rates,
 * metrics. */
#include "tests/lib/unit.h"

#include <math.h>

#include "tests/lib/simworld.h"

static const double span = 7200;

/* Two requests a second, slow for 20 s from every tenth minute plus 100 s on. */
static void play_loads(struct world *w, double chance)
{
	struct slow_job slow = { 600, 100, 20, chance, 0.7, 12 };

	world_play(w, "GET /a", 2, span, 10, &slow);
}

static struct condition *condition(struct world *w, const char *name)
{
	struct condition *c = condition_get(&w->conditions, "job", name, "event");

	assert_non_null(c);
	return c;
}

static void occurrences_beyond_the_reach_are_no_evidence(void **state)
{
	struct world w;

	(void)state;
	world_init(&w, 1);
	play_loads(&w, 1);
	world_job(&w, "load", 600, 100, 20, span);
	condition(&w, "load")->from_ns = world_ns(3000);
	world_analyse(&w);
	const struct finding *f = world_finding(&w, "job:load");
	assert_int_equal(f->whole.inside, 12);
	assert_int_equal(f->whole.unobserved, 5);
	assert_int_equal(f->whole.evaluable, 7);
	assert_true(f->whole.around.n0 + f->whole.around.n1 < 2 * (span - 3000) * 1.1);
	assert_int_equal(f->verdict, VERDICT_LINES_UP);
	world_free(&w);
}

static void a_job_wholly_beyond_its_reach_cannot_be_told(void **state)
{
	struct world w;

	(void)state;
	world_init(&w, 2);
	play_loads(&w, 1);
	world_job(&w, "load", 600, 100, 20, span);
	condition(&w, "load")->from_ns = world_ns(span + 3600);
	world_analyse(&w);
	const struct finding *f = world_finding(&w, "job:load");
	assert_int_equal(f->verdict, VERDICT_CANNOT_TELL);
	assert_non_null(strstr(f->reason, "nobody watched"));
	world_free(&w);
}

/* A log's last line is no end of what its last event did. */
static void the_last_event_of_a_reach_is_judged(void **state)
{
	struct world w;

	(void)state;
	world_init(&w, 3);
	play_loads(&w, 1);
	world_job(&w, "load", 600, 100, 20, span);
	condition(&w, "load")->to_ns = world_ns(4301);
	world_analyse(&w);
	const struct finding *f = world_finding(&w, "job:load");
	assert_int_equal(f->whole.evaluable, 8);
	assert_int_equal(f->whole.unobserved, 4);
	assert_int_equal(f->whole.hit, 8);
	world_free(&w);
}

/* Ten lines of one moment, a third of a second apart, and none for hours. */
static void a_burst_is_not_acquitted(void **state)
{
	struct slow_job slow = { 600, 100, 20, 1, 0.7, 12 };
	struct world w;

	(void)state;
	world_init(&w, 4);
	world_play(&w, "GET /a", 20, span, 10, &slow);
	for (int i = 0; i < 10; i++) {
		double at = 3000 + 0.36 * i + (i > 5 ? 40 : 0);

		world_event(&w, "temp", "files", at, at);
	}
	world_analyse(&w);
	const struct finding *f = world_finding(&w, "temp:files");
	assert_int_equal(f->verdict, VERDICT_CANNOT_TELL);
	assert_non_null(strstr(f->reason, "bursts"));
	world_free(&w);
}

static void occurrences_in_a_gap_are_not_judged(void **state)
{
	struct world w;

	(void)state;
	world_init(&w, 3);
	for (double t = 0; t < span; t += world_wait(&w.rng, 0.5)) {
		bool is_slow = fmod(t + 500, 600) < 20;

		if (t < 2000 || t > 3600)
			world_add(&w, "GET /a", t, world_usual_ms(&w.rng, 10) * (is_slow ? 12 : 1));
	}
	assert_true(series_add_gap(&w.series, world_ns(2000), world_ns(3600)));
	world_job(&w, "load", 600, 100, 20, span);
	world_analyse(&w);
	const struct finding *f = world_finding(&w, "job:load");
	assert_int_equal(f->whole.inside, 12);
	assert_int_equal(f->whole.unobserved, 2);
	assert_int_equal(f->whole.hit, 10);
	assert_int_equal(f->verdict, VERDICT_LINES_UP);
	world_free(&w);
}

static void more_dose_is_seen_to_be_slower(void **state)
{
	struct world w;

	(void)state;
	world_init(&w, 4);
	for (double t = 0; t < span; t += world_wait(&w.rng, 0.3)) {
		size_t run = (size_t)(t / 300);
		bool is_slow = fmod(t, 300) < 20;
		double dose = (double)(run * 7 % 12 + 1);

		world_add(
			&w, "GET /a", t, world_usual_ms(&w.rng, 10) * (is_slow ? 4 + 3 * dose : 1));
	}
	world_job(&w, "load", 300, 0.5, 20, span);
	world_job(&w, "same", 300, 0.5, 20, span);
	for (size_t i = 0; i < condition(&w, "load")->count; i++) {
		condition(&w, "load")->items[i].dose = 1000 * (double)(i * 7 % 12 + 1);
		condition(&w, "same")->items[i].dose = 5;
	}
	world_analyse(&w);
	const struct dose *d = &world_finding(&w, "job:load")->dose;
	assert_true(d->is_evaluable && !d->is_duration);
	assert_true(d->rho > 0.8 && d->p < 0.001 && d->slope_s > 0);
	assert_true(d->tercile_lost_s[2] > d->tercile_lost_s[1] &&
		    d->tercile_lost_s[1] > d->tercile_lost_s[0]);
	assert_false(world_finding(&w, "job:same")->dose.is_evaluable);
	world_free(&w);
}

static void a_dose_without_response_is_told_apart(void **state)
{
	int small = 0;

	(void)state;
	for (uint64_t seed = 0; seed < 20; seed++) {
		struct world w;
		struct slow_job slow = { 300, 0, 20, 1, 0.7, 12 };

		world_init(&w, 50 + seed);
		world_play(&w, "GET /a", 2, span, 10, &slow);
		world_job(&w, "load", 300, 0.5, 20, span);
		for (size_t i = 0; i < condition(&w, "load")->count; i++)
			condition(&w, "load")->items[i].dose = rng_unit(&w.rng);
		world_analyse(&w);
		small += world_finding(&w, "job:load")->dose.p <= 0.05;
		world_free(&w);
	}
	/* At 5 % more than four of twenty in one case of 400. */
	assert_true(small <= 4);
}

/* It bites when the dead tuples are many: necessary, not sufficient. */
static void play_dead_tuples(struct world *w, bool is_needed)
{
	struct metric *m = metric_get(&w->metrics, "n_dead_tup.orders", NULL);
	struct metric *other = metric_get(&w->metrics, "load", NULL);
	double values[64];

	assert_non_null(m);
	assert_non_null(other);
	for (size_t i = 0; i < 64; i++)
		values[i] = 2e6 * rng_unit(&w->rng);
	for (double t = 0; t < span; t += 15) {
		assert_true(metric_add(&w->metrics, m, world_ns(t), values[(size_t)(t / 150)]));
		assert_true(metric_add(&w->metrics, other, world_ns(t), rng_unit(&w->rng)));
	}
	for (double t = 0; t < span; t += world_wait(&w->rng, 0.3)) {
		size_t run = (size_t)(t / 150);
		bool bites = is_needed ? values[run] > 1.2e6 : run * 7 % 5 < 2;

		world_add(w, "GET /a", t,
			world_usual_ms(&w->rng, 10) * (bites && fmod(t, 150) < 15 ? 12 : 1));
	}
	world_job(w, "load", 150, 0.5, 15, span);
	world_event(w, "deploy", "v2", 1000, 1000);
	metric_list_finish(&w->metrics);
}

static void what_else_must_be_so_is_named(void **state)
{
	struct world w;

	(void)state;
	world_init(&w, 6);
	play_dead_tuples(&w, true);
	world_analyse(&w);
	const struct finding *f = world_finding(&w, "job:load");
	assert_int_equal(f->verdict, VERDICT_LINES_UP);
	assert_true(f->contexts.count >= 1);
	const struct context *c = &f->contexts.items[0];
	assert_string_equal(c->id, "metric:n_dead_tup.orders");
	assert_true(c->is_above && c->threshold > 1.0e6 && c->threshold < 1.35e6);
	assert_true(c->hit_with >= c->with * 9 / 10 && c->hit_without <= 1 + c->without / 10);
	assert_true(c->q <= 0.05 && c->p_turn <= 0.05);
	assert_non_null(strstr(c->text, "with metric:n_dead_tup.orders > 1."));
	world_free(&w);
}

static void contexts_without_meaning_are_rarely_named(void **state)
{
	size_t named = 0;

	(void)state;
	for (uint64_t seed = 0; seed < 20; seed++) {
		struct world w;

		world_init(&w, 70 + seed);
		play_dead_tuples(&w, false);
		world_innocents(&w, 10, 120, 1200, span);
		world_analyse(&w);
		named += world_finding(&w, "job:load")->contexts.count > 0;
		world_free(&w);
	}
	assert_true(named <= 4);
}

static void shams_and_rates_are_told(void **state)
{
	struct world w;

	(void)state;
	world_init(&w, 8);
	play_loads(&w, 1);
	world_job(&w, "load", 600, 100, 20, span);
	world_add(&w, "GET /b", 1, 1);
	world_analyse(&w);
	const struct finding *f = world_finding(&w, "job:load");
	assert_int_equal(f->sham.count, 20);
	assert_int_equal(f->sham.reached, 0);
	assert_true(f->sham.best_lift < f->whole.lift);
	assert_true(f->trigger > 0.9 && f->coverage > 0.9);
	world_free(&w);
}

static void what_no_window_covers_is_marked(void **state)
{
	struct world w;
	size_t bare = 0;

	(void)state;
	world_init(&w, 9);
	for (double t = 0; t < span; t += world_wait(&w.rng, 0.3))
		world_add(&w, "GET /a", t,
			world_usual_ms(&w.rng, 10) *
				(fmod(t, 600) < 20 || fabs(t - 3320) < 15 ? 12 : 1));
	world_job(&w, "load", 600, 0, 20, span);
	world_job(&w, "else", 900, 400, 5, span);
	world_analyse(&w);
	const struct tested_route *r = &w.analysis.routes[0];
	for (size_t i = 0; i < r->spikes.count; i++) {
		bool is_lone = llabs(r->spikes.items[i].start_ns - world_ns(3305)) < 5 * NS_PER_S;

		assert_int_equal(r->covered[i], !is_lone);
		bare += !r->covered[i];
	}
	assert_int_equal(bare, 1);
	world_free(&w);
}

static void its_length_is_told_however_few_requests_there_are(void **state)
{
	static const double per_s[] = { 0.08, 0.5, 5 };

	(void)state;
	for (size_t i = 0; i < LENGTH(per_s); i++) {
		struct slow_job slow = { 3600, 420, 180, 1, 1, 20 };
		struct world w;

		world_init(&w, 40 + i);
		world_play(&w, "GET /a", per_s[i], 24 * 3600, 5, &slow);
		world_job(&w, "refresh", 3600, 420, 180, 24 * 3600);
		world_analyse(&w);
		const struct lag *lag = &world_finding(&w, "job:refresh")->lag;
		/* The last request of a run arrives up to a gap before its end. */
		assert_true(lag->duration_s > 180 - 2 / per_s[i] && lag->duration_s < 183);
		assert_true(fabs(lag->lag_s) <= 1 / per_s[i]);
		world_free(&w);
	}
}

static void weak_events_are_suggestive_at_most(void **state)
{
	struct world w;

	(void)state;
	world_init(&w, 10);
	play_loads(&w, 1);
	world_job(&w, "commit", 600, 100, 20, span);
	condition(&w, "commit")->is_weak = true;
	world_analyse(&w);
	assert_int_equal(world_finding(&w, "job:commit")->verdict, VERDICT_SUGGESTIVE);
	world_free(&w);
}

static void weak_events_in_the_windows_of_a_job_are_no_surer(void **state)
{
	struct world w;

	(void)state;
	world_init(&w, 10);
	play_loads(&w, 1);
	world_job(&w, "load", 600, 100, 20, span);
	world_job(&w, "commit", 600, 102, 20, span);
	condition(&w, "commit")->is_weak = true;
	world_analyse(&w);
	const struct finding *commit = world_finding(&w, "job:commit");
	assert_int_equal(world_finding(&w, "job:load")->verdict, VERDICT_LINES_UP);
	assert_int_equal(commit->verdict, VERDICT_SUGGESTIVE);
	assert_int_equal(commit->group, world_finding(&w, "job:load")->group);
	world_free(&w);
}

static const struct finding *rhythm(const struct world *w)
{
	for (size_t i = 0; i < w->analysis.finding_count; i++)
		if (strcmp(w->analysis.findings[i].condition->kind, "rhythm") == 0)
			return &w->analysis.findings[i];
	return NULL;
}

/* Every five minutes something is slow; given: a job that has it, one beside it, or none. */
static void a_rhythm_that_nobody_gave_is_suggested(void **state)
{
	static const double given_at[] = { 0, 40, 190 };

	(void)state;
	for (size_t i = 0; i < LENGTH(given_at); i++) {
		struct world w;
		struct slow_job slow = { 300, 40, 12, 0.8, 0.8, 12 };

		world_init(&w, 70);
		world_play(&w, "GET /a", 2, 3 * 3600, 10, &slow);
		if (given_at[i] > 0)
			world_job(&w, "given", 300, given_at[i], 12, 3 * 3600);
		world_analyse(&w);
		const struct finding *f = rhythm(&w);

		if (i == 1) {
			assert_int_equal(world_finding(&w, "job:given")->verdict, VERDICT_LINES_UP);
			assert_null(f);
		} else {
			assert_non_null(f);
			assert_string_equal(f->condition->id, "rhythm:checkpoint_timeout");
			assert_int_equal(f->verdict, VERDICT_SUGGESTIVE);
			assert_non_null(strstr(f->reason, "nobody gave an event for"));
		}
		world_free(&w);
	}
}

/* A metric that is high whenever it is slow; the traffic is as ever. */
static void play_queue(struct world *w)
{
	struct metric *m = metric_get(&w->metrics, "queue", NULL);
	double next = 300, until = 0;

	assert_non_null(m);
	for (double t = 0; t < span * 2; t += 1) {
		if (t > next) {
			until = t + 120;
			next = until + 200 + world_wait(&w->rng, 600);
		}
		assert_true(metric_add(
			&w->metrics, m, world_ns(t), (t < until ? 40 : 5) + 3 * rng_unit(&w->rng)));
		for (int k = 0; k < 4; k++)
			world_add(w, "GET /a", t + rng_unit(&w->rng),
				world_usual_ms(&w->rng, 10) * (t < until ? 10 : 1));
	}
}

static void a_metric_lines_up_and_the_traffic_does_not(void **state)
{
	struct world w;

	(void)state;
	world_init(&w, 11);
	play_queue(&w);
	world_analyse(&w);
	const struct finding *f = world_finding(&w, "metric:queue");
	assert_non_null(f->metric);
	assert_string_equal(f->condition->kind, "metric");
	assert_int_equal(f->verdict, VERDICT_LINES_UP);
	assert_true(f->by_metric.inside > 25 && f->by_metric.outside < 10);
	assert_true(world_is_acquitted(&w, "traffic"));
	world_free(&w);
}

static void a_surge_of_traffic_lines_up(void **state)
{
	struct world w;
	double next = 300, until = 0;

	(void)state;
	world_init(&w, 12);
	for (double t = 0; t < span * 2; t += 1) {
		if (t > next) {
			until = t + 120;
			next = until + 200 + world_wait(&w.rng, 600);
		}
		for (int k = 0; k < (t < until ? 12 : 4); k++)
			world_add(&w, "GET /a", t + rng_unit(&w.rng),
				world_usual_ms(&w.rng, 10) * (t < until ? 10 : 1));
	}
	world_analyse(&w);
	assert_int_equal(world_finding(&w, "traffic")->verdict, VERDICT_LINES_UP);
	world_free(&w);
}

static void logged_runs_are_preferred_to_any_schedule(void **state)
{
	static const char *const dialects[] = { "cron", "systemd", "kubernetes" };

	(void)state;
	for (size_t i = 0; i < LENGTH(dialects); i++) {
		struct world w;
		struct condition *c;

		world_init(&w, 13);
		c = condition_get(&w.conditions, "job", "load", dialects[i]);
		for (double t = 0; t < span; t += 600)
			assert_true(condition_add_time(c, world_ns(t), world_ns(t), false));
		world_job(&w, "load", 600, 130, 5, span);
		condition_list_finish(&w.conditions, world_ns(0), world_ns(span));
		assert_int_equal(w.conditions.count, 1);
		assert_string_equal(w.conditions.items[0].dialect, "event");
		assert_int_equal(w.conditions.items[0].scheduled, 12);
		assert_int_equal(w.conditions.items[0].confirmed, 12);
		world_free(&w);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(occurrences_beyond_the_reach_are_no_evidence),
		cmocka_unit_test(a_job_wholly_beyond_its_reach_cannot_be_told),
		cmocka_unit_test(the_last_event_of_a_reach_is_judged),
		cmocka_unit_test(a_burst_is_not_acquitted),
		cmocka_unit_test(occurrences_in_a_gap_are_not_judged),
		cmocka_unit_test(more_dose_is_seen_to_be_slower),
		cmocka_unit_test(a_dose_without_response_is_told_apart),
		cmocka_unit_test(what_else_must_be_so_is_named),
		cmocka_unit_test(contexts_without_meaning_are_rarely_named),
		cmocka_unit_test(shams_and_rates_are_told),
		cmocka_unit_test(what_no_window_covers_is_marked),
		cmocka_unit_test(its_length_is_told_however_few_requests_there_are),
		cmocka_unit_test(weak_events_are_suggestive_at_most),
		cmocka_unit_test(a_rhythm_that_nobody_gave_is_suggested),
		cmocka_unit_test(weak_events_in_the_windows_of_a_job_are_no_surer),
		cmocka_unit_test(a_metric_lines_up_and_the_traffic_does_not),
		cmocka_unit_test(a_surge_of_traffic_lines_up),
		cmocka_unit_test(logged_runs_are_preferred_to_any_schedule),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
