#include "correlate/causes.h"

#include "correlate/events.h"
#include "correlate/git.h"
#include "correlate/metric_read.h"
#include "correlate/pglog_read.h"
#include "correlate/remote.h"
#include "correlate/runs.h"
#include "correlate/schedule.h"
#include "correlate/stats_read.h"

void causes_init(struct causes *c, struct notes *notes, const struct run *run)
{
	*c = (struct causes){ .notes = notes, .run = run };
	condition_list_init(&c->conditions);
	metric_list_init(&c->metrics);
}

void causes_free(struct causes *c)
{
	metric_list_free(&c->metrics);
	condition_list_free(&c->conditions);
	event_free(&c->events);
}

static struct remote remote_of(const struct causes *c)
{
	return (struct remote){ .run = c->run,
		.header_file = c->header_file,
		.notes = c->notes,
		.first_ns = c->first_ns,
		.last_ns = c->last_ns };
}

static bool ask_events(struct causes *c, struct events *ev, const char *path, struct err *e)
{
	const struct remote remote = remote_of(c);
	const char *name = remote_name(&c->notes->texts, path);
	struct buf text = { 0 };
	bool is_cut, ok;

	buf_init(&text, (size_t)256 << 20);
	ok = remote_fetch_events(&text, path, &remote, &is_cut, e) &&
	     events_read_text(ev, name, "grafana", buf_slice(&text), e);
	if (ok && is_cut)
		notes_lack(c->notes,
			"%s: more annotations end at one instant than could be asked for", name);
	buf_free(&text);
	return ok;
}

static bool read_metric_file(struct causes *c, const char *path, struct err *e)
{
	struct reach *reach = reach_add(&c->reaches, path, "metrics");
	struct metric_counts counts;

	if (!metric_read(&c->metrics, path, c->zone, c->run, &counts, e))
		return false;
	reach->read = counts.read;
	reach->bad = counts.bad;
	reach->first_bad = counts.first_bad;
	reach->from_ns = counts.first_ns;
	reach->to_ns = counts.last_ns;
	notes_bad(c->notes, counts.bad, "lines of metrics", &counts.first_bad);
	if (counts.scaled)
		notes_add(c->notes,
			"%s: epoch times that are too large for seconds were read as "
			"milliseconds or finer",
			path);
	if (counts.local)
		notes_add(c->notes, "%s: times without a zone were read in %s", path, c->zone);
	if (counts.is_cut)
		notes_lack(
			c->notes, "%s: the compressed file is cut: what was whole is used", path);
	if (counts.last_ns < c->first_ns || counts.first_ns > c->last_ns)
		notes_lack(c->notes, "%s: no value is of the time of the traffic", path);
	return true;
}

static bool read_metric(struct causes *c, const char *path, struct err *e)
{
	const struct remote remote = remote_of(c);
	struct remote_counts counts;

	if (!remote_is_metric(path))
		return read_metric_file(c, path, e);
	struct reach *reach =
		reach_add(&c->reaches, remote_name(&c->notes->texts, path), "prometheus");
	if (!remote_read_metric(&c->metrics, path, &remote, &counts, e))
		return false;
	reach->read = counts.read;
	reach->bad = counts.bad;
	reach->first_bad = counts.first_bad;
	reach->from_ns = counts.first_ns;
	reach->to_ns = counts.last_ns;
	notes_bad(c->notes, counts.bad, "points", &counts.first_bad);
	return true;
}

/* One reader for all files: what belongs together may lie in several. Its end, which tells
 * once what was given twice, holds for the logs and histories before it, too. */
