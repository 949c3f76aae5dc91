#include "snapshot/build.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/file.h"
#include "core/driver/pginstall.h"
#include "snapshot/clone.h"
#include "snapshot/lab.h"
#include "snapshot/marker.h"
#include "snapshot/neutralise.h"
#include "snapshot/roles.h"
#include "snapshot/settings.h"

struct build {
	const struct build_options *o;
	const struct run *r;
	struct labdir d;
	int lock_fd;
	struct clone clone;
	struct lab lab;
	char libraries[512];
	struct json *dropped; /* libraries not preloaded */
	struct json *neutralised; /* counts */
	struct json *databases;
	struct mark mark;
	struct err *e;
};

/* ---- the folder */

static bool is_empty_dir(const char *path)
{
	/* Only an empty folder can be removed so. */
	return file_is_dir(path) && rmdir(path) == 0;
}

static bool make_place(struct build *b)
{
	bool exists = file_exists(b->d.dir) && !is_empty_dir(b->d.dir);

	if (exists && !labdir_is_ours(&b->d)) {
		err_set(b->e, ERR_REFUSED, "'%s' exists and was not made by reprod", b->d.dir);
		return err_hint(b->e, "name a folder that doesn't exist yet");
	}
	if (exists && !b->o->is_forced) {
		err_set(b->e, ERR_USAGE,
			file_exists(b->d.building) ? "'%s' holds what an interrupted build left"
						   : "'%s' holds a lab",
			b->d.dir);
		return err_hint(b->e, "--force replaces it%s",
			file_exists(b->d.frozen) ? ", its frozen state too" : "");
	}
	if (!labdir_wait_for_quiet(b->d.dir, b->r, b->e) ||
		!file_write(b->d.building,
			SLICE("a build by reprod is under way, or was interrupted\n"), true, b->e))
		return false;
	return file_remove_tree(b->d.dir, b->e) && file_remove_tree(b->d.frozen, b->e);
}

/* As root the server's user must be able to get there; better said before copying. */
static bool check_reach(struct build *b)
{
	char parent[1100];

	snprintf(parent, sizeof(parent), "%s", b->d.dir);
	*strrchr(parent, '/') = '\0';
	return pgserver_can_reach(parent[0] ? parent : "/", b->r, b->e);
}

/* ---- files */

/* Before an older lab is removed for the new one. */
static bool check_source(struct build *b)
{
	int major;

	if (file_is_dir(b->o->source))
		return pgserver_dir_major(b->o->source, &major, b->e);
	CLEANUP(pg_cleanup) struct pg *c = pg_open(b->o->source, NULL, b->e);
	return c != NULL;
}

static bool copy_source(struct build *b)
{
	if (file_is_dir(b->o->source))
		return clone_dir(&b->clone, b->o->source, b->d.dir, b->r, b->e);
	return clone_server(
		&b->clone, b->o->source, b->d.dir, b->o->is_fast, b->lock_fd, b->r, b->e);
}

static bool apply_settings(struct build *b)
{
	for (size_t i = 0; b->o->settings && b->o->settings[i]; i++) {
		const char *equals = strchr(b->o->settings[i], '=');
		char name[128];

		if (!equals || (size_t)(equals - b->o->settings[i]) >= sizeof(name))
			return err_set(b->e, ERR_USAGE, "--set wants NAME=VALUE, not '%s'",
				b->o->settings[i]);
		snprintf(name, sizeof(name), "%.*s", (int)(equals - b->o->settings[i]),
			b->o->settings[i]);
		if (!settings_is_kept(name))
			return err_set(b->e, ERR_USAGE,
				"--set: '%s' is not among the settings a lab keeps", name);
		json_set_text(b->clone.settings, name, equals + 1);
	}
	return true;
}

static bool prepare_files(struct build *b)
{
	char bin_dir[1024];
	uid_t uid;
	gid_t gid;
	bool has_user;

	if (!pgserver_find(b->clone.major, bin_dir, b->e) || !apply_settings(b))
		return false;
	b->dropped = json_array();
	neutralise_libraries(json_text(json_get(b->clone.settings, "shared_preload_libraries"), ""),
		bin_dir, b->libraries, sizeof(b->libraries), b->dropped);
	return neutralise_files(b->d.dir, b->clone.major, b->clone.settings, b->libraries, b->e) &&
	       (chmod(b->d.dir, 0700) == 0 ||
		       err_os(b->e, ERR_ENV, errno, "could not close '%s' to others", b->d.dir)) &&
	       pgserver_user(&uid, &gid, &has_user, b->e) &&
	       file_own_tree(b->d.dir, uid, gid, b->e);
}

