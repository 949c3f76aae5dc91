#include "correlate/schedule.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/base/clock.h"
#include "core/format/crontab.h"
#include "core/format/zone.h"

enum { LINES_MAX = 10000, LINE_MAX_BYTES = 1 << 16, MINUTES_MAX = 600 * 1440 };

/* A Gregorian minute of local time. */
struct local {
	int minute, hour, dom, month, dow;
};

static struct local local_of(int64_t local_s)
{
	int64_t days = local_s / 86400 - (local_s % 86400 < 0);
	int64_t in_day = local_s - days * 86400;
	struct local l = { .minute = (int)(in_day / 60 % 60), .hour = (int)(in_day / 3600) };
	int year;

	clock_civil(days, &year, &l.month, &l.dom);
	/* 1970-01-01 was a Thursday. */
	l.dow = (int)(((days + 4) % 7 + 7) % 7);
	return l;
}

static bool is_due_at(const struct crontab_line *line, int64_t local_s)
{
	struct local l = local_of(local_s);

	return crontab_is_due(line, l.minute, l.hour, l.dom, l.month, l.dow);
}

/* Vixie cron 3, main loop: clock jumps of up to three hours. */
static bool is_run(const struct crontab_line *line, const struct zone *z, int64_t epoch_s)
{
	int64_t now = epoch_s + zone_offset_s(z, epoch_s);
	int64_t before = epoch_s - 60 + zone_offset_s(z, epoch_s - 60);
	bool is_wild = line->is_minute_star || line->is_hour_star;

	if (is_due_at(line, now)) {
		/* The same local minute came already less than three hours ago. */
		for (int64_t back = 1800; !is_wild && back <= 10800; back += 1800)
			if (epoch_s - back + zone_offset_s(z, epoch_s - back) == now)
				return false;
		return true;
	}
	for (int64_t skipped = before + 60; !is_wild && now - before <= 10800 && skipped < now;
		skipped += 60)
		if (is_due_at(line, skipped))
			return true;
	return false;
}

static void expand(struct condition *c, const struct crontab_line *line, const struct zone *z,
	int64_t first_ns, int64_t last_ns)
{
	int64_t first_min = first_ns / NS_PER_S / 60, last_min = last_ns / NS_PER_S / 60;

	if (last_min - first_min > MINUTES_MAX)
		last_min = first_min + MINUTES_MAX;
	for (int64_t m = first_min; m <= last_min; m++) {
		if (!is_run(line, z, m * 60) || m * 60 * NS_PER_S < first_ns)
			continue;
		condition_add_time(c, m * 60 * NS_PER_S, m * 60 * NS_PER_S, false);
	}
}

static const char *unique_name(struct condition_list *list, const char *name, const char *dialect)
{
	const char *result = name;

	for (int twin = 2; result; twin++) {
		bool is_taken = false;

		for (size_t i = 0; i < list->count; i++)
			is_taken |= strcmp(list->items[i].kind, "job") == 0 &&
				    strcmp(list->items[i].name, result) == 0 &&
				    strcmp(list->items[i].dialect, dialect) == 0;
		if (!is_taken)
			break;
		result = arena_printf(&list->arena, "%s#%d", name, twin);
	}
	return result;
}

struct loader {
	struct condition_list *list;
	const char *path, *zone;
	int64_t first_ns, last_ns;
	struct schedule_report *report;
};

static bool add_line(struct loader *l, const struct crontab_line *line, struct err *e)
{
	struct zone z;
	const char *name = unique_name(l->list, line->name, "cron");
	struct condition *c = name ? condition_get(l->list, "job", name, "cron") : NULL;

	l->report->lines++;
	if (!c)
		return err_set(
			e, ERR_ENV, "more than %d conditions, or out of memory", CONDITIONS_MAX);
	if (line->is_reboot || line->is_random) {
		l->report->unscheduled++;
		return true;
	}
	l->report->is_utc_assumed |= !line->zone && !l->zone;
	if (!zone_open(&z, line->zone ? line->zone : l->zone, e))
		return false;
	expand(c, line, &z, l->first_ns, l->last_ns);
	zone_close(&z);
	return true;
}

/* A system crontab has a user column: /etc/crontab, /etc/cron.d/, or a word there
 * that every schedule line shares the place of. */
static bool is_system_path(const char *path)
{
	const char *base = strrchr(path, '/');

	return strstr(path, "/cron.d/") || strcmp(base ? base + 1 : path, "crontab") == 0;
}

static bool load(struct loader *l, FILE *from, struct err *e)
{
	char *text = NULL;
	const char *zone = NULL;
	size_t room = 0;
	ssize_t n;
	bool ok = true;

	for (unsigned number = 1;
		ok && number <= LINES_MAX && (n = getline(&text, &room, from)) >= 0; number++) {
		struct crontab_line line;
		struct err bad = { 0 };
		enum step step = n > LINE_MAX_BYTES
					 ? STEP_FAIL
					 : crontab_parse((struct slice){ text, (size_t)n },
						   is_system_path(l->path), &l->list->arena, &zone,
						   &line, &bad);

		if (step == STEP_ITEM)
			ok = add_line(l, &line, e) || err_in(e, "%s: line %u", l->path, number);
		if (step != STEP_FAIL)
			continue;
		l->report->bad++;
		if (l->report->first_bad.kind == ERR_NONE) {
			l->report->first_bad = bad;
			err_in(&l->report->first_bad, "%s: line %u", l->path, number);
		}
	}
	free(text);
	return ok;
}

bool schedule_load(struct condition_list *list, const char *path, const char *zone,
	int64_t first_ns, int64_t last_ns, struct schedule_report *ret, struct err *e)
{
	struct loader l = { list, path, zone, first_ns, last_ns, ret };
	FILE *from = fopen(path, "re");

	if (!from)
		return err_os(e, ERR_INPUT, errno, "could not open '%s'", path);
	bool ok = load(&l, from, e);
	if (ok && ferror(from))
		ok = err_os(e, ERR_INPUT, errno, "could not read '%s'", path);
	fclose(from);
	if (ok && !ret->lines && ret->bad) {
		*e = ret->first_bad;
		return false;
	}
	return ok;
}
