#include "tests/lib/unit.h"

#include "core/base/rng.h"
#include "correlate/remote_cells.h"

static const int64_t t0 = INT64_C(1796040000) * NS_PER_S;

struct group {
	int64_t k;
	uint32_t bin;
	int n, errors;
	int64_t largest_us;
	double first_s;
};

/* What a server would make of a request: the groups of one route, found by search. */
static void count(struct group *groups, size_t *n, int64_t start_ns, int64_t us, bool is_error)
{
	struct group g = { start_ns / (10 * NS_PER_S), series_bin(us), 0, 0, 0, 1e18 };
	size_t i = 0;

	while (i < *n && (groups[i].k != g.k || groups[i].bin != g.bin))
		i++;
	if (i == *n)
		groups[(*n)++] = g;
	groups[i].n++;
	groups[i].errors += is_error;
	if (us > groups[i].largest_us)
		groups[i].largest_us = us;
	if ((double)start_ns / 1e9 < groups[i].first_s)
		groups[i].first_s = (double)start_ns / 1e9;
}

static bool add(struct remote_cells *cells, const struct group *g, struct err *e)
{
	char text[6][40];
	const char *fields[REMOTE_CELL_FIELDS] = { text[0], "a", text[1], text[2], text[3], text[4],
		text[5] };

	snprintf(text[0], 40, "%lld", (long long)g->k);
	snprintf(text[1], 40, "%u", g->bin);
	snprintf(text[2], 40, "%d", g->n);
	snprintf(text[3], 40, "%d", g->errors);
	snprintf(text[4], 40, "%lld", (long long)g->largest_us);
	snprintf(text[5], 40, "%.17g", g->first_s);
	return remote_cells_add(cells, fields, e);
}

static void bins_of(const struct series_route *r, uint64_t bins[SERIES_BINS])
{
	for (size_t i = 0; i < r->count; i++)
		bins[series_cell_bin(r->cells[i])] += series_cell_count(r->cells[i]);
}

static void groups_are_the_requests_they_were_made_of(void **state)
{
	static uint64_t bins[2][SERIES_BINS];
	static struct group groups[20000];
	struct series direct, counted;
	struct remote_counts counts = { 0 };
	struct remote_cells cells = { &counted, 10 * NS_PER_S, &counts };
	struct err e = { 0 };
	struct rng rng;
	size_t n = 0;

	(void)state;
	rng_seed(&rng, 7);
	series_init(&direct, 0);
	series_init(&counted, 0);
	struct series_route *a = series_route(&direct, SLICE("a"), 0);
	for (int i = 0; i < 20000; i++) {
		int64_t start_ns = t0 + (int64_t)rng_below(&rng, 60000) * NS_PER_MS;
		int64_t us = (int64_t)(1000 + rng_below(&rng, 1 << (10 + i % 12)));
		bool is_error = rng_below(&rng, 50) == 0;

		assert_true(series_add(&direct, a, start_ns, us * NS_PER_US, is_error));
		count(groups, &n, start_ns, us, is_error);
	}
	assert_true(n < 15000);
	for (size_t i = 0; i < n; i++)
		assert_true(add(&cells, &groups[i], &e));
	assert_true(remote_cells_finish(&cells, &e));
	assert_true(series_finish(&direct));
	assert_true(series_finish(&counted));
	const struct series_route *b = counted.routes[0];
	assert_int_equal(counts.read, 20000);
	assert_int_equal(counts.bad, 0);
	assert_int_equal(b->requests, a->requests);
	assert_int_equal(b->errors, a->errors);
	assert_int_equal(b->max_us, a->max_us);
	assert_int_equal(b->edge_count, 0);
	assert_int_equal(counted.tick_ns, 10 * NS_PER_S);
	bins_of(a, bins[0]);
	bins_of(b, bins[1]);
	assert_memory_equal(bins[0], bins[1], sizeof(bins[0]));
	series_free(&direct);
	series_free(&counted);
}

static void a_group_of_one_keeps_its_time(void **state)
{
	struct series s;
	struct remote_counts counts = { 0 };
	struct remote_cells cells = { &s, 10 * NS_PER_S, &counts };
	struct group g = { 179604000, series_bin(1234), 1, 1, 1234, 1796040003.25 };
	struct err e = { 0 };

	(void)state;
	series_init(&s, 0);
	assert_true(add(&cells, &g, &e));
	assert_int_equal(s.routes[0]->top[0].start_ns, t0 + 3250 * NS_PER_MS);
	assert_int_equal(s.routes[0]->top[0].latency_us, 1234);
	assert_int_equal(s.routes[0]->errors, 1);
	series_free(&s);
}

static void nulls_are_counted_and_nonsense_is_refused(void **state)
{
	static const char *const good[REMOTE_CELL_FIELDS] = { "179604000", "a", "139", "2", "0",
		"151", "1796040000.5" };
	static const struct {
		size_t place;
		const char *value;
	} bad[] = { { 0, "x" }, { 0, "99999999999999999999" }, { 0, "9000000000000000" },
		{ 2, "138" }, { 2, "-1" }, { 2, "1.5" }, { 3, "0" }, { 3, "" }, { 3, NULL },
		{ 4, NULL }, { 5, "-151" }, { 5, "150x" }, { 6, "soon" }, { 6, "1e300" },
		{ 6, NULL } };
	struct series s;
	struct remote_counts counts = { 0 };
	struct remote_cells cells = { &s, 10 * NS_PER_S, &counts };

	(void)state;
	series_init(&s, 0);
	for (size_t i = 0; i < LENGTH(bad); i++) {
		const char *fields[REMOTE_CELL_FIELDS];
		struct err e = { 0 };

		memcpy(fields, good, sizeof(good));
		fields[bad[i].place] = bad[i].value;
		if (remote_cells_add(&cells, fields, &e))
			fail_msg("case %zu was taken", i);
		assert_int_equal(e.kind, ERR_INPUT);
	}
	for (size_t place = 0; place < 3; place++) {
		const char *fields[REMOTE_CELL_FIELDS];
		struct err e = { 0 };

		memcpy(fields, good, sizeof(good));
		fields[place] = NULL;
		assert_true(remote_cells_add(&cells, fields, &e));
		assert_false(remote_cells_finish(&cells, &e));
	}
	assert_int_equal(counts.bad, 6);
	assert_int_equal(counts.first_bad.kind, ERR_INPUT);
	series_free(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(groups_are_the_requests_they_were_made_of),
		cmocka_unit_test(a_group_of_one_keeps_its_time),
		cmocka_unit_test(nulls_are_counted_and_nonsense_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