/* ---- first start: single user, hence no background process and no network at all */

static const char admin_sql[] =
	"DO $$BEGIN IF EXISTS (SELECT FROM pg_catalog.pg_roles WHERE rolname = '" ROLES_ADMIN
	"') THEN "
	"ALTER ROLE " ROLES_ADMIN " SUPERUSER LOGIN CONNECTION LIMIT -1 VALID UNTIL 'infinity'; "
	"ELSE CREATE ROLE " ROLES_ADMIN " SUPERUSER LOGIN; END IF; END$$\n";

static bool start_alone(struct build *b)
{
	char bin_dir[1024], postgres[1100], script[1100];
	struct neutral_settings neutral;
	const char *argv[2 * NEUTRALISE_SETTINGS_MAX + 12];
	struct proc_spec spec = {
		.argv = argv, .stdin_path = script, .out_path = b->d.log, .cwd = "/"
	};
	size_t n = 0;

	if (!pgserver_find(b->clone.major, bin_dir, b->e) ||
		!pgserver_user(&spec.uid, &spec.gid, &spec.has_user, b->e) ||
		!labdir_write(b->d.dir, "reprod.first.sql", slice_of(admin_sql), b->e))
		return false;
	labdir_path(b->d.dir, "reprod.first.sql", script);
	snprintf(postgres, sizeof(postgres), "%s/postgres", bin_dir);
	neutralise_settings(&neutral, b->clone.major, b->libraries);
	argv[n++] = postgres;
	argv[n++] = "--single";
	argv[n++] = "-D";
	argv[n++] = b->d.dir;
	for (size_t i = 0; i < neutral.count; i++) {
		argv[n++] = "-c";
		argv[n++] = neutral.items[i];
	}
	argv[n++] = "template1";
	argv[n] = NULL;
	if (!proc_run(&spec, b->r, NULL, b->e)) {
		err_hint(b->e, "the server's words are in %s", b->d.log);
		return err_in(b->e, "first start");
	}
	unlink(script);
	return true;
}

/* ---- in the databases */

static bool finish_database(struct build *b, const char *name, bool is_first)
{
	CLEANUP(pg_cleanup) struct pg *c = lab_admin(&b->lab, name, b->e);
	struct mark own = b->mark;

	if (!c || !neutralise_database(c, is_first, b->neutralised, b->e))
		return c ? err_in(b->e, "database '%s'", name) : false;
	if ((is_first && !roles_make(c, b->o->as_role, b->e)) || !roles_grant(c, b->e) ||
		!marker_write(c, &own, b->e))
		return err_in(b->e, "database '%s'", name);
	return true;
}

static bool choose_database(struct build *b)
{
	const char *wanted = b->o->database ? b->o->database : b->clone.database;

	for (size_t i = 0; i < json_count(b->databases); i++) {
		const char *name = json_text(json_at(b->databases, i), "");

		/* Sorted by size; the default database only when there is no other. */
		if (wanted[0] ? strcmp(name, wanted) == 0
			      : strcmp(name, "postgres") != 0 || json_count(b->databases) == 1) {
			snprintf(b->lab.database, sizeof(b->lab.database), "%s", name);
			return true;
		}
	}
	return err_set(b->e, ERR_INPUT, "the source has no database '%s' that can be connected to",
		wanted);
}

static bool finish_databases(struct build *b)
{
	b->neutralised = json_object();
	b->databases = lab_databases(&b->lab, b->e);
	if (!b->databases || !choose_database(b))
		return false;
	for (size_t i = 0; i < json_count(b->databases); i++)
		if (!finish_database(b, json_text(json_at(b->databases, i), ""), i == 0))
			return false;
	return true;
}

static bool make_mark(struct build *b)
{
	struct mark *m = &b->mark;

	snprintf(m->tier, sizeof(m->tier), "clone");
	m->is_neutralised = true;
	file_sha256_bytes(slice_of(b->clone.system_identifier), m->source_id);
	return marker_nonce(m->nonce, b->e);
}

/* The dsns name the database, which is known only now. */
static bool check_lab(struct build *b)
{
	CLEANUP(json_cleanup) struct json *document = NULL;

	pgserver_dsn_as(
		&b->lab.server, ROLES_REPLAY, b->lab.database, b->lab.dsn, sizeof(b->lab.dsn));
	if (!lab_check_mark(&b->lab, b->e))
		return false;
	document = mark_json(&b->lab.mark);
	return labdir_write_json(b->d.dir, LABDIR_MARK, document, b->e);
}

