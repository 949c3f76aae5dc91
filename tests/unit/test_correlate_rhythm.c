#include "tests/lib/unit.h"

#include <math.h>

#include "core/base/rng.h"
#include "correlate/rhythm.h"

/* A whole hour. */
static const int64_t t0 = INT64_C(1796040000) * NS_PER_S;

struct stage {
	struct series series;
	struct view view;
	struct condition_list list;
};

/* Ten requests a second; those within 2 s of phase + k every are slow. */
static void play(struct stage *w, double span_s, double every_s, double phase_s)
{
	struct rng rng;

	*w = (struct stage){ 0 };
	rng_seed(&rng, 4);
	series_init(&w->series, 0);
	condition_list_init(&w->list);
	struct series_route *r = series_route(&w->series, SLICE("a"), 0);
	for (double t = 0; t < span_s; t += 0.1) {
		bool is_slow = fmod(t - phase_s + every_s, every_s) < 2;
		double ms = (5 + 2 * rng_unit(&rng)) * (is_slow ? 30 : 1);

		assert_true(series_add(
			&w->series, r, t0 + (int64_t)(t * 1e9), (int64_t)(ms * 1e6), false));
	}
	assert_true(series_finish(&w->series));
	assert_true(view_init(&w->view, &w->series, w->series.routes[0], 10 * NS_PER_S));
	assert_true(rhythm_conditions(&w->list, &w->view));
}

static void end(struct stage *w)
{
	condition_list_free(&w->list);
	view_free(&w->view);
	series_free(&w->series);
}

static const struct condition *find(const struct stage *w, const char *id)
{
	for (size_t i = 0; i < w->list.count; i++)
		if (strcmp(w->list.items[i].id, id) == 0)
			return &w->list.items[i];
	return NULL;
}

static void a_fitted_phase_is_judged_in_the_other_half(void **state)
{
	struct stage w;

	(void)state;
	play(&w, 7200, 300, 137);
	const struct condition *c = find(&w, "rhythm:checkpoint_timeout");
	assert_non_null(c);
	assert_true(c->is_weak && c->is_regular);
	assert_int_equal(c->period_ns, 300 * NS_PER_S);
	assert_int_equal(c->count, 12);
	assert_true(c->from_ns >= t0 + 3599 * NS_PER_S);
	for (size_t i = 0; i < c->count; i++) {
		double into = fmod((double)(c->items[i].start_ns - t0) / 1e9, 300);

		assert_true(c->items[i].start_ns >= c->from_ns);
		assert_true(into <= 137 && into > 137 - 30);
		assert_true(c->items[i].until_ns - c->items[i].start_ns == 30 * NS_PER_S);
	}
	end(&w);
}

static void the_hour_has_no_phase_to_fit(void **state)
{
	struct stage w;

	(void)state;
	play(&w, 11 * 3600 + 100, 300, 10);
	const struct condition *c = find(&w, "rhythm:hourly");
	assert_non_null(c);
	assert_int_equal(c->count, 12);
	for (size_t i = 0; i < c->count; i++)
		assert_int_equal(c->items[i].start_ns % (3600 * NS_PER_S), 0);
	end(&w);
}

static void fewer_than_ten_cycles_are_none(void **state)
{
	struct stage w;

	(void)state;
	play(&w, 1260, 60, 10);
	assert_int_equal(w.list.count, 1);
	assert_non_null(find(&w, "rhythm:autovacuum_naptime"));
	end(&w);
	play(&w, 1100, 60, 10);
	assert_int_equal(w.list.count, 0);
	end(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_fitted_phase_is_judged_in_the_other_half),
		cmocka_unit_test(the_hour_has_no_phase_to_fit),
		cmocka_unit_test(fewer_than_ten_cycles_are_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
