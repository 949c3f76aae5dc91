#include "tests/lib/unit.h"

#include "core/format/zone.h"

static const int64_t winter_s = 1796040000; /* 2026-11-30T12:00:00Z */
static const int64_t summer_s = 1782820800; /* 2026-06-30T12:00:00Z */

static void offsets_follow_the_seasons(void **state)
{
	struct zone z;
	struct err e = { 0 };
	int64_t ns;

	(void)state;
	assert_true(zone_open(&z, "Europe/Berlin", &e));
	assert_int_equal(zone_offset_s(&z, winter_s), 3600);
	assert_int_equal(zone_offset_s(&z, summer_s), 7200);
	/* 02:30 on 2026-10-25 comes twice; the abbreviation tells which. */
	assert_true(zone_to_utc(&z, INT64_C(1792895400) * NS_PER_S, SLICE("CEST"), &ns));
	assert_int_equal(ns / NS_PER_S, 1792888200);
	assert_true(zone_to_utc(&z, INT64_C(1792895400) * NS_PER_S, SLICE("CET"), &ns));
	assert_int_equal(ns / NS_PER_S, 1792891800);
	assert_false(zone_to_utc(&z, summer_s * NS_PER_S, SLICE("CET"), &ns));
	zone_close(&z);
}

static void a_fixed_offset_is_believed_and_utc_is_not_any_zone(void **state)
{
	struct zone z;
	struct err e = { 0 };
	int64_t ns;

	(void)state;
	assert_true(zone_open(&z, "-03:30", &e));
	assert_int_equal(zone_offset_s(&z, winter_s), -12600);
	assert_true(zone_to_utc(&z, 0, SLICE("XYZ"), &ns));
	assert_int_equal(ns, 12600 * NS_PER_S);
	zone_close(&z);
	assert_true(zone_open(&z, NULL, &e));
	assert_int_equal(zone_offset_s(&z, winter_s), 0);
	assert_true(zone_to_utc(&z, 5, SLICE("UTC"), &ns));
	assert_int_equal(ns, 5);
	assert_false(zone_to_utc(&z, 5, SLICE("CET"), &ns));
	zone_close(&z);
}

static void other_names_are_refused(void **state)
{
	static const char *const bad[] = { "", "/etc/passwd", "../../../etc/passwd",
		"Europe/Atlantis", "+2x", "+99", "zone.tab" };

	(void)state;
	for (size_t i = 0; i < LENGTH(bad); i++) {
		struct zone z;
		struct err e = { 0 };

		assert_false(zone_open(&z, bad[i], &e));
		assert_int_equal(e.kind, ERR_USAGE);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(offsets_follow_the_seasons),
		cmocka_unit_test(a_fixed_offset_is_believed_and_utc_is_not_any_zone),
		cmocka_unit_test(other_names_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
