#include "correlate/remote_prometheus.h"

#include <math.h>
#include <stdlib.h>

#include "correlate/remote_histogram.h"
#include "correlate/remote_labels.h"
#include "correlate/remote_range.h"

const char *const remote_prometheus_params[] = { "query", "from", "to", "step", "route", "unit",
	"kind", "name", "labels", "timeout", NULL };

/* One bucket of a classic histogram in the piece that is being read. */
struct column {
	struct remote_group *group;
	double le;
	const struct json *values;
	size_t at;
};

struct reader {
	const struct remote_url *url;
	const struct remote *remote;
	struct remote_range range;
	struct remote_histograms histograms;
	struct column *columns; /* by group, then le */
	size_t column_count, column_cap;
	unsigned char *is_seen; /* a step at which some series had a sample */
	uint64_t seen, missing; /* steps */
	uint64_t bad;
	struct buf key, route;
	struct buf query;
};

static struct remote_group *group_of(struct reader *r, const struct json *metric, struct err *e)
{
	struct remote_group *g;

	remote_labels_key(&r->key, metric);
	remote_labels_text(&r->route, metric, remote_url_get(r->url, "route"));
	g = remote_histograms_group(&r->histograms, buf_slice(&r->key), buf_slice(&r->route));
	if (!g) {
		err_set(e, ERR_INPUT, "more than %d histograms, or %d routes", REMOTE_GROUPS_MAX,
			SERIES_ROUTES_MAX);
		err_hint(e, "narrow the selector, or choose the routes' labels with route=");
	}
	return g;
}

/* ---- what cannot be used, in words */

static bool refuse_average(const struct reader *r, const struct json *metric, struct err *e)
{
	bool is_summary = json_get(metric, "quantile") != NULL;

	err_set(e, ERR_INPUT, "%s: '%.100s' is %s", r->range.place,
		json_text(json_get(metric, "__name__"), "the query's result"),
		is_summary ? "a summary: its quantiles cannot be merged, nor spread over routes"
			   : "no histogram: it has neither 'le' nor native buckets");
	return err_hint(e,
		"averages and quantiles hide what is looked for; ask for NAME_bucket{...} "
		"(as a cause beside other traffic: --metric prometheus:...)");
}

static bool refuse_query(const char *query, struct err *e)
{
	static const char *const words[] = { "histogram_quantile(", "quantile(", "avg(",
		"quantile_over_time(", "avg_over_time(" };

	for (size_t i = 0; i < LENGTH(words); i++)
		if (strstr(query, words[i])) {
			err_set(e, ERR_USAGE,
				"prometheus: %.*s...) gives numbers that cannot be merged",
				(int)strlen(words[i]) - 1, words[i]);
			return err_hint(
				e, "ask for the buckets themselves: query=NAME_bucket{...}");
		}
	return true;
}

/* ---- classic buckets */

static void see(struct reader *r, int64_t t_ns)
{
	int64_t step = (t_ns - r->range.start_ns) / r->range.step_ns;

	if (step >= 0 && step < r->range.steps)
		r->is_seen[step] = 1;
}

static bool add_column(struct reader *r, const struct json *one, const char *le, struct err *e)
{
	struct column c = { .values = json_get(one, "values") };

	if (!remote_range_number(le, &c.le) || isnan(c.le)) {
		r->bad++;
		return true;
	}
	c.group = group_of(r, json_get(one, "metric"), e);
	if (!c.group)
		return false;
	if (r->column_count == r->column_cap) {
		size_t cap = r->column_cap ? r->column_cap * 2 : 256;
		struct column *grown = realloc(r->columns, cap * sizeof(*grown));

		if (!grown)
			return err_set(e, ERR_ENV, "out of memory");
		r->columns = grown;
		r->column_cap = cap;
	}
	r->columns[r->column_count++] = c;
	return true;
}

static int by_group(const void *a, const void *b)
{
	const struct column *x = a, *y = b;

	if (x->group != y->group)
		return x->group->number < y->group->number ? -1 : 1;
	return (x->le > y->le) - (x->le < y->le);
}

