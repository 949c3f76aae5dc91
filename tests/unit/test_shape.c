#include "tests/lib/unit.h"

#include <math.h>
#include <stdlib.h>
#include <unistd.h>

#include "capture/burst.h"
#include "capture/flight.h"
#include "capture/shape.h"
#include "capture/timeheap.h"
#include "core/base/rng.h"
#include "tests/lib/script_capture.h"

static void a_heap_gives_the_smallest_first_and_has_a_cap(void **state)
{
	struct timeheap h;
	struct timeheap_item item;
	struct rng rng;
	int64_t last = INT64_MIN;

	(void)state;
	rng_seed(&rng, 7);
	timeheap_init(&h, 1000);
	for (int i = 0; i < 1000; i++)
		assert_true(timeheap_put(
			&h, (struct timeheap_item){ (int64_t)rng_below(&rng, 300), i, 0 }));
	assert_false(timeheap_put(&h, (struct timeheap_item){ 0 }));
	for (int i = 0; i < 1000; i++) {
		assert_true(timeheap_take(&h, &item));
		assert_true(item.key >= last);
		last = item.key;
	}
	assert_false(timeheap_take(&h, &item));
	timeheap_free(&h);
}

/* ---- in flight, against counting at each nanosecond */

enum { SPANS = 300, HORIZON = 2000 };

static int later_end_first(const void *a, const void *b)
{
	const struct span *x = a, *y = b;

	return (x->end_ns < y->end_ns) - (x->end_ns > y->end_ns);
}

struct arrivals {
	int64_t last_ns;
	size_t count;
};

static bool arrived(void *data, int64_t at_ns, uint32_t route)
{
	struct arrivals *a = data;

	(void)route;
	assert_true(at_ns <= a->last_ns);
	a->last_ns = at_ns;
	a->count++;
	return true;
}

static void check_flight(const struct span *spans, int64_t from, int64_t to)
{
	struct flight f;
	struct arrivals seen = { .last_ns = INT64_MAX };
	uint64_t held[SPANS + 1] = { 0 }, starts = 0;

	assert_true(flight_init(&f, 2, from, to));
	f.arrival = arrived;
	f.data = &seen;
	for (size_t i = 0; i < SPANS; i++) {
		assert_true(flight_add(&f, spans[i]));
		starts += spans[i].start_ns >= from && spans[i].start_ns < to;
	}
	assert_true(flight_finish(&f));
	for (int64_t t = from; t < to; t++) {
		size_t level = 0;

		for (size_t i = 0; i < SPANS; i++)
			level += spans[i].start_ns <= t && t < spans[i].end_ns;
		held[level]++;
	}
	assert_int_equal(seen.count, starts);
	assert_int_equal(f.out_of_order, 0);
	assert_int_equal(f.all.held_ns.total, to - from);
	for (uint32_t level = 0; level <= SPANS; level++) {
		const struct hist *h = &f.all.held_ns;
		uint64_t got = level >= h->first && level < h->first + h->length
				       ? h->counts[level - h->first]
				       : 0;

		assert_int_equal(got, held[level]);
	}
	assert_int_equal(f.by_route[0].held_ns.total, to - from);
	flight_free(&f);
}

static void levels_are_those_of_each_nanosecond(void **state)
{
	struct span spans[SPANS];
	struct rng rng;

	(void)state;
	rng_seed(&rng, 3);
	for (size_t i = 0; i < SPANS; i++) {
		int64_t start = (int64_t)rng_below(&rng, HORIZON);

		spans[i] = (struct span){ start,
			start + (int64_t)rng_below(&rng, i % 10 ? 40 : HORIZON),
			(uint32_t)(i % 2) };
	}
	qsort(spans, SPANS, sizeof(*spans), later_end_first);
	check_flight(spans, 0, 2 * HORIZON);
	check_flight(spans, 500, 900);
	/* Stored out of order, within what is put right. */
	for (size_t i = 0; i < SPANS; i++) {
		size_t k = rng_below(&rng, SPANS);
		struct span s = spans[i];

		spans[i] = spans[k];
		spans[k] = s;
	}
	check_flight(spans, 0, 2 * HORIZON);
}

static void requests_that_only_touch_do_not_overlap(void **state)
{
	struct flight f;

	(void)state;
	assert_true(flight_init(&f, 1, 0, 100));
	assert_true(flight_add(&f, (struct span){ 20, 30, 0 }));
	assert_true(flight_add(&f, (struct span){ 10, 20, 0 }));
	assert_true(flight_finish(&f));
	assert_int_equal(f.all.max, 1);
	assert_float_equal(level_mean(&f.all), 0.2, 1e-12);
	flight_free(&f);
}

