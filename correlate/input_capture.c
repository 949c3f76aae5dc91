#include <stdlib.h>

#include "core/base/clock.h"
#include "core/model/rcap.h"
#include "core/model/rcap_code.h"
#include "correlate/input_private.h"

enum { FLOOR_TIMED = 20 };

static const int64_t floor_least_ns = 5 * NS_PER_MS;

/* Session numbers begin at 1 in each file; 0 is "unknown" to the series. */
static uint32_t session_hash(const struct input *in, uint64_t session)
{
	uint64_t h = (session + (in->file_count << 48)) * UINT64_C(0x9e3779b97f4a7c15);

	return (uint32_t)(h >> 32) | 1;
}

struct capture_reader {
	struct input *in;
	struct rcap *file;
	struct series_route **routes; /* by their number in the file */
	int64_t shortest_ns;
	uint64_t timed;
};

static bool add_request(struct capture_reader *c, const struct request_record *q)
{
	struct input *in = c->in;
	struct series_route **routes = c->routes;
	const struct rcap *file = c->file;
	const struct rcap_route *from = rcap_route(file, q->route);
	struct series_route *r = q->route < RCAP_ROUTES_MAX ? routes[q->route] : NULL;

	if (!r) {
		r = series_route(in->series, from ? from->text : SLICE("other"),
			from ? from->fingerprint : 0);
		if (q->route < RCAP_ROUTES_MAX)
			routes[q->route] = r;
	}
	if (!r)
		return false;
	if (q->flags & REQUEST_UNANSWERED)
		return series_add_unanswered(in->series, r, q->start_ns, q->end_ns - q->start_ns);
	if (!c->timed++ || q->end_ns - q->start_ns < c->shortest_ns)
		c->shortest_ns = q->end_ns - q->start_ns;
	return series_add_from(in->series, r, q->start_ns, q->end_ns - q->start_ns,
		rcap_is_error(q), session_hash(in, q->session));
}

static bool read_requests(struct capture_reader *c, const struct run *run, struct err *e)
{
	struct input *in = c->in;
	struct run_progress progress = { .verb = "reading", .unit = "requests" };
	struct rcap_item item;
	enum step step = STEP_END;

	while (!run_stopped(run) && (step = rcap_next(c->file, &item, e)) == STEP_ITEM) {
		const struct request_record *q = &item.request;

		if (item.kind != RCAP_REQUEST || q->form == FORM_PREPARE ||
			q->flags & REQUEST_SKIPPED)
			continue;
		if (rcap_latency_us(q) < 0)
			in->untimed++;
		else if (q->flags & REQUEST_GAP && !(q->flags & REQUEST_TIMED))
			in->gap++;
		else if (add_request(c, q))
			in->read++;
		else
			in->bad++;
		if ((in->read & 0xfff) == 0)
			run_progress_at(run, &progress, (double)in->read);
	}
	run_progress_end(run, &progress);
	return step != STEP_FAIL;
}

/* Time in which only the headers of connections were kept has no requests at all; a share
 * of the sessions is still evidence. An interval without an end lasts as long as the file. */
static void read_interval(struct input *in, const struct json *head, const struct json *interval)
{
	const char *end = json_text(json_get(interval, "end"), NULL);
	double kept = json_number(json_get(interval, "sessions_kept"), 1);
	int64_t from_ns, to_ns;

	if (kept >= 1)
		return;
	in->shed += kept > 0;
	if (kept > 0 ||
		!clock_parse(slice_of(json_text(json_get(interval, "start"), "")), &from_ns) ||
		!clock_parse(slice_of(end ? end : json_text(json_get(head, "end"), "")), &to_ns))
		return;
	if (!series_add_gap(in->series, from_ns, to_ns))
		in->bad++;
}

static void read_shedding(struct input *in, const struct json *head, const struct json *shedding)
{
	const struct json *list = json_get(shedding, "intervals");

	for (size_t i = 0; i < json_count(list); i++)
		read_interval(in, head, json_at(list, i));
}

static void read_drops(struct input *in, const struct json *cost)
{
	in->dropped += (uint64_t)json_int(json_path(cost, "drops.kernel"), 0) +
		       (uint64_t)json_int(json_path(cost, "drops.interface"), 0);
}

/* A merged capture has a list of what a single one has once. */
static void read_head(struct input *in, const struct json *head)
{
	const struct json *shedding = json_get(head, "shedding"), *cost = json_get(head, "cost");

	if (json_type(shedding) == JSON_MAP)
		read_shedding(in, head, shedding);
	for (size_t i = 0; json_type(shedding) == JSON_LIST && i < json_count(shedding); i++)
		read_shedding(in, head, json_at(shedding, i));
	if (json_type(cost) == JSON_MAP)
		read_drops(in, cost);
	for (size_t i = 0; json_type(cost) == JSON_LIST && i < json_count(cost); i++)
		read_drops(in, json_at(cost, i));
}

/* log_min_duration_statement left the faster ones out: none of many is fast. */
static void find_floor(struct capture_reader *c)
{
	const struct json *sources = json_get(rcap_head(c->file), "sources");
	bool is_log = false;

	for (size_t i = 0; i < json_count(sources); i++)
		is_log |= slice_is(
			slice_of(json_text(json_get(json_at(sources, i), "kind"), "")), "pglog");
	if (!is_log || c->timed < FLOOR_TIMED || c->shortest_ns < floor_least_ns)
		return;
	c->in->found_floor_ns = c->shortest_ns;
	for (size_t i = 0; i < RCAP_ROUTES_MAX; i++)
		if (c->routes[i])
			series_set_floor(c->routes[i], c->shortest_ns / NS_PER_US);
}

bool input_read_capture(struct input *in, const char *path, const struct run *run, struct err *e)
{
	struct capture_reader c = { .in = in,
		.file = rcap_open(path, e),
		.routes = calloc(RCAP_ROUTES_MAX, sizeof(struct series_route *)) };
	bool ok = c.file && c.routes && read_requests(&c, run, e);

	if (c.file && !c.routes)
		err_set(e, ERR_ENV, "out of memory");
	if (c.file) {
		read_head(in, rcap_head(c.file));
		if (ok)
			find_floor(&c);
		in->is_torn |= rcap_is_torn(c.file);
		rcap_close(c.file);
	}
	in->has_packets = true;
	free(c.routes);
	return ok;
}
