/*
 * With two arguments it is a tool of the end-to-end tests: it makes a capture of the
 * script on standard input: test_replay_plan FILE.rcap ADDRESS:PORT
 */
#include "tests/lib/unit.h"

#include <unistd.h>

#include "replay/plan.h"
#include "replay/plan_item.h"
#include "tests/lib/script_capture.h"

#define MS NS_PER_MS
#define T(ms) (SCRIPT_START_NS + (ms)*MS)

static char path[64];

static int make_path(void **state)
{
	(void)state;
	snprintf(path, sizeof(path), "/tmp/test_replay_plan.XXXXXX");
	int fd = mkstemp(path);
	return fd < 0 ? -1 : close(fd);
}

static int remove_path(void **state)
{
	(void)state;
	return unlink(path);
}

static void make(const char *script)
{
	struct err e = { 0 };

	if (!script_capture_write_text(script, path, &e))
		fail_msg("%s", e.what);
}

static struct plan *plan_of(const char *script, struct plan_options o)
{
	struct err e = { 0 };

	make(script);
	o.path = path;
	struct plan *p = plan_open(&o, &e);
	if (!p)
		fail_msg("%s", e.what);
	return p;
}

static void fill(struct plan *p)
{
	struct err e = { 0 };
	enum step step;

	while ((step = plan_fill(p, 3, &e)) == STEP_ITEM)
		;
	if (step == STEP_FAIL)
		fail_msg("%s", e.what);
}

/* What a lane sends, as "offset_ms:SQL" joined by commas; + before chained ones. */
static const char *lane_text(struct plan *p, struct plan_lane *lane, char text[1000])
{
	struct plan_item *item;
	size_t n = 0;

	text[0] = '\0';
	while ((item = plan_take(p, lane))) {
		struct slice sql = rcap_template(plan_capture(p), item->q.template_id);

		if (item->kind == PLAN_CLOSE)
			sql = SLICE("close");
		n += (size_t)snprintf(text + n, 1000 - n, "%s%s%lld:%.*s%s", n ? "," : "",
			item->is_chained ? "+" : "", (long long)(item->offset_ns / MS), (int)sql.n,
			sql.p, item->is_piped ? "|" : "");
		plan_release(p, item);
	}
	return text;
}

static const char two_sessions[] = "session 1 0 0\n"
				   "session 2 0 60\n"
				   "1 10 5 IT simple 0 | begin\n"
				   "1 20 25 TT simple 1 | update a\n"
				   "1 50 1 TI simple 0 | commit\n"
				   "2 15 1 II simple 1 | select b\n"
				   "1 70 1 II simple 1 | select c\n";

static void sessions_have_their_requests_in_order(void **state)
{
	struct plan *p = plan_of(two_sessions, (struct plan_options){ 0 });
	char text[1000];

	(void)state;
	fill(p);
	struct plan_lane *one = plan_next_touched(p), *two = plan_next_touched(p);
	if (one->session != 1) {
		struct plan_lane *other = one;
		one = two;
		two = other;
	}
	assert_string_equal(lane_text(p, one, text), "0:begin,+10:update a,+40:commit,60:select c");
	assert_string_equal(lane_text(p, two, text), "5:select b,50:close");
	assert_null(plan_next_touched(p));
	assert_int_equal(plan_totals(p)->requests, 5);
	assert_int_equal(plan_totals(p)->sessions, 2);
	plan_close(p);
}

static uint64_t fingerprint_in(const char *script, const char *fragment)
{
	struct err e = { 0 };
	struct rcap *capture;
	uint64_t fingerprint;

	make(script);
	capture = rcap_open(path, &e);
	assert_non_null(capture);
	fingerprint = rcap_find_route(capture, slice_of(fragment))->fingerprint;
	rcap_close(capture);
	return fingerprint;
}

/* The job's session is the condition; a client that also runs its statement is not. */
static void a_conditions_own_sessions_are_no_traffic(void **state)
{
	static const char script[] = "session 1 0 0\n"
				     "session 2 0 60\n"
				     "session 3 0 0\n"
				     "2 10 5 IT simple 0 | begin\n"
				     "2 20 25 TT simple 1 | lock t\n"
				     "2 50 1 TI simple 0 | commit\n"
				     "1 15 1 II simple 1 | select b\n"
				     "3 16 1 II simple 1 | lock t\n"
				     "3 18 1 II simple 1 | select b\n";
	const uint64_t own[] = { fingerprint_in(script, "lock t") };
	struct plan *p = plan_of(script, (struct plan_options){ .own = own, .own_count = 1 });

	(void)state;
	fill(p);
	for (struct plan_lane *lane; (lane = plan_next_touched(p));)
		assert_int_not_equal(lane->session, 2);
	assert_int_equal(plan_totals(p)->requests, 3);
	assert_int_equal(plan_totals(p)->own, 3);
	plan_close(p);
}

