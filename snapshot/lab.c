#include "snapshot/lab.h"

#include <unistd.h>

#include "core/base/file.h"
#include "core/driver/target.h"
#include "snapshot/marker.h"
#include "snapshot/neutralise.h"
#include "snapshot/roles.h"
#include "snapshot/settings.h"

#define EXTRA_MAX 40

bool lab_take(struct lab *lab, const char *dir, const struct run *r, struct err *e)
{
	CLEANUP(json_cleanup) struct json *manifest = NULL;
	struct labdir d;

	*lab = (struct lab){ .lock_fd = -1 };
	if (!labdir_of(&d, dir, e) || !labdir_check(&d, e))
		return false;
	snprintf(lab->dir, sizeof(lab->dir), "%s", d.dir);
	manifest = labdir_read_json(d.dir, LABDIR_MANIFEST, e);
	if (!manifest || !pgserver_dir_major(d.dir, &lab->major, e))
		return false;
	snprintf(lab->database, sizeof(lab->database), "%s",
		json_text(json_get(manifest, "database"), "postgres"));
	return labdir_lock(&d, &lab->lock_fd, r, e);
}

void lab_close(struct lab *lab)
{
	struct err ignored = { 0 };

	if (!lab->dir[0])
		return;
	/* What a lab did since its last freeze is kept; a failure here means recovery at
	 * the next start. */
	if (!pgserver_stop(&lab->server, &ignored))
		pgserver_kill(&lab->server);
	labdir_unlock(&lab->lock_fd);
	*lab = (struct lab){ 0 };
}

/* ---- before a start */

static void say_first_fault(const struct json *items, struct err *e)
{
	for (size_t i = 0; i < json_count(items); i++) {
		const struct json *item = json_at(items, i);

		if (json_is_true(json_get(item, "ok"), true))
			continue;
		err_set(e, ERR_REFUSED,
			"the lab could act on the outside world: '%s' does not hold (%s)",
			json_text(json_get(item, "item"), ""),
			json_text(json_get(item, "found"), ""));
		err_hint(e,
			"put postgresql.auto.conf back ('reprod snapshot reset' does, when there is "
			"a frozen state), or build the lab again");
		return;
	}
}

bool lab_check_files(const struct lab *lab, struct err *e)
{
	CLEANUP(json_cleanup) struct json *items = json_array();
	char path[1100];
	bool ok;

	labdir_path(lab->dir, LABDIR_RESETTING, path);
	if (file_exists(path)) {
		err_set(e, ERR_ENV, "a reset of '%s' was interrupted: its files are a mixture",
			lab->dir);
		return err_hint(e, "run it again: reprod snapshot reset '%s'", lab->dir);
	}
	labdir_path(lab->dir, LABDIR_MARK, path);
	if (!file_exists(path)) {
		err_set(e, ERR_REFUSED, "'%s' has no mark: %s is missing", lab->dir, LABDIR_MARK);
		return err_hint(e, "build the lab again, or reset it to its frozen state");
	}
	if (!neutralise_check_files(lab->dir, lab->major, items, &ok, e))
		return false;
	if (!ok)
		say_first_fault(items, e);
	return ok;
}

/* ---- the server */

static bool read_libraries(const struct lab *lab, char *libraries, size_t size, struct err *e)
{
	CLEANUP(json_cleanup) struct json *all = json_object();
	char path[1100];

	labdir_path(lab->dir, "postgresql.auto.conf", path);
	if (!settings_read_file(path, all, e))
		return false;
	snprintf(libraries, size, "%s", json_text(json_get(all, "shared_preload_libraries"), ""));
	return true;
}

