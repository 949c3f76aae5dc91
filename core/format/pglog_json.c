#include "core/format/pglog_json.h"

#include "core/base/clock.h"

/* A member goes to the slice at an offset. Sorted by length, so that few are compared. */
struct place {
	const char *name;
	uint8_t n;
	uint16_t at;
};

#define PLACE(name, field)                                                                         \
	{                                                                                          \
		name, sizeof(name) - 1, offsetof(struct pglog_line, field)                         \
	}

enum { NAME_MAX_BYTES = 18 };

static const struct place places[] = {
	PLACE("ps", command_tag),
	PLACE("user", user),
	PLACE("query", query),
	PLACE("dbname", database),
	PLACE("detail", detail),
	PLACE("message", message),
	PLACE("context", context),
	PLACE("statement", query),
	PLACE("user_name", user),
	PLACE("session_id", session_id),
	PLACE("state_code", sqlstate),
	PLACE("remote_host", client),
	PLACE("remote_port", port),
	PLACE("command_tag", command_tag),
	PLACE("backend_type", backend_type),
	PLACE("session_start", session_start),
	PLACE("database_name", database),
	PLACE("error_severity", severity),
	PLACE("sql_state_code", sqlstate),
	PLACE("connection_from", client),
	PLACE("application_name", application),
	PLACE("session_start_time", session_start),
};

/* places[first[n]] is the first of length n. */
static const uint8_t first[NAME_MAX_BYTES + 2] = { 0, 0, 0, 1, 1, 2, 3, 5, 7, 7, 9, 11, 14, 15, 17,
	19, 20, 21, 21, 22 };

/* Offsets of slices in struct pglog_line, none of which is its first member, and: */
enum { NOWHERE = 0, TIME = 1 };

static uint16_t find_place(struct slice name)
{
	if (slice_is(name, "timestamp") || slice_is(name, "log_time"))
		return TIME;
	if (name.n > NAME_MAX_BYTES)
		return NOWHERE;
	for (size_t i = first[name.n]; i < first[name.n + 1]; i++)
		if (memcmp(places[i].name, name.p, name.n) == 0)
			return places[i].at;
	return NOWHERE;
}

/* A name is looked up when it was not in its place in the line before. */
static uint16_t place_of(struct pglog_json *j, const struct jsonline_member *m)
{
	if (m->index >= JSONLINE_PLACES_MAX)
		return find_place(m->name);
	if (!m->is_repeat)
		j->places[m->index] = find_place(m->name);
	return j->places[m->index];
}

/* CloudNativePG puts the record into a member "record" of its own log line. */
static bool is_ours(const struct jsonline_member *m)
{
	return m->depth == 1 || (m->depth == 2 && slice_is(m->parent, "record"));
}

static bool parse_time(struct slice s, struct pglog_line *line)
{
	if (pglog_parse_stamp(s, &line->time))
		return true;
	line->has_utc = s.n > 10 && s.p[4] == '-' && clock_parse(s, &line->utc_ns);
	return line->has_utc;
}

bool pglog_json_line(
	struct pglog_json *j, struct slice text, struct pglog_line *ret, const char **ret_why)
{
	struct jsonline_member m;
	struct slice time = { NULL, 0 };
	enum step step = STEP_FAIL;

	*ret = (struct pglog_line){ .sqlstate = SLICE("00000") };
	if (jsonline_open(&j->json, text))
		while ((step = jsonline_next(&j->json, &m)) == STEP_ITEM) {
			uint16_t place = place_of(j, &m);

			if (place == NOWHERE || !is_ours(&m) || m.kind == JSONLINE_ARRAY ||
				(m.kind == JSONLINE_BARE && slice_is(m.value, "null")))
				continue;
			if (place == TIME)
				time = m.value;
			else
				*(struct slice *)((char *)ret + place) = m.value;
			if (place == offsetof(struct pglog_line, client) &&
				slice_is(m.name, "connection_from"))
				pglog_split_port(ret);
		}
	*ret_why = step != STEP_END ? "not a whole JSON line" : "not a jsonlog record";
	return step == STEP_END && ret->severity.n && ret->session_id.n &&
	       ret->session_id.n <= 64 && parse_time(time, ret);
}

void pglog_json_free(struct pglog_json *j)
{
	jsonline_free(&j->json);
}
