#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>

#include "core/base/rng.h"
#include "recipes/layout.h"

#define S NS_PER_S

static void make(struct span *o, size_t count, int64_t every_ns, int64_t length_ns)
{
	for (size_t i = 0; i < count; i++)
		o[i] = (struct span){ (int64_t)(i + 1) * every_ns,
			(int64_t)(i + 1) * every_ns + length_ns };
}

/* What replay and the check demand of any layout. */
static void is_sound(const struct layout *l)
{
	double total = 0;

	for (size_t i = 0; i < l->count; i++) {
		const struct recipe_window *w = &l->windows[i];
		double length_s = (double)(w->to_ns - w->from_ns) / 1e9;

		assert_true(w->to_ns > w->from_ns);
		assert_true(i == 0 || w->from_ns >= l->windows[i - 1].to_ns);
		assert_true(w->inside_from_s >= 0 && w->inside_to_s <= length_s + 1e-6);
		total += length_s;
	}
	assert_true(fabs(total - l->duration_s) < 1e-6);
}

static void five_occurrences_are_spread_over_the_capture(void **state)
{
	struct span o[20], capture = { 0, 200 * S };
	struct layout l;

	(void)state;
	make(o, 20, 9 * S, S);
	layout_occurrences(&l, o, 20, capture, false);
	is_sound(&l);
	assert_int_equal(l.count, 5);
	assert_true(l.windows[0].from_ns < o[0].from_ns && l.windows[4].to_ns > o[19].to_ns);
	for (size_t i = 0; i < 5; i++) {
		assert_true(fabs((l.windows[i].to_ns - l.windows[i].from_ns) / 1e9 - 2.0) < 1e-6);
		assert_true(
			fabs(l.windows[i].inside_to_s - l.windows[i].inside_from_s - 1.0) < 1e-6);
		assert_int_equal(l.windows[i].occurrence, i);
	}
}

static void a_hole_is_cut_out_and_the_occurrence_stays_whole(void **state)
{
	struct span o[5], capture = { 0, 60 * S };
	struct layout l;

	(void)state;
	make(o, 5, 8 * S, S);
	layout_occurrences(&l, o, 5, capture, true);
	is_sound(&l);
	assert_int_equal(l.count, 10);
	for (size_t i = 0; i < 10; i += 2) {
		const struct recipe_window *a = &l.windows[i], *b = &l.windows[i + 1];

		assert_int_equal(a->occurrence, b->occurrence);
		assert_true(a->to_ns < o[i / 2].to_ns && b->from_ns > o[i / 2].to_ns);
		assert_true(fabs(a->inside_to_s - a->inside_from_s + b->inside_to_s - 1.0) < 1e-6);
		assert_true(fabs((double)(a->to_ns - a->from_ns + b->to_ns - b->from_ns) / 1e9 -
				    2.0) < 1e-6);
	}
}

static void windows_never_overlap_however_close_the_occurrences(void **state)
{
	struct span o[12], capture = { 0, 14 * S };
	struct layout l;

	(void)state;
	for (int has_hole = 0; has_hole < 2; has_hole++) {
		for (int64_t every = 2; every < 20; every++) {
			make(o, 12, every * S / 4, S / 4 + every * S / 80);
			layout_occurrences(&l, o, 12, capture, has_hole);
			is_sound(&l);
		}
	}
}

static void an_occurrence_at_the_end_of_the_capture_is_passed_over(void **state)
{
	struct span o[6], capture = { 0, 49 * S + S / 10 };
	struct layout l;

	(void)state;
	make(o, 6, 8 * S, S);
	layout_occurrences(&l, o, 6, capture, true);
	is_sound(&l);
	assert_int_equal(l.count, 10);
	assert_true(l.windows[9].to_ns < o[5].from_ns);
}

static void a_state_has_quiet_slices_then_equal_ones(void **state)
{
	struct layout l;

	(void)state;
	layout_state(&l, (struct span){ 0, 20 * S }, (struct span){ 20 * S + S / 2, 50 * S });
	is_sound(&l);
	assert_int_equal(l.count, 11);
	/* The first warms up: neither. */
	for (size_t i = 0; i < 11; i++) {
		assert_true(l.windows[i].is_quiet == (i >= 1 && i < 6));
		assert_true((l.windows[i].inside_to_s > 0) == (i >= 6));
	}
	layout_state(&l, (struct span){ 0, 0 }, (struct span){ 0, 50 * S });
	assert_int_equal(l.count, 6);
	/* No room before the first slice: then without. */
	layout_state(&l, (struct span){ 0, 0 }, (struct span){ 0, 5 * S });
	is_sound(&l);
	assert_int_equal(l.count, 5);
}