static void a_transaction_belongs_to_the_window_of_its_start(void **state)
{
	/* begin at 10 is inside, its commit at 50 is not; the window from 18 has its update. */
	struct replay_window first = { T(5), T(18) }, second = { T(18), T(75) };
	struct plan *p = plan_of(
		two_sessions, (struct plan_options){ .windows = &first, .window_count = 1 });
	char text[1000];

	(void)state;
	fill(p);
	for (struct plan_lane *lane; (lane = plan_next_touched(p));)
		if (lane->session == 1)
			assert_string_equal(
				lane_text(p, lane, text), "5:begin,+13:update a,+13:commit");
	plan_close(p);
	p = plan_of(two_sessions, (struct plan_options){ .windows = &second, .window_count = 1 });
	fill(p);
	for (struct plan_lane *lane; (lane = plan_next_touched(p));)
		if (lane->session == 1)
			assert_string_equal(lane_text(p, lane, text), "52:select c");
	assert_int_equal(plan_totals(p)->left_out, 4);
	plan_close(p);
}

static void a_transaction_whose_start_was_not_seen_is_left_out(void **state)
{
	struct plan *p = plan_of("1 10 1 TT simple 1 | update a\n"
				 "1 12 1 TI simple 0 | commit\n"
				 "1 20 1 II simple 0 | select b\n",
		(struct plan_options){ 0 });
	char text[1000];

	(void)state;
	fill(p);
	assert_string_equal(lane_text(p, plan_next_touched(p), text), "10:select b");
	assert_int_equal(plan_totals(p)->left_out, 2);
	plan_close(p);
}

static void without_states_the_verbs_tell_transactions(void **state)
{
	struct plan *p = plan_of("1 10 1 ?? simple 0 | BEGIN isolation level serializable\n"
				 "1 12 1 ?? simple 1 | update a\n"
				 "1 14 1 ?? simple 0 | rollback to savepoint s\n"
				 "1 16 1 ?? simple 0 | COMMIT\n"
				 "1 20 1 ?? simple 0 | select b\n",
		(struct plan_options){ 0 });
	char text[1000];

	(void)state;
	fill(p);
	assert_string_equal(lane_text(p, plan_next_touched(p), text),
		"0:BEGIN isolation level serializable,+2:update a,+4:rollback to savepoint s,+6:COMMIT,"
		"10:select b");
	plan_close(p);
}

static void serial_runs_whole_transactions_by_their_start(void **state)
{
	/* Interleaved in the capture; one connection would break if they stayed so. */
	struct plan *p = plan_of("1 10 1 IT simple 0 | begin a\n"
				 "2 12 1 IT simple 0 | begin b\n"
				 "1 14 1 TT simple 1 | update a\n"
				 "3 15 1 II simple 1 | select c\n"
				 "2 16 1 TI simple 0 | commit b\n"
				 "1 30 1 TI simple 0 | commit a\n",
		(struct plan_options){ .is_serial = true });
	char text[1000];

	(void)state;
	fill(p);
	assert_string_equal(lane_text(p, plan_next_touched(p), text),
		"0:begin a,+4:update a,+20:commit a,2:begin b,+6:commit b,5:select c");
	assert_null(plan_next_touched(p));
	plan_close(p);
}

static void a_route_brings_its_transactions_whole(void **state)
{
	struct plan *p = plan_of(two_sessions, (struct plan_options){ .route = "update a" });
	char text[1000];

	(void)state;
	fill(p);
	assert_string_equal(
		lane_text(p, plan_next_touched(p), text), "0:begin,+10:update a,+40:commit");
	plan_close(p);
}

static void statements_before_a_sync_are_one_pipeline(void **state)
{
	struct plan *p = plan_of("1 10 1 IT unnamed 0 nosync | begin\n"
				 "1 10.5 1 TT unnamed 1 | select a\n"
				 "1 20 1 TT unnamed 1 nosync | select b\n"
				 "1 30 1 TI unnamed 1 | commit\n",
		(struct plan_options){ 0 });
	char text[1000];

	(void)state;
	fill(p);
	/* Without a Sync, but after the answer: not one pipeline. */
	assert_string_equal(lane_text(p, plan_next_touched(p), text),
		"0:begin|,+0:select a,+10:select b,+20:commit");
	plan_close(p);
}

static void reasons_to_skip_are_found(void **state)
{
	static const enum plan_skip expected[] = { SKIP_EXTERNAL, SKIP_TEXT_UNKNOWN,
		SKIP_VALUE_LOST, SKIP_SECRET, SKIP_FETCH, SKIP_COPY_ROWS, SKIP_NONE };
	struct plan *p = plan_of("1 10 1 II simple 0 external | select a\n"
				 "1 20 1 II simple 0 unknown | select a\n"
				 "1 30 1 II simple 0 lost | select a\n"
				 "1 40 1 II simple 0 secret | select a\n"
				 "1 50 1 II fetch 0 | select a\n"
				 "1 60 1 II copyin 5 | copy a from stdin\n"
				 "1 70 1 II simple 0 | select a\n",
		(struct plan_options){ 0 });

	(void)state;
	fill(p);
	struct plan_lane *lane = plan_next_touched(p);
	for (size_t i = 0; i < LENGTH(expected); i++) {
		struct plan_item *item = plan_take(p, lane);

		assert_int_equal(item->skip, expected[i]);
		plan_release(p, item);
	}
	plan_close(p);
}

