#include "tests/lib/unit.h"

#include <fcntl.h>
#include <unistd.h>

#include "capture/watchdir.h"
#include "core/base/clock.h"

static const int64_t noon_ns = INT64_C(1796126400) * NS_PER_S; /* 2026-12-01T12:00:00Z */

static int set_up(void **state)
{
	char *dir = strdup("/tmp/test_watchdir.XXXXXX");

	*state = mkdtemp(dir);
	return chdir(dir);
}

static int tear_down(void **state)
{
	char command[80];

	snprintf(command, sizeof command, "rm -rf %s", (char *)*state);
	free(*state);
	return chdir("/") || system(command);
}

static void put(const char *kind, int64_t seconds, off_t bytes)
{
	char name[WATCH_NAME_MAX];
	int fd;

	watchdir_name(kind, noon_ns + seconds * NS_PER_S, name);
	fd = open(name, O_WRONLY | O_CREAT | O_EXCL, 0600);
	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, bytes), 0);
	close(fd);
}

static bool is_there(const char *name)
{
	return access(name, F_OK) == 0;
}

static void names_tell_the_time_and_never_meet(void **state)
{
	char name[WATCH_NAME_MAX];

	(void)state;
	watchdir_name("ring", noon_ns, name);
	assert_string_equal(name, "ring-20261201T120000Z.rcap");
	put("ring", 0, 1);
	watchdir_name("ring", noon_ns, name);
	assert_string_equal(name, "ring-20261201T120000Z-2.rcap");
}

static void what_is_old_goes_and_others_stay(void **state)
{
	(void)state;
	put("counts", 0, 1);
	put("incident", 10, 1);
	put("ring", 20, 1);
	put("counts", 3600, 1);
	put("notes", 0, 1);
	assert_int_equal(
		watchdir_prune(noon_ns + 60 * NS_PER_S, noon_ns + 30 * NS_PER_S, 0, "x"), 3);
	assert_false(is_there("counts-20261201T120000Z.rcap"));
	assert_false(is_there("ring-20261201T120020Z.rcap"));
	assert_true(is_there("counts-20261201T130000Z.rcap"));
	assert_true(is_there("notes-20261201T120000Z.rcap"));
}

static void the_oldest_go_until_they_fit_but_for_the_ring(void **state)
{
	(void)state;
	put("counts", 0, 1000);
	put("incident", 10, 1000);
	put("ring", 5, 1000);
	put("counts", 3600, 1000);
	assert_int_equal(watchdir_prune(noon_ns - NS_PER_S, noon_ns - NS_PER_S, 2000,
				 "counts-20261201T130000Z.rcap"),
		2);
	assert_true(is_there("ring-20261201T120005Z.rcap"));
	assert_true(is_there("counts-20261201T130000Z.rcap"));
	/* The spared one and the ring stay, though they are too much. */
	assert_int_equal(watchdir_prune(noon_ns - NS_PER_S, noon_ns - NS_PER_S, 1,
				 "counts-20261201T130000Z.rcap"),
		0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			names_tell_the_time_and_never_meet, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			what_is_old_goes_and_others_stay, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			the_oldest_go_until_they_fit_but_for_the_ring, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