/* Arms that start jobs do not replay the quiet slices. */
static void a_states_jobs_are_placed_behind_the_warm_up(void **state)
{
	struct layout l;
	double at;

	(void)state;
	layout_state(&l, (struct span){ 0, 20 * S }, (struct span){ 20 * S + S / 2, 50 * S });
	assert_true(layout_place(&l, l.windows[6].from_ns, &at));
	assert_true(fabs(at - (double)(l.windows[0].to_ns - l.windows[0].from_ns) / 1e9) < 1e-6);
	assert_false(layout_place(&l, l.windows[2].from_ns, &at));
}

static void instants_are_placed_on_the_timeline_of_the_cell(void **state)
{
	struct span o[5], capture = { 0, 60 * S };
	struct layout l;
	double at;

	(void)state;
	make(o, 5, 8 * S, S);
	layout_occurrences(&l, o, 5, capture, true);
	assert_true(layout_place(&l, o[0].from_ns, &at));
	assert_true(fabs(at - l.windows[0].inside_from_s) < 1e-6);
	assert_true(layout_place(&l, o[1].from_ns, &at));
	assert_true(fabs(at - 2.0 - l.windows[2].inside_from_s) < 1e-6);
	/* In the hole: at the cut. */
	assert_true(layout_place(&l, o[0].from_ns + S / 2, &at));
	assert_true(fabs(at - (double)(l.windows[0].to_ns - l.windows[0].from_ns) / 1e9) < 1e-6);
	assert_false(layout_place(&l, 5 * S, &at));
}

/* Real instants have odd nanoseconds: one in ten such layouts once overlapped by one. */
static void windows_never_overlap_by_a_rounding(void **state)
{
	struct rng rng;

	(void)state;
	rng_seed(&rng, 7);
	for (size_t i = 0; i < 20000; i++) {
		struct layout l;
		int64_t onset = S + (int64_t)rng_below(&rng, 40 * (uint64_t)S);
		int64_t from = INT64_C(1796040000000000000) + (int64_t)rng_below(&rng, (uint64_t)S);
		struct span before = { from, from + onset };
		struct span after = { before.to_ns + S / 2,
			before.to_ns + 3 * S + (int64_t)rng_below(&rng, 40 * (uint64_t)S) };

		layout_state(&l, before, after);
		is_sound(&l);
		layout_state(&l, (struct span){ 0, 0 }, after);
		is_sound(&l);
	}
}

static void occurrences_never_overlap_by_a_rounding(void **state)
{
	struct rng rng;

	(void)state;
	rng_seed(&rng, 8);
	for (size_t i = 0; i < 20000; i++) {
		struct layout l;
		struct span o[12];
		size_t count = 1 + rng_below(&rng, 12);
		int64_t at = INT64_C(1796040000000000000) + (int64_t)rng_below(&rng, (uint64_t)S);
		struct span capture = { at, 0 };

		for (size_t k = 0; k < count; k++) {
			at += (int64_t)rng_below(&rng, 9 * (uint64_t)S) + 1;
			o[k].from_ns = at;
			at += (int64_t)rng_below(&rng, 3 * (uint64_t)S) + 1;
			o[k].to_ns = at;
		}
		capture.to_ns = at + (int64_t)rng_below(&rng, 3 * (uint64_t)S) + 1;
		layout_occurrences(&l, o, count, capture, i % 2);
		is_sound(&l);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(five_occurrences_are_spread_over_the_capture),
		cmocka_unit_test(a_hole_is_cut_out_and_the_occurrence_stays_whole),
		cmocka_unit_test(windows_never_overlap_however_close_the_occurrences),
		cmocka_unit_test(an_occurrence_at_the_end_of_the_capture_is_passed_over),
		cmocka_unit_test(a_state_has_quiet_slices_then_equal_ones),
		cmocka_unit_test(a_states_jobs_are_placed_behind_the_warm_up),
		cmocka_unit_test(instants_are_placed_on_the_timeline_of_the_cell),
		cmocka_unit_test(windows_never_overlap_by_a_rounding),
		cmocka_unit_test(occurrences_never_overlap_by_a_rounding),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
