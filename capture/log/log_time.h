/*
 * log_time.h - the times of a log's lines to UTC.
 *
 * A stamp that says its offset is believed; a zone's abbreviation that means the same
 * everywhere, too, and it is told (log_time_assumed). For others --log-zone is needed:
 * never the zone of the machine that reads. Pure.
 */
#ifndef REPROD_LOG_TIME_H
#define REPROD_LOG_TIME_H

#include "core/base/err.h"
#include "core/format/pglog.h"
#include "core/format/zone.h"

struct log_time {
	const char *zone_name; /* of --log-zone, or NULL */
	struct zone zone;
	int64_t last_ns;
	int64_t newest_ns; /* no line is later: the file's change time; gives years */
	char assumed[8]; /* abbreviation that was taken as what it means everywhere */
};

bool log_time_open(struct log_time *t, const char *zone_name, struct err *e) MUST_USE;
/* ERR_INPUT when it cannot be known; says what to give. */
bool log_time_of(struct log_time *t, const struct pglog_stamp *stamp, int64_t *ret_ns,
	struct err *e) MUST_USE;
/* A time of syslog, as if it were in 1972. */
bool log_time_of_syslog(
	struct log_time *t, int64_t local_1972_ns, int64_t *ret_ns, struct err *e) MUST_USE;
void log_time_close(struct log_time *t);

#endif
