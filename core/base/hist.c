#include "core/base/hist.h"

#include <math.h>
#include <stdlib.h>

#include "core/base/quantile.h"

enum {
	SUB_BITS = 11,
	SUB_COUNT = 1 << SUB_BITS, /* 2048: the smallest power of two above 2 * 10^3 */
	SUB_HALF = SUB_COUNT / 2,
	BUCKETS = 33, /* HIST_MAX is the first value of the upper half of bucket 32 */
	INDEX_COUNT = (BUCKETS + 1) * SUB_HALF,
	CHUNK = 64, /* the window grows by whole chunks, so neighbours come without a copy */
};

static uint32_t index_of(int64_t value)
{
	uint64_t v = (uint64_t)value;
	unsigned bucket = 64 - SUB_BITS - (unsigned)__builtin_clzll(v | (SUB_COUNT - 1));
	uint32_t sub = (uint32_t)(v >> bucket);

	return (bucket + 1) * SUB_HALF + sub - SUB_HALF;
}

static unsigned bucket_of(uint32_t index)
{
	return index < SUB_COUNT ? 0 : index / SUB_HALF - 1;
}

static int64_t lowest_in(uint32_t index)
{
	unsigned bucket = bucket_of(index);

	return (int64_t)(index - bucket * SUB_HALF) << bucket;
}

static int64_t highest_in(uint32_t index)
{
	return lowest_in(index) + (INT64_C(1) << bucket_of(index)) - 1;
}

/* Makes [first, last] part of the window. */
static bool cover(struct hist *h, uint32_t first, uint32_t last)
{
	uint32_t end = h->first + h->length;

	if (h->length && first >= h->first && last < end)
		return true;
	first -= first % CHUNK;
	uint32_t new_end = last + CHUNK - last % CHUNK;
	if (h->length && h->first < first)
		first = h->first;
	if (h->length && end > new_end)
		new_end = end;
	uint64_t *counts = calloc(new_end - first, sizeof(*counts));
	if (!counts)
		return false;
	if (h->length)
		memcpy(counts + (h->first - first), h->counts, h->length * sizeof(*counts));
	free(h->counts);
	h->counts = counts;
	h->first = first;
	h->length = new_end - first;
	return true;
}

bool hist_add(struct hist *h, int64_t value, uint64_t times)
{
	bool is_saturated = value > HIST_MAX;

	if (!times)
		return true;
	value = value < 0 ? 0 : is_saturated ? HIST_MAX : value;
	uint32_t at = index_of(value);
	if (!cover(h, at, at))
		return false;
	h->counts[at - h->first] += times;
	if (!h->total || value < h->min)
		h->min = value;
	if (!h->total || value > h->max)
		h->max = value;
	h->total += times;
	h->saturated += is_saturated ? times : 0;
	h->sum += (double)value * (double)times;
	return true;
}

bool hist_merge(struct hist *into, const struct hist *from)
{
	if (!from->total)
		return true;
	if (!cover(into, index_of(from->min), index_of(from->max)))
		return false;
	for (uint32_t i = 0; i < from->length; i++)
		if (from->counts[i])
			into->counts[from->first + i - into->first] += from->counts[i];
	if (!into->total || from->min < into->min)
		into->min = from->min;
	if (!into->total || from->max > into->max)
		into->max = from->max;
	into->total += from->total;
	into->saturated += from->saturated;
	into->sum += from->sum;
	return true;
}

/* When the bucket of the smallest or largest value became empty, the next that is not. */
static void find_ends(struct hist *h)
{
	uint32_t low = index_of(h->min) - h->first, high = index_of(h->max) - h->first;

	if (!h->counts[low]) {
		while (!h->counts[low])
			low++;
		h->min = lowest_in(h->first + low);
	}
	if (!h->counts[high]) {
		while (!h->counts[high])
			high--;
		h->max = highest_in(h->first + high);
	}
}

void hist_subtract(struct hist *from, const struct hist *less)
{
	for (uint32_t i = 0; i < less->length; i++) {
		uint64_t n = less->counts[i], at = (uint64_t)less->first + i - from->first;

		if (!n || at >= from->length)
			continue;
		n = n < from->counts[at] ? n : from->counts[at];
		from->counts[at] -= n;
		from->total -= n;
	}
	from->saturated -= less->saturated < from->saturated ? less->saturated : from->saturated;
	from->sum -= less->sum < from->sum ? less->sum : from->sum;
	if (from->total)
		find_ends(from);
	else
		hist_reset(from);
}

int64_t hist_rank(const struct hist *h, uint64_t rank)
{
	uint64_t seen = 0;

	if (!h->total)
		return 0;
	for (uint32_t i = 0; i < h->length; i++) {
		seen += h->counts[i];
		if (seen >= rank && seen) {
			int64_t value = highest_in(h->first + i);

			return value < h->max ? value : h->max;
		}
	}
	return h->max;
}

int64_t hist_quantile(const struct hist *h, double q)
{
	return h->total ? hist_rank(h, quantile_rank(h->total, q)) : 0;
}

uint64_t hist_above(const struct hist *h, int64_t value)
{
	uint64_t n = 0;

	if (value < 0)
		return h->total;
	if (value >= HIST_MAX)
		return 0;
	uint32_t at = index_of(value);
	for (uint32_t i = at < h->first ? 0 : at + 1 - h->first; i < h->length; i++)
		n += h->counts[i];
	return n;
}