/* The value at t, if there is one; what lies before it is passed. */
static bool value_at(struct column *c, int64_t t_ns, int64_t slack_ns, double *ret)
{
	int64_t at_ns;

	for (; c->at < json_count(c->values); c->at++) {
		const struct json *point = json_at(c->values, c->at);

		if (!remote_range_point(point, &at_ns, ret) || at_ns < t_ns - slack_ns)
			continue;
		if (at_ns >= t_ns + slack_ns)
			return false;
		c->at++;
		return isfinite(*ret);
	}
	return false;
}

/* From totals up to each bound to counts between two; a scrape may have caught them moving. */
static size_t read_classic(struct column *columns, size_t count, int64_t t_ns, int64_t slack_ns,
	struct remote_bucket *to)
{
	double low = 0, below = 0, value;
	size_t n = 0;

	for (size_t i = 0; i < count; i++) {
		if (!value_at(&columns[i], t_ns, slack_ns, &value) || columns[i].le <= low)
			continue;
		value = value > below ? value : below;
		to[n++] = (struct remote_bucket){ low, columns[i].le, value - below, 0 };
		low = columns[i].le;
		below = value;
	}
	return n;
}

static bool feed_classic(struct reader *r, struct column *columns, size_t count, struct err *e)
{
	struct remote_bucket buckets[REMOTE_BUCKETS_MAX];
	const struct remote_range *range = &r->range;

	if (count > REMOTE_BUCKETS_MAX)
		return err_set(e, ERR_INPUT, "%s: more than %d buckets of one histogram",
			range->place, REMOTE_BUCKETS_MAX);
	for (int64_t i = 0; i < range->steps; i++) {
		int64_t t_ns = range->start_ns + i * range->step_ns;
		size_t n = read_classic(columns, count, t_ns, range->step_ns / 2, buckets);

		if (!n)
			continue;
		see(r, t_ns);
		if (!remote_histograms_feed(&r->histograms, columns->group, t_ns, buckets, n))
			return err_set(e, ERR_ENV, "out of memory");
	}
	return true;
}

/* ---- native histograms */

/* [rule, "low", "high", "count"]: the rule says which edges belong to it, which is finer
 * than a bin. Below nothing there is no latency. */
static bool read_native(const struct json *histogram, struct remote_bucket *to, size_t *ret_n)
{
	const struct json *list = json_get(histogram, "buckets");

	*ret_n = 0;
	if (json_count(list) > REMOTE_BUCKETS_MAX)
		return false;
	for (size_t i = 0; i < json_count(list); i++) {
		const struct json *one = json_at(list, i);
		struct remote_bucket b = { 0 };

		if (!remote_range_number(json_text(json_at(one, 1), NULL), &b.low) ||
			!remote_range_number(json_text(json_at(one, 2), NULL), &b.high) ||
			!remote_range_number(json_text(json_at(one, 3), NULL), &b.count) ||
			!(b.low < b.high) || !(b.count >= 0))
			return false;
		b.low = b.low < 0 ? 0 : b.low;
		if (b.high > 0 && (!*ret_n || to[*ret_n - 1].high <= b.low))
			to[(*ret_n)++] = b;
	}
	return true;
}

static bool feed_native(struct reader *r, const struct json *one, struct err *e)
{
	const struct json *points = json_get(one, "histograms");
	struct remote_group *g = group_of(r, json_get(one, "metric"), e);
	struct remote_bucket buckets[REMOTE_BUCKETS_MAX];
	size_t n;

	for (size_t i = 0; g && i < json_count(points); i++) {
		const struct json *point = json_at(points, i);
		int64_t t_ns;

		if (!remote_range_time(point, &t_ns) ||
			!read_native(json_at(point, 1), buckets, &n)) {
			r->bad++;
			continue;
		}
		see(r, t_ns);
		if (!remote_histograms_feed(&r->histograms, g, t_ns, buckets, n))
			return err_set(e, ERR_ENV, "out of memory");
	}
	return g != NULL;
}

/* ---- a piece of the range */

static bool find_unit(struct reader *r, const char *name, struct err *e)
{
	return remote_labels_unit(remote_url_get(r->url, "unit"), name, &r->histograms.unit_us, e);
}

