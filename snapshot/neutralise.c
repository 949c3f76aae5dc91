#include "snapshot/neutralise.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/file.h"
#include "snapshot/labdir.h"
#include "snapshot/settings.h"

struct rule {
	const char *name, *value;
	int from_major;
};

/* The first reason to be here is the outside world; autovacuum would let the state
 * drift between a freeze and a run. */
static const struct rule rules[] = {
	{ "max_logical_replication_workers", "0", 10 },
	{ "max_wal_senders", "0", 0 },
	{ "archive_mode", "off", 0 },
	{ "archive_command", "", 0 },
	{ "archive_library", "", 15 },
	{ "archive_cleanup_command", "", 12 },
	{ "restore_command", "", 12 },
	{ "recovery_end_command", "", 12 },
	{ "primary_conninfo", "", 12 },
	{ "primary_slot_name", "", 12 },
	{ "synchronous_standby_names", "", 0 },
	{ "listen_addresses", "", 0 },
	{ "ssl", "off", 0 },
	{ "session_preload_libraries", "", 0 },
	{ "local_preload_libraries", "", 0 },
	{ "autovacuum", "off", 0 },
	{ "huge_pages", "try", 0 },
	{ "log_destination", "stderr", 0 },
	{ "log_statement", "none", 0 },
};

/* Of those rules, the ones that only serve the lab: not worth a refusal. */
static bool is_comfort(const char *name)
{
	return strcmp(name, "huge_pages") == 0 || strcmp(name, "autovacuum") == 0 ||
	       strncmp(name, "log_", 4) == 0;
}

/* They hook into statements and start no process that runs SQL or connects. */
static const char *const harmless_libraries[] = {
	"pg_stat_statements",
	"auto_explain",
	"pg_wait_sampling",
	"pg_hint_plan",
	"pg_stat_kcache",
	"pg_qualstats",
	"pg_prewarm",
	"pgstattuple",
	"pg_buffercache",
	"pgaudit",
};

static bool is_harmless(const char *library)
{
	for (size_t i = 0; i < LENGTH(harmless_libraries); i++)
		if (strcmp(harmless_libraries[i], library) == 0)
			return true;
	return false;
}

/* ---- settings */

static void add(struct neutral_settings *s, const char *name, const char *value)
{
	char *text = s->texts[s->count];

	snprintf(text, sizeof(s->texts[0]), "%s=%s", name, value);
	s->items[s->count++] = text;
	s->items[s->count] = NULL;
}

void neutralise_settings(struct neutral_settings *s, int major, const char *libraries)
{
	*s = (struct neutral_settings){ 0 };
	for (size_t i = 0; i < LENGTH(rules); i++)
		if (major >= rules[i].from_major)
			add(s, rules[i].name, rules[i].value);
	add(s, "shared_preload_libraries", libraries);
}

static bool is_installed(const char *bin_dir, const char *library)
{
	char path[1200];

	snprintf(path, sizeof(path), "%s/../lib/%s.so", bin_dir, library);
	if (access(path, R_OK) == 0)
		return true;
	snprintf(path, sizeof(path), "%s/../lib/postgresql/%s.so", bin_dir, library);
	return access(path, R_OK) == 0;
}

/* "$libdir/x", "x.so", "'x'" are x. */
static void bare_name(const char *from, size_t n, char name[128])
{
	size_t used = 0;

	for (size_t i = 0; i < n && used + 1 < 128; i++) {
		if (from[i] == '/')
			used = 0;
		else if (!strchr(" \t\"'", from[i]))
			name[used++] = from[i];
	}
	name[used] = '\0';
	if (used > 3 && strcmp(name + used - 3, ".so") == 0)
		name[used - 3] = '\0';
}

static const char *next_library(const char *at, char name[128])
{
	while (*at == ',' || *at == ' ')
		at++;
	if (!*at)
		return NULL;
	size_t n = strcspn(at, ",");
	bare_name(at, n, name);
	return at + n;
}

void neutralise_libraries(
	const char *list, const char *bin_dir, char *kept, size_t size, struct json *dropped)
{
	char name[128];
	size_t n = 0;

	kept[0] = '\0';
	for (const char *at = list; (at = next_library(at, name));) {
		if (!is_harmless(name) || !is_installed(bin_dir, name) ||
			n + strlen(name) + 2 > size) {
			json_append_text(dropped, name);
			continue;
		}
		n += (size_t)snprintf(kept + n, size - n, "%s%s", n ? "," : "", name);
	}
}

