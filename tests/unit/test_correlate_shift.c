#include "tests/lib/unit.h"

#include <math.h>

#include "core/base/rng.h"
#include "correlate/shift.h"

static const int64_t t0 = INT64_C(1796040000) * NS_PER_S;

struct shape {
	double rate, span_s, step_s;
	double share, slow_ms; /* of requests after the step, and how slow */
	double drift; /* the usual latency grows this many times over the span */
	double back_s; /* the step ends there, 0: never */
	double busy_s; /* from here on all takes 3 times as long, 2.5 times as many are slow */
	double stall_every_s; /* eight requests of one second, 0: none */
	double warm_s; /* slow at first, while caches fill */
};

static double normal(struct rng *r)
{
	return sqrt(-2 * log(1 - rng_unit(r))) * cos(2 * M_PI * rng_unit(r));
}

static void play(struct series *s, const struct shape *shape, uint64_t seed)
{
	struct rng rng;
	double stall = shape->stall_every_s;

	rng_seed(&rng, seed);
	series_init(s, 0);
	struct series_route *r = series_route(s, SLICE("a"), 0);
	for (double t = 0; t < shape->span_s; t -= log(1 - rng_unit(&rng)) / shape->rate) {
		double ms = 30 * exp(0.5 * normal(&rng)) * (1 + shape->drift * t / shape->span_s);

		if (shape->busy_s > 0 && t > shape->busy_s)
			ms *= 3;
		bool is_up = shape->step_s > 0 && t > shape->step_s &&
			     (shape->back_s <= 0 || t < shape->back_s);
		bool is_busy = shape->busy_s > 0 && t > shape->busy_s;
		if (is_up && rng_unit(&rng) < shape->share * (is_busy ? 2.5 : 1))
			ms = shape->slow_ms * exp(0.3 * normal(&rng));
		if (t < shape->warm_s)
			ms *= 8;
		assert_true(series_add(s, r, t0 + (int64_t)(t * 1e9), (int64_t)(ms * 1e6), false));
		for (; stall > 0 && t > stall; stall += shape->stall_every_s)
			for (int i = 0; i < 8; i++)
				assert_true(series_add(s, r,
					t0 + (int64_t)(t * 1e9) + i * NS_PER_MS, NS_PER_S, false));
	}
	assert_true(series_finish(s));
}

static double found_at(const struct shape *shape, uint64_t seed)
{
	struct series s;
	struct shift shift;
	double at = NAN;

	play(&s, shape, seed);
	if (shift_find(&shift, s.routes[0]))
		at = (double)(series_tick_ns(&s, shift.tick) - t0) / 1e9;
	series_free(&s);
	return at;
}

static void a_step_is_placed_within_its_first_slow_requests(void **state)
{
	static const struct shape shapes[] = {
		{ .rate = 9,
			.span_s = 51,
			.step_s = 20.5,
			.share = 0.25,
			.slow_ms = 1200,
			.drift = 0 },
		{ .rate = 9,
			.span_s = 51,
			.step_s = 20.5,
			.share = 0.25,
			.slow_ms = 1200,
			.drift = 1.5 },
		{ .rate = 100,
			.span_s = 50,
			.step_s = 20.5,
			.share = 1,
			.slow_ms = 120,
			.drift = 0 },
		{ .rate = 100,
			.span_s = 50,
			.step_s = 20.5,
			.share = 0.05,
			.slow_ms = 900,
			.drift = 0 },
		{ .rate = 0.2,
			.span_s = 7200,
			.step_s = 3000,
			.share = 0.5,
			.slow_ms = 900,
			.drift = 0.5 },
		{ .rate = 9,
			.span_s = 51,
			.step_s = 20.5,
			.share = 0.15,
			.slow_ms = 1200,
			.busy_s = 29 },
	};

	(void)state;
	for (size_t i = 0; i < LENGTH(shapes); i++) {
		size_t near = 0;

		for (uint64_t seed = 0; seed < 20; seed++) {
			double at = found_at(&shapes[i], 10 * i + seed);
			double reach = 8 / (shapes[i].rate * shapes[i].share);

			near += at > shapes[i].step_s - reach / 2 && at < shapes[i].step_s + reach;
		}
		/* With a growing share a later onset is the likelier one in some draws. */
		if (near < (shapes[i].busy_s > 0 ? 14 : 18))
			fail_msg("shape %zu: %zu of 20", i, near);
	}
}

static void what_comes_back_or_recurs_is_no_step(void **state)
{
	static const struct shape shapes[] = {
		{ .rate = 9, .span_s = 51 },
		{ .rate = 9, .span_s = 51, .stall_every_s = 8 },
		{ .rate = 200, .span_s = 50, .stall_every_s = 8 },
		{ .rate = 200, .span_s = 50, .stall_every_s = 20 },
		{ .rate = 200, .span_s = 50, .warm_s = 4 },
		{ .rate = 200,
			.span_s = 50,
			.step_s = 10,
			.back_s = 45.5,
			.share = 0.3,
			.slow_ms = 900 },
		{ .rate = 200,
			.span_s = 50,
			.step_s = 10,
			.back_s = 36,
			.share = 0.3,
			.slow_ms = 900 },
		{ .rate = 40,
			.span_s = 50,
			.step_s = 20,
			.back_s = 38,
			.share = 0.1,
			.slow_ms = 900 },
		{ .rate = 200, .span_s = 50, .stall_every_s = 45 },
	};
	size_t found = 0;

	(void)state;
	for (size_t i = 0; i < LENGTH(shapes); i++)
		for (uint64_t seed = 0; seed < 20; seed++)
			found += !isnan(found_at(&shapes[i], 100 + 10 * i + seed));
	assert_true(found <= 1);
}

static void too_few_requests_have_no_step(void **state)
{
	static const struct shape shape = {
		.rate = 3, .span_s = 50, .step_s = 20, .share = 1, .slow_ms = 900
	};

	(void)state;
	assert_true(isnan(found_at(&shape, 1)));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_step_is_placed_within_its_first_slow_requests),
		cmocka_unit_test(what_comes_back_or_recurs_is_no_step),
		cmocka_unit_test(too_few_requests_have_no_step),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
