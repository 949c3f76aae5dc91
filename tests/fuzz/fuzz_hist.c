/*
 * fuzz_hist.c - laws: what is read adds up, answers within its extremes, and is
 * written as bytes that read back as the same counts.
 */
#include <stdio.h>
#include <stdlib.h>

#include "core/base/hist.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static void must(bool holds, const char *law)
{
	if (holds)
		return;
	fprintf(stderr, "broken: %s\n", law);
	abort();
}

static void check(const struct hist *h)
{
	static const double qs[] = { 0, 0.5, 0.99, 1 };
	uint64_t sum = 0;

	for (uint32_t i = 0; i < h->length; i++)
		sum += h->counts[i];
	must(sum == h->total, "counts add up to the total");
	for (size_t i = 0; i < LENGTH(qs); i++) {
		int64_t v = hist_quantile(h, qs[i]);

		must(h->total == 0 || (v >= h->min && v <= h->max),
			"a quantile is within the extremes");
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct hist h = { 0 }, back = { 0 };
	struct buf written = { 0 };
	struct cursor c = cursor_of(bytes, size);

	if (hist_read(&h, &c)) {
		hist_write(&h, &written);
		struct cursor again = cursor_of(written.p, written.n);
		must(hist_read(&back, &again) && cursor_left(&again) == 0, "what we write we read");
		must(back.total == h.total && back.min == h.min && back.max == h.max,
			"and it is the same");
		check(&back);
	}
	check(&h);
	hist_free(&h);
	hist_free(&back);
	buf_free(&written);
	return 0;
}
