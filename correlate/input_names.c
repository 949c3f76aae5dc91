#include <strings.h>

#include "correlate/input_private.h"

/* Names that several programs use; of two in one file the upper wins. */
static const struct input_name names[] = {
	{ "t", PART_T, 0 },
	{ "time", PART_T, 0 },
	{ "timestamp", PART_T, 0 },
	{ "ts", PART_T, 0 },
	{ "@timestamp", PART_T, 0 },
	{ "start", PART_T, 0 },
	{ "start_time", PART_T, 0 },
	{ "route", PART_ROUTE, 0 },
	{ "endpoint", PART_ROUTE, 0 },
	{ "operation", PART_ROUTE, 0 },
	{ "query", PART_ROUTE, 0 },
	{ "path", PART_ROUTE, 0 },
	{ "uri", PART_ROUTE, 0 },
	{ "url", PART_ROUTE, 0 },
	{ "ms", PART_MS, NS_PER_MS },
	{ "duration_ms", PART_MS, NS_PER_MS },
	{ "latency_ms", PART_MS, NS_PER_MS },
	{ "elapsed_ms", PART_MS, NS_PER_MS },
	{ "response_ms", PART_MS, NS_PER_MS },
	{ "duration_us", PART_MS, NS_PER_US },
	{ "latency_us", PART_MS, NS_PER_US },
	{ "us", PART_MS, NS_PER_US },
	{ "duration_ns", PART_MS, 1 },
	{ "latency_ns", PART_MS, 1 },
	{ "ns", PART_MS, 1 },
	{ "duration_s", PART_MS, NS_PER_S },
	{ "latency_s", PART_MS, NS_PER_S },
	{ "seconds", PART_MS, NS_PER_S },
	{ "request_time", PART_MS, NS_PER_S }, /* nginx */
	{ "duration", PART_MS, 0 },
	{ "latency", PART_MS, 0 },
	{ "elapsed", PART_MS, 0 },
	{ "response_time", PART_MS, 0 },
	{ "status", PART_STATUS, 0 },
	{ "status_code", PART_STATUS, 0 },
	{ "sqlstate", PART_STATUS, 0 },
	{ "code", PART_STATUS, 0 },
	{ "session", PART_SESSION, 0 },
	{ "session_id", PART_SESSION, 0 },
	{ "connection", PART_SESSION, 0 },
	{ "connection_id", PART_SESSION, 0 },
};

const struct input_name *input_name_of(struct slice name)
{
	for (size_t i = 0; i < LENGTH(names); i++)
		if (strncasecmp(names[i].name, name.p ? name.p : "", name.n) == 0 &&
			strlen(names[i].name) == name.n)
			return &names[i];
	return NULL;
}

const char *input_lack(const struct input_name *const found[PARTS])
{
	if (!found[PART_T])
		return "no time: name it t, time or timestamp";
	if (!found[PART_ROUTE])
		return "no route: name it route, endpoint, query or path";
	if (!found[PART_MS])
		return "no latency: name it ms, duration_ms, duration_us or duration_s";
	if (!found[PART_MS]->unit_ns)
		return "the latency's name does not say its unit: duration_ms, duration_us and "
		       "duration_s do";
	return NULL;
}
