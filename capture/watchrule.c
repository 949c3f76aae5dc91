#include "capture/watchrule.h"

#include <inttypes.h>
#include <stdlib.h>

#include "core/base/clock.h"
#include "core/base/quantile.h"
#include "core/model/rcap.h"

static const int64_t window_min_ns = 10 * NS_PER_S, window_max_ns = 600 * NS_PER_S;

static bool refuse(struct err *e, const char *text)
{
	err_set(e, ERR_USAGE, "--breach '%s' cannot be read", text);
	return err_hint(e, "as in --breach 'GET /checkout:p99>50ms', or ':p90>1s' for all routes");
}

static bool read_quantile(const char *text, size_t n, double *ret)
{
	static const struct {
		const char *name;
		double q;
	} known[] = { { "p50", 0.5 }, { "p90", 0.9 }, { "p95", 0.95 }, { "p99", 0.99 },
		{ "p999", 0.999 } };

	for (size_t i = 0; i < LENGTH(known); i++)
		if (strlen(known[i].name) == n && memcmp(known[i].name, text, n) == 0) {
			*ret = known[i].q;
			return true;
		}
	return false;
}

bool watch_rules_add(struct watch_rules *r, const char *text, struct err *e)
{
	const char *colon = strrchr(text, ':'), *over = colon ? strchr(colon, '>') : NULL;
	CLEANUP(buf_free) struct buf folded = { 0 };
	struct watch_rule *rule = &r->items[r->count];

	if (r->count == WATCH_RULES_MAX)
		return err_set(e, ERR_USAGE, "at most %d --breach", WATCH_RULES_MAX);
	*rule = (struct watch_rule){ 0 };
	if (!over || strlen(text) >= sizeof rule->text ||
		!read_quantile(colon + 1, (size_t)(over - colon - 1), &rule->quantile) ||
		!clock_parse_duration(slice_of(over + 1), &rule->limit_ns) || rule->limit_ns <= 0)
		return refuse(e, text);
	snprintf(rule->text, sizeof rule->text, "%s", text);
	rcap_fold_text((struct slice){ text, (size_t)(colon - text) }, &folded);
	snprintf(rule->fragment, sizeof rule->fragment, "%s", buf_text(&folded));
	r->count++;
	return true;
}

bool watch_rules_schedule(struct watch_rules *r, const char *text, struct err *e)
{
	struct slice rest = slice_of(text);
	struct err inner = { 0 };

	if (rest.n >= sizeof r->schedule_text)
		return err_set(e, ERR_USAGE, "--schedule '%s' is too long", text);
	snprintf(r->schedule_text, sizeof r->schedule_text, "%s", text);
	bool is_read = *text == '@' ? cron_fields_word(cron_next_word(&rest), &r->schedule)
				    : cron_fields_parse(CRON_PG, &rest, &r->schedule, &inner);
	/* A sixth field would be a command. */
	if (!is_read || cron_next_word(&rest).n) {
		err_set(e, ERR_USAGE, "--schedule '%s' cannot be read", text);
		return err_hint(e, "five crontab fields, as in --schedule '*/10 * * * *'");
	}
	r->has_schedule = true;
	return true;
}

uint32_t watch_rules_of_route(const struct watch_rules *r, struct slice route)
{
	CLEANUP(buf_free) struct buf folded = { 0 };
	uint32_t mask = 0;

	rcap_fold_text(route, &folded);
	for (size_t i = 0; i < r->count; i++)
		if (strstr(buf_text(&folded), r->items[i].fragment))
			mask |= UINT32_C(1) << i;
	return mask;
}

void watch_rules_count(struct watch_rules *r, uint32_t mask, int64_t latency_us)
{
	for (; mask; mask &= mask - 1)
		if (!hist_add(&r->items[__builtin_ctz(mask)].window, latency_us, 1))
			r->refused++;
}

/* ---- firing */

static bool is_full(const struct watch_rule *rule, int64_t now_ns)
{
	int64_t age = now_ns - rule->window_ns;

	return age >= window_max_ns ||
	       (age >= window_min_ns &&
		       quantile_is_estimable(
			       rule->window.total ? rule->window.total : 1, rule->quantile));
}

static bool fire_rule(struct watch_rule *rule, int64_t now_ns, char *ret_why, size_t size)
{
	int64_t value_ns = hist_quantile(&rule->window, rule->quantile) * NS_PER_US;
	uint64_t n = rule->window.total;
	char took[CLOCK_TEXT_MAX];
	bool is_over = n && quantile_is_estimable(n, rule->quantile) && value_ns > rule->limit_ns;

	if (is_over)
		snprintf(ret_why, size, "%s: it was %s, n=%" PRIu64, rule->text,
			clock_duration_text(value_ns, took), n);
	hist_reset(&rule->window);
	rule->window_ns = now_ns;
	return is_over;
}

static bool is_due(const struct cron_fields *f, int64_t minute)
{
	return (f->minute >> minute % 60 & 1) && (f->hour >> minute / 60 % 24 & 1) &&
	       cron_fields_fit_day(f, minute / 1440);
}

static bool fire_schedule(struct watch_rules *r, int64_t now_ns, char *ret_why, size_t size)
{
	int64_t minute = now_ns / (60 * NS_PER_S);

	if (!r->has_schedule || minute == r->schedule_minute)
		return false;
	r->schedule_minute = minute;
	if (!is_due(&r->schedule, minute))
		return false;
	snprintf(ret_why, size, "schedule %s", r->schedule_text);
	return true;
}

bool watch_rules_fire(struct watch_rules *r, int64_t now_ns, char *ret_why, size_t size)
{
	bool has_fired = fire_schedule(r, now_ns, ret_why, size);

	for (size_t i = 0; i < r->count; i++) {
		struct watch_rule *rule = &r->items[i];

		if (!rule->window_ns)
			rule->window_ns = now_ns;
		else if (is_full(rule, now_ns))
			has_fired |= fire_rule(rule, now_ns, ret_why, size);
	}
	return has_fired;
}

void watch_rules_free(struct watch_rules *r)
{
	for (size_t i = 0; i < r->count; i++)
		hist_free(&r->items[i].window);
}
