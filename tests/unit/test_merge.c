#include "tests/lib/unit.h"

#include <unistd.h>

#include "capture/merge.h"
#include "core/base/rng.h"
#include "core/model/rcap_code.h"
#include "tests/lib/script_capture.h"

/* Traffic of five sessions with values of their own, as a capture sees it whose clock is
 * ahead, and which misses every so-manieth request. */
static void make(const char *path, const char *head, int ahead_ms, int first_value, int miss)
{
	char *text = NULL;
	size_t n = 0;
	struct err e = { 0 };
	FILE *to = open_memstream(&text, &n);

	fprintf(to, "%s", head);
	for (int s = 1; s <= 5; s++) {
		fprintf(to, "session %d %d %d\n", s, 100 * s + ahead_ms, 20000 + ahead_ms);
		for (int i = 0; i < 40; i++)
			if (!miss || (i + s) % miss)
				fprintf(to, "%d %d %d II simple 1 bind=%d | select %d\n", s,
					1000 + 300 * i + 10 * s + ahead_ms, 5 + i % 3,
					first_value + 1000 * s + i, i % 2);
	}
	fclose(to);
	if (!script_capture_write_text(text, path, &e))
		fail_msg("%s: %s", path, e.what);
	free(text);
}

static const char same_key[] = "head key_id k1\nhead policy_digest d1\n";

struct fixture {
	char dir[64], a[96], b[96], out[96];
	struct run run;
	struct merge m;
};

static void set_up(struct fixture *f)
{
	*f = (struct fixture){ .dir = "/tmp/test_merge.XXXXXX" };
	assert_non_null(mkdtemp(f->dir));
	snprintf(f->a, sizeof(f->a), "%s/a.rcap", f->dir);
	snprintf(f->b, sizeof(f->b), "%s/b.rcap", f->dir);
	snprintf(f->out, sizeof(f->out), "%s/out.rcap", f->dir);
	f->m = (struct merge){ .count = 2, .run = &f->run };
	f->m.inputs[0].path = f->a;
	f->m.inputs[1].path = f->b;
}

static void tear_down(struct fixture *f)
{
	merge_free(&f->m);
	unlink(f->a);
	unlink(f->b);
	unlink(f->out);
	assert_int_equal(rmdir(f->dir), 0);
}

static struct rcap *merge(struct fixture *f)
{
	struct err e = { 0 };

	if (!merge_open(&f->m, &e) || !merge_align(&f->m, &e) || !merge_write(&f->m, f->out, &e))
		fail_msg("%s: %s", e.where, e.what);
	struct rcap *r = rcap_open(f->out, &e);
	assert_non_null(r);
	return r;
}

/* Records in time, sessions numbered anew, counts equal to what is stored. */
static void check(struct rcap *r, uint64_t sessions, uint64_t requests)
{
	struct rcap_item item;
	struct err e = { 0 };
	uint64_t stored = 0, by_route = 0, highest = 0, latencies = 0;
	int64_t last = 0;
	enum step step;

	while ((step = rcap_next(r, &item, &e)) == STEP_ITEM) {
		if (item.kind == RCAP_SESSION) {
			highest = item.session.id > highest ? item.session.id : highest;
			continue;
		}
		stored++;
		assert_true(item.request.end_ns >= last);
		last = item.request.end_ns;
	}
	assert_int_equal(step, STEP_END);
	for (uint32_t i = 0; i < rcap_route_count(r); i++) {
		by_route += rcap_route(r, i)->requests;
		latencies += rcap_route(r, i)->latency_us.total;
	}
	assert_int_equal(stored, requests);
	assert_int_equal(by_route, requests);
	assert_int_equal(latencies, requests);
	assert_int_equal(rcap_totals(r).requests, requests);
	assert_int_equal(rcap_totals(r).sessions, sessions);
	assert_int_equal(highest, sessions);
	assert_int_equal(json_int(json_path(rcap_head(r), "counts.requests"), -1), requests);
	rcap_close(r);
}

static void what_two_places_saw_is_there_once_on_one_clock(void **state)
{
	struct fixture f;

	(void)state;
	set_up(&f);
	make(f.a, same_key, 0, 0, 0);
	make(f.b, same_key, 750, 0, 0);
	struct rcap *r = merge(&f);
	assert_int_equal(f.m.inputs[1].how, MERGE_BY_CONTENT);
	assert_int_equal(f.m.inputs[1].skew_ns, 750 * NS_PER_MS);
	assert_int_equal(f.m.inputs[1].dropped_sessions, 5);
	assert_int_equal(f.m.inputs[1].dropped_requests, 200);
	check(r, 5, 200);
	tear_down(&f);
}

static void the_fuller_of_two_sessions_stays(void **state)
{
	struct fixture f;

	(void)state;
	set_up(&f);
	make(f.a, same_key, 0, 0, 7);
	make(f.b, same_key, -3600000, 0, 0);
	struct rcap *r = merge(&f);
	assert_int_equal(f.m.inputs[1].skew_ns, -3600 * NS_PER_S);
	assert_int_equal(f.m.inputs[0].dropped_sessions, 5);
	assert_int_equal(f.m.inputs[1].dropped_sessions, 0);
	check(r, 5, 200);
	tear_down(&f);
}

