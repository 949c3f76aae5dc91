#include "tests/lib/unit.h"

#include <unistd.h>

#include "core/base/rng.h"
#include "replay/fidelity.h"
#include "replay/measure.h"
#include "tests/lib/script_capture.h"

#define MS NS_PER_MS

static char path[64];
static struct rcap *capture;

static int open_capture(void **state)
{
	struct err e = { 0 };

	(void)state;
	snprintf(path, sizeof(path), "/tmp/test_replay_measure.XXXXXX");
	close(mkstemp(path));
	if (!script_capture_write_text("1 10 5 II simple 1 | select a\n"
				       "1 20 5 II simple 1 error=23505 | insert b\n",
		    path, &e))
		return -1;
	capture = rcap_open(path, &e);
	return capture ? 0 : -1;
}

static int close_capture(void **state)
{
	(void)state;
	rcap_close(capture);
	return unlink(path);
}

static struct plan_item item_of(uint32_t route, const char *sqlstate)
{
	struct plan_item item = { .kind = PLAN_REQUEST,
		.q = { .route = route, .rows = 1, .end_ns = 5 * MS } };

	snprintf(item.q.sqlstate, sizeof(item.q.sqlstate), "%s", sqlstate);
	return item;
}

static uint64_t skipped_sum(const struct replay_result *r)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < r->skip_count; i++)
		sum += r->skipped[i].count;
	return sum;
}

static void planned_is_sent_and_skipped_and_failed(void **state)
{
	struct replay_result r = { .duration_ns = NS_PER_S };
	struct measure m;
	struct err e = { 0 };
	struct rng rng;

	(void)state;
	rng_seed(&rng, 7);
	assert_true(measure_init(&m, &r, capture, 0, &e));
	for (int i = 0; i < 5000; i++) {
		struct plan_item item =
			item_of((uint32_t)rng_below(&rng, 5), rng_below(&rng, 3) ? "" : "23505");
		struct measure_times t = { 0, 0, MS, 3 * MS };
		struct driver_answer answer = { .rows = rng_below(&rng, 2) };

		item.kind = rng_below(&rng, 20) ? PLAN_REQUEST : PLAN_PREPARE;
		switch (rng_below(&rng, 4)) {
		case 0:
			measure_skip(
				&m, &item, (enum plan_skip)(1 + rng_below(&rng, SKIP_COUNT - 1)));
			break;
		case 1:
			measure_unsent(&m, &item);
			break;
		default:
			measure_sent(&m, &item, &t);
			measure_end(&m, &item, &t, (enum measure_end)rng_below(&rng, 3), &answer);
		}
		uint64_t skipped = 0;
		for (size_t s = 0; s < SKIP_COUNT; s++)
			skipped += m.skipped[s];
		assert_int_equal(r.planned, r.sent + r.failed + skipped);
	}
	assert_true(measure_finish(&m, &e));
	assert_true(r.planned > 4000);
	assert_int_equal(r.planned, r.sent + r.failed + skipped_sum(&r));
	uint64_t timed = 0;
	for (size_t i = 0; i < r.route_count; i++)
		timed += r.routes[i].service_us.total;
	assert_int_equal(timed, r.sent);
	measure_free(&m);
	replay_result_free(&r);
}

static void every_skip_reason_has_its_words_and_place(void **state)
{
	(void)state;
	assert_true(SKIP_COUNT - 1 <= REPLAY_SKIPS_MAX);
	for (int i = 0; i < SKIP_COUNT; i++)
		assert_true(plan_skip_text((enum plan_skip)i)[0] != '\0');
}

static void the_unanswered_count_at_their_age(void **state)
{
	struct replay_result r = { .duration_ns = NS_PER_S };
	struct measure m;
	struct err e = { 0 };
	struct plan_item item = item_of(1, "");
	struct measure_times t = { 0, 0, 0, 900 * MS };

	(void)state;
	assert_true(measure_init(&m, &r, capture, rcap_route(capture, 1)->fingerprint, &e));
	measure_sent(&m, &item, &t);
	measure_end(&m, &item, &t, MEASURE_CENSORED, &(struct driver_answer){ 0 });
	assert_true(measure_finish(&m, &e));
	assert_int_equal(r.routes[0].service_us.max, 900 * 1000);
	assert_int_equal(r.routes[0].censored, 1);
	assert_int_equal(r.sample_count, 1);
	assert_true(r.samples[0].is_censored);
	assert_int_equal(r.samples[0].end_ns, 900 * MS);
	measure_free(&m);
	replay_result_free(&r);
}

