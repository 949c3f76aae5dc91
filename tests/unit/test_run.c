#include "tests/lib/unit.h"

#include "core/base/run.h"

static void notes_go_to_the_log_unless_quiet(void **state)
{
	(void)state;
	char *text;
	size_t size;
	struct run r = { .log = open_memstream(&text, &size) };

	run_note(&r, "note %d", 1);
	run_detail(&r, "hidden");
	r.verbose = 1;
	run_detail(&r, "detail");
	r.is_quiet = true;
	run_note(&r, "hidden");
	run_detail(&r, "hidden");
	fclose(r.log);
	assert_string_equal(text, "note 1\ndetail\n");
	free(text);
	r.log = NULL;
	r.is_quiet = false;
	run_note(&r, "nowhere");
}

static void progress_starts_after_two_seconds_and_is_rare_in_a_log(void **state)
{
	(void)state;
	char *text;
	size_t size;
	struct run r = { .log = open_memstream(&text, &size), .clock = { .is_fake = true } };
	struct run_progress p = { .verb = "reading", .unit = "packets", .total = 1000 };

	r.clock.fake_mono_ns = 1;
	for (int i = 0; i <= 250; i++) {
		run_progress_at(&r, &p, i);
		r.clock.fake_mono_ns += NS_PER_S / 10;
	}
	run_progress_end(&r, &p);
	fclose(r.log);
	assert_string_equal(text, "reading 100 of 1000 packets, 10/s, 1 min 30 s left\n"
				  "reading 200 of 1000 packets, 10/s, 1 min 20 s left\n");
	free(text);
}

static void quiet_work_prints_no_progress(void **state)
{
	(void)state;
	char *text;
	size_t size;
	struct run r = {
		.log = open_memstream(&text, &size), .clock = { .is_fake = true }, .is_quiet = true
	};
	struct run_progress p = { .verb = "reading", .unit = "packets" };

	for (int i = 0; i < 100; i++) {
		r.clock.fake_mono_ns += NS_PER_S;
		run_progress_at(&r, &p, i);
	}
	run_progress_end(&r, &p);
	fclose(r.log);
	assert_string_equal(text, "");
	free(text);
}

static void the_stop_flag_may_be_absent(void **state)
{
	(void)state;
	volatile sig_atomic_t stop = 0;
	struct run r = { 0 };

	assert_false(run_stopped(&r));
	r.stop = &stop;
	assert_false(run_stopped(&r));
	stop = SIGTERM;
	assert_true(run_stopped(&r));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(notes_go_to_the_log_unless_quiet),
		cmocka_unit_test(progress_starts_after_two_seconds_and_is_rare_in_a_log),
		cmocka_unit_test(quiet_work_prints_no_progress),
		cmocka_unit_test(the_stop_flag_may_be_absent),
	};

	return cmocka_run_group_tests_name("run", tests, NULL, NULL);
}
