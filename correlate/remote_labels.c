#include "correlate/remote_labels.h"

#include <ctype.h>

bool remote_labels_is_selector(const char *query)
{
	size_t n = 0;
	bool is_quoted = false;
	char quote = 0;

	while (isalnum((unsigned char)query[n]) || query[n] == '_' || query[n] == ':')
		n++;
	if (query[n] == '{') {
		for (n++; query[n] && (is_quoted || query[n] != '}'); n++) {
			if (is_quoted && query[n] == '\\' && query[n + 1])
				n++;
			else if (is_quoted)
				is_quoted = query[n] != quote;
			else if ((is_quoted = query[n] == '"' || query[n] == '\''))
				quote = query[n];
		}
		if (query[n++] != '}')
			return false;
	}
	return n && query[n + strspn(query + n, " \n")] == '\0';
}

/* Which instance answered is no route. */
static bool is_boring(const char *label)
{
	static const char *const names[] = { "__name__", "le", "instance", "job", "pod", "node",
		"replica", "container", "endpoint", "prometheus", "prometheus_replica" };

	for (size_t i = 0; i < LENGTH(names); i++)
		if (strcmp(label, names[i]) == 0)
			return true;
	return false;
}

static void add_chosen(struct buf *to, const struct json *metric, const char *list)
{
	char label[128];

	for (; *list; list += strcspn(list, ",")) {
		list += *list == ',';
		snprintf(label, sizeof(label), "%.*s", (int)strcspn(list, ","), list);
		buf_addf(to, "%s%s", to->n ? " " : "", json_text(json_get(metric, label), ""));
	}
}

void remote_labels_text(struct buf *to, const struct json *metric, const char *list)
{
	struct json_walk w = json_walk_of(metric);
	struct json *value;
	const char *label;

	buf_reset(to);
	if (list)
		add_chosen(to, metric, list);
	while (!list && (label = json_walk_next(&w, &value)))
		if (!is_boring(label))
			buf_addf(to, "%s%s=%s", to->n ? " " : "", label, json_text(value, ""));
	if (!to->n)
		buf_add_text(to, json_text(json_get(metric, "__name__"), "all"));
}

void remote_labels_key(struct buf *to, const struct json *metric)
{
	struct json_walk w = json_walk_of(metric);
	struct json *value;
	const char *label;

	buf_reset(to);
	while ((label = json_walk_next(&w, &value)))
		if (strcmp(label, "le") != 0)
			buf_addf(to, "%s=\"%s\",", label, json_text(value, ""));
}

bool remote_labels_unit(const char *unit, const char *name, double *ret_us, struct err *e)
{
	static const struct {
		const char *unit, *part;
		double us;
	} units[] = { { "us", "microseconds", 1 }, { "ms", "milliseconds", 1e3 },
		{ "s", "_seconds", 1e6 }, { "ms", "_ms", 1e3 }, { "us", "_us", 1 },
		{ "s", "", 1e6 } };

	for (size_t i = 0; i < LENGTH(units); i++)
		if (unit ? strcmp(unit, units[i].unit) == 0 : strstr(name, units[i].part) != NULL) {
			*ret_us = units[i].us;
			return true;
		}
	err_set(e, ERR_USAGE, "unit=%.20s is none", unit);
	return err_hint(e, "s, ms or us");
}
