/* Our own format, {"t", "t_end"?, "kind", "name", "dose"?, "zone"?}, an object a line. */
#include <math.h>

#include "correlate/events_parts.h"

static bool fits_plain(const struct json *object, const char *list_kind)
{
	(void)list_kind;
	return json_get(object, "t") || json_get(object, "name") || json_get(object, "kind");
}

static bool read_word(const struct json *line, const char *key, const char **ret, struct err *e)
{
	*ret = json_text(json_get(line, key), NULL);
	if (!*ret || !**ret)
		return err_set(e, ERR_INPUT, "no '%s'", key);
	if (!event_name_is_plain(slice_of(*ret)))
		return err_set(e, ERR_INPUT, "'%s' holds control characters", key);
	return true;
}

static bool take_plain(struct events *ev, const struct json *object, struct err *e)
{
	const char *zone = json_text(json_get(object, "zone"), NULL), *kind, *name;
	int64_t start_ns, end_ns;

	if (!events_time_at(ev, object, "t", zone, &start_ns, e) ||
		!read_word(object, "kind", &kind, e) || !read_word(object, "name", &name, e) ||
		!events_time_maybe(ev, object, "t_end", zone, &end_ns, e))
		return false;
	if (end_ns != INT64_MIN && end_ns < start_ns)
		return err_set(e, ERR_INPUT, "'t_end' is before 't'");
	return events_add(
		ev, kind, name, start_ns, end_ns, json_number(json_get(object, "dose"), NAN), e);
}

const struct events_format events_plain = {
	.dialect = "events", .fits = fits_plain, .take = take_plain
};