void hist_reset(struct hist *h)
{
	if (h->length)
		memset(h->counts, 0, h->length * sizeof(*h->counts));
	*h = (struct hist){ .counts = h->counts, .first = h->first, .length = h->length };
}

void hist_free(struct hist *h)
{
	free(h->counts);
	*h = (struct hist){ 0 };
}

static uint64_t bits_of(double d)
{
	uint64_t bits;

	memcpy(&bits, &d, sizeof(bits));
	return bits;
}

void hist_write(const struct hist *h, struct buf *to)
{
	buf_add_varint(to, h->total);
	if (!h->total)
		return;
	buf_add_varint(to, h->saturated);
	buf_add_varint(to, (uint64_t)h->min);
	buf_add_varint(to, (uint64_t)h->max);
	buf_add_u64le(to, bits_of(h->sum));
	uint32_t last = index_of(h->max);
	for (uint32_t i = index_of(h->min); i <= last;) {
		uint64_t count = h->counts[i - h->first];
		uint32_t run = 1;

		if (count) {
			buf_add_svarint(to, (int64_t)count);
		} else {
			while (h->counts[i + run - h->first] == 0)
				run++;
			buf_add_svarint(to, -(int64_t)run);
		}
		i += run;
	}
}

/* The counts from index first to last; false when they do not add up. */
static bool read_counts(struct hist *h, struct cursor *from, uint32_t first, uint32_t last)
{
	uint64_t sum = 0;

	for (uint32_t i = first; i <= last;) {
		int64_t v = cursor_svarint(from);

		if (v == 0 || from->is_short)
			return false;
		if (v < 0) {
			if (v < -(int64_t)(last - i))
				return false;
			i += (uint32_t)-v;
			continue;
		}
		h->counts[i - h->first] = (uint64_t)v;
		if (__builtin_add_overflow(sum, (uint64_t)v, &sum))
			return false;
		i++;
	}
	return sum == h->total && h->counts[first - h->first] && h->counts[last - h->first];
}

bool hist_read(struct hist *h, struct cursor *from)
{
	hist_reset(h);
	uint64_t total = cursor_varint(from);
	if (!total)
		return !from->is_short;
	uint64_t saturated = cursor_varint(from);
	uint64_t min = cursor_varint(from);
	uint64_t max = cursor_varint(from);
	uint64_t sum_bits = cursor_u64le(from);
	double sum;
	memcpy(&sum, &sum_bits, sizeof(sum));
	if (from->is_short || saturated > total || max > (uint64_t)HIST_MAX || min > max ||
		!isfinite(sum))
		return false;
	uint32_t first = index_of((int64_t)min), last = index_of((int64_t)max);
	if (!cover(h, first, last))
		return false;
	h->total = total;
	h->saturated = saturated;
	h->min = (int64_t)min;
	h->max = (int64_t)max;
	h->sum = sum;
	if (read_counts(h, from, first, last))
		return true;
	hist_reset(h);
	return false;
}

static double deviation(const struct hist *h, double mean)
{
	double squares = 0;

	for (uint32_t i = 0; i < h->length; i++) {
		double d = (double)(lowest_in(h->first + i) + highest_in(h->first + i)) / 2 - mean;

		squares += d * d * (double)h->counts[i];
	}
	return sqrt(squares / (double)h->total);
}

/* The steps of HdrHistogram's PercentileIterator: five per halving of what is left. */
static void write_percentiles(const struct hist *h, double scale, struct buf *to)
{
	double level = 0;
	uint64_t seen = 0;

	for (uint32_t i = 0; i < h->length && seen < h->total; i++) {
		seen += h->counts[i];
		if (!h->counts[i])
			continue;
		int64_t value = highest_in(h->first + i);
		if (value > h->max)
			value = h->max;
		double percentile = 100.0 * (double)seen / (double)h->total;
		while (percentile >= level && level < 100) {
			buf_addf(to, "%12.3f %2.12f %10llu %14.2f\n", (double)value / scale,
				level / 100, (unsigned long long)seen, 1 / (1 - level / 100));
			level += 100 / (5 * pow(2, floor(log2(100 / (100 - level))) + 1));
			if (seen == h->total)
				break;
		}
	}
	buf_addf(to, "%12.3f %2.12f %10llu\n", (double)h->max / scale, 1.0,
		(unsigned long long)h->total);
}

void hist_write_hgrm(const struct hist *h, double scale, struct buf *to)
{
	double mean = h->total ? h->sum / (double)h->total : 0;

	buf_addf(to, "%12s %14s %10s %14s\n\n", "Value", "Percentile", "TotalCount",
		"1/(1-Percentile)");
	if (h->total)
		write_percentiles(h, scale, to);
	buf_addf(to, "#[Mean    = %12.3f, StdDeviation   = %12.3f]\n", mean / scale,
		h->total ? deviation(h, mean) / scale : 0.0);
	buf_addf(to, "#[Max     = %12.3f, Total count    = %12llu]\n",
		h->total ? (double)h->max / scale : 0.0, (unsigned long long)h->total);
	buf_addf(to, "#[Buckets = %12d, SubBuckets     = %12d]\n", BUCKETS, SUB_COUNT);
}
