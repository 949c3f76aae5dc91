#include "snapshot/diff.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/buf.h"
#include "snapshot/describe.h"

#define DIFF_ARENA_MAX (256u << 20)
#define DIFF_TABLES_MAX 200000
#define SCORE_FLOOR 5

const char *diff_text(struct diff *d, const char *fmt, ...)
{
	struct buf text = { 0 };
	const char *kept;
	va_list ap;

	va_start(ap, fmt);
	buf_vaddf(&text, fmt, ap);
	va_end(ap);
	kept = arena_copy(&d->arena, buf_slice(&text)).p;
	buf_free(&text);
	return kept ? kept : "";
}

void diff_add(struct diff *d, struct diff_finding finding)
{
	if (finding.score < SCORE_FLOOR)
		return;
	if (finding.score > 100)
		finding.score = 100;
	if (d->finding_count == d->finding_cap) {
		size_t cap = d->finding_cap ? 2 * d->finding_cap : 64;
		struct diff_finding *grown =
			cap > DIFF_FINDINGS_MAX ? NULL : realloc(d->findings, cap * sizeof(*grown));

		if (!grown) {
			d->dropped++;
			return;
		}
		d->findings = grown;
		d->finding_cap = cap;
	}
	d->findings[d->finding_count++] = finding;
}

/* Tables of both sides, joined by name */

static int by_table_name(const void *a, const void *b)
{
	return strcmp(((const struct diff_table *)a)->name, ((const struct diff_table *)b)->name);
}

struct diff_table *diff_find_table(struct diff *d, const char *schema, const char *name)
{
	char key[300];
	struct diff_table wanted = { .name = key };

	snprintf(key, sizeof(key), "%s.%s", schema, name);
	return d->table_count ? bsearch(&wanted, d->tables, d->table_count, sizeof(*d->tables),
					by_table_name)
			      : NULL;
}

static const struct json *list_of(const struct diff *d, int side, const char *dotted)
{
	return json_path(json_get(d->profile[side], "sections"), dotted);
}

static bool add_tables(struct diff *d, struct err *e)
{
	size_t most = json_count(list_of(d, 0, "relations.relations")) +
		      json_count(list_of(d, 1, "relations.relations"));
	size_t kept = 0;

	if (most > DIFF_TABLES_MAX)
		return err_set(e, ERR_INPUT,
			"the profiles hold %zu tables, at most %d are compared", most,
			DIFF_TABLES_MAX);
	d->tables = calloc(most + 1, sizeof(*d->tables));
	if (!d->tables)
		return err_set(e, ERR_ENV, "out of memory for %zu tables", most);
	for (int side = 0; side < 2; side++) {
		const struct json *list = list_of(d, side, "relations.relations");

		for (size_t i = 0; i < json_count(list); i++) {
			const struct json *row = json_at(list, i);
			struct diff_table *t = &d->tables[d->table_count++];

			t->name = diff_text(d, "%s.%s", json_text(json_get(row, "schema"), ""),
				json_text(json_get(row, "name"), ""));
			t->relation[side] = row;
			t->weight = 1;
		}
	}
	qsort(d->tables, d->table_count, sizeof(*d->tables), by_table_name);
	for (size_t i = 0; i < d->table_count; i++) {
		if (kept > 0 && strcmp(d->tables[kept - 1].name, d->tables[i].name) == 0) {
			for (int side = 0; side < 2; side++)
				if (d->tables[i].relation[side])
					d->tables[kept - 1].relation[side] =
						d->tables[i].relation[side];
		} else {
			d->tables[kept++] = d->tables[i];
		}
	}
	d->table_count = kept;
	return true;
}

static void join_rows(struct diff *d, int side)
{
	const struct json *activity = list_of(d, side, "activity.tables");
	const struct json *cache = list_of(d, side, "cache.tables");

	for (size_t i = 0; i < json_count(activity); i++) {
		const struct json *row = json_at(activity, i);
		struct diff_table *t = diff_find_table(d, json_text(json_get(row, "schema"), ""),
			json_text(json_get(row, "name"), ""));

		if (t)
			t->activity[side] = row;
	}
	for (size_t i = 0; i < json_count(cache); i++) {
		const struct json *row = json_at(cache, i);
		struct diff_table *t = diff_find_table(d, json_text(json_get(row, "schema"), ""),
			json_text(json_get(row, "name"), ""));

		if (t)
			t->cache[side] = row;
	}
}

