#include "snapshot/describe.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/file.h"
#include "core/driver/pg.h"
#include "snapshot/describe_sql.h"

#define DEFAULT_BUDGET_NS (10 * NS_PER_S)
#define NUMBERS_MAX 10000
#define SQLSTATE_DENIED "42501"
#define SQLSTATE_CANCELED "57014"
#define SQLSTATE_LOCKED "55P03"
#define TRIES_MAX 3

/* The writers of the profile: names, numbers, flags and times. There is none that
 * takes the text of a value. */

static void put_number(struct json *into, const char *key, const char *text)
{
	char *end;
	double v = strtod(text, &end);

	if (end != text && *end == '\0' && isfinite(v))
		json_set_number(into, key, v);
}

static void put_flag(struct json *into, const char *key, const char *text)
{
	json_set_bool(into, key, text[0] == 't' || strcmp(text, "on") == 0);
}

static void put_time(struct json *into, const char *key, const char *text)
{
	char *end;
	double seconds = strtod(text, &end);

	if (end != text && *end == '\0' && isfinite(seconds))
		json_set_time(into, key, (int64_t)(seconds * 1e6) * NS_PER_US);
}

static void put_numbers(struct json *into, const char *key, const char *text)
{
	struct json *list = json_array();
	const char *at = text + (*text == '{');

	for (size_t n = 0; n < NUMBERS_MAX && *at && *at != '}'; n++) {
		char *end;
		double v = strtod(at, &end);

		if (end == at)
			break;
		json_append_number(list, v);
		at = end + (*end == ',');
	}
	json_set(into, key, list);
}

static void put_field(struct json *into, const struct field *f, const char *cell)
{
	if (!cell)
		return;
	switch (f->kind) {
	case FIELD_NAME:
		json_set_text(into, f->key, cell);
		break;
	case FIELD_NUMBER:
		put_number(into, f->key, cell);
		break;
	case FIELD_FLAG:
		put_flag(into, f->key, cell);
		break;
	case FIELD_TIME:
		put_time(into, f->key, cell);
		break;
	case FIELD_NUMBERS:
		put_numbers(into, f->key, cell);
		break;
	}
}

static void put_row(
	struct json *into, const struct question *q, const struct pg_rows *rows, size_t row)
{
	for (size_t i = 0; i < FIELDS_MAX && q->fields[i].key && i < pg_column_count(rows); i++)
		put_field(into, &q->fields[i], pg_cell(rows, row, i));
}

static bool fits(const struct question *q, int major)
{
	return (q->min_version == 0 || major >= q->min_version) &&
	       (q->max_version == 0 || major <= q->max_version);
}

static struct json *section_of(struct json *sections, const char *name)
{
	struct json *section = json_get(sections, name);

	if (section)
		return section;
	section = json_object();
	json_set_text(section, "status", "ok");
	json_set_null(section, "grant");
	json_set(sections, name, section);
	return json_get(sections, name);
}

/* A failed question costs its section's status, never the profile. */
static void put_failure(
	struct json *section, const struct question *q, const struct pg *c, const struct err *why)
{
	const char *state = pg_sqlstate(c);

	if (strcmp(state, SQLSTATE_DENIED) == 0) {
		json_set_text(section, "status", "denied");
		json_set_text(section, "grant", q->grant);
	} else if (strcmp(state, SQLSTATE_CANCELED) == 0) {
		json_set_text(section, "status", "skipped");
		json_set_text(section, "reason", "over its time budget");
	} else if (strcmp(state, SQLSTATE_LOCKED) == 0) {
		json_set_text(section, "status", "skipped");
		json_set_text(section, "reason", "a lock was held");
	} else {
		json_set_text(section, "status", "partial");
		json_set_text(section, "reason", why->what);
	}
}

/* A lock that came between the look for locks and the size is seen at the next try. */
static struct pg_rows *ask_again(struct pg *c, const struct question *q, struct err *why)
{
	struct pg_rows *rows = NULL;

	for (int i = 0; i < TRIES_MAX && !rows; i++) {
		*why = (struct err){ 0 };
		rows = pg_query(c, why, q->sql, NULL);
		if (!rows && strcmp(pg_sqlstate(c), SQLSTATE_LOCKED) != 0)
			break;
	}
	return rows;
}

