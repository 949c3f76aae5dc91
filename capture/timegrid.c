#include "capture/timegrid.h"

#include <stdlib.h>

static int64_t floor_div(int64_t a, int64_t b)
{
	return a / b - (a % b < 0);
}

bool timegrid_init(struct timegrid *g, int64_t width_ns)
{
	*g = (struct timegrid){ .width_ns = width_ns };
	g->amounts = calloc(TIMEGRID_SLICES, sizeof(*g->amounts));
	return g->amounts != NULL;
}

void timegrid_free(struct timegrid *g)
{
	free(g->amounts);
	*g = (struct timegrid){ 0 };
}

static void halve(struct timegrid *g)
{
	int64_t first = floor_div(g->first, 2);
	int64_t shift = g->first - 2 * first;
	int64_t used = (g->used + shift + 1) / 2;

	/* Ascending: a slice is read before its place is written. With a shift the
	 * first sum holds one slice only. */
	for (int64_t i = 0; i < used; i++) {
		double sum = 0;

		for (int64_t k = 2 * i - shift; k < 2 * i - shift + 2; k++)
			if (k >= 0 && k < g->used)
				sum += g->amounts[k];
		g->amounts[i] = sum;
	}
	for (int64_t i = used; i < g->used; i++)
		g->amounts[i] = 0;
	g->first = first;
	g->used = used;
	g->width_ns *= 2;
}

static void make_first(struct timegrid *g, int64_t slice)
{
	int64_t by = g->first - slice;

	memmove(g->amounts + by, g->amounts, (size_t)g->used * sizeof(*g->amounts));
	for (int64_t i = 0; i < by; i++)
		g->amounts[i] = 0;
	g->first = slice;
	g->used += by;
}

/* Makes both instants part of the grid. */
static void reach(struct timegrid *g, int64_t from_ns, int64_t to_ns)
{
	for (;;) {
		int64_t from = floor_div(from_ns, g->width_ns);
		int64_t to = floor_div(to_ns, g->width_ns);

		if (!g->used)
			g->first = from;
		int64_t first = from < g->first ? from : g->first;
		int64_t last = g->first + g->used - 1;
		if (last < to)
			last = to;
		if (last - first < TIMEGRID_SLICES) {
			if (first < g->first)
				make_first(g, first);
			g->used = last - first + 1;
			return;
		}
		if (g->used)
			halve(g);
		else
			g->width_ns *= 2;
	}
}

void timegrid_add(struct timegrid *g, int64_t at_ns, double amount)
{
	reach(g, at_ns, at_ns);
	g->amounts[floor_div(at_ns, g->width_ns) - g->first] += amount;
}

void timegrid_cover(struct timegrid *g, int64_t start_ns, int64_t end_ns)
{
	if (end_ns <= start_ns)
		return;
	reach(g, start_ns, end_ns);
	while (start_ns < end_ns) {
		int64_t slice = floor_div(start_ns, g->width_ns);
		int64_t stop = (slice + 1) * g->width_ns;

		if (stop > end_ns)
			stop = end_ns;
		g->amounts[slice - g->first] += (double)(stop - start_ns);
		start_ns = stop;
	}
}
