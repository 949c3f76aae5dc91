#include "snapshot/mark_dsn.h"

#include <stdio.h>
#include <unistd.h>

#include "core/base/file.h"
#include "core/driver/pg.h"
#include "snapshot/marker.h"
#include "snapshot/neutralise.h"

static bool read_typed_name(
	const struct run *r, const char *name, char *typed, size_t size, struct err *e)
{
	if (!isatty(STDIN_FILENO)) {
		err_set(e, ERR_USAGE, "the database's name must be typed");
		return err_hint(e, "--name %s", name);
	}
	fprintf(r->log, "Replays and jobs will change this database. Type its name to mark it: ");
	fflush(r->log);
	if (!fgets(typed, (int)size, stdin))
		return err_set(e, ERR_USAGE, "no name was typed");
	typed[strcspn(typed, "\n")] = '\0';
	return true;
}

static bool check_name(
	struct pg *c, const struct mark_options *o, const struct run *r, struct err *e)
{
	char name[64], typed[128];

	if (!pg_one(c, e, "SELECT current_database()", name, sizeof(name)))
		return false;
	if (o->name)
		snprintf(typed, sizeof(typed), "%s", o->name);
	else if (!read_typed_name(r, name, typed, sizeof(typed), e))
		return false;
	if (strcmp(typed, name) == 0)
		return true;
	return err_set(
		e, ERR_REFUSED, "the connection leads to database '%s', not to '%s'", name, typed);
}

/* What a test database has not and a production has. */
static const char looks_sql[] =
	"SELECT concat_ws(', ', "
	"CASE WHEN pg_is_in_recovery() THEN 'it is a standby' END, "
	"CASE WHEN EXISTS (SELECT FROM pg_stat_replication WHERE application_name <> 'pg_basebackup') "
	"THEN 'standbys or subscribers are attached' END, "
	"CASE WHEN current_setting('archive_mode') <> 'off' THEN 'it archives its WAL' END, "
	"CASE WHEN EXISTS (SELECT FROM pg_replication_slots WHERE NOT temporary) "
	"THEN 'it has replication slots' END)";

static bool check_looks(struct pg *c, bool is_forced, struct err *e)
{
	char looks[300];

	if (!pg_one(c, e, looks_sql, looks, sizeof(looks)))
		return false;
	if (!looks[0] || is_forced)
		return true;
	err_set(e, ERR_REFUSED, "this looks like a production server: %s", looks);
	return err_hint(e, "a copy of it can be a target: reprod snapshot build DSN --into DIR; "
			   "--force marks this database in spite of it");
}

/* On somebody else's server these must hold; how it listens is its owner's choice. */
static bool is_asked_of_restored(const char *item)
{
	static const char *const not_asked[] = { "listen_addresses", "ssl", "session_preload",
		"local_preload", "max_wal_senders" };

	for (size_t i = 0; i < LENGTH(not_asked); i++)
		if (strncmp(item, not_asked[i], strlen(not_asked[i])) == 0)
			return false;
	return true;
}

static bool check_restored(struct pg *c, struct err *e)
{
	CLEANUP(json_cleanup) struct json *items = json_array();
	bool ignored;

	if (!neutralise_check_server(c, items, &ignored, e) ||
		!neutralise_check_database(c, NULL, items, &ignored, e))
		return false;
	for (size_t i = 0; i < json_count(items); i++) {
		const struct json *item = json_at(items, i);
		const char *text = json_text(json_get(item, "item"), "");

		if (json_is_true(json_get(item, "ok"), false) || !is_asked_of_restored(text))
			continue;
		err_set(e, ERR_REFUSED,
			"the restored server is not neutralised: '%s' does not hold (%s)", text,
			json_text(json_get(item, "found"), ""));
		return err_hint(e,
			"docs/guide-snapshot.md has the list; 'reprod snapshot build' does it "
			"for a copy");
	}
	return true;
}

static bool fill(struct pg *c, bool is_restored, struct mark *m, struct err *e)
{
	char identifier[24];

	*m = (struct mark){ .is_neutralised = is_restored };
	snprintf(m->tier, sizeof(m->tier), "%s", is_restored ? "restored" : "test");
	if (is_restored) {
		if (!pg_one(c, e, "SELECT system_identifier FROM pg_control_system()", identifier,
			    sizeof(identifier)))
			return false;
		file_sha256_bytes(slice_of(identifier), m->source_id);
	}
	return marker_nonce(m->nonce, e);
}

bool mark_dsn(
	const struct mark_options *o, const struct run *r, struct mark *ret_mark, struct err *e)
{
	CLEANUP(pg_cleanup) struct pg *c = pg_open(o->dsn, NULL, e);

	if (!c || !check_name(c, o, r, e))
		return false;
	if (!(o->is_restored ? check_restored(c, e) : check_looks(c, o->is_forced, e)))
		return false;
	return fill(c, o->is_restored, ret_mark, e) && marker_write(c, ret_mark, e);
}