/* ---- bursts */

static void a_clockwork_has_no_dispersion_and_bursts_have_much(void **state)
{
	struct burst even, bursts, poisson;
	struct rng rng;
	double t = 1000e9;

	(void)state;
	burst_init(&even, BURST_SCALES, 0, 1000 * NS_PER_S);
	burst_init(&bursts, BURST_SCALES, 0, 1000 * NS_PER_S);
	burst_init(&poisson, BURST_SCALES, 0, 1000 * NS_PER_S);
	for (int i = 9999; i >= 0; i--) {
		assert_true(burst_add(&even, i * 100 * NS_PER_MS));
		assert_true(burst_add(&bursts, i / 100 * 10 * NS_PER_S));
	}
	rng_seed(&rng, 11);
	while ((t += 1e8 * log(1 - rng_unit(&rng))) > 0)
		assert_true(burst_add(&poisson, (int64_t)t));
	assert_true(burst_finish(&even) && burst_finish(&bursts) && burst_finish(&poisson));
	assert_float_equal(burst_dispersion(&even.scales[0]), 0, 1e-9);
	assert_float_equal(burst_gap_cv(&even), 0, 1e-9);
	/* A hundred in one of ten seconds: mean 10, variance 900 (n - 1 of n). */
	assert_float_equal(burst_dispersion(&bursts.scales[0]), 90.0 * 1000 / 999, 1e-6);
	assert_float_equal(burst_dispersion(&bursts.scales[1]), 0, 1e-9);
	assert_int_equal(bursts.scales[0].counts.max, 100);
	assert_int_equal(bursts.together, 9900);
	/* 5 standard errors: sqrt(2 / n) of 1,000 slices, and 1 / sqrt(n) of 10,000 gaps */
	assert_float_equal(burst_dispersion(&poisson.scales[0]), 1, 5 * 0.045);
	assert_float_equal(burst_gap_cv(&poisson), 1, 5 * 0.01);
	/* Sixteen minutes are sixteen slices of a minute; fewer than ten say nothing. */
	assert_int_equal(even.scales[2].slices, 16);
	burst_free(&even);
	burst_init(&even, BURST_SCALES, 0, 9 * NS_PER_S);
	assert_true(burst_add(&even, 5) && burst_finish(&even));
	assert_true(isnan(burst_dispersion(&even.scales[0])));
	burst_free(&even);
	burst_free(&bursts);
	burst_free(&poisson);
}

/* ---- the document */

static const char script[] =
	"head start 2026-01-01T00:00:00Z\n"
	"head end 2026-01-01T00:00:20Z\n"
	"session 1 0 10000\n"
	"session 2 0 0\n"
	/* a transaction of 1 s, of which 0.8 s are the client's; one that fails */
	"1 1000 100 IT simple 0 | begin\n"
	"1 1500 50 TT named 1 stmt=1 | select 1\n"
	"1 1950 50 TI simple 0 | commit\n"
	"1 3000 10 IT simple 0 | begin\n"
	"1 3010 10 TE simple 0 error=23505 | insert 1\n"
	"1 3030 10 EI simple 0 | rollback\n"
	/* ten at once by ten milliseconds each, in another session's pipeline */
	"2 5000 1000 II simple 3 | select 22\n"
	"2 7000 10 II unnamed 1 nosync | select 333\n"
	"2 7000 30 II unnamed 1 | select 4\n"
	"2 9000 0 II prepare 0 stmt=1 | select 5\n"
	"2 9000 10 IT simple 0 | begin\n";

static struct json *shape_of(const char *text, const struct shape_options *o)
{
	char path[] = "/tmp/test_shape.XXXXXX";
	struct run run = { 0 };
	struct err e = { 0 };

	close(mkstemp(path));
	assert_true(script_capture_write_text(text, path, &e));
	struct rcap *r = rcap_open(path, &e);
	assert_non_null(r);
	struct json *doc = capture_shape(r, o, &run, &e);
	assert_non_null(doc);
	rcap_close(r);
	unlink(path);
	return doc;
}

static double number(const struct json *doc, const char *path)
{
	return json_number(json_path(doc, path), -1);
}