/* Nobody told the query of a saved answer: the name in it says the unit. */
static bool find_unit_of_file(struct reader *r, struct err *e)
{
	const struct json *metric = json_get(json_at(r->range.result, 0), "metric");

	return remote_url_is_web(r->url) ||
	       find_unit(r, json_text(json_get(metric, "__name__"), ""), e);
}

static bool sort_out(struct reader *r, struct err *e)
{
	const struct json *result = r->range.result;

	r->column_count = 0;
	for (size_t i = 0; i < json_count(result); i++) {
		const struct json *one = json_at(result, i), *metric = json_get(one, "metric");
		const char *le = json_text(json_get(metric, "le"), NULL);

		if (le                                ? !add_column(r, one, le, e)
			: json_get(one, "histograms") ? !feed_native(r, one, e)
						      : !refuse_average(r, metric, e))
			return false;
	}
	if (r->column_count)
		qsort(r->columns, r->column_count, sizeof(*r->columns), by_group);
	return true;
}

/* Neither the time before a missing sample nor that after it is known of a counter. */
static void note_gaps(struct reader *r)
{
	const struct remote_range *range = &r->range;
	int64_t after_ns = r->histograms.scale > 0 ? 0 : range->step_ns;

	for (int64_t i = 0; i < range->steps; i++) {
		int64_t t_ns = range->start_ns + i * range->step_ns;

		r->seen += r->is_seen[i];
		r->missing += !r->is_seen[i];
		if (!r->is_seen[i])
			series_add_gap(
				r->histograms.series, t_ns - range->step_ns, t_ns + after_ns);
	}
}

static bool read_piece(struct reader *r, struct err *e)
{
	bool ok;

	r->is_seen = calloc((size_t)r->range.steps, 1);
	if (!r->is_seen)
		return err_set(e, ERR_ENV, "out of memory");
	r->histograms.step_ns = r->range.step_ns;
	ok = find_unit_of_file(r, e) && sort_out(r, e);
	for (size_t i = 0, end; ok && i < r->column_count; i = end) {
		for (end = i + 1; end < r->column_count; end++)
			if (r->columns[end].group != r->columns[i].group)
				break;
		ok = feed_classic(r, r->columns + i, end - i, e);
	}
	if (ok)
		note_gaps(r);
	free(r->is_seen);
	r->is_seen = NULL;
	return ok;
}

/* ---- what is asked */

/* "increase(x[5m])": the 5 minutes. */
static bool find_window(const char *query, int64_t *ret_ns)
{
	const char *open = strchr(query, '['), *close = open ? strchr(open, ']') : NULL;

	return close &&
	       clock_parse_duration((struct slice){ open + 1, strcspn(open + 1, ":]") }, ret_ns);
}

static bool find_kind(struct reader *r, const char *query, int64_t *step_ns, struct err *e)
{
	const char *kind = remote_url_get(r->url, "kind");
	int64_t window_ns;

	if (!kind)
		kind = strstr(query, "increase(") ? "increase"
		       : strstr(query, "rate(")   ? "rate"
						  : "counter";
	if (strcmp(kind, "counter") == 0)
		return true;
	if (strcmp(kind, "increase") != 0 && strcmp(kind, "rate") != 0) {
		err_set(e, ERR_USAGE, "kind=%.20s is none", kind);
		return err_hint(e, "counter, increase or rate");
	}
	if (find_window(query, &window_ns)) {
		if (!remote_url_get(r->url, "step"))
			*step_ns = window_ns;
		if (*step_ns != window_ns) {
			err_set(e, ERR_USAGE,
				"prometheus: the step is not the query's [range]: requests "
				"would be counted several times, or not at all");
			return err_hint(e, "leave step= away, or ask for the counter itself");
		}
	}
	r->histograms.scale = strcmp(kind, "rate") == 0 ? (double)*step_ns / 1e9 : 1;
	return true;
}

/* A plain selector would see a sample for five minutes after the last: gaps want it fresh. */
static void make_query(struct reader *r, const char *query, int64_t step_ns)
{
	buf_add_text(&r->query, query);
	if (r->histograms.scale == 0 && remote_labels_is_selector(query))
		buf_addf(&r->query, " and present_over_time(%s[%lldms])", query,
			(long long)(2 * step_ns / NS_PER_MS));
}