bool lab_start(struct lab *lab, const char *const *extra, const struct run *r, struct err *e)
{
	struct neutral_settings neutral;
	const char *settings[NEUTRALISE_SETTINGS_MAX + EXTRA_MAX];
	char libraries[512];
	struct pgserver_options o = { .settings = settings, .start_timeout_ns = 600 * NS_PER_S };
	size_t n = 0;

	if (!labdir_wait_for_quiet(lab->dir, r, e) ||
		!read_libraries(lab, libraries, sizeof(libraries), e))
		return false;
	neutralise_settings(&neutral, lab->major, libraries);
	for (size_t i = 0; i < neutral.count; i++)
		settings[n++] = neutral.items[i];
	for (size_t i = 0; extra && extra[i]; i++) {
		if (i == EXTRA_MAX - 1)
			return err_set(e, ERR_USAGE, "too many extra settings");
		settings[n++] = extra[i];
	}
	settings[n] = NULL;
	if (!pgserver_start(&lab->server, lab->dir, &o, r, e))
		return false;
	pgserver_dsn_as(&lab->server, ROLES_REPLAY, lab->database, lab->dsn, sizeof(lab->dsn));
	pgserver_dsn_as(
		&lab->server, ROLES_ADMIN, lab->database, lab->admin_dsn, sizeof(lab->admin_dsn));
	return true;
}

struct pg *lab_admin(const struct lab *lab, const char *database, struct err *e)
{
	char dsn[1400];
	struct pg *c;

	pgserver_dsn_as(&lab->server, ROLES_ADMIN, database, dsn, sizeof(dsn));
	c = pg_open(dsn, NULL, e);
	/* As a replica, a session fires none of the source's event triggers. */
	if (c && pg_exec(c, e,
			 "SET session_replication_role = replica;"
			 "SET default_transaction_read_only = off;"
			 "SET statement_timeout = 0; SET search_path = pg_catalog"))
		return c;
	pg_close(c);
	return NULL;
}

struct json *lab_databases(const struct lab *lab, struct err *e)
{
	CLEANUP(pg_cleanup) struct pg *c = lab_admin(lab, "template1", e);
	CLEANUP(pg_rows_cleanup) struct pg_rows *rows = NULL;
	struct json *list;

	if (!c)
		return NULL;
	rows = pg_query(c, e,
		"SELECT datname FROM pg_database "
		"WHERE datallowconn AND NOT datistemplate AND datconnlimit <> -2 "
		"ORDER BY pg_database_size(oid) DESC, datname",
		NULL);
	if (!rows)
		return NULL;
	list = json_array();
	for (size_t i = 0; i < pg_row_count(rows); i++)
		json_append_text(list, pg_cell(rows, i, 0));
	return list;
}

/* ---- the mark */

static bool renew_database(
	const struct lab *lab, const char *database, const struct mark *m, struct err *e)
{
	CLEANUP(pg_cleanup) struct pg *c = lab_admin(lab, database, e);
	struct mark own = *m;

	return c && marker_renew(c, &own, e);
}

bool lab_renew(struct lab *lab, struct err *e)
{
	CLEANUP(json_cleanup) struct json *databases = lab_databases(lab, e);
	CLEANUP(json_cleanup) struct json *document = NULL;

	if (!databases || !marker_nonce(lab->mark.nonce, e))
		return false;
	for (size_t i = 0; i < json_count(databases); i++)
		if (!renew_database(lab, json_text(json_at(databases, i), ""), &lab->mark, e))
			return false;
	if (!lab_check_mark(lab, e))
		return false;
	document = mark_json(&lab->mark);
	return labdir_write_json(lab->dir, LABDIR_MARK, document, e);
}

bool lab_check_mark(struct lab *lab, struct err *e)
{
	CLEANUP(pg_cleanup) struct pg *c = pg_open(lab->dsn, NULL, e);

	return c && target_check(c, &lab->mark, e);
}

/* ---- the face */

static bool check_running(const struct lab *lab, struct err *e)
{
	CLEANUP(json_cleanup) struct json *items = json_array();
	CLEANUP(pg_cleanup) struct pg *c = lab_admin(lab, lab->database, e);
	bool server_ok, database_ok;

	if (!c || !neutralise_check_server(c, items, &server_ok, e) ||
		!neutralise_check_database(c, lab->database, items, &database_ok, e))
		return false;
	if (!server_ok || !database_ok)
		say_first_fault(items, e);
	return server_ok && database_ok;
}

bool lab_open(struct lab *lab, const char *dir, const struct run *r, struct err *e)
{
	if (lab_take(lab, dir, r, e) && lab_check_files(lab, e) && lab_start(lab, NULL, r, e) &&
		check_running(lab, e) && lab_check_mark(lab, e))
		return true;
	lab_close(lab);
	return false;
}
