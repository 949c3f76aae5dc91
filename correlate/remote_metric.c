#include "correlate/remote_metric.h"

#include <math.h>
#include <stdlib.h>

#include "correlate/remote_labels.h"
#include "correlate/remote_range.h"

enum { NAME_MAX_BYTES = 200 };

struct reader {
	struct metric_list *list;
	const struct remote_url *url;
	struct remote_range range;
	struct table last; /* name to the metric_point before, for counters */
	struct arena arena;
	bool is_counter;
	struct buf name, labels;
	struct remote_counts *counts;
};

static bool is_counter(const char *query, const char *name)
{
	static const char *const ends[] = { "_total", "_count", "_sum", "_bucket" };
	size_t n;

	if (query[0] && !remote_labels_is_selector(query))
		return false;
	n = query[0] ? strcspn(query, "{ \n") : strlen(name);
	name = query[0] ? query : name;
	for (size_t i = 0; i < LENGTH(ends); i++) {
		size_t m = strlen(ends[i]);

		if (n > m && memcmp(name + n - m, ends[i], m) == 0)
			return true;
	}
	return false;
}

/* Control characters have no place in what a terminal shows. */
static void make_name(struct reader *r, const struct json *metric)
{
	const char *given = remote_url_get(r->url, "name"),
		   *list = remote_url_get(r->url, "labels");
	const char *query = remote_url_get(r->url, "query");
	const char *name = json_text(json_get(metric, "__name__"), query ? query : "query");
	struct json_walk w = json_walk_of(metric);
	struct json *value;
	const char *label;

	buf_reset(&r->labels);
	buf_reset(&r->name);
	if (list)
		remote_labels_text(&r->labels, metric, list);
	while (!list && (label = json_walk_next(&w, &value)))
		if (strcmp(label, "__name__") != 0)
			buf_addf(&r->labels, "%s%s=%s", r->labels.n ? "," : "", label,
				json_text(value, ""));
	buf_addf(&r->name, "%.100s", given ? given : name);
	if (r->labels.n)
		buf_addf(&r->name, "{%s}", buf_text(&r->labels));
	if (r->name.n > NAME_MAX_BYTES)
		r->name.p[r->name.n = NAME_MAX_BYTES] = '\0';
	for (char *c = r->name.p; *c; c++)
		if ((unsigned char)*c < 0x20 || *c == 0x7f)
			*c = '?';
}

/* Pieces of a range go on where the one before ended. */
static struct metric_point *point_before(struct reader *r)
{
	struct metric_point *p = table_get(&r->last, buf_slice(&r->name));
	struct slice key;

	if (p)
		return p;
	p = arena_take(&r->arena, sizeof(*p));
	key = arena_copy(&r->arena, buf_slice(&r->name));
	return p && key.p && table_put(&r->last, key, p) ? p : NULL;
}

static void add_points(struct reader *r, struct metric *m, const struct json *values)
{
	struct metric_point *before = r->is_counter ? point_before(r) : NULL;

	for (size_t i = 0; i < json_count(values); i++) {
		int64_t t_ns;
		double v;

		if (!remote_range_point(json_at(values, i), &t_ns, &v)) {
			r->counts->bad++;
			continue;
		}
		r->counts->first_ns = t_ns < r->counts->first_ns ? t_ns : r->counts->first_ns;
		r->counts->last_ns = t_ns > r->counts->last_ns ? t_ns : r->counts->last_ns;
		/* NaN is how a metric says nothing. */
		if (!isfinite(v))
			continue;
		if (before ? metric_add_counter(r->list, m, t_ns, v, before)
			   : metric_add(r->list, m, t_ns, v))
			r->counts->read++;
	}
}

static void read_piece(struct reader *r)
{
	const struct json *result = r->range.result;

	for (size_t i = 0; i < json_count(result); i++) {
		const struct json *one = json_at(result, i), *metric = json_get(one, "metric");
		const char *query = remote_url_get(r->url, "query");

		if (!json_get(one, "values")) {
			r->counts->bad++;
			continue;
		}
		r->is_counter =
			is_counter(query ? query : "", json_text(json_get(metric, "__name__"), ""));
		make_name(r, metric);
		struct metric *m =
			metric_get(r->list, buf_text(&r->name), r->is_counter ? "1/s" : NULL);
		if (m)
			add_points(r, m, json_get(one, "values"));
	}
}

static bool set_up(struct reader *r, const struct remote *remote, struct err *e)
{
	const char *query = remote_url_get(r->url, "query");
	int64_t from_ns = remote->first_ns, to_ns = remote->last_ns, step_ns = REMOTE_STEP_NS;

	if (remote_url_is_web(r->url) && !query) {
		err_set(e, ERR_USAGE, "prometheus: needs query=");
		return err_hint(e, "--metric 'prometheus:http://host:9090?query=process_open_fds'");
	}
	if (to_ns - from_ns < 60 * step_ns)
		step_ns = 15 * NS_PER_S;
	to_ns += to_ns > INT64_MAX - step_ns ? 0 : step_ns;
	return remote_url_range(r->url, &remote->run->clock, &from_ns, &to_ns, e) &&
	       remote_url_duration(r->url, "step", NS_PER_S, &step_ns, e) &&
	       remote_range_open(
		       &r->range, r->url, remote, query ? query : "", from_ns, to_ns, step_ns, e);
}

static bool finish(const struct reader *r, struct err *e)
{
	if (r->counts->bad)
		err_set(&r->counts->first_bad, ERR_INPUT, "%s: points that are no numbers",
			r->range.place);
	if (r->counts->read)
		return true;
	err_set(e, ERR_INPUT, "%s: no point of any series", r->range.place);
	return err_hint(e,
		"check the query in its console; the range is that of the traffic, or from= "
		"and to=");
}

bool remote_metric_read(struct metric_list *list, const struct remote_url *url,
	const struct remote *remote, struct remote_counts *ret, struct err *e)
{
	struct reader r = { .list = list, .url = url, .counts = ret };
	enum step step = STEP_FAIL;
	bool ok;

	ret->first_ns = INT64_MAX;
	ret->last_ns = INT64_MIN;
	arena_init(&r.arena, (size_t)4 << 20);
	table_init(&r.last, METRICS_MAX);
	if (set_up(&r, remote, e))
		while ((step = remote_range_next(&r.range, e)) == STEP_ITEM)
			read_piece(&r);
	ok = step == STEP_END && finish(&r, e);
	remote_range_close(&r.range);
	table_free(&r.last);
	arena_free(&r.arena);
	buf_free(&r.name);
	buf_free(&r.labels);
	return ok;
}