/* ---- files */

static const char configuration_head[] =
	"# Written by 'reprod snapshot build' for a lab. The settings kept from the source are\n"
	"# here, those that keep this copy from acting on the outside world are in\n"
	"# postgresql.auto.conf. A lab where those have changed doesn't start.\n";

static bool write_configuration(const char *dir, int major, const struct json *settings,
	const char *libraries, struct err *e)
{
	CLEANUP(json_cleanup) struct json *kept = json_copy(settings);
	CLEANUP(json_cleanup) struct json *forced = json_object();
	struct buf main = { 0 }, automatic = { 0 };
	bool ok;

	json_set_text(kept, "shared_preload_libraries", libraries);
	buf_add_text(&main, configuration_head);
	settings_write(kept, &main);
	for (size_t i = 0; i < LENGTH(rules); i++)
		if (major >= rules[i].from_major)
			json_set_text(forced, rules[i].name, rules[i].value);
	json_set_text(forced, "shared_preload_libraries", libraries);
	settings_write(forced, &automatic);
	ok = labdir_write(dir, "postgresql.conf", buf_slice(&main), e) &&
	     labdir_write(dir, "postgresql.auto.conf", buf_slice(&automatic), e) &&
	     labdir_write(dir, "pg_hba.conf", SLICE("local all all trust\n"), e) &&
	     labdir_write(dir, "pg_ident.conf", SLICE(""), e);
	buf_free(&main);
	buf_free(&automatic);
	return ok;
}

/* Signals of recovery, and what a running server leaves that must not be taken over.
 * A recovery.conf (up to 11) connects out as well. */
static const char *const unwanted_files[] = { "standby.signal", "recovery.signal", "recovery.conf",
	"postmaster.pid", "postmaster.opts", "reprod.socket", "reprod.resetting", LABDIR_MARK,
	LABDIR_FROZEN_NOTE, "backup_manifest", "current_logfiles" };
static const char *const emptied_folders[] = { "pg_replslot", "pg_dynshmem", "pg_notify",
	"pg_serial", "pg_snapshots", "pg_stat_tmp", "log", "pg_log" };

static bool empty_folder(const char *path, struct err *e)
{
	struct stat st;

	if (lstat(path, &st) != 0)
		return true;
	/* A log folder may be a link to where production logs. */
	if (!S_ISDIR(st.st_mode))
		return unlink(path) == 0 ||
		       err_os(e, ERR_ENV, errno, "could not remove '%s'", path);
	return file_remove_tree(path, e) && file_make_dirs(path, 0700, e);
}

bool neutralise_files(const char *dir, int major, const struct json *settings,
	const char *libraries, struct err *e)
{
	char path[1100];

	for (size_t i = 0; i < LENGTH(unwanted_files); i++) {
		labdir_path(dir, unwanted_files[i], path);
		if (unlink(path) != 0 && errno != ENOENT)
			return err_os(e, ERR_ENV, errno, "could not remove '%s'", path);
	}
	for (size_t i = 0; i < LENGTH(emptied_folders); i++) {
		labdir_path(dir, emptied_folders[i], path);
		if (!empty_folder(path, e))
			return false;
	}
	return write_configuration(dir, major, settings, libraries, e);
}

/* ---- catalogs */

/* Runs each row's first column as a statement; returns the count, or -1. */
static int64_t run_generated(struct pg *c, const char *sql, struct err *e)
{
	CLEANUP(pg_rows_cleanup) struct pg_rows *rows = pg_query(c, e, sql, NULL);

	if (!rows)
		return -1;
	for (size_t i = 0; i < pg_row_count(rows); i++)
		if (!pg_exec(c, e, pg_cell(rows, i, 0)))
			return -1;
	return (int64_t)pg_row_count(rows);
}

struct measure {
	const char *name; /* in the manifest */
	const char *sql; /* gives statements */
	bool is_shared;
	int from_version;
};

/* DROP SUBSCRIPTION would drop the publisher's slot, so subscriptions stay, disabled
 * and without a slot; their connection strings hold passwords and go. RFC 2606
 * keeps .invalid from ever resolving. */
