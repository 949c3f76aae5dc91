#include "recipes/causes.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/base/clock.h"
#include "core/base/file.h"
#include "recipes/paths.h"

#define EFFECT_UNKNOWN_S 2.0 /* when neither an end nor a duration was told */

static const char *text_of(const struct json *map, const char *key)
{
	return json_text(json_get(map, key), "");
}

static bool names(const char *word, size_t n, const char *id)
{
	const char *colon = strchr(id, ':');

	return (strlen(id) == n && strncmp(id, word, n) == 0) ||
	       (colon && strlen(colon + 1) == n && strncmp(colon + 1, word, n) == 0);
}

static const char *file_of_job(const struct draft_options *o, const char *id)
{
	for (size_t i = 0; o->jobs && i < o->jobs->count; i++) {
		const char *word = o->jobs->items[i];
		size_t n = strcspn(word, "=");

		if (n > 0 && word[n] == '=' && names(word, n, id))
			return word + n + 1;
	}
	return NULL;
}

static const struct json *correlated(const struct draft_options *o, const char *id)
{
	const struct json *list = json_get(o->correlation, "conditions");

	for (size_t i = 0; i < json_count(list); i++) {
		if (strcmp(text_of(json_at(list, i), "id"), id) == 0)
			return json_at(list, i);
	}
	return NULL;
}

static bool has(const struct causes *c, const char *id)
{
	for (size_t i = 0; i < c->count; i++) {
		if (strcmp(c->items[i].id, id) == 0)
			return true;
	}
	return false;
}

static void leave_out(struct causes *c, const char *id, const char *reason)
{
	struct json *j = json_object();

	json_set_text(j, "id", id);
	json_set_text(j, "reason", reason);
	json_append(c->left_out, j);
}

static void add(struct causes *c, const struct draft_options *o, const char *id, const char *source)
{
	if (!*id || has(c, id))
		return;
	if (c->count == RECIPE_CONDITIONS_MAX) {
		leave_out(c, id, "beyond the sixteen that a recipe can test");
		return;
	}
	c->items[c->count++] = (struct cause){ .id = id,
		.source = source,
		.correlated = correlated(o, id),
		.file = file_of_job(o, id) };
}

static size_t occurrence_count(const struct json *condition)
{
	return json_count(json_path(condition, "occurrences.times"));
}

static void add_correlated(struct causes *c, const struct draft_options *o)
{
	const struct json *list = json_get(o->correlation, "conditions");
	bool has_line_up = false;
	int64_t first_group = -1;

	for (size_t i = 0; i < json_count(list); i++)
		has_line_up |= strcmp(text_of(json_at(list, i), "verdict"), "lines up") == 0;
	for (size_t i = 0; i < json_count(list); i++) {
		const struct json *j = json_at(list, i);
		const char *verdict = text_of(j, "verdict"), *id = text_of(j, "id");
		int64_t group = json_int(json_get(j, "group"), 0);

		if (strcmp(verdict, has_line_up ? "lines up" : "suggestive") != 0) {
			leave_out(c, id, verdict);
		} else if (occurrence_count(j) < 2 && !file_of_job(o, id)) {
			leave_out(c, id, "happened once: what it left behind is in the snapshot");
		} else if (first_group >= 0 && group != first_group && !has_line_up) {
			leave_out(c, id, "not in the first group");
		} else {
			first_group = group;
			add(c, o, id, "correlation");
		}
	}
}

static bool is_state(const char *id)
{
	return strcmp(id, "stats") == 0 || strcmp(id, "bloat") == 0 ||
	       strncmp(id, "setting:", 8) == 0 || strncmp(id, "index:", 6) == 0;
}

static void add_differences(struct causes *c, const struct draft_options *o)
{
	const struct json *list = json_get(o->diff, "differences");
	size_t states = 0;

	for (size_t i = 0; i < json_count(list); i++) {
		const char *id = text_of(json_at(list, i), "condition");

		if (!is_state(id) || has(c, id))
			continue;
		if (states++ < CAUSES_STATES_MAX)
			add(c, o, id, "diff");
		else
			leave_out(c, id, "differs, but further down than the first three");
	}
}

