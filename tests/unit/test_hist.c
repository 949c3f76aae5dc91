#include "tests/lib/unit.h"

#include "core/base/hist.h"
#include "core/base/quantile.h"
#include "core/base/rng.h"

static int64_t random_value(struct rng *r)
{
	return (int64_t)(rng_u64(r) >> (22 + rng_below(r, 42)));
}

static int compare(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

static void quantiles_are_within_a_thousandth(void **state)
{
	(void)state;
	enum { N = 20000 };
	static const double qs[] = { 0, 0.01, 0.5, 0.9, 0.99, 0.999, 1 };
	struct hist h = { 0 };
	struct rng r;
	int64_t *values = calloc(N, sizeof(*values));

	rng_seed(&r, 1);
	for (size_t i = 0; i < N; i++) {
		values[i] = random_value(&r);
		assert_true(hist_add(&h, values[i], 1));
	}
	qsort(values, N, sizeof(*values), compare);
	for (size_t i = 0; i < LENGTH(qs); i++) {
		int64_t exact = values[quantile_rank(N, qs[i]) - 1];
		int64_t got = hist_quantile(&h, qs[i]);

		assert_true(got >= exact && got - exact <= exact / 1000);
	}
	assert_true(h.min == values[0] && h.max == values[N - 1]);
	assert_true(hist_quantile(&h, 1) == h.max);
	assert_true(hist_rank(&h, 1) >= h.min);
	free(values);
	hist_free(&h);
}

/* Below 2048 each value has a bucket of its own. */
static void small_values_are_exact(void **state)
{
	(void)state;
	struct hist h = { 0 };

	for (int64_t v = 0; v < 2048; v++)
		assert_true(hist_add(&h, v, 1));
	for (uint64_t rank = 1; rank <= 2048; rank++)
		assert_int_equal(hist_rank(&h, rank), rank - 1);
	assert_int_equal(hist_above(&h, 2000), 47);
	assert_int_equal(hist_above(&h, -1), 2048);
	assert_int_equal(hist_above(&h, 5000), 0);
	hist_free(&h);
}

static void merging_is_adding(void **state)
{
	(void)state;
	struct hist a = { 0 }, b = { 0 }, both = { 0 };
	struct rng r;

	rng_seed(&r, 2);
	for (int i = 0; i < 5000; i++) {
		int64_t v = random_value(&r);

		assert_true(hist_add(i % 3 ? &a : &b, v, 1 + (uint64_t)i % 2));
		assert_true(hist_add(&both, v, 1 + (uint64_t)i % 2));
	}
	assert_true(hist_merge(&a, &b));
	assert_true(a.total == both.total && a.min == both.min && a.max == both.max);
	for (uint64_t rank = 1; rank <= both.total; rank += 7)
		assert_true(hist_rank(&a, rank) == hist_rank(&both, rank));
	struct hist empty = { 0 };
	assert_true(hist_merge(&a, &empty));
	assert_true(hist_merge(&empty, &a));
	assert_true(empty.total == both.total);
	hist_free(&a);
	hist_free(&b);
	hist_free(&both);
	hist_free(&empty);
}

static void values_out_of_range_are_clamped_and_counted(void **state)
{
	(void)state;
	struct hist h = { 0 };

	assert_true(hist_add(&h, HIST_MAX + 1, 2));
	assert_true(hist_add(&h, HIST_MAX, 1));
	assert_true(hist_add(&h, -5, 1));
	assert_true(hist_add(&h, 7, 0));
	assert_int_equal(h.saturated, 2);
	assert_int_equal(h.total, 4);
	assert_true(h.max == HIST_MAX && h.min == 0);
	assert_true(hist_quantile(&h, 1) == HIST_MAX);
	hist_free(&h);
}

static void an_empty_one_answers_zero(void **state)
{
	(void)state;
	struct hist h = { 0 };

	assert_int_equal(hist_quantile(&h, 0.99), 0);
	assert_int_equal(hist_rank(&h, 1), 0);
	assert_int_equal(hist_above(&h, 0), 0);
	hist_reset(&h);
	hist_free(&h);
	hist_free(&h);
}

static void what_is_written_is_read(void **state)
{
	(void)state;
	struct hist h = { 0 }, back = { 0 };
	struct buf bytes = { 0 };
	struct rng r;

	rng_seed(&r, 3);
	hist_write(&h, &bytes);
	for (int i = 0; i < 3000; i++)
		assert_true(hist_add(&h, random_value(&r), 1 + rng_below(&r, 1000)));
	hist_write(&h, &bytes);
	struct cursor c = cursor_of(bytes.p, bytes.n);
	assert_true(hist_add(&back, 12345, 3));
	assert_true(hist_read(&back, &c));
	assert_int_equal(back.total, 0);
	assert_true(hist_read(&back, &c));
	assert_int_equal(cursor_left(&c), 0);
	assert_true(back.total == h.total && back.min == h.min && back.max == h.max &&
		    back.sum == h.sum);
	for (uint64_t rank = 1; rank <= h.total; rank += 997)
		assert_true(hist_rank(&back, rank) == hist_rank(&h, rank));
	hist_free(&h);
	hist_free(&back);
	buf_free(&bytes);
}

static void damage_is_refused_or_adds_up(void **state)
{
	(void)state;
	struct hist h = { 0 }, back = { 0 };
	struct buf bytes = { 0 };
	struct rng r;

	for (int64_t v = 1; v < 100000; v *= 3)
		assert_true(hist_add(&h, v, (uint64_t)v));
	hist_write(&h, &bytes);
	for (size_t n = 0; n < bytes.n; n++) {
		struct cursor c = cursor_of(bytes.p, n);

		assert_false(hist_read(&back, &c));
	}
	rng_seed(&r, 4);
	for (int i = 0; i < 20000; i++) {
		size_t at = (size_t)rng_below(&r, bytes.n);
		char kept = bytes.p[at];
		uint64_t sum = 0;

		bytes.p[at] = (char)rng_u64(&r);
		struct cursor c = cursor_of(bytes.p, bytes.n);
		if (hist_read(&back, &c))
			for (uint32_t j = 0; j < back.length; j++)
				sum += back.counts[j];
		assert_true(sum == back.total);
		bytes.p[at] = kept;
	}
	hist_free(&h);
	hist_free(&back);
	buf_free(&bytes);
}

/* As HdrHistogram's outputPercentileDistribution() prints 1..4 with 5 ticks. */
static void percentile_text_is_hdrhistogram_s(void **state)
{
	(void)state;
	struct hist h = { 0 };
	struct buf text = { 0 };

	for (int64_t v = 1; v <= 4; v++)
		assert_true(hist_add(&h, 1000 * v, 1));
	hist_write_hgrm(&h, 1000, &text);
	assert_non_null(strstr(buf_text(&text),
		"       Value     Percentile TotalCount 1/(1-Percentile)\n\n"
		"       1.000 0.000000000000          1           1.00\n"));
	assert_non_null(strstr(buf_text(&text), "       4.000 1.000000000000          4\n"
						"#[Mean    =        2.500"));
	assert_non_null(strstr(buf_text(&text), "Total count    =            4]\n"));
	hist_free(&h);
	buf_free(&text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(quantiles_are_within_a_thousandth),
		cmocka_unit_test(small_values_are_exact),
		cmocka_unit_test(merging_is_adding),
		cmocka_unit_test(values_out_of_range_are_clamped_and_counted),
		cmocka_unit_test(an_empty_one_answers_zero),
		cmocka_unit_test(what_is_written_is_read),
		cmocka_unit_test(damage_is_refused_or_adds_up),
		cmocka_unit_test(percentile_text_is_hdrhistogram_s),
	};

	return cmocka_run_group_tests_name("hist", tests, NULL, NULL);
}
