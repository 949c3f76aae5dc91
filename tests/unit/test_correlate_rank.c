/* Verdicts on simulated captures with a known truth; rates are in test_correlate_sim.c. */
#include "tests/lib/unit.h"

#include <math.h>

#include "tests/lib/simworld.h"

static void names_the_planted_job_at_every_rate(void **state)
{
	static const double rates[] = { 100, 500, 1000, 2000 };

	(void)state;
	for (size_t i = 0; i < LENGTH(rates) * 2; i++) {
		struct world w;

		world_init(&w, 100 + i);
		world_stalls(&w, rates[i / 2], 50, 3, 1);
		world_job(&w, "refresh", 8, 3, 1, 50);
		world_job(&w, "vacuum", 8, 7, 0.15, 50);
		world_job(&w, "report", 5, 1.5, 0.1, 50);
		world_analyse(&w);

		const struct finding *first = &w.analysis.findings[0];
		assert_string_equal(first->condition->id, "job:refresh");
		assert_int_equal(first->verdict, VERDICT_LINES_UP);
		assert_true(first->lag.lag_s >= 0 && first->lag.lag_s < 0.15);
		assert_true(first->lag.high_s - first->lag.low_s < 0.3);
		assert_true(fabs(first->lag.duration_s - 1) < 0.3);
		assert_true(first->p < 0.002 && first->whole.lift > 3);
		assert_true(world_is_acquitted(&w, "job:vacuum"));
		assert_true(world_is_acquitted(&w, "job:report"));
		assert_string_equal(w.analysis.routes[0].view.route->text.p, "UPDATE t");
		world_free(&w);
	}
}

static void a_stall_is_one_episode_at_every_rate(void **state)
{
	static const double rates[] = { 100, 1000, 2000 };

	(void)state;
	for (size_t i = 0; i < LENGTH(rates); i++) {
		struct world w;

		world_init(&w, 7 + i);
		world_stalls(&w, rates[i], 50, 3, 1);
		world_analyse(&w);
		const struct tested_route *t = &w.analysis.routes[0];
		size_t stalls = 0;
		for (size_t k = 0; k < t->spikes.count; k++)
			stalls += t->spikes.items[k].kind == SPIKE_STALL &&
				  t->spikes.items[k].max_ms > 800;
		assert_int_equal(stalls, 6);
		world_free(&w);
	}
}

static void a_level_shift_is_suggestive_and_convicts_no_job(void **state)
{
	(void)state;
	for (uint64_t seed = 0; seed < 6; seed++) {
		struct world w;
		struct condition *load;

		world_init(&w, 40 + seed);
		for (double t = 0; t < 50; t += world_wait(&w.rng, 0.01))
			world_add(&w, "SELECT by status", t,
				t > 21 && rng_unit(&w.rng) < 0.5 ? world_usual_ms(&w.rng, 60)
								 : world_usual_ms(&w.rng, 4));
		world_job(&w, "vacuum", 8, 7, 0.15, 50);
		world_job(&w, "report", 5, 1.5, 0.1, 50);
		load = condition_get(&w.conditions, "load", "bulk", "event");
		assert_true(condition_add_time(load, world_ns(20), world_ns(21), true));
		world_analyse(&w);

		const struct finding *f = world_finding(&w, "load:bulk");
		assert_int_equal(f->verdict, VERDICT_SUGGESTIVE);
		assert_non_null(strstr(f->reason, "one occurrence, coincidence not excluded"));
		assert_true(world_is_acquitted(&w, "job:vacuum"));
		assert_true(world_is_acquitted(&w, "job:report"));
		const struct spike_list *spikes = &w.analysis.routes[0].spikes;
		size_t shifts = 0;
		for (size_t i = 0; i < spikes->count; i++)
			if (spikes->items[i].kind == SPIKE_LEVEL_SHIFT) {
				shifts++;
				assert_true(
					llabs(spikes->items[i].start_ns - world_ns(21)) < NS_PER_S);
			}
		assert_int_equal(shifts, 1);
		world_free(&w);
	}
}

static void hits_shared_with_the_winner_are_no_evidence(void **state)
{
	struct world w;

	(void)state;
	world_init(&w, 3);
	world_stalls(&w, 400, 100, 3, 1);
	world_job(&w, "refresh", 8, 3, 1, 100);
	/* Every second run falls into the other's second. */
	world_job(&w, "beat", 4, 2.95, 0.1, 100);
	world_analyse(&w);
	assert_int_equal(world_finding(&w, "job:refresh")->verdict, VERDICT_LINES_UP);
	assert_true(world_is_acquitted(&w, "job:beat"));
	assert_non_null(strstr(world_finding(&w, "job:beat")->reason, "shared with job:refresh"));
	world_free(&w);
}