static const struct measure measures[] = {
	{ "prepared_transactions_rolled_back",
		"SELECT format('ROLLBACK PREPARED %L', gid) FROM pg_prepared_xacts "
		"WHERE database = current_database()",
		false, 0 },
	{ "replication_slots_dropped",
		"SELECT format('SELECT pg_drop_replication_slot(%L)', slot_name) "
		"FROM pg_replication_slots",
		true, 0 },
	{ "subscriptions_disabled",
		"SELECT format('ALTER SUBSCRIPTION %I DISABLE', subname) FROM pg_subscription s "
		"JOIN pg_database d ON d.oid = s.subdbid WHERE d.datname = current_database()",
		false, 100000 },
	{ "subscription_slots_forgotten",
		"SELECT format('ALTER SUBSCRIPTION %I SET (slot_name = NONE)', subname) "
		"FROM pg_subscription s JOIN pg_database d ON d.oid = s.subdbid "
		"WHERE d.datname = current_database()",
		false, 100000 },
	{ "subscription_addresses_removed",
		"SELECT format('ALTER SUBSCRIPTION %I CONNECTION %L', subname, "
		"'host=reprod.invalid password=none dbname=none') FROM pg_subscription s "
		"JOIN pg_database d ON d.oid = s.subdbid WHERE d.datname = current_database()",
		false, 100000 },
	{ "user_mappings_dropped",
		"SELECT format('DROP USER MAPPING FOR %s SERVER %I', CASE WHEN umuser = 0 THEN "
		"'PUBLIC' ELSE quote_ident(usename) END, srvname) FROM pg_user_mappings",
		false, 0 },
	{ "foreign_server_addresses_removed",
		"SELECT format('ALTER SERVER %I OPTIONS (SET %I ''reprod.invalid'')', srvname, "
		"option_name) FROM pg_foreign_server, pg_options_to_table(srvoptions) "
		"WHERE option_name IN ('host', 'hostaddr', 'service', 'dbserver', 'servername', "
		"'server', 'address', 'url', 'uri', 'endpoint', 'dsn')",
		false, 0 },
};

static void add_count(struct json *done, const char *name, int64_t n)
{
	json_set_int(done, name, json_int(json_get(done, name), 0) + n);
}

bool neutralise_database(struct pg *c, bool is_first, struct json *done, struct err *e)
{
	for (size_t i = 0; i < LENGTH(measures); i++) {
		int64_t n;

		if ((measures[i].is_shared && !is_first) ||
			pg_version(c) < measures[i].from_version)
			continue;
		n = run_generated(c, measures[i].sql, e);
		if (n < 0)
			return err_in(e, "%s", measures[i].name);
		add_count(done, measures[i].name, n);
	}
	return true;
}

/* ---- checks */

static void add_item(struct json *items, const char *item, bool ok, const char *found,
	const char *database, bool *all_ok)
{
	struct json *j = json_object();

	json_set_text(j, "item", item);
	json_set_bool(j, "ok", ok);
	json_set_text(j, "found", found);
	if (database)
		json_set_text(j, "database", database);
	json_append(items, j);
	*all_ok = *all_ok && ok;
}

static bool are_harmless(const char *list)
{
	char name[128];

	for (const char *at = list; (at = next_library(at, name));)
		if (!is_harmless(name))
			return false;
	return true;
}

/* NULL found: the file doesn't say. */
static void check_setting(
	const char *name, const char *wanted, const char *found, struct json *items, bool *ret_ok)
{
	char item[160];
	/* A server that doesn't archive shows the command so. */
	bool ok = found && (strcmp(found, wanted) == 0 || strcmp(found, "(disabled)") == 0);

	snprintf(item, sizeof(item), wanted[0] ? "%s = %s" : "%s is empty%s", name, wanted);
	add_item(items, item, ok, found ? found : "not set", NULL, ret_ok);
}