static bool names_table(const char *route, const char *qualified)
{
	const char *name = strchr(qualified, '.') + 1;
	size_t n = strlen(name);

	for (const char *at = strcasestr(route, name); at; at = strcasestr(at + 1, name)) {
		char before = at == route ? ' ' : at[-1], after = at[n];

		if (!strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_",
			    before) &&
			(!after ||
				!strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_",
					after)))
			return true;
	}
	return false;
}

/* A table that no captured statement touches counts half of one that takes it all. */
static void weigh(struct diff *d, const struct diff_traffic *traffic, size_t count)
{
	for (size_t i = 0; count > 0 && i < d->table_count; i++) {
		double share = 0;

		for (size_t k = 0; k < count; k++)
			if (names_table(traffic[k].route, d->tables[i].name))
				share += traffic[k].share;
		d->tables[i].weight = share > 0 ? 0.8 + 0.2 * (share > 1 ? 1 : share) : 0.5;
	}
}

static int by_score(const void *x, const void *y)
{
	const struct diff_finding *a = x, *b = y;
	int order;

	if (a->score != b->score)
		return a->score < b->score ? 1 : -1;
	order = strcmp(a->kind, b->kind);
	return order ? order : strcmp(a->object, b->object);
}

static bool is_repeat(const struct diff *d, size_t at)
{
	const char *condition = d->findings[at].condition;

	for (size_t i = 0; condition && i < at; i++)
		if (d->findings[i].condition && strcmp(d->findings[i].condition, condition) == 0)
			return true;
	return false;
}

/* The first of each condition before any second one; order by score within both. */
static bool order(struct diff *d, struct err *e)
{
	struct diff_finding *ordered = calloc(d->finding_count + 1, sizeof(*ordered));
	size_t n = 0;

	if (!ordered)
		return err_set(e, ERR_ENV, "out of memory for %zu findings", d->finding_count);
	if (d->finding_count)
		qsort(d->findings, d->finding_count, sizeof(*d->findings), by_score);
	for (int pass = 0; pass < 2; pass++)
		for (size_t i = 0; i < d->finding_count; i++)
			if (is_repeat(d, i) == (pass == 1))
				ordered[n++] = d->findings[i];
	free(d->findings);
	d->findings = ordered;
	d->finding_cap = d->finding_count + 1;
	return true;
}

bool diff_is_profile(const struct json *j, struct err *e)
{
	if (strcmp(json_text(json_get(j, "format"), ""), PROFILE_FORMAT) != 0)
		return err_set(
			e, ERR_INPUT, "this is not a profile made by 'reprod snapshot describe'");
	if (json_int(json_get(j, "version"), 0) < 1)
		return err_set(e, ERR_INPUT, "the profile does not say its version");
	if (json_int(json_get(j, "version"), 0) > PROFILE_VERSION)
		return err_set(e, ERR_INPUT,
			"the profile has version %lld, this program reads up to %d",
			(long long)json_int(json_get(j, "version"), 0), PROFILE_VERSION);
	return true;
}

bool diff_run(struct diff *d, const struct json *a, const struct json *b,
	const struct diff_traffic *traffic, size_t traffic_count, struct err *e)
{
	*d = (struct diff){ .profile = { a, b } };
	arena_init(&d->arena, DIFF_ARENA_MAX);
	if (!diff_is_profile(a, e) || !diff_is_profile(b, e) || !add_tables(d, e))
		return false;
	join_rows(d, 0);
	join_rows(d, 1);
	weigh(d, traffic, traffic_count);
	for (size_t i = 0; i < diff_rule_count; i++)
		diff_rules[i](d);
	return order(d, e);
}

static const char *severity(double score)
{
	return score >= 70 ? "high" : score >= 35 ? "medium" : "low";
}

struct json *diff_json(const struct diff *d)
{
	struct json *doc = json_object(), *list = json_array();

	for (size_t i = 0; i < d->finding_count; i++) {
		const struct diff_finding *f = &d->findings[i];
		struct json *item = json_object();

		json_set_int(item, "rank", (int64_t)i + 1);
		json_set_text(item, "kind", f->kind);
		json_set_text(item, "object", f->object);
		json_set_text(item, "a", f->a);
		json_set_text(item, "b", f->b);
		json_set_text(item, "why", f->why);
		json_set_text(item, "close", f->close);
		json_set_text(item, "severity", severity(f->score));
		json_set_number(item, "score", (double)(int)(f->score * 10) / 10);
		json_set_text(item, "condition", f->condition);
		json_append(list, item);
	}
	json_set(doc, "differences", list);
	json_set_int(doc, "dropped", (int64_t)d->dropped);
	return doc;
}

void diff_free(struct diff *d)
{
	free(d->tables);
	free(d->findings);
	arena_free(&d->arena);
	*d = (struct diff){ 0 };
}