/* A command that belongs to nothing would be left out without a word. */
static bool check_jobs(const struct causes *c, const struct draft_options *o, struct err *e)
{
	const struct json *list = json_get(o->correlation, "conditions");

	for (size_t i = 0; o->jobs && i < o->jobs->count; i++) {
		const char *word = o->jobs->items[i];
		size_t n = strcspn(word, "=");
		struct buf ids = { 0 };
		bool found = false;

		for (size_t k = 0; k < c->count; k++) {
			found |= names(word, n, c->items[k].id);
			buf_addf(&ids, "%s%s", k ? ", " : "", c->items[k].id);
		}
		for (size_t k = 0; k < json_count(list); k++) {
			const char *id = text_of(json_at(list, k), "id");

			found |= names(word, n, id);
			if (!has(c, id))
				buf_addf(&ids, "%s%s", ids.n ? ", " : "", id);
		}
		if (!found) {
			err_set(e, ERR_USAGE, "--job %.*s: there is no such condition", (int)n,
				word);
			err_hint(e, "the conditions are: %.400s", buf_text(&ids));
		}
		buf_free(&ids);
		if (!found)
			return false;
	}
	return true;
}

bool causes_choose(struct causes *c, const struct draft_options *o, struct err *e)
{
	*c = (struct causes){ .left_out = json_array() };
	if (o->conditions && o->conditions->count > RECIPE_CONDITIONS_MAX)
		return err_set(e, ERR_USAGE, "%zu conditions, at most %d can be tested",
			o->conditions->count, RECIPE_CONDITIONS_MAX);
	for (size_t i = 0; o->conditions && i < o->conditions->count; i++)
		add(c, o, o->conditions->items[i], "asked for");
	if (c->count > 0)
		return check_jobs(c, o, e);
	add_correlated(c, o);
	add_differences(c, o);
	add(c, o, "data", "always");
	add(c, o, "concurrency", "always");
	return check_jobs(c, o, e);
}

/* ---- in time */

static bool time_of(const struct json *map, const char *key, int64_t *ret_ns)
{
	const char *text = json_text(json_get(map, key), NULL);

	return text && clock_parse(slice_of(text), ret_ns);
}

size_t causes_starts(const struct cause *c, int64_t *starts_ns, size_t max)
{
	const struct json *times = json_path(c->correlated, "occurrences.times");
	size_t n = 0;

	for (size_t i = 0; i < json_count(times) && n < max; i++)
		n += time_of(json_at(times, i), "start", &starts_ns[n]);
	return n;
}

static int64_t effect_end(
	const struct json *cause, const struct json *run, int64_t start_ns, double lag_s)
{
	double duration_s = json_number(json_get(cause, "duration_s"), 0);
	int64_t end_ns = start_ns, by_duration_ns;

	if (!time_of(run, "end", &end_ns) || end_ns < start_ns)
		end_ns = start_ns;
	if (end_ns == start_ns && !(duration_s > 0))
		duration_s = EFFECT_UNKNOWN_S;
	by_duration_ns = start_ns + (int64_t)((lag_s + (duration_s > 0 ? duration_s : 0)) * 1e9);
	end_ns += (int64_t)(lag_s * 1e9);
	return end_ns > by_duration_ns ? end_ns : by_duration_ns;
}

static size_t occurrences_of(const struct cause *c, struct span *spans, size_t max, double lag_s)
{
	const struct json *times = json_path(c->correlated, "occurrences.times");
	size_t n = 0;

	for (size_t i = 0; i < json_count(times) && n < max; i++) {
		const struct json *t = json_at(times, i);
		int64_t start_ns, end_ns;

		if (!time_of(t, "start", &start_ns))
			continue;
		end_ns = effect_end(c->correlated, t, start_ns, lag_s);
		if (end_ns > start_ns)
			spans[n++] = (struct span){ start_ns, end_ns };
	}
	return spans_join(spans, n);
}

