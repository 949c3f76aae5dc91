#include <math.h>
#include <stdio.h>

#include "core/base/clock.h"
#include "correlate/events_parts.h"

static bool is_digits(struct slice s, size_t at, size_t n)
{
	for (size_t i = at; i < at + n; i++)
		if (i >= s.n || s.p[i] < '0' || s.p[i] > '9')
			return false;
	return true;
}

/* clock_parse() wants a zone: with a Z behind it checks the fields. */
bool events_wall(struct slice text, int64_t *ret_local_ns, size_t *ret_used)
{
	char joined[48];
	size_t n = 19;

	if (text.n < 19 || !is_digits(text, 0, 4) || text.p[4] != '-' || !is_digits(text, 17, 2))
		return false;
	if (n + 1 < text.n && (text.p[n] == '.' || text.p[n] == ',') && is_digits(text, n + 1, 1))
		for (n++; is_digits(text, n, 1);)
			n++;
	if (n + 2 > sizeof(joined))
		return false;
	snprintf(joined, sizeof(joined), "%.*sZ", (int)n, text.p);
	if (n > 19)
		joined[19] = '.';
	*ret_used = n;
	return clock_parse(slice_of(joined), ret_local_ns);
}

/* "+01", "+0100", "+01:00", "Z", " UTC", " +01"; what is behind a wall's time. */
static bool eat_offset(struct slice s, int64_t *ret_ns)
{
	int hours, minutes = 0;

	while (s.n && *s.p == ' ') {
		s.p++;
		s.n--;
	}
	*ret_ns = 0;
	if (slice_is(s, "Z") || slice_is(s, "z") || slice_is(s, "UTC") || slice_is(s, "GMT"))
		return true;
	if (s.n < 3 || (*s.p != '+' && *s.p != '-') || !is_digits(s, 1, 2))
		return false;
	hours = (s.p[1] - '0') * 10 + s.p[2] - '0';
	size_t at = s.n > 3 && s.p[3] == ':' ? 4 : 3;
	if (s.n > 3 && (!is_digits(s, at, 2) || s.n != at + 2))
		return false;
	if (s.n > 3)
		minutes = (s.p[at] - '0') * 10 + s.p[at + 1] - '0';
	*ret_ns = (hours * 3600 + minutes * 60) * NS_PER_S * (*s.p == '-' ? -1 : 1);
	return hours < 24 && minutes < 60;
}

static bool refuse_zoneless(struct slice text, struct err *e)
{
	err_set(e, ERR_INPUT, "the time '%.*s' has no zone", (int)(text.n < 60 ? text.n : 60),
		text.p);
	return err_hint(e,
		"write it as RFC 3339 with Z or +hh:mm, add \"zone\": \"+02:00\", use epoch seconds, or give --zone");
}

static const struct zone *line_zone(struct events *ev, const char *name, struct err *e)
{
	if (strcmp(ev->line_zone_name, name) == 0)
		return &ev->line_zone;
	zone_close(&ev->line_zone);
	ev->line_zone_name[0] = '\0';
	if (strlen(name) >= sizeof(ev->line_zone_name)) {
		err_set(e, ERR_INPUT, "'%.60s...' is not a zone", name);
		return NULL;
	}
	if (!zone_open(&ev->line_zone, name, e)) {
		e->kind = ERR_INPUT;
		return NULL;
	}
	snprintf(ev->line_zone_name, sizeof(ev->line_zone_name), "%s", name);
	return &ev->line_zone;
}

bool events_time(
	struct events *ev, struct slice text, const char *zone, int64_t *ret_ns, struct err *e)
{
	int64_t local_ns, offset_ns;
	size_t used;

	if (clock_parse(text, ret_ns))
		return true;
	if (!events_wall(text, &local_ns, &used))
		return err_set(e, ERR_INPUT, "'%.*s' is not a time",
			(int)(text.n < 60 ? text.n : 60), text.p);
	struct slice rest = { text.p + used, text.n - used };
	if (rest.n) {
		if (!eat_offset(rest, &offset_ns))
			return err_set(e, ERR_INPUT, "'%.*s' is not a time",
				(int)(text.n < 60 ? text.n : 60), text.p);
		return !__builtin_sub_overflow(local_ns, offset_ns, ret_ns) ||
		       err_set(e, ERR_INPUT, "the time is out of range");
	}
	const struct zone *z = zone ? line_zone(ev, zone, e) : ev->o.zone ? &ev->zone : NULL;
	if (!z)
		return zone ? false : refuse_zoneless(text, e);
	*ret_ns = zone_local_to_utc(z, local_ns, ev->zoned_ns);
	ev->zoned_ns = *ret_ns;
	return true;
}

bool events_time_at(struct events *ev, const struct json *map, const char *key, const char *zone,
	int64_t *ret_ns, struct err *e)
{
	const struct json *v = json_get(map, key);
	const char *text = json_text(v, NULL);

	if (json_type(v) == JSON_NUMBER) {
		double s = json_number(v, NAN);

		if (!(s > -9e9 && s < 9e9))
			return err_set(e, ERR_INPUT, "'%s' is not a time: %g", key, s);
		/* A double holds today's epoch to 0.24 us; the file's decimals are rounded to 1 us. */
		*ret_ns = (int64_t)llround(s * 1e6) * NS_PER_US;
		return true;
	}
	if (!text)
		return err_set(e, ERR_INPUT, "no '%s'", key);
	return events_time(ev, slice_of(text), zone, ret_ns, e);
}

bool events_time_maybe(struct events *ev, const struct json *map, const char *key, const char *zone,
	int64_t *ret_ns, struct err *e)
{
	enum json_type type = json_type(json_get(map, key));
	const char *text = json_text(json_get(map, key), "-");

	*ret_ns = INT64_MIN;
	/* Go's zero time stands for none. */
	if (type == JSON_MISSING || type == JSON_NULL_VALUE || !*text ||
		strcmp(text, "0001-01-01T00:00:00Z") == 0)
		return true;
	return events_time_at(ev, map, key, zone, ret_ns, e);
}
