#include "core/model/recipe.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/base/clock.h"

static const struct {
	const char *kind;
	enum recipe_switch how;
} switches[] = {
	{ "job", SWITCH_FILE },
	{ "backup", SWITCH_FILE },
	{ "maintenance", SWITCH_FILE },
	{ "neighbour", SWITCH_FILE },
	{ "event", SWITCH_FILE },
	{ "data", SWITCH_DATA },
	{ "concurrency", SWITCH_CONCURRENCY },
	{ "stats", SWITCH_STATS },
	{ "setting", SWITCH_SETTING },
	{ "bloat", SWITCH_BLOAT },
};

enum recipe_switch recipe_switch_of(const char *kind)
{
	for (size_t i = 0; i < LENGTH(switches); i++) {
		if (strcmp(switches[i].kind, kind) == 0)
			return switches[i].how;
	}
	return SWITCH_NONE;
}

const char *recipe_switch_name(enum recipe_switch how)
{
	static const char *const names[] = { "nothing", "file", "data", "concurrency", "stats",
		"setting", "bloat", "sql" };

	return names[how];
}

static const char *text_at(const struct json *map, const char *dotted)
{
	return json_text(json_path(map, dotted), "");
}

static bool read_time(const struct json *map, const char *key, int64_t *ret_ns)
{
	const char *text = json_text(json_get(map, key), NULL);

	return text && clock_parse(slice_of(text), ret_ns);
}

static void read_condition(struct recipe_condition *c, const struct json *j)
{
	const struct json *offsets = json_path(j, "on.offsets_s");
	const char *colon;

	c->id = text_at(j, "id");
	c->kind = text_at(j, "kind");
	colon = strchr(c->id, ':');
	c->name = colon ? colon + 1 : "";
	c->file = text_at(j, "on.file");
	c->sha256 = text_at(j, "on.sha256");
	c->role = text_at(j, "on.role");
	c->timeout_s = json_number(json_path(j, "on.timeout_s"), 60);
	c->on_value = text_at(j, "on.value");
	c->off_value = text_at(j, "off.value");
	c->on_sql = text_at(j, "on.sql");
	c->off_sql = text_at(j, "off.sql");
	c->check_sql = text_at(j, "check.sql");
	c->tables = json_get(j, "tables");
	c->how = recipe_switch_of(c->kind);
	if (*c->on_sql || *c->off_sql)
		c->how = SWITCH_SQL;
	else if (c->how == SWITCH_NONE && *c->file)
		c->how = SWITCH_FILE;
	c->is_in_snapshot = json_is_true(
		json_get(j, "in_snapshot"), c->how == SWITCH_STATS || c->how == SWITCH_BLOAT);
	for (size_t i = 0; i < json_count(offsets) && c->offset_count < RECIPE_OFFSETS_MAX; i++)
		c->offsets_s[c->offset_count++] = json_number(json_at(offsets, i), NAN);
}

static void read_window(struct recipe_window *w, const struct json *j)
{
	const struct json *inside = json_get(j, "inside_s");

	if (!read_time(j, "from", &w->from_ns) || !read_time(j, "to", &w->to_ns))
		w->from_ns = w->to_ns = 0;
	w->inside_from_s = json_number(json_at(inside, 0), 0);
	w->inside_to_s = json_number(json_at(inside, 1), 0);
	w->occurrence = json_int(json_get(j, "occurrence"), -1);
	w->is_quiet = json_is_true(json_get(j, "quiet"), false);
}

static struct recipe_span *read_spans(const struct json *list, size_t *ret_count, struct err *e)
{
	size_t count = json_count(list), n = 0;
	struct recipe_span *spans;

	if (count > RECIPE_SPANS_MAX)
		count = RECIPE_SPANS_MAX;
	spans = calloc(count ? count : 1, sizeof(*spans));
	if (!spans) {
		err_set(e, ERR_ENV, "could not get memory for %zu spans", count);
		return NULL;
	}
	for (size_t i = 0; i < count; i++) {
		const struct json *j = json_at(list, i);

		if (read_time(j, "from", &spans[n].from_ns) &&
			read_time(j, "to", &spans[n].to_ns) && spans[n].to_ns > spans[n].from_ns)
			n++;
	}
	*ret_count = n;
	return spans;
}