static bool ask(struct pg *c, const struct question *q, struct json *sections, struct err *e)
{
	struct json *section = section_of(sections, q->section);
	struct err why = { 0 };
	struct pg_rows *rows CLEANUP(pg_rows_cleanup) = ask_again(c, q, &why);

	if (!rows) {
		put_failure(section, q, c, &why);
		if (!pg_is_dead(c))
			return true;
		*e = why;
		return err_in(e, "section '%s'", q->section);
	}
	if (!q->list) {
		if (pg_row_count(rows) > 0)
			put_row(section, q, rows, 0);
		return true;
	}
	if (!json_get(section, q->list))
		json_set(section, q->list, json_array());
	for (size_t row = 0; row < pg_row_count(rows); row++) {
		struct json *item = json_object();

		put_row(item, q, rows, row);
		json_append(json_get(section, q->list), item);
	}
	return true;
}

/* Sections that answered but could not say everything. */

static size_t count_where(const struct json *list, const char *key, bool value)
{
	size_t n = 0;

	for (size_t i = 0; i < json_count(list); i++)
		n += json_is_true(json_get(json_at(list, i), key), !value) == value;
	return n;
}

static void judge_locked(struct json *sections)
{
	struct json *relations = json_get(sections, "relations");
	size_t locked = count_where(json_get(relations, "relations"), "is_locked", true);
	char reason[96];

	if (locked == 0)
		return;
	snprintf(reason, sizeof(reason),
		"%zu relation(s) were held or waited for exclusively: their size is not told",
		locked);
	json_set_text(relations, "status", "partial");
	json_set_text(relations, "reason", reason);
}

/* pg_stats shows only what the role may read; a table that was analysed and shows no
 * statistics on any column is one it may not. */
static void judge_hidden(struct json *sections)
{
	struct json *columns = json_get(sections, "columns");
	const struct json *list = json_get(columns, "columns");
	bool is_privileged = json_is_true(json_path(sections, "roles.is_superuser"), false);
	size_t hidden = count_where(list, "has_statistics", false);

	if (is_privileged || hidden == 0)
		return;
	json_set_text(columns, "status", hidden == json_count(list) ? "denied" : "partial");
	json_set_text(columns, "grant",
		"GRANT pg_read_all_data TO CURRENT_USER (14+), or GRANT SELECT on the tables");
	json_set_text(columns, "reason",
		"columns without statistics were never analysed or may not be read by this role");
}

static bool describe_all(struct pg *c, const struct run *r, struct json *sections, struct err *e)
{
	struct run_progress progress = {
		.verb = "describing", .unit = "queries", .total = (double)describe_question_count
	};
	int major = pg_version(c) / 10000;

	for (size_t i = 0; i < describe_question_count; i++) {
		if (run_stopped(r))
			return err_set(e, ERR_INTERRUPTED, "interrupted");
		if (fits(&describe_questions[i], major) &&
			!ask(c, &describe_questions[i], sections, e))
			return false;
		run_progress_at(r, &progress, (double)i);
	}
	run_progress_end(r, &progress);
	judge_locked(sections);
	judge_hidden(sections);
	return true;
}

struct json *snapshot_describe(
	const char *dsn, const struct describe_options *o, const struct run *r, struct err *e)
{
	int64_t budget_ns = o && o->section_budget_ns ? o->section_budget_ns : DEFAULT_BUDGET_NS;
	struct pg *c CLEANUP(pg_cleanup) = pg_open(dsn,
		&(struct pg_options){ .application = "reprod describe",
			.is_read_only = true,
			.statement_timeout_ns = budget_ns,
			.lock_timeout_ns = 100 * NS_PER_MS },
		e);
	struct json *profile, *sections;
	int64_t start_ns = clock_mono_ns(&r->clock);

	if (!c)
		return NULL;
	if (pg_version(c) < 120000) {
		err_set(e, ERR_INPUT, "the server is version %d, describe reads 12 and newer",
			pg_version(c) / 10000);
		return NULL;
	}
	profile = json_object();
	json_set_text(profile, "format", PROFILE_FORMAT);
	json_set_int(profile, "version", PROFILE_VERSION);
	json_set_time(profile, "captured_at", clock_wall_ns(&r->clock));
	sections = json_object();
	json_set(profile, "sections", sections);
	if (!describe_all(c, r, json_get(profile, "sections"), e)) {
		json_free(profile);
		return NULL;
	}
	json_set_number(profile, "took_ms",
		(double)((clock_mono_ns(&r->clock) - start_ns) / NS_PER_US) / 1000.0);
	return profile;
}
