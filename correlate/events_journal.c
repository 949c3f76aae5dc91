/*
 * The journal, an object a line (journalctl -o json; systemd's "Journal Export Formats"):
 * messages of cron and anacron, and units by their message ids, which are the same in
 * every language (sd-messages.h).
 */
#include <stdlib.h>

#include "correlate/events_parts.h"

static bool fits_journal(const struct json *object, const char *list_kind)
{
	(void)list_kind;
	return json_get(object, "__REALTIME_TIMESTAMP") != NULL;
}

/* Microseconds since 1970, as text. */
static bool time_of(const struct json *object, int64_t *ret_ns, struct err *e)
{
	const char *text = json_text(json_get(object, "__REALTIME_TIMESTAMP"), "");
	char *end;
	long long us = strtoll(text, &end, 10);

	if (!*text || *end || us < 0 || us > INT64_MAX / NS_PER_US)
		return err_set(e, ERR_INPUT, "'__REALTIME_TIMESTAMP' is not a time");
	*ret_ns = us * NS_PER_US;
	return true;
}

static const struct {
	const char *id;
	enum events_unit_step step;
} units[] = {
	{ "7d4958e842da4a758f6c1cdc7b36dcc5", UNIT_STARTING },
	{ "39f53479d3a045ac8e11786248231fbf", UNIT_STARTED },
	{ "be02cf6855d2428ba40df7e9d022f03d", UNIT_ENDED }, /* failed to start */
	{ "9d1aaa27d60140bd96365438aad20286", UNIT_ENDED }, /* stopped */
	{ "7ad2d189f7e94e70a38c781354912448", UNIT_ENDED }, /* success */
	{ "d9b373ed55a64feb8242e02dbe79a49c", UNIT_ENDED }, /* failure result */
};

/* "Finished" of a oneshot has Started's id. In another language it is taken as Started,
 * which after "Deactivated" is none, too. */
static bool take_unit(struct events *ev, const struct json *object, int64_t t_ns, struct err *e)
{
	const char *id = json_text(json_get(object, "MESSAGE_ID"), "");
	const char *unit = json_text(json_get(object, "UNIT"), NULL);

	if (!unit)
		unit = json_text(json_get(object, "USER_UNIT"), NULL);
	const char *text = json_text(json_get(object, "MESSAGE"), "");
	bool is_finished = strncmp(text, "Finished ", 9) == 0;
	for (size_t i = 0; unit && i < LENGTH(units); i++)
		if (strcmp(id, units[i].id) == 0)
			return events_take_unit(ev, t_ns, slice_of(unit),
				is_finished ? UNIT_ENDED : units[i].step, e);
	return true;
}

/* A message that is no UTF-8 is a list of bytes, which no name is made of. */
static bool take_journal(struct events *ev, const struct json *object, struct err *e)
{
	const char *ident = json_text(json_get(object, "SYSLOG_IDENTIFIER"), "");
	const char *pid = json_text(json_get(object, "_PID"), NULL);
	int64_t t_ns = 0;

	if (!time_of(object, &t_ns, e))
		return false;
	events_saw(ev, t_ns);
	if (!pid)
		pid = json_text(json_get(object, "SYSLOG_PID"), "0");
	if (json_get(object, "UNIT") || json_get(object, "USER_UNIT"))
		return take_unit(ev, object, t_ns, e);
	return events_take_message(ev, t_ns, slice_of(ident), strtoull(pid, NULL, 10),
		slice_of(json_text(json_get(object, "MESSAGE"), "")), e);
}

const struct events_format events_journal = {
	.dialect = "journal", .fits = fits_journal, .take = take_journal, .is_log = true
};
