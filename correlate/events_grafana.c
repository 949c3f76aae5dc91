/*
 * Grafana's annotations, GET /api/annotations: time and timeEnd in epoch milliseconds.
 * The first tag names an annotation, alertName an alert; text is not kept.
 */
#include <math.h>

#include "correlate/events_parts.h"

static bool fits_grafana(const struct json *object, const char *list_kind)
{
	(void)list_kind;
	return json_type(json_get(object, "time")) == JSON_NUMBER &&
	       (json_get(object, "timeEnd") || json_get(object, "tags") ||
		       json_get(object, "dashboardUID") || json_get(object, "panelId"));
}

static bool time_of(const struct json *v, int64_t *ret_ns)
{
	double ms = json_number(v, NAN);

	if (!(ms > 0 && ms < 9e12))
		return false;
	*ret_ns = (int64_t)ms * NS_PER_MS;
	return true;
}

static bool take_grafana(struct events *ev, const struct json *object, struct err *e)
{
	const char *alert = json_text(json_get(object, "alertName"), "");
	const char *tag = json_text(json_at(json_get(object, "tags"), 0), "");
	int64_t start_ns, end_ns;

	if (!time_of(json_get(object, "time"), &start_ns))
		return err_set(e, ERR_INPUT, "'time' is not in epoch milliseconds");
	if (!time_of(json_get(object, "timeEnd"), &end_ns) || end_ns <= start_ns)
		end_ns = INT64_MIN;
	if (*alert)
		return events_add(ev, "alert", alert, start_ns, end_ns, NAN, e);
	return events_add(ev, "annotation", *tag ? tag : "untagged", start_ns, end_ns, NAN, e);
}

static const uint16_t pages[] = { 100, 200, 500, 1000, 2000, 5000, 10000, 0 };

const struct events_format events_grafana = {
	.dialect = "grafana", .fits = fits_grafana, .take = take_grafana, .pages = pages
};
