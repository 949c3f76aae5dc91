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

/* What "zic -b slim" writes of a zone: one transition, the rest is its rule. */
static void a_slim_file_goes_on_by_its_rule(void **state)
{
	static const struct {
		const char *rule;
		int64_t at_s;
		int offset_s;
		bool is_dst;
	} cases[] = {
		{ "CET-1CEST,M3.5.0,M10.5.0/3", 1774746000 - 1, 3600, false },
		{ "CET-1CEST,M3.5.0,M10.5.0/3", 1774746000, 7200, true },
		{ "CET-1CEST,M3.5.0,M10.5.0/3", 4090000000, 7200, true },
		{ "<+1030>-10:30<+11>-11,M10.1.0,M4.1.0", 1775314800 - 1, 39600, true },
		{ "<+1030>-10:30<+11>-11,M10.1.0,M4.1.0", 1775314800, 37800, false },
		{ "IST-2IDT,M3.4.4/26,M10.5.0", 1774569600 - 1, 7200, false },
		{ "IST-2IDT,M3.4.4/26,M10.5.0", 1774569600, 10800, true },
		{ "<-02>2<-01>,M3.5.0/-1,M10.5.0/0", 1774746000, -3600, true },
		{ "XST3XDT,J60/0,300/4:30", 1772334000, -7200, true },
	};

	(void)state;
	for (size_t i = 0; i < LENGTH(cases); i++) {
		char bytes[512];
		size_t n = 0;
		struct zone z;

		/* Two headers; no transitions, one type with a name of four bytes. */
		for (int block = 0; block < 2; block++) {
			memset(bytes + n, 0, 44);
			memcpy(bytes + n, "TZif2", 5);
			bytes[n + 39] = 1;
			bytes[n + 43] = 4;
			n += 44;
			/* Its offset: the standard one, so that the time before the rule is known. */
			memset(bytes + n, 0, 6);
			memcpy(bytes + n + 6, "LMT", 4);
			n += 10;
		}
		n += (size_t)snprintf(bytes + n, sizeof(bytes) - n, "\n%s\n", cases[i].rule);
		assert_true(zone_parse(&z, (struct slice){ bytes, n }));
		int64_t from_s, until_s;
		const struct zone_type *t = zone_at(&z, cases[i].at_s, &from_s, &until_s);
		assert_int_equal(t->offset_ns / NS_PER_S, cases[i].offset_s);
		assert_int_equal(t->is_dst, cases[i].is_dst);
		assert_true(from_s <= cases[i].at_s && cases[i].at_s < until_s);
		zone_close(&z);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(offsets_follow_the_seasons),
		cmocka_unit_test(a_fixed_offset_is_believed_and_utc_is_not_any_zone),
		cmocka_unit_test(other_names_are_refused),
		cmocka_unit_test(a_slim_file_goes_on_by_its_rule),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
