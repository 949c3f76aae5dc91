#include "correlate/metric_read.h"

#include <math.h>
#include <stdlib.h>
#include <strings.h>

#include "core/base/json.h"
#include "core/model/event.h"
#include "correlate/metric_file.h"
#include "correlate/textlines.h"

enum { NAME_BYTES_MAX = 200 };

static bool ends_with(struct slice s, const char *end)
{
	size_t n = strlen(end);

	return s.n > n && memcmp(s.p + s.n - n, end, n) == 0;
}

struct metric *metric_file_metric(
	struct metric_file *f, struct slice name, bool is_counter, struct err *e)
{
	char text[NAME_BYTES_MAX + 1];

	if (!name.n || name.n > NAME_BYTES_MAX || !event_name_is_plain(name)) {
		err_set(e, ERR_INPUT,
			"the name is empty, longer than %d bytes or holds control characters",
			NAME_BYTES_MAX);
		return NULL;
	}
	memcpy(text, name.p, name.n);
	text[name.n] = '\0';
	is_counter |= ends_with(name, "_total");
	struct metric *m = metric_get(f->list, text, is_counter ? "1/s" : NULL);
	if (!m) {
		err_set(e, ERR_INPUT, "more than %d metrics", METRICS_MAX);
		return NULL;
	}
	struct metric_part *part = &f->parts[m - f->list->items];
	if (!part->is_used)
		*part = (struct metric_part){ true, is_counter, m->count };
	part->is_counter |= is_counter;
	return m;
}

static bool is_missing(struct slice s)
{
	static const char *const words[] = { "nan", "null", "na", "n/a", "-", "undefined" };

	for (size_t i = 0; i < LENGTH(words); i++)
		if (s.n == strlen(words[i]) && strncasecmp(s.p, words[i], s.n) == 0)
			return true;
	return s.n == 0;
}

static bool parse_number(struct slice text, char delimiter, double *ret)
{
	char number[64], *end, *comma;

	if (text.n >= sizeof(number))
		return false;
	memcpy(number, text.p, text.n);
	number[text.n] = '\0';
	if (delimiter == ';' && (comma = strchr(number, ',')))
		*comma = '.';
	*ret = strtod(number, &end);
	return end != number && *end == '\0' && isfinite(*ret);
}

bool metric_file_add(
	struct metric_file *f, struct metric *m, int64_t t_ns, struct slice value, struct err *e)
{
	struct metric_counts *c = f->counts;
	double number;

	if (is_missing(value)) {
		c->missing++;
		return true;
	}
	if (!parse_number(value, f->delimiter, &number))
		return err_set(e, ERR_INPUT, "the value of '%.60s' is not a number",
			m->id + strlen("metric:"));
	/* At the cap of points it is counted there. */
	if (!metric_add(f->list, m, t_ns, number))
		return true;
	c->first_ns = c->read == 0 || t_ns < c->first_ns ? t_ns : c->first_ns;
	c->last_ns = c->read == 0 || t_ns > c->last_ns ? t_ns : c->last_ns;
	c->read++;
	return true;
}

/* A number as its digits, so that one reader knows all kinds of time. */
static struct slice text_of(const struct json *j, char room[64])
{
	const char *text = json_text(j, NULL);

	if (text)
		return slice_of(text);
	if (json_type(j) != JSON_NUMBER)
		return (struct slice){ "", 0 };
	if (json_is_whole(j))
		snprintf(room, 64, "%lld", (long long)json_int(j, 0));
	else
		snprintf(room, 64, "%.17g", json_number(j, NAN));
	return slice_of(room);
}

/* %.17g of a time has no exponent and more digits than are true: to the microsecond. */
static struct slice time_of(const struct json *j, char room[64])
{
	if (json_type(j) == JSON_NUMBER && !json_is_whole(j)) {
		snprintf(room, 64, "%.6f", json_number(j, NAN));
		return slice_of(room);
	}
	return text_of(j, room);
}

