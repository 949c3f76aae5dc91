#include "correlate/remote_cells.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

enum { K, ROUTE, BIN, COUNT, ERRORS, LARGEST, FIRST };

static bool parse_whole(const char *text, int64_t *ret)
{
	char *end;

	errno = 0;
	*ret = text ? strtoll(text, &end, 10) : 0;
	return text && *text && !errno && !*end;
}

static bool refuse_field(const char *text, struct err *e)
{
	err_set(e, ERR_INPUT, "the server's answer has '%.40s' where another value belongs",
		text ? text : "null");
	return err_hint(e, "is it the database it should be, and not something in front of it?");
}

/* A double holds today's seconds to a quarter of a microsecond. */
static int64_t to_ns(double s)
{
	double whole = floor(s);

	return (int64_t)whole * NS_PER_S + (int64_t)llround((s - whole) * 1e6) * NS_PER_US;
}

static void add_one(
	struct remote_cells *c, struct series_route *r, int64_t start_ns, int64_t us, bool is_error)
{
	if (series_add(c->series, r, start_ns, us * NS_PER_US, is_error))
		c->counts->read++;
	else
		c->counts->bad++;
}

static void add_group(struct remote_cells *c, struct series_route *r, int64_t start_ns, int64_t us,
	int64_t n, int64_t errors)
{
	/* Its bin is that of the largest. */
	if (!series_add_counted(c->series, r, start_ns, c->width_ns, us, us, (uint64_t)n - 1)) {
		c->counts->bad += (uint64_t)n;
		return;
	}
	c->counts->read += (uint64_t)n - 1;
	r->errors += (uint64_t)(errors < n ? errors : n - 1);
	add_one(c, r, start_ns + c->width_ns / 2, us, errors == n);
}

static void add_bad(struct remote_cells *c, uint64_t n)
{
	struct remote_counts *counts = c->counts;

	counts->bad += n;
	if (!counts->first_bad.kind)
		err_set(&counts->first_bad, ERR_INPUT,
			"rows without a time, a route, or a latency of 0 to " REMOTE_LATENCY_MAX_MS
			" ms");
}

bool remote_cells_add(
	struct remote_cells *c, const char *const fields[REMOTE_CELL_FIELDS], struct err *e)
{
	int64_t k, bin, n, errors, us;
	double first_s;
	char *end;

	if (!parse_whole(fields[COUNT], &n) || n < 1)
		return refuse_field(fields[COUNT], e);
	if (!fields[K] || !fields[ROUTE] || !fields[BIN]) {
		add_bad(c, (uint64_t)n);
		return true;
	}
	for (size_t i = 0; i < 4; i++) {
		static const unsigned char places[] = { K, BIN, ERRORS, LARGEST };
		int64_t *const values[] = { &k, &bin, &errors, &us };

		if (!parse_whole(fields[places[i]], values[i]))
			return refuse_field(fields[places[i]], e);
	}
	first_s = fields[FIRST] ? strtod(fields[FIRST], &end) : NAN;
	if (!(fabs(first_s) < 9e9) || *end || us < 0 || us > INT64_C(1000000000000000) ||
		series_bin(us) != bin || llabs(k) > INT64_C(9000000000000000000) / c->width_ns)
		return refuse_field(fields[BIN], e);
	struct series_route *r = series_route(c->series, slice_of(fields[ROUTE]), 0);
	if (!r) {
		c->counts->bad += (uint64_t)n;
		if (!c->counts->first_bad.kind)
			err_set(&c->counts->first_bad, ERR_INPUT, "more than %d routes",
				SERIES_ROUTES_MAX);
	} else if (n == 1)
		add_one(c, r, to_ns(first_s), us, errors > 0);
	else
		add_group(c, r, k * c->width_ns, us, n, errors);
	return true;
}

bool remote_cells_finish(const struct remote_cells *c, struct err *e)
{
	if (c->counts->read)
		return true;
	if (c->counts->bad) {
		err_set(e, ERR_INPUT, "none of %llu rows is a request",
			(unsigned long long)c->counts->bad);
		return err_hint(e, "t (a time), route (text) and ms (a number of milliseconds) are "
				   "needed; none may be null");
	}
	err_set(e, ERR_INPUT, "no rows");
	return err_hint(e, "is the range (from=, to=) where the data is?");
}
