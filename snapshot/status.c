#include "snapshot/status.h"

#include <stdio.h>

#include "core/base/file.h"
#include "core/driver/target.h"
#include "snapshot/freeze.h"
#include "snapshot/lab.h"
#include "snapshot/neutralise.h"

static void add_item(struct json *items, const char *item, bool ok, const char *found)
{
	struct json *j = json_object();

	json_set_text(j, "item", item);
	json_set_bool(j, "ok", ok);
	json_set_text(j, "found", found);
	json_append(items, j);
}

/* ---- a lab */

static bool check_databases(struct lab *lab, struct json *items, bool *all_ok, struct err *e)
{
	CLEANUP(json_cleanup) struct json *databases = lab_databases(lab, e);

	for (size_t i = 0; databases && i < json_count(databases); i++) {
		const char *name = json_text(json_at(databases, i), "");
		CLEANUP(pg_cleanup) struct pg *c = lab_admin(lab, name, e);
		bool server_ok = true, ok;

		if (!c || (i == 0 && !neutralise_check_server(c, items, &server_ok, e)) ||
			!neutralise_check_database(c, name, items, &ok, e))
			return false;
		*all_ok = *all_ok && server_ok && ok;
	}
	return databases != NULL;
}

/* A refusal is an answer here, everything else a failure. */
static bool check_marked(
	struct lab *lab, struct json *j, struct json *items, bool *ret_ok, struct err *e)
{
	struct err why = { 0 };

	*ret_ok = lab_check_mark(lab, &why);
	if (!*ret_ok && why.kind != ERR_REFUSED) {
		*e = why;
		return false;
	}
	add_item(items, "marked, and the mark is this server's", *ret_ok, *ret_ok ? "" : why.what);
	if (*ret_ok)
		json_set(j, "mark", mark_json(&lab->mark));
	return true;
}

static bool check_server(struct lab *lab, struct json *j, struct json *items, bool *neutral,
	bool *marked, const struct run *r, struct err *e)
{
	return lab_start(lab, NULL, r, e) && check_databases(lab, items, neutral, e) &&
	       check_marked(lab, j, items, marked, e) && pgserver_stop(&lab->server, e);
}

static bool add_frozen(const struct lab *lab, struct json *j, struct err *e)
{
	struct labdir d;
	struct err why = { 0 };
	struct json *note;

	if (!labdir_of(&d, lab->dir, e))
		return false;
	note = file_exists(d.frozen) ? freeze_note(&d, &why) : NULL;
	if (note)
		json_set(j, "frozen", note);
	else
		json_set_null(j, "frozen");
	if (!note && file_exists(d.frozen))
		add_item(json_get(j, "items"), "the frozen state is whole", false, why.what);
	return true;
}

static bool fill(struct lab *lab, struct json *j, const struct run *r, struct err *e)
{
	CLEANUP(json_cleanup)
	struct json *manifest = labdir_read_json(lab->dir, LABDIR_MANIFEST, e);
	struct json *items = json_array();
	bool neutral, marked = false;

	json_set(j, "items", items);
	if (!manifest)
		return false;
	json_set_text(j, "target", lab->dir);
	json_set_text(j, "kind", "lab");
	json_set_text(j, "tier", json_text(json_get(manifest, "tier"), ""));
	json_set_text(j, "database", lab->database);
	json_set(j, "not_reproduced", json_copy(json_get(manifest, "not_reproduced")));
	if (!add_frozen(lab, j, e) ||
		!neutralise_check_files(lab->dir, lab->major, items, &neutral, e))
		return false;
	if (neutral && !check_server(lab, j, items, &neutral, &marked, r, e))
		return false;
	json_set_bool(j, "is_neutralised", neutral);
	json_set_bool(j, "is_marked", marked);
	json_set_bool(j, "ok", neutral && marked);
	return true;
}

struct json *status_dir(const char *dir, const struct run *r, struct err *e)
{
	struct json *j = json_object();
	struct lab lab;
	bool ok;

	if (!lab_take(&lab, dir, r, e)) {
		json_free(j);
		return NULL;
	}
	ok = fill(&lab, j, r, e);
	lab_close(&lab);
	if (ok)
		return j;
	json_free(j);
	return NULL;
}

/* ---- a database */

struct json *status_dsn(const char *dsn, const struct run *r, struct err *e)
{
	CLEANUP(pg_cleanup) struct pg *c = pg_open(dsn, NULL, e);
	struct json *j, *items;
	struct err why = { 0 };
	struct mark mark;
	bool marked;

	(void)r;
	if (!c)
		return NULL;
	marked = target_check(c, &mark, &why);
	if (!marked && why.kind != ERR_REFUSED) {
		*e = why;
		return NULL;
	}
	j = json_object();
	items = json_array();
	json_set_text(j, "kind", "database");
	json_set_text(j, "tier", marked ? mark.tier : NULL);
	add_item(items, "marked, and the mark is this server's", marked, marked ? "" : why.what);
	json_set(j, "items", items);
	if (marked)
		json_set(j, "mark", mark_json(&mark));
	json_set_bool(j, "is_neutralised", marked && mark.is_neutralised);
	json_set_bool(j, "is_marked", marked);
	json_set_bool(j, "ok", marked);
	return j;
}