static void what_timing_cannot_separate_is_one_group(void **state)
{
	struct world w;

	(void)state;
	world_init(&w, 4);
	world_stalls(&w, 400, 100, 3, 1);
	world_job(&w, "one", 8, 3, 1, 100);
	world_job(&w, "two", 8, 3.01, 1, 100);
	world_analyse(&w);
	assert_int_equal(world_finding(&w, "job:one")->verdict, VERDICT_LINES_UP);
	assert_int_equal(world_finding(&w, "job:two")->verdict, VERDICT_LINES_UP);
	assert_int_equal(world_finding(&w, "job:one")->group, world_finding(&w, "job:two")->group);
	world_free(&w);
}

static void a_reaction_is_not_taken_for_a_reason(void **state)
{
	struct world w;

	(void)state;
	world_init(&w, 5);
	world_stalls(&w, 400, 100, 3, 1);
	/* Starts when the stall is nearly over, as an alarm would. */
	world_job(&w, "alarm", 8, 3.9, 0.5, 100);
	world_analyse(&w);
	assert_true(world_is_acquitted(&w, "job:alarm"));
	world_free(&w);
}

static void two_occurrences_never_line_up(void **state)
{
	struct world w;

	(void)state;
	world_init(&w, 6);
	world_stalls(&w, 400, 19, 3, 1);
	world_job(&w, "refresh", 8, 3, 0.1, 19);
	world_analyse(&w);
	assert_true(world_finding(&w, "job:refresh")->q <= 0.05);
	assert_int_equal(world_finding(&w, "job:refresh")->verdict, VERDICT_SUGGESTIVE);
	world_free(&w);
}

/* A low-traffic route in which no bucket can carry a p99. */
static void pooling_finds_a_job_on_a_quiet_route(void **state)
{
	size_t found = 0;

	(void)state;
	for (uint64_t seed = 0; seed < 4; seed++) {
		struct world w;
		double day = 86400;

		world_init(&w, 60 + seed);
		for (double t = 0; t < day; t += world_wait(&w.rng, 12)) {
			bool is_hit = fmod(t, 3600) > 420 && fmod(t, 3600) < 600 &&
				      rng_unit(&w.rng) < 0.5;

			world_add(&w, "GET /report", t,
				world_usual_ms(&w.rng, 20) * (is_hit ? 10 : 1));
		}
		world_job(&w, "hourly", 3600, 420, 180, day);
		world_analyse(&w);
		found += world_finding(&w, "job:hourly")->verdict == VERDICT_LINES_UP;
		world_free(&w);
	}
	assert_true(found >= 3);
}

static void slow_a_quarter_of_the_time_is_found(void **state)
{
	struct world w;

	(void)state;
	world_init(&w, 8);
	for (double t = 0; t < 1200; t += world_wait(&w.rng, 0.02))
		world_add(&w, "GET /a", t, world_usual_ms(&w.rng, 5) * (fmod(t, 120) < 30 ? 6 : 1));
	world_job(&w, "export", 120, 0, 30, 1200);
	world_analyse(&w);
	assert_int_equal(world_finding(&w, "job:export")->verdict, VERDICT_LINES_UP);
	world_free(&w);
}

/* Slow for 15 s now and then, for nothing that anybody gave. */
static void play_restless(struct world *w, const char *route, double span, double factor)
{
	double next = world_wait(&w->rng, 400), until = 0;

	for (double t = 0; t < span; t += world_wait(&w->rng, 1)) {
		if (t > next) {
			until = t + 15;
			next = t + 15 + world_wait(&w->rng, 400);
		}
		world_add(w, route, t, (t < until ? factor : 1) * world_usual_ms(&w->rng, 10));
	}
}

/* One in twenty of the restless ones shows at p <= 0.05 by luck. */
static void the_route_that_it_slows_is_named_among_restless_ones(void **state)
{
	int right = 0;

	(void)state;
	for (uint64_t seed = 0; seed < 5; seed++) {
		struct world w;
		double span = 4 * 3600;
		struct slow_job slow = { 600, 100, 20, 0.8, 0.9, 10 };

		world_init(&w, 900 + seed);
		for (int r = 0; r < 12; r++) {
			char name[24];

			snprintf(name, sizeof(name), "GET /r%d", r);
			play_restless(&w, name, span, 30);
		}
		world_play(&w, "GET /slow", 1, span, 10, &slow);
		world_job(&w, "load", 600, 100, 20, span);
		world_analyse(&w);
		const struct finding *f = world_finding(&w, "job:load");

		assert_int_equal(f->verdict, VERDICT_LINES_UP);
		right += strcmp(w.analysis.routes[f->route].view.route->text.p, "GET /slow") == 0;
		world_free(&w);
	}
	assert_int_equal(right, 5);
}

