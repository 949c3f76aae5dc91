#include "correlate/remote_range.h"

#include <math.h>
#include <stdlib.h>

#include "core/driver/http.h"
#include "correlate/remote_ask.h"

enum { FIRST_POINTS = 60, GOAL_BYTES = 8 << 20, FILE_MAX = 64 << 20 };

static int64_t floor_to(int64_t t_ns, int64_t step_ns)
{
	int64_t rest = t_ns % step_ns;

	return t_ns - (rest < 0 ? rest + step_ns : rest);
}

bool remote_range_open(struct remote_range *r, const struct remote_url *url,
	const struct remote *remote, const char *query, int64_t from_ns, int64_t to_ns,
	int64_t step_ns, struct err *e)
{
	*r = (struct remote_range){
		.url = url, .remote = remote, .step_ns = step_ns, .query = query
	};
	r->place = url->address;
	if (!remote_url_is_web(url))
		return true;
	r->next_ns = floor_to(from_ns, step_ns);
	r->to_ns = floor_to(to_ns, step_ns);
	r->points = FIRST_POINTS;
	r->http = remote_ask_open(url, remote, 0, e);
	r->place = r->http ? http_server(r->http) : "";
	return r->http != NULL;
}

void remote_range_close(struct remote_range *r)
{
	json_free(r->doc);
	http_close(r->http);
	*r = (struct remote_range){ 0 };
}

bool remote_range_number(const char *text, double *ret)
{
	char *end;

	if (!text || !*text)
		return false;
	*ret = strtod(text, &end); /* "NaN", "+Inf", "-Inf" too */
	return !*end;
}

bool remote_range_time(const struct json *point, int64_t *ret_t_ns)
{
	double t = json_number(json_at(point, 0), NAN);

	if (!(fabs(t) < 9e9))
		return false;
	*ret_t_ns = (int64_t)llround(t * 1e3) * NS_PER_MS;
	return true;
}

bool remote_range_point(const struct json *point, int64_t *ret_t_ns, double *ret_value)
{
	return remote_range_time(point, ret_t_ns) &&
	       remote_range_number(json_text(json_at(point, 1), NULL), ret_value);
}

/* {"status": "success", "data": {"resultType": "matrix", "result": [...]}} */
static bool take_result(struct remote_range *r, struct err *e)
{
	const struct json *data = json_get(r->doc, "data");
	const char *type;

	data = data ? data : r->doc;
	type = json_text(json_get(data, "resultType"), "");
	r->result = json_get(data, "result");
	if (strcmp(type, "matrix") == 0 && json_type(r->result) == JSON_LIST)
		return true;
	if (type[0]) {
		err_set(e, ERR_INPUT, "%s: a result of type '%.20s', not 'matrix'", r->place, type);
		return err_hint(e, "a range is needed: /api/v1/query_range, not /api/v1/query");
	}
	err_set(e, ERR_INPUT, "%s: no result of a Prometheus query", r->place);
	return err_hint(e, "it has {\"data\": {\"resultType\": \"matrix\", \"result\": [...]}}");
}

/* ---- a saved answer */

static void look_at_times(const struct json *points, int64_t *first, int64_t *last, int64_t *step)
{
	int64_t before = INT64_MIN, t;

	for (size_t i = 0; i < json_count(points); i++) {
		if (!remote_range_time(json_at(points, i), &t))
			continue;
		*first = t < *first ? t : *first;
		*last = t > *last ? t : *last;
		if (before != INT64_MIN && t > before && t - before < *step)
			*step = t - before;
		before = t;
	}
}

/* Its step is the shortest time between two points. */
static bool measure(struct remote_range *r, struct err *e)
{
	int64_t first = INT64_MAX, last = INT64_MIN, step = INT64_MAX;

	for (size_t i = 0; i < json_count(r->result); i++) {
		const struct json *one = json_at(r->result, i);

		look_at_times(json_get(one, "values"), &first, &last, &step);
		look_at_times(json_get(one, "histograms"), &first, &last, &step);
	}
	if (step == INT64_MAX)
		return err_set(e, ERR_INPUT, "%s: less than two points of any series", r->place);
	r->start_ns = first;
	r->step_ns = step;
	r->steps = (last - first) / step + 1;
	return r->steps < 10000000 ||
	       err_set(e, ERR_INPUT, "%s: its times lie too far apart", r->place);
}

static enum step pull_file(struct remote_range *r, struct err *e)
{
	if (r->doc)
		return STEP_END;
	r->doc = json_load(r->url->address, FILE_MAX, e);
	return r->doc && take_result(r, e) && measure(r, e) ? STEP_ITEM : STEP_FAIL;
}

/* ---- a server */

static bool ask(struct remote_range *r, size_t *ret_bytes, struct err *e)
{
	struct buf path = { 0 };

	buf_add_text(&path, "/api/v1/query_range?query=");
	http_add_encoded(&path, slice_of(r->query));
	buf_addf(&path, "&start=%.3f&end=%.3f&step=%.3f", (double)r->start_ns / 1e9,
		(double)(r->start_ns + (r->steps - 1) * r->step_ns) / 1e9,
		(double)r->step_ns / 1e9);
	r->doc = remote_ask(r->http, buf_text(&path), ret_bytes, e);
	buf_free(&path);
	return r->doc != NULL;
}

static enum step pull_server(struct remote_range *r, struct err *e)
{
	size_t bytes = 0;

	json_free(r->doc);
	r->doc = NULL;
	if (r->next_ns > r->to_ns || run_stopped(r->remote->run))
		return STEP_END;
	for (;;) {
		int64_t left = (r->to_ns - r->next_ns) / r->step_ns + 1;

		r->start_ns = r->next_ns;
		r->steps = r->points < left ? r->points : left;
		if (ask(r, &bytes, e))
			break;
		if (!http_was_too_large(r->http) || r->steps == 1)
			return STEP_FAIL;
		r->points = r->steps / 2;
	}
	r->next_ns += r->steps * r->step_ns;
	int64_t fitting = (int64_t)((double)r->steps * GOAL_BYTES / (double)(bytes + 1));
	r->points = fitting > 4 * r->points ? 4 * r->points : fitting < 1 ? 1 : fitting;
	r->points = r->points > REMOTE_POINTS_MAX ? REMOTE_POINTS_MAX : r->points;
	return take_result(r, e) ? STEP_ITEM : STEP_FAIL;
}

enum step remote_range_next(struct remote_range *r, struct err *e)
{
	return r->http ? pull_server(r, e) : pull_file(r, e);
}
