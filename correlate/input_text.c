#include <stdlib.h>

#include "core/base/clock.h"
#include "correlate/input_private.h"

/* Lines that lie so far behind one above them are counted as out of order. */
static const int64_t disorder_ns = 60 * NS_PER_S;

/* Only to find a route again: what is found is compared. */
static uint64_t quick_hash(struct slice s)
{
	uint64_t h = s.n, word = 0;

	for (; s.n >= 8; s.p += 8, s.n -= 8) {
		memcpy(&word, s.p, 8);
		h = (h ^ word) * UINT64_C(0x9e3779b97f4a7c15);
		h ^= h >> 29;
	}
	word = 0;
	for (size_t i = 0; i < s.n; i++)
		word = word << 8 | (unsigned char)s.p[i];
	h = (h ^ word) * UINT64_C(0x9e3779b97f4a7c15);
	return h ^ h >> 32;
}

static struct series_route *route_of(struct text_reader *r, struct slice text)
{
	struct series_route **cached = &r->routes[quick_hash(text) % INPUT_CACHE];

	if (*cached && slice_same((*cached)->text, text))
		return *cached;
	struct series_route *found = series_route(r->in->series, text, 0);
	if (found)
		*cached = found;
	return found;
}

static void note_order(struct text_reader *r, int64_t start_ns)
{
	if (r->latest_ns && start_ns < r->latest_ns - disorder_ns)
		r->in->disordered++;
	if (!r->latest_ns || start_ns > r->latest_ns)
		r->latest_ns = start_ns;
}

bool input_add(struct text_reader *r, const struct input_parts *parts, struct err *e)
{
	int64_t start_ns, latency_ns;
	struct slice session = parts->text[PART_SESSION];

	if (!field_latency(parts->text[PART_MS], parts->unit_ns, &latency_ns))
		return err_set(e, ERR_INPUT, "the latency is not a number of %s",
			parts->unit_ns == NS_PER_MS   ? "milliseconds"
			: parts->unit_ns == NS_PER_S  ? "seconds"
			: parts->unit_ns == NS_PER_US ? "microseconds"
						      : "nanoseconds");
	if (!field_time(&r->clock, parts->text[PART_T], &start_ns, e))
		return false;
	struct slice text = parts->text[PART_ROUTE];
	struct series_route *route = route_of(r, text.n ? text : SLICE("(none)"));
	if (!route)
		return err_set(e, ERR_INPUT, "more than %d routes", SERIES_ROUTES_MAX);
	if (!series_add_from(r->in->series, route, start_ns, latency_ns,
		    field_is_error(parts->text[PART_STATUS]),
		    session.n ? (uint32_t)quick_hash(session) | 1 : 0))
		return err_set(e, ERR_INPUT,
			"more than 240 days from the first request, or out of memory");
	note_order(r, start_ns);
	return true;
}

static bool is_blank(struct slice line)
{
	while (line.n && strchr(" \t\r", line.p[line.n - 1]) && line.p[line.n - 1])
		line.n--;
	return line.n == 0;
}

static void take_bad(struct text_reader *r, struct err *bad, uint64_t number)
{
	struct input *in = r->in;
	bool is_last = !r->lines->has_break && !r->lines->is_long;

	in->bad++;
	in->is_cut |= is_last;
	if (in->first_bad.kind)
		return;
	in->first_bad = *bad;
	if (is_last && !in->first_bad.hint[0])
		err_hint(&in->first_bad, "the last line has no line break: the file may be cut");
	err_in(&in->first_bad, "%s: line %llu", r->path, (unsigned long long)number);
}

static void take_line(struct text_reader *r, struct slice line)
{
	uint64_t number = r->lines->number;
	bool is_header = false, is_good;
	struct err bad;

	bad.kind = ERR_NONE;
	bad.where[0] = bad.hint[0] = '\0';
	if (r->lines->is_long)
		is_good = err_set(&bad, ERR_INPUT, "longer than %zu bytes", (size_t)LINES_LONGEST);
	else if (line.n && *line.p == '{')
		is_good = input_json_line(r, line, &bad);
	else
		is_good = input_csv_line(r, line, &is_header, &bad);
	r->in->read += is_good && !is_header;
	if (!is_good)
		take_bad(r, &bad, number);
}

static struct slice without_mark(struct text_reader *r, struct slice line)
{
	if (r->lines->number == 1 && line.n >= 3 && memcmp(line.p, "\xef\xbb\xbf", 3) == 0)
		return (struct slice){ line.p + 3, line.n - 3 };
	return line;
}

static bool read_lines(struct text_reader *r, const struct run *run, struct err *e)
{
	struct run_progress progress = { .verb = "reading", .unit = "lines" };
	enum step step = STEP_END;
	struct slice line;

	while (!run_stopped(run) && (step = lines_next(r->lines, &line)) == STEP_ITEM) {
		line = without_mark(r, line);
		if (!is_blank(line))
			take_line(r, line);
		if ((r->lines->number & 0xfff) == 0)
			run_progress_at(run, &progress, (double)r->lines->number);
	}
	run_progress_end(run, &progress);
	if (step != STEP_FAIL)
		return true;
	*e = r->lines->failed;
	return err_in(e, "%s", r->path);
}

/* A file all of whose lines are unreadable is more likely something else. */
static bool is_something(
	const struct input *in, uint64_t read_before, const char *path, struct err *e)
{
	if (in->read > read_before)
		return true;
	if (in->first_bad.kind == ERR_NONE) {
		err_set(e, ERR_INPUT, "no request in it");
		err_hint(e, "a line has t, route, ms: 2026-11-30T12:00:00Z,GET /cart,12.5");
		return err_in(e, "%s", path);
	}
	*e = in->first_bad;
	if (!e->hint[0])
		err_hint(e,
			"inputs are .rcap files, CSV or JSON lines with t, route, ms; a server's log: 'reprod capture LOG -o F.rcap' first");
	return false;
}

bool input_read_text(struct input *in, const char *path, struct lines *lines, const struct run *run,
	struct err *e)
{
	struct text_reader *r = calloc(1, sizeof(*r));
	uint64_t before = in->read;

	if (!r)
		return err_set(e, ERR_ENV, "out of memory");
	r->in = in;
	r->path = path;
	r->lines = lines;
	r->clock.zone = in->zone;
	bool ok = read_lines(r, run, e) && is_something(in, before, path, e);
	in->scaled += r->clock.scaled;
	in->local += r->clock.local;
	jsonline_free(&r->json);
	free(r);
	return ok;
}
