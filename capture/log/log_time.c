#include "capture/log/log_time.h"

#include <stdio.h>

#include "core/base/clock.h"

bool log_time_open(struct log_time *t, const char *zone_name, struct err *e)
{
	*t = (struct log_time){ .zone_name = zone_name, .last_ns = INT64_MIN };
	return !zone_name || zone_open(&t->zone, zone_name, e);
}

void log_time_close(struct log_time *t)
{
	zone_close(&t->zone);
}

static bool refuse_zone(struct slice zone, struct err *e)
{
	err_set(e, ERR_INPUT, "the time zone '%.*s' does not say its offset from UTC", (int)zone.n,
		zone.p);
	return err_hint(
		e, "name the zone of log_timezone with --log-zone, as Europe/Berlin or +02:00");
}

/* Without --log-zone. */
static bool by_abbreviation(
	struct log_time *t, const struct pglog_stamp *stamp, int64_t *ret_ns, struct err *e)
{
	int64_t offset_ns;

	if (!zone_abbreviation(stamp->zone, &offset_ns))
		return refuse_zone(stamp->zone, e);
	snprintf(t->assumed, sizeof(t->assumed), "%.*s", (int)stamp->zone.n, stamp->zone.p);
	*ret_ns = stamp->local_ns - offset_ns;
	return true;
}

bool log_time_of(
	struct log_time *t, const struct pglog_stamp *stamp, int64_t *ret_ns, struct err *e)
{
	*ret_ns = stamp->local_ns - stamp->offset_ns;
	if (stamp->has_offset)
		return true;
	if (!t->zone_name)
		return by_abbreviation(t, stamp, ret_ns, e);
	if (zone_to_utc(&t->zone, stamp->local_ns, stamp->zone, ret_ns))
		return true;
	err_set(e, ERR_INPUT, "'%.*s' is no time of the zone '%s' at that date", (int)stamp->zone.n,
		stamp->zone.p, t->zone_name);
	return err_hint(e, "see the server's log_timezone");
}

/* The same day and time in a year. */
static int64_t in_year(int64_t local_1972_ns, int year)
{
	int64_t days = local_1972_ns / (86400 * NS_PER_S),
		rest = local_1972_ns % (86400 * NS_PER_S);
	int unused, month, day;

	clock_civil(days, &unused, &month, &day);
	return clock_days(year, month, day) * 86400 * NS_PER_S + rest;
}

/* The last year in which that was not after the file was written. */
bool log_time_of_syslog(struct log_time *t, int64_t local_1972_ns, int64_t *ret_ns, struct err *e)
{
	int year, month, day;

	if (!t->zone_name) {
		err_set(e, ERR_INPUT, "syslog's times do not say their zone");
		return err_hint(e, "name the zone of the machine that wrote it with --log-zone, "
				   "as Europe/Berlin or UTC");
	}
	clock_civil(t->newest_ns / (86400 * NS_PER_S), &year, &month, &day);
	int64_t local_ns = in_year(local_1972_ns, year);
	/* A day: clocks differ, zones too. */
	if (local_ns > t->newest_ns + 86400 * NS_PER_S)
		local_ns = in_year(local_1972_ns, year - 1);
	*ret_ns = zone_local_to_utc(&t->zone, local_ns, t->last_ns);
	t->last_ns = *ret_ns;
	return true;
}