/* Sessions 4 and 5 of the second are its own; their routes have both kinds. */
static void what_is_left_out_is_not_counted(void **state)
{
	struct fixture f;
	struct err e = { 0 };
	char *text = NULL;
	size_t n = 0;
	FILE *to = open_memstream(&text, &n);

	(void)state;
	set_up(&f);
	make(f.a, same_key, 0, 0, 0);
	fputs(same_key, to);
	for (int s = 1; s <= 5; s++) {
		fprintf(to, "session %d %d 20000\n", s, 100 * s);
		for (int i = 0; i < 40; i++)
			fprintf(to, "%d %d %d II simple 1 bind=%d | select %d\n", s,
				1000 + 300 * i + 10 * s, s > 3 ? 80 : 5 + i % 3,
				(s > 3 ? 700000 : 0) + 1000 * s + i, i % 2);
	}
	fclose(to);
	assert_true(script_capture_write_text(text, f.b, &e));
	free(text);
	struct rcap *r = merge(&f);
	assert_int_equal(f.m.inputs[1].dropped_sessions, 3);
	assert_int_equal(f.m.inputs[1].dropped_requests, 120);
	check(r, 7, 280);
	tear_down(&f);
}

static void other_traffic_is_added_and_its_clock_believed(void **state)
{
	struct fixture f;

	(void)state;
	set_up(&f);
	make(f.a, same_key, 0, 0, 0);
	make(f.b, same_key, 40, 500000, 0);
	struct rcap *r = merge(&f);
	assert_int_equal(f.m.inputs[1].how, MERGE_ASSUMED);
	assert_int_equal(f.m.inputs[1].skew_ns, 0);
	check(r, 10, 400);
	tear_down(&f);
}

static void a_given_skew_is_taken(void **state)
{
	struct fixture f;
	struct rcap_item item;
	struct err e = { 0 };
	int64_t last = 0;

	(void)state;
	set_up(&f);
	make(f.a, same_key, 0, 0, 0);
	make(f.b, same_key, 40, 500000, 0);
	f.m.inputs[1].is_given = true;
	f.m.inputs[1].given_ns = 40 * NS_PER_MS;
	struct rcap *r = merge(&f);
	/* Set right, the two are in step. */
	while (rcap_next(r, &item, &e) == STEP_ITEM)
		if (item.kind == RCAP_REQUEST)
			last = item.request.end_ns;
	assert_int_equal((last - SCRIPT_START_NS) / NS_PER_MS, 1000 + 300 * 39 + 50 + 5 + 39 % 3);
	rcap_rewind(r);
	check(r, 10, 400);
	tear_down(&f);
}

static void other_keys_and_policies_are_refused(void **state)
{
	static const char *const heads[] = { "head key_id k2\nhead policy_digest d1\n",
		"head key_id k1\nhead policy_digest d2\n", "" };

	(void)state;
	for (size_t i = 0; i < LENGTH(heads); i++) {
		struct fixture f;
		struct err e = { 0 };

		set_up(&f);
		make(f.a, same_key, 0, 0, 0);
		make(f.b, heads[i], 0, 0, 0);
		assert_false(merge_open(&f.m, &e));
		assert_int_equal(e.kind, ERR_REFUSED);
		tear_down(&f);
	}
}

static void taking_away_is_the_reverse_of_adding(void **state)
{
	struct hist all = { 0 }, some = { 0 }, rest = { 0 };
	struct rng rng;

	(void)state;
	rng_seed(&rng, 5);
	for (int i = 0; i < 5000; i++) {
		int64_t v = (int64_t)rng_below(&rng, i % 7 ? 3000 : 90000000);

		assert_true(hist_add(&all, v, 1) && hist_add(i % 3 ? &some : &rest, v, 1));
	}
	hist_subtract(&all, &some);
	assert_int_equal(all.total, rest.total);
	for (double q = 0; q <= 1; q += 0.01)
		assert_int_equal(hist_quantile(&all, q), hist_quantile(&rest, q));
	struct buf bytes = { 0 };
	struct hist back = { 0 };
	hist_write(&all, &bytes);
	struct cursor c = cursor_of(bytes.p, bytes.n);
	assert_true(hist_read(&back, &c));
	hist_subtract(&all, &rest);
	assert_int_equal(all.total, 0);
	buf_free(&bytes);
	hist_free(&back);
	hist_free(&all);
	hist_free(&some);
	hist_free(&rest);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_two_places_saw_is_there_once_on_one_clock),
		cmocka_unit_test(the_fuller_of_two_sessions_stays),
		cmocka_unit_test(what_is_left_out_is_not_counted),
		cmocka_unit_test(other_traffic_is_added_and_its_clock_believed),
		cmocka_unit_test(a_given_skew_is_taken),
		cmocka_unit_test(other_keys_and_policies_are_refused),
		cmocka_unit_test(taking_away_is_the_reverse_of_adding),
	};

	return cmocka_run_group_tests_name("merge", tests, NULL, NULL);
}