static void answers_that_later_requests_need_are_known(void **state)
{
	struct plan *p = plan_of("1 10 1 II unnamed 1 | insert into a default values returning id\n"
				 "1 20 1 II unnamed 1 bind=7 edge=0:0:0:0 | select $1\n",
		(struct plan_options){ 0 });
	size_t count;

	(void)state;
	fill(p);
	struct plan_lane *lane = plan_next_touched(p);
	assert_true(lane->head->has_cells);
	assert_false(lane->head->next->has_cells);
	const struct plan_cell *cells = plan_cells(p, 1, 0, &count);
	assert_int_equal(count, 1);
	assert_int_equal(cells[0].row, 0);
	plan_close(p);
}

static void the_plan_is_read_on_as_memory_comes_free(void **state)
{
	char script[20000], text[1000];
	size_t n = 0, sent = 0;

	(void)state;
	for (int i = 0; i < 300; i++)
		n += (size_t)snprintf(script + n, sizeof(script) - n,
			"1 %d 1 II simple 1 | select %d\n", i * 2, i);
	struct plan *p = plan_of(script, (struct plan_options){ .cap_bytes = 10000 });
	struct plan_lane *lane = NULL;
	struct err e = { 0 };
	enum step step;
	do {
		while ((step = plan_fill(p, 10, &e)) == STEP_ITEM)
			;
		assert_true(step == STEP_MORE || step == STEP_END);
		if (!lane)
			lane = plan_next_touched(p);
		for (size_t i = 0; i < 20 && lane->head; i++, sent++)
			plan_release(p, plan_take(p, lane));
	} while (step != STEP_END || lane->head);
	assert_int_equal(sent, 300);
	assert_true(plan_totals(p)->was_capped);
	lane_text(p, lane, text);
	plan_close(p);
}

static void a_looping_plan_starts_over_after_its_length(void **state)
{
	struct replay_window window = { T(0), T(100) };
	struct plan *p = plan_of("1 10 1 II simple 1 | select a\n",
		(struct plan_options){ .is_looping = true, .windows = &window, .window_count = 1 });
	struct err e = { 0 };

	(void)state;
	assert_int_equal(plan_fill(p, 10, &e), STEP_ITEM);
	struct plan_lane *lane = plan_next_touched(p);
	for (int i = 0; i < 4; i++) {
		struct plan_item *item = plan_take(p, lane);

		assert_int_equal(item->offset_ns, (10 + 100 * i) * MS);
		plan_release(p, item);
	}
	plan_close(p);
}

static void nothing_in_the_window_is_bad_input(void **state)
{
	struct replay_window window = { T(50000), T(60000) };
	struct plan *p = plan_of(
		two_sessions, (struct plan_options){ .windows = &window, .window_count = 1 });
	struct err e = { 0 };

	(void)state;
	assert_int_equal(plan_fill(p, 1000, &e), STEP_FAIL);
	assert_int_equal(e.kind, ERR_INPUT);
	assert_non_null(strstr(e.hint, "2026-01-01T00:00:00.010Z"));
	plan_close(p);
}

static void overlapping_windows_are_refused(void **state)
{
	struct replay_window windows[] = { { T(0), T(20) }, { T(10), T(30) } };
	struct err e = { 0 };

	(void)state;
	make(two_sessions);
	assert_null(plan_open(
		&(struct plan_options){ .path = path, .windows = windows, .window_count = 2 }, &e));
	assert_int_equal(e.kind, ERR_USAGE);
}

static int be_a_tool(char **argv)
{
	struct err e = { 0 };
	char *colon = strrchr(argv[2], ':');

	if (colon)
		*colon = '\0';
	if (script_capture_write(stdin, argv[1], argv[2], colon ? atoi(colon + 1) : 5432, &e))
		return 0;
	err_print(&e, stderr);
	return 1;
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sessions_have_their_requests_in_order),
		cmocka_unit_test(a_conditions_own_sessions_are_no_traffic),
		cmocka_unit_test(a_transaction_belongs_to_the_window_of_its_start),
		cmocka_unit_test(a_transaction_whose_start_was_not_seen_is_left_out),
		cmocka_unit_test(without_states_the_verbs_tell_transactions),
		cmocka_unit_test(serial_runs_whole_transactions_by_their_start),
		cmocka_unit_test(a_route_brings_its_transactions_whole),
		cmocka_unit_test(statements_before_a_sync_are_one_pipeline),
		cmocka_unit_test(reasons_to_skip_are_found),
		cmocka_unit_test(answers_that_later_requests_need_are_known),
		cmocka_unit_test(the_plan_is_read_on_as_memory_comes_free),
		cmocka_unit_test(a_looping_plan_starts_over_after_its_length),
		cmocka_unit_test(nothing_in_the_window_is_bad_input),
		cmocka_unit_test(overlapping_windows_are_refused),
	};

	return argc == 3 ? be_a_tool(argv) : cmocka_run_group_tests(tests, make_path, remove_path);
}