static bool read_fingerprint(const char *text, uint64_t *ret)
{
	char *end;

	errno = 0;
	*ret = strtoull(text, &end, 16);
	return *text && !*end && errno == 0 && strlen(text) <= 16;
}

static void split_dir(struct recipe *r, const char *path)
{
	const char *slash = strrchr(path, '/');

	snprintf(r->path, sizeof(r->path), "%s", path);
	if (!slash)
		snprintf(r->dir, sizeof(r->dir), ".");
	else
		snprintf(r->dir, sizeof(r->dir), "%.*s", slash == path ? 1 : (int)(slash - path),
			path);
}

static bool is_recipe(const struct json *d, struct err *e)
{
	const struct json *version = json_get(d, "version");

	if (strcmp(text_at(d, "format"), "reprod-recipe") != 0) {
		err_set(e, ERR_INPUT, "not a recipe: \"format\" is not \"reprod-recipe\"");
		return err_hint(e, "reprod recipe draft CAPTURE -o R.json makes one");
	}
	if (json_type(version) != JSON_NUMBER || json_number(version, 0) < 1)
		return err_set(
			e, ERR_INPUT, "not a recipe: \"version\" is not a number of 1 or more");
	if (json_number(version, 0) >= RECIPE_VERSION + 1) {
		err_set(e, ERR_INPUT, "recipe version %.0f is newer than this program's %d",
			json_number(version, 0), RECIPE_VERSION);
		return err_hint(e, "a newer reprod reads it");
	}
	return true;
}

bool recipe_read(struct recipe *r, struct json *document, const char *path, struct err *e)
{
	const struct json *list;

	*r = (struct recipe){ .document = document };
	split_dir(r, path);
	if (!is_recipe(document, e))
		return err_in(e, "%s", path);
	r->title = text_at(document, "title");
	r->capture = text_at(document, "traffic.capture");
	r->capture_sha256 = text_at(document, "traffic.sha256");
	r->speed = json_number(json_path(document, "traffic.speed"), 1);
	r->route = text_at(document, "expectation.route");
	r->has_fingerprint =
		read_fingerprint(text_at(document, "expectation.fingerprint"), &r->fingerprint);
	r->quantile = json_number(json_path(document, "expectation.quantile"), 0);
	r->occurrences_of = text_at(document, "expectation.occurrences_of");
	r->lag_s = json_number(json_path(document, "expectation.lag_s"), 0);
	r->guard_s = json_number(json_path(document, "expectation.guard_s"), 0);
	r->inside = read_spans(json_path(document, "expectation.inside"), &r->inside_count, e);
	r->slow = r->inside ? read_spans(json_path(document, "expectation.slow"), &r->slow_count, e)
			    : NULL;
	r->quiet =
		r->slow ? read_spans(json_path(document, "expectation.quiet"), &r->quiet_count, e)
			: NULL;
	if (!r->quiet)
		return false;
	list = json_path(document, "cell.windows");
	for (size_t i = 0; i < json_count(list) && i < RECIPE_WINDOWS_MAX; i++)
		read_window(&r->windows[r->window_count++], json_at(list, i));
	list = json_get(document, "conditions");
	for (size_t i = 0; i < json_count(list) && i < RECIPE_CONDITIONS_MAX; i++)
		read_condition(&r->conditions[r->condition_count++], json_at(list, i));
	return true;
}

bool recipe_load(struct recipe *r, const char *path, struct err *e)
{
	struct json *document = json_load(path, RECIPE_BYTES_MAX, e);

	*r = (struct recipe){ 0 };
	return document && recipe_read(r, document, path, e);
}

void recipe_free(struct recipe *r)
{
	json_free(r->document);
	free(r->inside);
	free(r->slow);
	free(r->quiet);
	*r = (struct recipe){ 0 };
}

bool recipe_resolve(const struct recipe *r, const char *written, char path[4096])
{
	int n = written[0] == '/' ? snprintf(path, 4096, "%s", written)
				  : snprintf(path, 4096, "%s/%s", r->dir, written);

	return n > 0 && n < 4096;
}