bool neutralise_check_files(
	const char *dir, int major, struct json *items, bool *ret_ok, struct err *e)
{
	CLEANUP(json_cleanup) struct json *automatic = json_object();
	const char *libraries;
	char path[1100];

	*ret_ok = true;
	labdir_path(dir, "postgresql.auto.conf", path);
	if (!settings_read_file(path, automatic, e))
		return false;
	for (size_t i = 0; i < LENGTH(rules); i++)
		if (major >= rules[i].from_major && !is_comfort(rules[i].name))
			check_setting(rules[i].name, rules[i].value,
				json_text(json_get(automatic, rules[i].name), NULL), items, ret_ok);
	libraries = json_text(json_get(automatic, "shared_preload_libraries"), NULL);
	add_item(items, "no library with workers of its own is preloaded",
		libraries && are_harmless(libraries), libraries ? libraries : "not set", NULL,
		ret_ok);
	for (size_t i = 0; i < 3; i++) {
		char item[80];

		snprintf(item, sizeof(item), "no %s", unwanted_files[i]);
		labdir_path(dir, unwanted_files[i], path);
		add_item(items, item, !file_exists(path), file_exists(path) ? "there" : "", NULL,
			ret_ok);
	}
	return true;
}

struct question {
	const char *item;
	const char *sql; /* gives what is wrong, as text; none or "" is good */
	int from_version;
};

static const struct question server_questions[] = {
	{ "not in recovery", "SELECT 'in recovery' WHERE pg_is_in_recovery()", 0 },
	{ "no replication slots", "SELECT string_agg(slot_name, ', ') FROM pg_replication_slots",
		0 },
	{ "no enabled subscription",
		"SELECT string_agg(subname, ', ') FROM pg_subscription WHERE subenabled", 100000 },
	{ "no subscription with a slot",
		"SELECT string_agg(subname, ', ') FROM pg_subscription WHERE subslotname IS NOT NULL",
		100000 },
	{ "no WAL receiver or sender",
		"SELECT string_agg(backend_type, ', ') FROM pg_stat_activity "
		"WHERE backend_type IN ('walreceiver', 'walsender')",
		100000 },
	{ "no background workers of extensions",
		"SELECT string_agg(DISTINCT backend_type, ', ') FROM pg_stat_activity "
		"WHERE backend_type NOT IN ('client backend', 'checkpointer', 'background writer', "
		"'walwriter', 'autovacuum launcher', 'autovacuum worker', 'archiver', 'startup', "
		"'parallel worker', 'stats collector', 'logger', 'io worker', 'slotsync worker')",
		100000 },
};

static const struct question database_questions[] = {
	{ "no user mappings", "SELECT string_agg(srvname, ', ') FROM pg_user_mappings", 0 },
	{ "no foreign server with an address",
		"SELECT string_agg(srvname, ', ') FROM pg_foreign_server, "
		"pg_options_to_table(srvoptions) WHERE option_name IN ('host', 'hostaddr', 'service', "
		"'dbserver', 'servername', 'server', 'address', 'url', 'uri', 'endpoint', 'dsn') "
		"AND option_value <> 'reprod.invalid'",
		0 },
	{ "no prepared transactions",
		"SELECT string_agg(gid, ', ') FROM pg_prepared_xacts "
		"WHERE database = current_database()",
		0 },
};

static bool ask(struct pg *c, const struct question *questions, size_t count, const char *database,
	struct json *items, bool *ret_ok, struct err *e)
{
	for (size_t i = 0; i < count; i++) {
		char found[300];

		if (pg_version(c) < questions[i].from_version)
			continue;
		if (!pg_one(c, e, questions[i].sql, found, sizeof(found)))
			return err_in(e, "%s", questions[i].item);
		add_item(items, questions[i].item, !found[0], found, database, ret_ok);
	}
	return true;
}

bool neutralise_check_server(struct pg *c, struct json *items, bool *ret_ok, struct err *e)
{
	*ret_ok = true;
	for (size_t i = 0; i < LENGTH(rules); i++) {
		const char *const params[] = { rules[i].name, NULL };
		CLEANUP(pg_rows_cleanup) struct pg_rows *rows = NULL;

		if (pg_version(c) < rules[i].from_major * 10000 || is_comfort(rules[i].name))
			continue;
		rows = pg_query(c, e, "SELECT current_setting($1)", params);
		if (!rows)
			return false;
		check_setting(rules[i].name, rules[i].value, pg_cell(rows, 0, 0), items, ret_ok);
	}
	return ask(c, server_questions, LENGTH(server_questions), NULL, items, ret_ok, e);
}

bool neutralise_check_database(
	struct pg *c, const char *database, struct json *items, bool *ret_ok, struct err *e)
{
	*ret_ok = true;
	return ask(c, database_questions, LENGTH(database_questions), database, items, ret_ok, e);
}