/* Quiet routes may speak as well, so the p of those with spikes is not for free. */
static void a_second_family_of_routes_is_paid_for(void **state)
{
	(void)state;
	for (int quiet = 0; quiet < 2; quiet++) {
		struct world w;
		struct slow_job slow = { 600, 100, 20, 0.8, 0.9, 10 };

		world_init(&w, 30);
		world_play(&w, "GET /slow", 1, 7200, 10, &slow);
		if (quiet)
			world_play(&w, "GET /quiet", 1, 7200, 10, NULL);
		world_job(&w, "load", 600, 100, 20, 7200);
		world_analyse(&w);
		const struct finding *f = world_finding(&w, "job:load");

		assert_int_equal(w.analysis.spiking_count, 1);
		assert_true(fabs(f->p / f->whole.p - (quiet ? 1.25 : 1)) < 1e-9);
		world_free(&w);
	}
}

/* Two jobs, one of which shares half of the winner's windows: what luck hits outside of
 * these is as much as for a job that only has the other half. */
static void luck_outside_the_winners_windows_counts_what_is_outside(void **state)
{
	struct world w;
	double span = 8 * 3600;

	(void)state;
	world_init(&w, 31);
	play_restless(&w, "GET /a", span, 30);
	for (double t = 120; t < span; t += 600)
		for (int i = 0; i < 40; i++)
			world_add(&w, "GET /a", t + i, 400);
	world_job(&w, "culprit", 600, 120, 40, span);
	world_job(&w, "both", 300, 125, 40, span);
	world_job(&w, "half", 600, 425, 10, span);
	world_analyse(&w);
	const struct finding *both = world_finding(&w, "job:both");
	const struct finding *half = world_finding(&w, "job:half");
	assert_true(both->has_rest && half->has_rest);
	assert_true(half->rest.hit_by_luck > 1);
	assert_true(fabs(both->rest.hit_by_luck / half->rest.hit_by_luck - 1) < 0.3);
	world_free(&w);
}

static void a_second_cause_lines_up_among_hundreds_of_events(void **state)
{
	struct world w;
	double span = 6 * 3600;
	struct slow_job slow = { 600, 100, 20, 1, 0.9, 10 };

	(void)state;
	world_init(&w, 32);
	world_play(&w, "GET /a", 1, span, 10, &slow);
	for (double t = 400; t < span; t += 900)
		for (int i = 0; i < 20; i++)
			world_add(&w, "GET /a", t + i, 150);
	world_job(&w, "one", 600, 100, 20, span);
	world_job(&w, "two", 900, 400, 20, span);
	for (int i = 0; i < 300; i++) {
		char name[16];

		snprintf(name, sizeof(name), "v%d", i);
		world_event(&w, "deploy", name, span * rng_unit(&w.rng), 0);
	}
	world_analyse(&w);
	assert_int_equal(world_finding(&w, "job:one")->verdict, VERDICT_LINES_UP);
	assert_int_equal(world_finding(&w, "job:two")->verdict, VERDICT_LINES_UP);
	world_free(&w);
}

static void the_same_seed_gives_the_same_numbers(void **state)
{
	double p[2];

	(void)state;
	for (int i = 0; i < 2; i++) {
		struct world w;

		world_init(&w, 9);
		world_stalls(&w, 300, 50, 3, 0.2);
		world_job(&w, "refresh", 8, 3, 0.2, 50);
		/* Another condition must not move it either. */
		if (i)
			world_job(&w, "other", 7, 1, 0.2, 50);
		world_analyse(&w);
		p[i] = world_finding(&w, "job:refresh")->whole.p;
		world_free(&w);
	}
	assert_true(p[0] == p[1]);
}

static void without_a_route_of_100_requests_it_cannot_tell(void **state)
{
	struct world w;

	(void)state;
	world_init(&w, 10);
	world_add(&w, "GET /a", 0, 1);
	world_add(&w, "GET /a", 20, 1);
	world_add(&w, "GET /a", 40, 9000);
	world_job(&w, "refresh", 8, 3, 1, 50);
	world_analyse(&w);
	assert_int_equal(world_finding(&w, "job:refresh")->verdict, VERDICT_CANNOT_TELL);
	world_free(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_the_planted_job_at_every_rate),
		cmocka_unit_test(a_stall_is_one_episode_at_every_rate),
		cmocka_unit_test(a_level_shift_is_suggestive_and_convicts_no_job),
		cmocka_unit_test(hits_shared_with_the_winner_are_no_evidence),
		cmocka_unit_test(what_timing_cannot_separate_is_one_group),
		cmocka_unit_test(a_reaction_is_not_taken_for_a_reason),
		cmocka_unit_test(two_occurrences_never_line_up),
		cmocka_unit_test(pooling_finds_a_job_on_a_quiet_route),
		cmocka_unit_test(slow_a_quarter_of_the_time_is_found),
		cmocka_unit_test(the_route_that_it_slows_is_named_among_restless_ones),
		cmocka_unit_test(a_second_family_of_routes_is_paid_for),
		cmocka_unit_test(luck_outside_the_winners_windows_counts_what_is_outside),
		cmocka_unit_test(a_second_cause_lines_up_among_hundreds_of_events),
		cmocka_unit_test(the_same_seed_gives_the_same_numbers),
		cmocka_unit_test(without_a_route_of_100_requests_it_cannot_tell),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
