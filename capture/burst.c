#include "capture/burst.h"

#include <math.h>

enum { SLICES_MIN = 10 };

void burst_init(struct burst *b, size_t scale_count, int64_t from_ns, int64_t span_ns)
{
	static const int64_t widths[BURST_SCALES] = { NS_PER_S, 10 * NS_PER_S, 60 * NS_PER_S,
		100 * NS_PER_MS, 10 * NS_PER_MS, NS_PER_MS };

	*b = (struct burst){ .from_ns = from_ns, .scale_count = scale_count };
	for (size_t i = 0; i < scale_count; i++)
		b->scales[i] = (struct burst_scale){
			.width_ns = widths[i], .slices = span_ns / widths[i], .at = -1
		};
}

/* What lies behind the last whole slice is left out. */
static bool end_slice(struct burst_scale *s)
{
	if (s->at < 0 || s->at >= s->slices || !s->count)
		return true;
	s->sum += (double)s->count;
	s->squares += (double)s->count * (double)s->count;
	return hist_add(&s->counts, (int64_t)s->count, 1);
}

static bool count(struct burst_scale *s, int64_t offset_ns)
{
	int64_t slice = offset_ns / s->width_ns;

	if (slice == s->at) {
		s->count++;
		return true;
	}
	bool ok = end_slice(s);
	s->at = slice;
	s->count = 1;
	return ok;
}

static bool add_gap(struct burst *b, int64_t at_ns)
{
	int64_t gap = b->last_ns > at_ns ? b->last_ns - at_ns : 0;

	b->together += gap == 0;
	b->gap_sum += (double)gap;
	b->gap_squares += (double)gap * (double)gap;
	return hist_add(&b->gaps_ns, gap, 1);
}

bool burst_add(struct burst *b, int64_t at_ns)
{
	for (size_t i = 0; i < b->scale_count; i++)
		if (!count(&b->scales[i], at_ns - b->from_ns))
			return false;
	bool ok = !b->events || add_gap(b, at_ns);
	b->events++;
	b->last_ns = at_ns;
	return ok;
}

bool burst_finish(struct burst *b)
{
	for (size_t i = 0; i < b->scale_count; i++) {
		struct burst_scale *s = &b->scales[i];
		bool ok = end_slice(s);
		uint64_t silent = (uint64_t)s->slices - s->counts.total;

		s->count = 0;
		if (!ok || (s->slices > 0 && !hist_add(&s->counts, 0, silent)))
			return false;
	}
	return true;
}

double burst_dispersion(const struct burst_scale *s)
{
	double n = (double)s->slices;

	if (s->slices < SLICES_MIN || s->sum <= 0)
		return NAN;
	return (s->squares - s->sum * s->sum / n) / (n - 1) / (s->sum / n);
}

double burst_gap_cv(const struct burst *b)
{
	double n = (double)b->gaps_ns.total;

	if (n < 2 || b->gap_sum <= 0)
		return NAN;
	double variance = (b->gap_squares - b->gap_sum * b->gap_sum / n) / (n - 1);
	return variance > 0 ? sqrt(variance) / (b->gap_sum / n) : 0;
}

void burst_free(struct burst *b)
{
	for (size_t i = 0; i < b->scale_count; i++)
		hist_free(&b->scales[i].counts);
	hist_free(&b->gaps_ns);
	*b = (struct burst){ 0 };
}