bool metric_file_json(struct metric_file *f, struct slice line, struct err *e)
{
	struct json *j CLEANUP(json_cleanup) = json_parse(line, "metric", e);
	char t_room[64], value_room[64];
	int64_t t_ns;

	if (!j) {
		e->where[0] = '\0';
		return false;
	}
	const char *name = json_text(json_get(j, "name"), NULL);
	if (!name && json_get(j, "status")) {
		err_set(e, ERR_INPUT, "this is an answer of Prometheus");
		return err_hint(e, "--metric prometheus:FILE reads a saved one");
	}
	if (!name)
		return err_set(e, ERR_INPUT, "no 'name'");
	if (!json_get(j, "t"))
		return err_set(e, ERR_INPUT, "no 't'");
	if (json_type(json_get(j, "value")) == JSON_MISSING)
		return err_set(e, ERR_INPUT, "no 'value'");
	if (!field_time(&f->clock, time_of(json_get(j, "t"), t_room), &t_ns, e))
		return false;
	struct metric *m = metric_file_metric(
		f, slice_of(name), json_is_true(json_get(j, "counter"), false), e);
	return m && metric_file_add(f, m, t_ns, text_of(json_get(j, "value"), value_room), e);
}

static void take_line(struct metric_file *f, const char *path, uint64_t number, struct slice line)
{
	struct err bad = { 0 };
	bool is_good;

	if (!line.p)
		is_good = err_set(&bad, ERR_INPUT, "longer than %d bytes", TEXTLINES_MAX);
	else if (line.n && *line.p == '{')
		is_good = metric_file_json(f, line, &bad);
	else
		is_good = line.n == 0 || metric_file_csv(f, line, &bad);
	f->counts->bad += !is_good;
	if (is_good || f->counts->first_bad.kind)
		return;
	err_in(&bad, "%s: line %llu", path, (unsigned long long)number);
	f->counts->first_bad = bad;
}

static void finish(struct metric_file *f)
{
	for (size_t i = 0; i < f->list->count; i++)
		if (f->parts[i].is_counter)
			metric_make_rates(f->list, &f->list->items[i], f->parts[i].from);
	f->counts->scaled = f->clock.scaled;
	f->counts->local = f->clock.local;
}

static bool read_lines(
	struct metric_file *f, struct textlines *lines, const char *path, struct err *e)
{
	enum step step;
	struct slice line;

	while ((step = textlines_next(lines, &line, e)) == STEP_ITEM) {
		while (line.n && strchr(" \t\r", line.p[line.n - 1]))
			line.n--;
		take_line(f, path, textlines_number(lines), line);
	}
	f->counts->is_cut = textlines_was_cut(lines);
	finish(f);
	if (step == STEP_FAIL || f->counts->read || textlines_was_stopped(lines))
		return step != STEP_FAIL;
	if (f->counts->first_bad.kind) {
		*e = f->counts->first_bad;
		return false;
	}
	err_set(e, ERR_INPUT, "no value in it");
	err_hint(e, "a metric is CSV with t,name,value, or t and one column per metric");
	return err_in(e, "%s", path);
}

bool metric_read(struct metric_list *list, const char *path, const char *zone,
	const struct run *run, struct metric_counts *ret, struct err *e)
{
	struct metric_file *f = calloc(1, sizeof(*f));
	struct zone local = { 0 };
	struct textlines *lines = NULL;

	*ret = (struct metric_counts){ 0 };
	if (!f)
		return err_set(e, ERR_ENV, "out of memory");
	*f = (struct metric_file){ .list = list, .counts = ret };
	bool ok = !zone || zone_open(&local, zone, e);
	f->clock.zone = zone ? &local : NULL;
	ok = ok && (lines = textlines_open(path, e));
	if (ok) {
		textlines_obey(lines, run);
		ok = read_lines(f, lines, path, e);
	}
	textlines_close(lines);
	zone_close(&local);
	free(f);
	return ok;
}