size_t causes_occurrences(const struct causes *c, struct span *spans, size_t max,
	const struct cause **ret_cause, double *ret_lag_s)
{
	for (size_t i = 0; i < c->count; i++) {
		const struct cause *cause = &c->items[i];
		const char *verdict = text_of(cause->correlated, "verdict");
		double lag_s = json_number(json_get(cause->correlated, "lag_s"), 0);
		size_t n;

		if (strcmp(verdict, "lines up") != 0 && strcmp(verdict, "suggestive") != 0)
			continue;
		if (!(lag_s > 0))
			lag_s = 0;
		n = occurrences_of(cause, spans, max, lag_s);
		if (n >= 2) {
			*ret_cause = cause;
			*ret_lag_s = lag_s;
			return n;
		}
	}
	*ret_cause = NULL;
	*ret_lag_s = 0;
	return 0;
}

/* ---- as JSON */

static bool set_file(
	struct json *on, const struct cause *c, const struct draft_options *o, struct err *e)
{
	char relative[4096], hex[65];

	if (!file_sha256(c->file, hex, e))
		return err_in(e, "--job %s", c->id);
	if (!path_relative(o->path, c->file, relative, e))
		return false;
	json_set_text(on, "file", relative);
	json_set_text(on, "sha256", hex);
	return true;
}

/* Values of a differing setting, tables of a differing state. */
static void set_difference(struct json *j, struct json *on, struct json *off, const char *id,
	const struct draft_options *o)
{
	const struct json *list = json_get(o->diff, "differences");
	struct json *tables = NULL;

	for (size_t i = 0; i < json_count(list); i++) {
		const struct json *d = json_at(list, i);
		const char *object = text_of(d, "object"), *close = text_of(d, "close");

		if (strcmp(text_of(d, "condition"), id) != 0)
			continue;
		if (strncmp(id, "setting:", 8) == 0) {
			json_set(on, "value", json_copy(json_get(d, "a")));
			json_set(off, "value", json_copy(json_get(d, "b")));
			return;
		}
		if (strncmp(id, "index:", 6) == 0 && strncmp(close, "CREATE ", 7) == 0) {
			json_set_text(off, "sql", close);
			return;
		}
		if (*object && !tables)
			tables = json_array();
		if (*object)
			json_append_text(tables, object);
	}
	if (tables)
		json_set(j, "tables", tables);
}

static void set_words(struct json *on, struct json *off, enum recipe_switch how)
{
	static const struct {
		enum recipe_switch how;
		const char *on, *off;
	} words[] = {
		{ SWITCH_DATA, "the snapshot (--target)", "the test database (--test-target)" },
		{ SWITCH_CONCURRENCY, "the captured sessions",
			"one connection, one request after another" },
		{ SWITCH_STATS, "statistics as frozen", "ANALYZE after the reset" },
		{ SWITCH_BLOAT, "tables as frozen", "VACUUM FULL after the reset" },
	};

	for (size_t i = 0; i < LENGTH(words); i++) {
		if (words[i].how == how) {
			json_set_text(on, "is", words[i].on);
			json_set_text(off, "is", words[i].off);
		}
	}
}

struct json *causes_condition(const struct cause *c, const struct draft_options *o, struct err *e)
{
	struct json *j = json_object(), *on = json_object(), *off = json_object();
	const char *colon = strchr(c->id, ':');
	char kind[64];
	bool ok = true;

	snprintf(kind, sizeof(kind), "%.*s", colon ? (int)(colon - c->id) : (int)strlen(c->id),
		c->id);
	json_set_text(j, "id", c->id);
	json_set_text(j, "kind", kind);
	json_set_text(j, "source", c->source);
	if (c->correlated) {
		json_set_text(j, "verdict", text_of(c->correlated, "verdict"));
		json_set(j, "lag_s", json_copy(json_get(c->correlated, "lag_s")));
		json_set(j, "p", json_copy(json_get(c->correlated, "p")));
	}
	set_words(on, off, recipe_switch_of(kind));
	if (recipe_switch_of(kind) == SWITCH_FILE || c->file) {
		if (c->file)
			ok = set_file(on, c, o, e);
		json_set_number(on, "timeout_s", 60);
		json_set_text(off, "is", "not started");
	}
	set_difference(j, on, off, c->id, o);
	json_set(j, "on", on);
	json_set(j, "off", off);
	if (ok)
		return j;
	json_free(j);
	return NULL;
}
