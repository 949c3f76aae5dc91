#include "correlate/causes.h"

#include "correlate/events.h"
#include "correlate/schedule.h"

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

/* One reader for all files: what belongs together may lie in several. */
static bool read_events(struct causes *c, const struct cli_list *files, struct err *e)
{
	struct events_options options = { &c->events, &c->reaches, c->notes, c->zone, c->first_ns,
		c->last_ns, c->run };
	struct events *ev = events_new(&options, e);
	bool ok = ev != NULL;

	for (size_t i = 0; ok && i < files->count; i++)
		ok = events_read(ev, files->items[i], e);
	ok = ok && events_finish(ev, e);
	events_free(ev);
	return ok;
}

static bool read_crontab(struct causes *c, const char *path, struct err *e)
{
	struct reach *reach = reach_add(&c->reaches, path, "cron");
	struct schedule_report report = { 0 };

	if (!schedule_load(&c->conditions, path, c->zone, c->first_ns, c->last_ns, &report, e))
		return false;
	reach->read = report.lines;
	reach->bad = report.bad;
	reach->first_bad = report.first_bad;
	notes_bad(c->notes, report.bad, "crontab lines", &report.first_bad);
	if (report.is_utc_assumed)
		notes_add(c->notes,
			"the schedules of '%s' are read in UTC; --zone NAME gives the host's zone",
			path);
	if (report.unscheduled)
		notes_add(c->notes, "%zu lines of '%s' have no times of their own (@reboot, '~')",
			report.unscheduled, path);
	return true;
}

struct reader {
	size_t offset; /* of the list in struct cause_files */
	bool (*read)(struct causes *c, const char *path, struct err *e);
};

static const struct reader readers[] = {
	{ offsetof(struct cause_files, crontabs), read_crontab },
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
	if (!read_events(c, &files->events, e))
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
	condition_list_finish(&c->conditions, first_ns, last_ns);
	metric_list_finish(&c->metrics);
	return true;
}
