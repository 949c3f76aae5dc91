/* JSON of any format: documents, lists of objects, objects a line. */
#include <stdio.h>

#include "correlate/events_parts.h"

/* The first that fits takes it. */
static const struct events_format *const formats[] = { &events_journal, &events_kubernetes,
	&events_argo, &events_github_hook, &events_github_status, &events_github, &events_gitlab,
	&events_grafana, &events_pg_cron, &events_pgbackrest, &events_barman, &events_airflow,
	&events_plain };

void events_bad(struct events *ev, uint64_t line, const struct err *bad)
{
	ev->reach->bad++;
	if (ev->reach->first_bad.kind != ERR_NONE)
		return;
	ev->reach->first_bad = *bad;
	if (line)
		err_in(&ev->reach->first_bad, "%s: line %llu", ev->source_name,
			(unsigned long long)line);
	else
		err_in(&ev->reach->first_bad, "%s", ev->source_name);
}

static const struct events_format *format_of(const struct events *ev, const struct json *object)
{
	for (size_t i = 0; i < LENGTH(formats); i++) {
		bool is_wanted = !ev->forced || strcmp(formats[i]->dialect, ev->forced) == 0;

		if (is_wanted && formats[i]->fits(object, ev->list_kind))
			return formats[i];
	}
	return NULL;
}

static bool refuse_object(const struct events *ev, const struct json *object, struct err *e)
{
	struct json *value;
	const char *key = json_type(object) == JSON_MAP && json_count(object)
				  ? json_key_at(object, 0, &value)
				  : NULL;

	if (ev->forced)
		return err_set(e, ERR_INPUT, "not an object of the format '%s'", ev->forced);
	if (json_type(object) != JSON_MAP)
		return err_set(e, ERR_INPUT, "not an object");
	err_set(e, ERR_INPUT, "an object of no known format (its first member is '%.40s')",
		key ? key : "");
	return err_hint(e, "events are objects {t, t_end?, kind, name}; docs/formats/events.md has "
			   "the other formats");
}

static void take_object(struct events *ev, const struct json *object, uint64_t line)
{
	const struct events_format *f = format_of(ev, object);
	struct err bad = { 0 };

	if (!f) {
		refuse_object(ev, object, &bad);
		events_bad(ev, line, &bad);
		return;
	}
	if (!ev->dialect)
		ev->dialect = f->dialect;
	bool is_other = strcmp(ev->dialect, f->dialect) != 0;
	ev->mixed += is_other;
	ev->objects += !is_other;
	ev->is_log |= f->is_log;
	if (!f->take(ev, object, &bad))
		events_bad(ev, line, &bad);
}

/* "items" of kubectl, "dag_runs" of Airflow; others' wrappings are told apart likewise. */
static const struct json *list_in(const struct json *map)
{
	static const char *const names[] = { "items", "dag_runs", "deployments", "annotations" };

	for (size_t i = 0; i < LENGTH(names); i++)
		if (json_type(json_get(map, names[i])) == JSON_LIST)
			return json_get(map, names[i]);
	return NULL;
}

static void take_value(struct events *ev, const struct json *value, uint64_t line)
{
	const struct json *list = json_type(value) == JSON_LIST ? value : list_in(value);
	char kind[64] = "";

	if (!list) {
		take_object(ev, value, line);
		return;
	}
	/* A raw list of the API names the kind of its items once: "ReplicaSetList". */
	const char *whole = json_text(json_get(value, "kind"), "");
	size_t n = strlen(whole);
	if (n > 4 && n < sizeof(kind) && strcmp(whole + n - 4, "List") == 0)
		snprintf(kind, sizeof(kind), "%.*s", (int)n - 4, whole);
	ev->list_kind = *kind ? kind : NULL;
	double total = json_number(json_get(value, "total_entries"), 0);
	ev->total = total > 0 && total < 1e15 ? (uint64_t)total : 0;
	for (size_t i = 0; i < json_count(list); i++)
		take_object(ev, json_at(list, i), line);
	ev->list_kind = NULL;
}

/* ---- what of a cut or damaged document is whole */

