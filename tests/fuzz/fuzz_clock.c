/*
 * fuzz_clock.c - laws: a time that was read is written as RFC 3339 and read again
 * as the same instant; a duration is never negative.
 */
#include <stdio.h>
#include <stdlib.h>

#include "core/base/clock.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static void must(bool holds, const char *law)
{
	if (holds)
		return;
	fprintf(stderr, "broken: %s\n", law);
	abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct slice text = { (const char *)bytes, size };
	char written[CLOCK_TEXT_MAX];
	int64_t ns, again;

	if (clock_parse(text, &ns)) {
		must(clock_parse(slice_of(clock_text(ns, written)), &again),
			"what we write we read");
		must(again == ns, "and it is the same instant");
	}
	if (clock_parse_duration(text, &ns)) {
		must(ns >= 0, "a duration is not negative");
		must(strlen(clock_duration_text(ns, written)) < CLOCK_TEXT_MAX, "and can be told");
	}
	return 0;
}