static void an_error_is_divergence_only_when_production_had_another(void **state)
{
	struct replay_result r = { .duration_ns = NS_PER_S };
	struct measure m;
	struct err e = { 0 };
	struct measure_times t = { 0, 0, 0, MS };
	static const struct {
		const char *captured, *replayed;
	} cases[] = { { "23505", "23505" }, { "23505", "" }, { "", "40001" }, { "", "40001" },
		{ "", "" } };

	(void)state;
	assert_true(measure_init(&m, &r, capture, 0, &e));
	for (size_t i = 0; i < LENGTH(cases); i++) {
		struct plan_item item = item_of(2, cases[i].captured);
		struct driver_answer answer = { .rows = 1 };

		snprintf(answer.sqlstate, sizeof(answer.sqlstate), "%s", cases[i].replayed);
		measure_sent(&m, &item, &t);
		measure_end(&m, &item, &t, MEASURE_ANSWERED, &answer);
	}
	assert_true(measure_finish(&m, &e));
	assert_int_equal(r.routes[0].errors_differ, 3);
	assert_int_equal(json_count(r.divergence), 2);
	assert_int_equal(json_int(json_get(json_at(r.divergence, 1), "n"), 0), 2);
	measure_free(&m);
	replay_result_free(&r);
}

static struct replay_result whole(void)
{
	return (struct replay_result){ .planned = 1000,
		.sent = 990,
		.skipped = { { "external effect", 10 } },
		.skip_count = 1,
		.sessions = 10,
		.sessions_planned = 10,
		.duration_ns = NS_PER_S,
		.own_cpu_ns = NS_PER_S / 10 };
}

static void delivery_is_below_the_bar_when(void **state)
{
	(void)state;
	struct replay_result r = whole();
	fidelity_judge_delivery(&r);
	assert_true(r.is_delivered);
	r.own_cpu_ns = NS_PER_S * 8 / 10;
	fidelity_judge_delivery(&r);
	assert_false(r.is_delivered);
	assert_non_null(strstr(r.delivery_reason, "CPU"));
	r = whole();
	r.sent = 900;
	r.failed = 90;
	fidelity_judge_delivery(&r);
	assert_non_null(strstr(r.delivery_reason, "plan was sent"));
	r = whole();
	r.sessions = 9;
	fidelity_judge_delivery(&r);
	assert_non_null(strstr(r.delivery_reason, "sessions"));
	r = whole();
	assert_true(hist_add(&r.lateness_us, 9000, 20));
	fidelity_judge_delivery(&r);
	assert_non_null(strstr(r.delivery_reason, "late"));
	/* A serial run has no due times to be late for. */
	r.is_serial = true;
	fidelity_judge_delivery(&r);
	assert_true(r.is_delivered);
	/* A session that waits for its server's answer is not our lateness. */
	r.is_serial = false;
	hist_reset(&r.lateness_us);
	assert_true(hist_add(&r.queue_us, 3000000, 500));
	fidelity_judge_delivery(&r);
	assert_true(r.is_delivered);
	r.is_interrupted = true;
	fidelity_judge_delivery(&r);
	assert_false(r.is_delivered);
	replay_result_free(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(planned_is_sent_and_skipped_and_failed),
		cmocka_unit_test(every_skip_reason_has_its_words_and_place),
		cmocka_unit_test(the_unanswered_count_at_their_age),
		cmocka_unit_test(an_error_is_divergence_only_when_production_had_another),
		cmocka_unit_test(delivery_is_below_the_bar_when),
	};

	return cmocka_run_group_tests(tests, open_capture, close_capture);
}
