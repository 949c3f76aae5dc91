#include "correlate/period_clock.h"

/* One for each rule by which clocks change that we know of. */
static const char *const rules[] = { "UTC", "Europe/Berlin", "America/New_York", "Australia/Sydney",
	"Pacific/Auckland", "America/Santiago", "Asia/Jerusalem", "Asia/Beirut", "Africa/Cairo",
	"Africa/Casablanca", "America/Havana", "Australia/Lord_Howe" };

int64_t period_clock_local(const struct period_clock *c, int64_t wall_ns)
{
	int64_t s = wall_ns / NS_PER_S - (wall_ns % NS_PER_S < 0);

	return wall_ns + zone_offset_s(&c->zone, s) * NS_PER_S;
}

/* Do both step by the same, on the same day? Beirut's clocks go four hours before
 * Berlin's: nothing that runs each day tells them apart. */
static bool same_steps(const struct zone *a, const struct zone *b, int64_t first_s, int64_t last_s)
{
	int64_t apart = zone_offset_s(a, first_s) - zone_offset_s(b, first_s);
	int64_t step = (last_s - first_s) / 500, differing_s = 0;

	step = step < 3600 ? 3600 : step;
	for (int64_t t = first_s; t < last_s; t += step)
		if (zone_offset_s(a, t) - zone_offset_s(b, t) != apart)
			differing_s += step;
	return zone_offset_s(a, last_s) - zone_offset_s(b, last_s) == apart && differing_s <= 86400;
}

static void add(struct period_clocks *c, const char *name, int64_t first_ns, int64_t last_ns)
{
	struct zone zone;
	struct err ignored = { 0 };

	if (c->count == PERIOD_CLOCKS_MAX || !zone_open(&zone, name, &ignored))
		return;
	for (size_t i = 0; i < c->count; i++)
		if (same_steps(&c->items[i].zone, &zone, first_ns / NS_PER_S, last_ns / NS_PER_S)) {
			zone_close(&zone);
			return;
		}
	c->items[c->count++] = (struct period_clock){ name, zone };
}

bool period_clocks_open(
	struct period_clocks *c, const char *given, int64_t first_ns, int64_t last_ns)
{
	*c = (struct period_clocks){ 0 };
	if (given)
		add(c, given, first_ns, last_ns);
	for (size_t i = 0; i < LENGTH(rules); i++)
		add(c, rules[i], first_ns, last_ns);
	return c->count > 0;
}

void period_clocks_close(struct period_clocks *c)
{
	for (size_t i = 0; i < c->count; i++)
		zone_close(&c->items[i].zone);
	c->count = 0;
}