static bool read_events(struct causes *c, const struct cause_files *files, struct err *e)
{
	struct events_options options = { &c->events, &c->reaches, c->notes, c->zone, c->first_ns,
		c->last_ns, c->run };
	struct events *ev = events_new(&options, e);
	bool ok = ev != NULL;

	if (ok && files->pglogs.count)
		ok = pglog_read(&options, files->pglogs.items, files->pglogs.count, e);
	for (size_t i = 0; ok && i < files->git.count; i++)
		ok = git_read(&options, files->git.items[i], e);
	for (size_t i = 0; ok && i < files->events.count; i++) {
		const char *path = files->events.items[i];

		ok = remote_is_events(path) ? ask_events(c, ev, path, e) : events_read(ev, path, e);
	}
	ok = ok && events_finish(ev, e);
	events_free(ev);
	return ok;
}

static bool read_schedules(struct causes *c, const char *dialect, const char *file, struct err *e)
{
	const struct schedule_target target = { &c->conditions, &c->reaches, c->notes, c->zone,
		c->first_ns, c->last_ns, c->run };

	return schedule_read(&target, dialect, file, e);
}

static bool read_crontab(struct causes *c, const char *path, struct err *e)
{
	return read_schedules(c, "cron", path, e);
}

static bool read_schedule(struct causes *c, const char *file, struct err *e)
{
	return read_schedules(c, NULL, file, e);
}

static bool read_stats(struct causes *c, const char *path, struct err *e)
{
	struct reach *reach = reach_add(&c->reaches, path, "statistics");
	struct stats_report report;

	if (!stats_read(path, c->first_ns, c->last_ns, reach_index(&c->reaches, reach), &c->metrics,
		    &c->events, &report, e))
		return false;
	reach->from_ns = report.first_ns;
	reach->to_ns = report.last_ns;
	reach->read = report.events;
	stats_notes(&report, path, c->notes);
	return true;
}

struct reader {
	size_t offset; /* of the list in struct cause_files */
	bool (*read)(struct causes *c, const char *path, struct err *e);
};

static const struct reader readers[] = {
	{ offsetof(struct cause_files, crontabs), read_crontab },
	{ offsetof(struct cause_files, schedules), read_schedule },
	{ offsetof(struct cause_files, stats), read_stats },
	{ offsetof(struct cause_files, metrics), read_metric },
};

/* What is dropped is said: an answer about some of the causes is no answer about all. */
static void note_refused(struct causes *c)
{
	const struct condition_list *list = &c->conditions;
	uint64_t times = 0;

	for (size_t i = 0; i < list->count; i++)
		times += list->items[i].refused;
	if (c->events.refused)
		notes_lack(c->notes, "%llu events are beyond the cap of events and were left out",
			(unsigned long long)c->events.refused);
	if (list->refused)
		notes_lack(c->notes,
			"%llu events are of conditions beyond the first %d and were left out",
			(unsigned long long)list->refused, CONDITIONS_MAX);
	if (times)
		notes_lack(c->notes,
			"%llu occurrences are beyond %d of one condition and were left out",
			(unsigned long long)times, CONDITION_TIMES_MAX);
	if (c->metrics.refused)
		notes_lack(c->notes, "%llu metrics or points are beyond the caps and were left out",
			(unsigned long long)c->metrics.refused);
}

bool causes_read(struct causes *c, const struct cause_files *files, int64_t first_ns,
	int64_t last_ns, struct err *e)
{
	c->first_ns = first_ns;
	c->last_ns = last_ns;
	c->zone = files->zone;
	c->header_file = files->header_file;
	if (!read_events(c, files, e))
		return false;
	for (size_t i = 0; i < LENGTH(readers); i++) {
		const struct cli_list *list =
			(const void *)((const char *)files + readers[i].offset);

		for (size_t k = 0; k < list->count; k++)
			if (!readers[i].read(c, list->items[k], e))
				return false;
	}
	if (!condition_add_events(&c->conditions, &c->events, &c->reaches, e))
		return false;
	note_refused(c);
	runs_name_twins(&c->conditions);
	condition_list_finish(&c->conditions, first_ns, last_ns);
	metric_list_finish(&c->metrics);
	if (c->metrics.repeated)
		notes_add(c->notes,
			"%llu values of a metric have the time of another one: the larger is used",
			(unsigned long long)c->metrics.repeated);
	return true;
}
