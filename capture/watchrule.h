/*
 * watchrule.h - when a watch keeps the minutes around: a quantile over its limit, or a
 * schedule.
 *
 * "ROUTE:p99>50ms" looks at all routes whose text holds ROUTE (folded, as `--route`
 * does); the text before the last colon may be empty for all routes. A window lasts at
 * least ten seconds and until it has as many requests as the quantile needs, at most
 * ten minutes. A schedule is five crontab fields in UTC. Packet time only.
 */
#ifndef REPROD_WATCHRULE_H
#define REPROD_WATCHRULE_H

#include "core/base/err.h"
#include "core/base/hist.h"
#include "core/format/cronfield.h"

#define WATCH_RULES_MAX 32

struct watch_rule {
	char text[256], fragment[256]; /* as given; folded */
	double quantile;
	int64_t limit_ns;
	struct hist window; /* microseconds */
	int64_t window_ns; /* its start; 0: none yet */
};

struct watch_rules {
	struct watch_rule items[WATCH_RULES_MAX];
	size_t count;
	bool has_schedule;
	struct cron_fields schedule;
	char schedule_text[64];
	int64_t schedule_minute; /* the last one that was looked at */
	uint64_t refused; /* requests not counted for want of memory */
};

bool watch_rules_add(struct watch_rules *r, const char *text, struct err *e) MUST_USE;
bool watch_rules_schedule(struct watch_rules *r, const char *text, struct err *e) MUST_USE;
/* Bit i: rule i looks at that route. */
uint32_t watch_rules_of_route(const struct watch_rules *r, struct slice route);
void watch_rules_count(struct watch_rules *r, uint32_t mask, int64_t latency_us);
/* What is due at this time: a text such as "SELECT...:p99>50ms: p99 812 ms, n=1040", or
 * false. Call at least once a second of packet time. */
bool watch_rules_fire(struct watch_rules *r, int64_t now_ns, char *ret_why, size_t size);
void watch_rules_free(struct watch_rules *r);

#endif