/* ---- manifest */

static const char *const not_reproduced[] = {
	"cumulative statistics (dead tuples, last analyze) of a server copied while it ran",
	"cache contents: shared buffers and page cache start cold",
	"autovacuum: pinned off, so that the state does not drift",
	"hardware: memory, cores and disk are this machine's",
	"row security for traffic, unless built with --as-role",
	"connections, replication and archiving load of the source",
	"statement timing inside the source's own incident: locks, waits and other sessions",
};

static struct json *source_json(const struct build *b)
{
	struct json *j = json_object();

	json_set_text(j, "kind", file_is_dir(b->o->source) ? "data directory" : "server");
	json_set_text(j, "source_id", b->mark.source_id);
	json_set_text(j, "server_version", b->clone.version);
	json_set_bool(j, "was_standby", b->clone.was_standby);
	return j;
}

static struct json *manifest_json(const struct build *b)
{
	struct json *j = json_object(), *missing = json_array();

	json_set_text(j, "format", "reprod.manifest");
	json_set_int(j, "version", 1);
	json_set_text(j, "tier", b->mark.tier);
	json_set_time(j, "built_at", clock_wall_ns(&b->r->clock));
	json_set(j, "source", source_json(b));
	json_set_text(j, "method", b->clone.method);
	json_set_bool(j, "is_reflink", b->clone.is_reflink);
	json_set_text(j, "database", b->lab.database);
	json_set(j, "databases", json_copy(b->databases));
	json_set_text(j, "replay_role", ROLES_REPLAY);
	json_set_text(j, "as_role", b->o->as_role);
	json_set(j, "settings", json_copy(b->clone.settings));
	json_set(j, "libraries_not_loaded", json_copy(b->dropped));
	json_set(j, "neutralised", json_copy(b->neutralised));
	for (size_t i = 0; i < LENGTH(not_reproduced); i++)
		json_append_text(missing, not_reproduced[i]);
	json_set(j, "not_reproduced", missing);
	return j;
}

/* ---- all of it */

static bool stopped(struct build *b)
{
	return run_stopped(b->r) &&
	       !err_set(b->e, ERR_INTERRUPTED, "stopped; '%s' is half built", b->d.dir);
}

static bool build_lab(struct build *b)
{
	if (!check_reach(b) || !check_source(b) || !make_place(b) || !copy_source(b) ||
		stopped(b) || !prepare_files(b) || !start_alone(b) || stopped(b))
		return false;
	snprintf(b->lab.dir, sizeof(b->lab.dir), "%s", b->d.dir);
	b->lab.major = b->clone.major;
	snprintf(b->lab.database, sizeof(b->lab.database), "template1");
	return make_mark(b) && lab_start(&b->lab, NULL, b->r, b->e) && finish_databases(b) &&
	       check_lab(b) && pgserver_stop(&b->lab.server, b->e);
}

static bool is_known_tier(const struct build_options *o, struct err *e)
{
	if (!o->tier || strcmp(o->tier, "clone") == 0)
		return true;
	err_set(e, ERR_USAGE, "there is no tier '%s' yet", o->tier);
	return err_hint(e, "the tier that exists is 'clone': a physical copy of a server or data "
			   "directory");
}

static struct json *build_locked(struct build *b)
{
	struct json *manifest = NULL;

	if (build_lab(b))
		manifest = manifest_json(b);
	if (manifest && (!labdir_write_json(b->d.dir, LABDIR_MANIFEST, manifest, b->e) ||
				(unlink(b->d.building) != 0 &&
					!err_os(b->e, ERR_ENV, errno, "could not remove '%s'",
						b->d.building)))) {
		json_free(manifest);
		manifest = NULL;
	}
	pgserver_kill(&b->lab.server);
	if (!manifest && !file_exists(b->d.dir))
		unlink(b->d.building);
	return manifest;
}

struct json *snapshot_build(const struct build_options *o, const struct run *r, struct err *e)
{
	struct build b = { .o = o, .r = r, .e = e, .lock_fd = -1, .lab = { .lock_fd = -1 } };
	struct json *manifest = NULL;

	if (!is_known_tier(o, e) || !labdir_of(&b.d, o->into, e) ||
		!labdir_lock(&b.d, &b.lock_fd, r, e))
		return NULL;
	manifest = build_locked(&b);
	labdir_unlock_removed(&b.d, &b.lock_fd);
	clone_free(&b.clone);
	json_free(b.dropped);
	json_free(b.neutralised);
	json_free(b.databases);
	return manifest;
}
