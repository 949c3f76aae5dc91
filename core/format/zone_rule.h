/*
 * zone_rule.h - the rule at the end of a zone file: when summer time starts and ends.
 *
 * A POSIX TZ text with RFC 8536's extensions ("<-03>3<-02>,M3.5.0/-2,M10.5.0/-1"); it
 * holds for all years after the file's last transition, and a file written by "zic -b
 * slim" has little else. Abbreviations are cut at seven letters.
 */
#ifndef REPROD_ZONE_RULE_H
#define REPROD_ZONE_RULE_H

#include "core/base/base.h"

struct zone_date {
	char kind; /* 'M' month.week.day, 'J' day 1-365 without Feb 29, 'D' day 0-365 */
	int month, week, day;
	int64_t at_s; /* of local time, from midnight; may be negative or beyond a day */
};

struct zone_rule {
	int64_t offset_s[2]; /* east of UTC: standard, summer */
	char abbreviation[2][8];
	bool has_summer;
	struct zone_date start, end; /* of summer */
};

bool zone_rule_parse(struct slice text, struct zone_rule *ret) MUST_USE;
/* UTC seconds at which summer starts, or ends, in that year. */
int64_t zone_rule_change(const struct zone_rule *r, int year, bool is_start);

#endif