static void the_shape_is_that_of_the_script(void **state)
{
	struct json *s = shape_of(script, &(struct shape_options){ 0 });

	(void)state;
	assert_true(number(s, "requests") == 10);
	assert_true(number(s, "errors.requests") == 1);
	assert_string_equal(
		json_text(json_get(json_at(json_path(s, "errors.codes"), 0), "code"), ""), "23505");
	/* 100 + 50 + 50 + 10 + 10 + 10 + 1000 + 30 + 10 ms of 20 s, twice 10 ms of it two */
	assert_float_equal(number(s, "in_flight.mean"), 1.28 / 20, 1e-6);
	assert_float_equal(number(s, "in_flight.busy_share"), 1.27 / 20, 1e-6);
	assert_true(number(s, "in_flight.max") == 2);
	assert_true(number(s, "transactions.explicit") == 2);
	assert_true(number(s, "transactions.single_statements") == 3);
	assert_true(number(s, "transactions.with_errors") == 1);
	assert_true(number(s, "transactions.rolled_back") == 1);
	assert_true(number(s, "transactions.half_seen") == 1);
	assert_float_equal(number(s, "transactions.length_ms.max"), 1000, 1);
	assert_true(number(s, "transactions.statements.max") == 3);
	/* 400 + 400 of 1000 ms, 0 + 10 of 40 ms */
	assert_float_equal(number(s, "transactions.idle_share"), 810.0 / 1040, 1e-6);
	assert_true(number(s, "sessions.count") == 2);
	assert_true(number(s, "sessions.closed") == 1);
	assert_float_equal(number(s, "sessions.open.mean"), 1.5, 1e-6);
	assert_float_equal(number(s, "sessions.lifetime_ms.max"), 10000, 10);
	assert_true(number(s, "mix.forms.named") == 1);
	assert_true(number(s, "mix.forms.unnamed") == 2);
	assert_float_equal(number(s, "mix.prepared_share"), 0.1, 1e-9);
	/* 1 s and 1 s before a transaction or statement, none within the pipeline. */
	assert_float_equal(number(s, "think_ms.inside_transactions.max"), 400, 1);
	assert_true(number(s, "sizes.rows.max") == 3);
	json_free(s);
}

static void a_window_and_a_route_choose(void **state)
{
	struct shape_options o = { .from_ns = SCRIPT_START_NS + 3 * NS_PER_S,
		.to_ns = SCRIPT_START_NS + 5500 * NS_PER_MS };
	struct json *s = shape_of(script, &o);

	(void)state;
	assert_true(number(s, "requests") == 4);
	assert_float_equal(number(s, "duration_s"), 2.5, 1e-9);
	/* 30 ms, and half a second of what goes on behind the window */
	assert_float_equal(number(s, "in_flight.mean"), 0.53 / 2.5, 1e-6);
	assert_true(number(s, "transactions.explicit") == 1);
	assert_float_equal(number(s, "sessions.open.mean"), 2, 1e-6);
	json_free(s);
	s = shape_of(script, &(struct shape_options){ .route = "SELECT  ?" });
	assert_true(number(s, "requests") == 4);
	assert_true(number(s, "in_flight.max") == 2);
	assert_int_equal(json_count(json_get(s, "routes")), 1);
	json_free(s);
}

static void an_empty_capture_has_a_shape_without_numbers(void **state)
{
	struct json *s = shape_of("", &(struct shape_options){ 0 });
	char *text = NULL;
	size_t n = 0;
	FILE *to = open_memstream(&text, &n);

	(void)state;
	assert_true(number(s, "requests") == 0);
	assert_int_equal(json_type(json_path(s, "arrivals.gaps_ms.cv")), JSON_NULL_VALUE);
	capture_shape_print(s, "x.rcap", 10, to);
	fclose(to);
	assert_non_null(strstr(text, "0 requests"));
	assert_null(strstr(text, "nan"));
	free(text);
	json_free(s);
}

static void people_read_it_in_a_hundred_columns(void **state)
{
	struct json *s = shape_of(script, &(struct shape_options){ 0 });
	char *text = NULL;
	size_t n = 0;
	FILE *to = open_memstream(&text, &n);

	(void)state;
	capture_shape_print(s, "x.rcap", 10, to);
	fclose(to);
	for (char *save = NULL, *line = strtok_r(text, "\n", &save); line;
		line = strtok_r(NULL, "\n", &save))
		if (strlen(line) > 100)
			fail_msg("over 100 columns: %s", line);
	free(text);
	json_free(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_heap_gives_the_smallest_first_and_has_a_cap),
		cmocka_unit_test(levels_are_those_of_each_nanosecond),
		cmocka_unit_test(requests_that_only_touch_do_not_overlap),
		cmocka_unit_test(a_clockwork_has_no_dispersion_and_bursts_have_much),
		cmocka_unit_test(the_shape_is_that_of_the_script),
		cmocka_unit_test(a_window_and_a_route_choose),
		cmocka_unit_test(an_empty_capture_has_a_shape_without_numbers),
		cmocka_unit_test(people_read_it_in_a_hundred_columns),
	};

	return cmocka_run_group_tests_name("shape", tests, NULL, NULL);
}
