#include "tests/lib/unit.h"

#include "correlate/input_field.h"

static const int64_t t0 = INT64_C(1796040000) * NS_PER_S;

static void fast_and_general_times_agree(void **state)
{
	static const struct {
		const char *text;
		int64_t ns;
	} times[] = {
		{ "2026-11-30T12:00:00Z", 0 },
		{ "2026-11-30T12:00:59.5Z", 59500000000 },
		{ "2026-11-30T12:00:01.123456789Z", 1123456789 },
		{ "2026-11-30T12:00:60Z", 60000000000 },
		{ "2026-11-30T12:00:07+00:00", 7000000000 },
		{ "2026-11-30T12:01:07+0001", 7000000000 },
		{ "1796040000.000000001", 1 },
		{ "1796040000.5", 500000000 },
		{ "1796040000.", 0 },
		{ "1796040000000.25", 250000 },
		{ "2026-11-30T12:00:5Z", -1 },
		{ "2026-11-30T12:00:005Z", -1 },
		{ "2026-11-30T12:00:.5Z", -1 },
		{ "2026-11-30T12:00:,05Z", -1 },
		{ "2026-11-31T12:00:00Z", -1 },
		{ "1796040000.5.5", -1 },
		{ "99999999999999999999", -1 },
		{ "0x10", -1 },
		{ "inf", -1 },
		{ "", -1 },
	};
	struct field_clock c = { 0 };

	(void)state;
	for (int round = 0; round < 2; round++)
		for (size_t i = 0; i < LENGTH(times); i++) {
			int64_t ns = 0;
			struct err e;
			bool ok = field_time(&c, slice_of(times[i].text), &ns, &e);

			if (ok != (times[i].ns >= 0) || (ok && ns != t0 + times[i].ns))
				fail_msg("%s: %d, %lld", times[i].text, ok, (long long)(ns - t0));
		}
}

static void latencies_are_exact_decimals(void **state)
{
	static const struct {
		const char *text;
		int64_t unit_ns, ns;
	} all[] = {
		{ "1.5", NS_PER_MS, 1500000 },
		{ "0", NS_PER_MS, 0 },
		{ ".25", NS_PER_MS, 250000 },
		{ "0.0000005", NS_PER_MS, 1 },
		{ "12,5", NS_PER_MS, 12500000 },
		{ "1e3", NS_PER_MS, 1000000000 },
		{ "9000", NS_PER_US, 9000000 },
		{ "1.9", 1, 2 },
		{ "30000000000", NS_PER_MS, -1 },
		{ "9999999999999999999", 1, -1 },
		{ "-1", NS_PER_MS, -1 },
		{ "nan", NS_PER_MS, -1 },
		{ ".", NS_PER_MS, -1 },
		{ "1 ms", NS_PER_MS, -1 },
		{ "", NS_PER_MS, -1 },
	};

	(void)state;
	for (size_t i = 0; i < LENGTH(all); i++) {
		int64_t ns = 0;
		bool ok = field_latency(slice_of(all[i].text), all[i].unit_ns, &ns);

		if (ok != (all[i].ns >= 0) || (ok && ns != all[i].ns))
			fail_msg("'%s': %d, %lld", all[i].text, ok, (long long)ns);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fast_and_general_times_agree),
		cmocka_unit_test(latencies_are_exact_decimals),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