/* One value behind from: its end, or 0 when it does not end. Strings are stepped over. */
static size_t value_end(struct slice s, size_t from)
{
	size_t depth = 0;
	bool is_string = false;

	for (size_t i = from; i < s.n; i++) {
		char c = s.p[i];

		if (is_string) {
			i += c == '\\';
			is_string = c != '"';
		} else if (c == '"') {
			is_string = true;
		} else if (c == '{' || c == '[') {
			depth++;
		} else if (c == '}' || c == ']') {
			if (depth <= 1)
				return i + 1;
			depth--;
		}
	}
	return 0;
}

/* Where the objects of a list begin: behind the first bracket at most one brace deep. */
static size_t list_start(struct slice s)
{
	int depth = 0;

	for (size_t i = 0; i < s.n; i++) {
		if (s.p[i] == '[' && depth < 2)
			return i + 1;
		if (s.p[i] == '"')
			for (i++; i < s.n && s.p[i] != '"'; i++)
				i += s.p[i] == '\\';
		else
			depth += s.p[i] == '{' ? 1 : s.p[i] == '}' ? -1 : 0;
	}
	return 0;
}

static uint64_t lines_before(struct slice s, size_t from, size_t to)
{
	uint64_t n = 0;

	for (size_t i = from; i < to; i++)
		n += s.p[i] == '\n';
	return n;
}

/* Object by object; whole is why the document as such was refused. */
static void salvage(struct events *ev, struct slice text, uint64_t line, const struct err *whole)
{
	struct err first = *whole;
	size_t at = list_start(text), counted = 0;
	uint64_t good = 0, lost = 0;

	while (at < text.n) {
		const char *brace = memchr(text.p + at, '{', text.n - at);
		size_t start = brace ? (size_t)(brace - text.p) : text.n;
		size_t end = brace ? value_end(text, start) : 0;
		struct err bad = { 0 };

		if (!end) {
			lost += brace != NULL;
			break;
		}
		line += lines_before(text, counted, start);
		counted = start;
		struct json *value CLEANUP(json_cleanup) =
			json_parse((struct slice){ text.p + start, end - start }, "it", &bad);
		if (value)
			take_value(ev, value, line);
		bad.where[0] = '\0';
		if (!value)
			events_bad(ev, line, &bad);
		good += value != NULL;
		at = end;
	}
	/* Lists one behind the other (gh api --paginate) are whole for all that. */
	if (lost || !good)
		events_bad(ev, 0, &first);
}

bool events_read_json(struct events *ev, struct slice text, uint64_t line, struct err *e)
{
	struct err whole = { 0 };
	struct json *value CLEANUP(json_cleanup) = json_parse(text, "it", &whole);

	(void)e;
	/* "it: line 3, column 1" becomes "line 3, column 1" of the file. */
	if (strncmp(whole.where, "it: ", 4) == 0)
		memmove(whole.where, whole.where + 4, strlen(whole.where + 4) + 1);
	if (value)
		take_value(ev, value, 0);
	else
		salvage(ev, text, line, &whole);
	return true;
}

static bool is_blank(struct slice s)
{
	for (size_t i = 0; i < s.n; i++)
		if (s.p[i] != ' ' && s.p[i] != '\t')
			return false;
	return true;
}

static void take_line(struct events *ev, struct slice text, uint64_t line)
{
	struct err bad = { 0 };
	struct json *value CLEANUP(json_cleanup) = json_parse(text, "it", &bad);

	/* The line's number is told in front: a line has no other. */
	bad.where[0] = '\0';
	if (value)
		take_value(ev, value, line);
	else
		events_bad(ev, line, &bad);
}

bool events_read_json_lines(struct events *ev, struct textlines *t, struct err *e)
{
	struct slice line;
	enum step step;

	while ((step = textlines_next(t, &line, e)) == STEP_ITEM) {
		struct err bad = { 0 };

		if (ev->o.run && run_stopped(ev->o.run))
			return true;
		if (!line.p) {
			err_set(&bad, ERR_INPUT, "longer than %d MiB", TEXTLINES_MAX >> 20);
			events_bad(ev, textlines_number(t), &bad);
		} else if (!is_blank(line)) {
			take_line(ev, line, textlines_number(t));
		}
	}
	return step == STEP_END;
}