static bool set_up(struct reader *r, struct err *e)
{
	const char *query = remote_url_get(r->url, "query");
	int64_t from_ns = INT64_MIN, to_ns, step_ns = REMOTE_STEP_NS;
	bool is_web = remote_url_is_web(r->url);

	to_ns = clock_wall_ns(&r->remote->run->clock);
	if (is_web && !query) {
		err_set(e, ERR_USAGE, "prometheus: needs query=");
		return err_hint(e,
			"prometheus:http://host:9090?query=http_request_duration_seconds_bucket"
			"&from=-6h&route=handler");
	}
	query = query ? query : "";
	if (!refuse_query(query, e) ||
		!remote_url_range(r->url, &r->remote->run->clock, &from_ns, &to_ns, e) ||
		!remote_url_duration(r->url, "step", NS_PER_S, &step_ns, e) ||
		!find_kind(r, query, &step_ns, e) || !find_unit(r, query, e))
		return false;
	if (is_web && from_ns == INT64_MIN) {
		err_set(e, ERR_USAGE, "prometheus: needs from=");
		return err_hint(e, "a time with zone, or an age: from=-6h");
	}
	make_query(r, query, step_ns);
	return remote_range_open(
		&r->range, r->url, r->remote, buf_text(&r->query), from_ns, to_ns, step_ns, e);
}

static void note_all(const struct reader *r, struct notes *notes)
{
	const struct remote_histograms *h = &r->histograms;
	const char *place = r->range.place;

	if (!notes)
		return;
	if (h->resets)
		notes_add(notes, "%s: %llu restarts of counters", place,
			(unsigned long long)h->resets);
	if (r->missing)
		notes_add(notes, "%s: %llu of %llu steps have no sample: not known, not quiet%s",
			place, (unsigned long long)r->missing,
			(unsigned long long)(r->missing + r->seen),
			r->missing > r->seen ? " (is step= shorter than the scrape interval?)"
					     : "");
	if (h->unplaced)
		notes_add(notes,
			"%s: what was added over %llu missing samples has no known time and "
			"is left out",
			place, (unsigned long long)h->unplaced);
	if (h->changed)
		notes_lack(notes,
			"%s: %llu times a histogram changed its bounds: those steps are left "
			"out",
			place, (unsigned long long)h->changed);
}

static bool finish(struct reader *r, struct remote_counts *ret, struct err *e)
{
	note_all(r, r->remote->notes);
	ret->read = r->histograms.requests;
	ret->bad = r->bad + r->histograms.refused;
	if (ret->bad)
		err_set(&ret->first_bad, ERR_INPUT,
			"%s: points that are no buckets, or out of range", r->range.place);
	if (ret->read)
		return true;
	if (!r->histograms.groups.count) {
		err_set(e, ERR_INPUT, "%s: no series", r->range.place);
		return err_hint(
			e, "check the name and labels in its console, and the range (from=, to=)");
	}
	err_set(e, ERR_INPUT, "%s: no request in that range", r->range.place);
	return err_hint(e, "%s",
		r->missing > r->seen
			? "most steps have no sample: is step= shorter than the scrape interval?"
			: "the histograms are there, but nothing was added between two steps");
}

bool remote_prometheus_read(struct series *s, const struct remote_url *url,
	const struct remote *remote, struct remote_counts *ret, struct err *e)
{
	struct reader r = { .url = url, .remote = remote };
	enum step step = STEP_FAIL;
	bool ok;

	remote_histograms_init(&r.histograms, s, REMOTE_STEP_NS);
	if (set_up(&r, e))
		while ((step = remote_range_next(&r.range, e)) == STEP_ITEM)
			if (!read_piece(&r, e)) {
				step = STEP_FAIL;
				break;
			}
	ok = step == STEP_END && finish(&r, ret, e);
	remote_range_close(&r.range);
	remote_histograms_free(&r.histograms);
	free(r.columns);
	buf_free(&r.key);
	buf_free(&r.route);
	buf_free(&r.query);
	return ok;
}
