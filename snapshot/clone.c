#include "snapshot/clone.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/file.h"
#include "core/base/proc.h"
#include "core/driver/pg.h"
#include "core/driver/pginstall.h"
#include "core/driver/pgserver.h"
#include "snapshot/clone_files.h"
#include "snapshot/labdir.h"
#include "snapshot/settings.h"

#define TABLESPACES_MAX 60

extern char **environ;

bool clone_system_identifier(const char *dir, char text[24], struct err *e)
{
	char path[1100];
	struct buf bytes = { 0 };
	uint64_t id = 0;
	bool ok;

	labdir_path(dir, "global/pg_control", path);
	ok = file_read(path, 64 << 10, &bytes, e);
	if (ok && bytes.n < sizeof(id))
		ok = err_set(e, ERR_INPUT, "'%s' is too short", path);
	if (ok)
		memcpy(&id, bytes.p, sizeof(id));
	snprintf(text, 24, "%" PRIu64, id);
	buf_free(&bytes);
	return ok;
}

void clone_free(struct clone *c)
{
	json_free(c->settings);
	*c = (struct clone){ 0 };
}

/* ---- a running server */

static bool identify(struct clone *c, struct pg *pg, struct err *e)
{
	char standby[8];
	char sql[] = "SELECT system_identifier FROM pg_catalog.pg_control_system()";

	c->major = pg_version(pg) / 10000;
	if (pg_version(pg) < 100000)
		return err_set(e, ERR_INPUT, "the source is older than PostgreSQL 10");
	if (!pg_one(pg, e, sql, c->system_identifier, sizeof(c->system_identifier)) ||
		!pg_one(pg, e, "SELECT current_database()", c->database, sizeof(c->database)) ||
		!pg_one(pg, e, "SHOW server_version", c->version, sizeof(c->version)) ||
		!pg_one(pg, e, "SELECT pg_is_in_recovery()", standby, sizeof(standby)))
		return false;
	c->was_standby = standby[0] == 't';
	c->settings = settings_of_server(pg, e);
	return c->settings != NULL;
}

static bool may_replicate(const char *dsn, struct err *why)
{
	const struct pg_options o = { .is_replication = true };
	struct pg *pg = pg_open(dsn, &o, why);
	bool ok = pg && pg_exec(pg, why, "IDENTIFY_SYSTEM");

	pg_close(pg);
	return ok;
}

/* argv and environment of pg_basebackup; the password goes by the environment, which
 * only this user can read, never by the command line. */
struct backup_plan {
	char tool[1100], dsn[4096], password[1100];
	char mappings[TABLESPACES_MAX][2300];
	const char *argv[20 + TABLESPACES_MAX * 2];
	size_t argc;
	const char *env[512];
};

static void add_word(struct backup_plan *p, const char *word)
{
	p->argv[p->argc++] = word;
	p->argv[p->argc] = NULL;
}

static void plan_env(struct backup_plan *p, const char *password)
{
	size_t n = 0;

	for (char **v = environ; *v && n + 2 < LENGTH(p->env); v++)
		p->env[n++] = *v;
	if (password[0]) {
		snprintf(p->password, sizeof(p->password), "PGPASSWORD=%s", password);
		p->env[n++] = p->password;
	}
	p->env[n] = NULL;
}

/* "OLD=NEW" with = and \ escaped as pg_basebackup wants it. */
static void write_mapping(const char *old, const char *into, const char *oid, char *to, size_t size)
{
	size_t n = 0;

	for (; *old && n + 3 < size; old++) {
		if (*old == '=')
			to[n++] = '\\';
		to[n++] = *old;
	}
	snprintf(to + n, size - n, "=%s/%s/%s", into, CLONE_TABLESPACES, oid);
}

static bool plan_tablespaces(struct backup_plan *p, struct pg *pg, const char *into, struct err *e)
{
	CLEANUP(pg_rows_cleanup)
	struct pg_rows *rows = pg_query(pg, e,
		"SELECT oid, pg_tablespace_location(oid) FROM pg_tablespace "
		"WHERE pg_tablespace_location(oid) NOT IN ('', 'pg_tblspc/' || oid)",
		NULL);

	if (!rows)
		return false;
	if (pg_row_count(rows) > TABLESPACES_MAX)
		return err_set(e, ERR_INPUT, "more than %d tablespaces", TABLESPACES_MAX);
	for (size_t i = 0; i < pg_row_count(rows); i++) {
		write_mapping(pg_cell(rows, i, 1), into, pg_cell(rows, i, 0), p->mappings[i],
			sizeof(p->mappings[i]));
		add_word(p, "-T");
		add_word(p, p->mappings[i]);
	}
	return true;
}

static bool base_backup(struct clone *c, const char *dsn, struct pg *pg, const char *into,
	bool is_fast, int lock_fd, const char *tool, const struct run *r, struct err *e)
{
	struct backup_plan *p = calloc(1, sizeof(*p));
	char password[1024];
	bool ok = false;

	if (!p)
		return err_set(e, ERR_ENV, "out of memory");
	if (!pg_split_password(dsn, p->dsn, sizeof(p->dsn), password, sizeof(password), e))
		goto out;
	plan_env(p, password);
	add_word(p, tool);
	add_word(p, "-d");
	add_word(p, p->dsn);
	add_word(p, "-D");
	add_word(p, into);
	add_word(p, "--wal-method=stream");
	add_word(p, is_fast ? "--checkpoint=fast" : "--checkpoint=spread");
	add_word(p, "--no-password");
	add_word(p, "--no-sync");
	if (c->major >= 13)
		add_word(p, "--no-manifest");
	if (!plan_tablespaces(p, pg, into, e))
		goto out;
	struct proc_spec spec = { .argv = p->argv, .env = p->env, .held_fd = lock_fd };
	if (!is_fast)
		run_note(r,
			"waiting for the source's next checkpoint (up to its checkpoint_timeout; "
			"--fast asks for one now, at the cost of its disks)");
	c->method = "base backup";
	ok = proc_run(&spec, r, NULL, e);
	if (!ok)
		err_in(e, "pg_basebackup");
out:
	explicit_bzero(password, sizeof(password));
	free(p);
	return ok;
}

static bool choose(struct clone *c, const char *dsn, struct pg *pg, const char *into, bool is_fast,
	int lock_fd, const struct run *r, struct err *e)
{
	char bin_dir[1024], tool[1100], data_dir[1024];
	struct err why = { 0 };

	if (!pgserver_find(c->major, bin_dir, e))
		return false;
	if (pginstall_tool(bin_dir, "pg_basebackup", tool) && may_replicate(dsn, &why))
		return base_backup(c, dsn, pg, into, is_fast, lock_fd, tool, r, e);
	if (clone_files_are_here(pg, c->system_identifier, data_dir)) {
		c->method = "file copy of a running server";
		return clone_files(pg, data_dir, into, is_fast, &c->is_reflink, e);
	}
	err_set(e, ERR_ENV, "could not copy the source: %s",
		why.what[0] ? why.what : "pg_basebackup is not installed");
	return err_hint(e,
		"either the role needs REPLICATION and pg_hba.conf a line 'host replication "
		"ROLE ADDRESS ...', or run this where the data directory is readable, as a "
		"role that may call pg_backup_start");
}

/* A server that reprod itself runs (the incident lab) is nobody's production. */
static bool is_private(const char *dsn)
{
	struct pg_address a;
	struct err ignored = { 0 };

	return pg_address_of(dsn, &a, &ignored) && strncmp(a.hosts, "/tmp/reprod-", 12) == 0;
}

bool clone_server(struct clone *c, const char *dsn, const char *into, bool is_fast, int lock_fd,
	const struct run *r, struct err *e)
{
	const struct pg_options o = { .is_read_only = true };
	CLEANUP(pg_cleanup) struct pg *pg = pg_open(dsn, &o, e);

	*c = (struct clone){ 0 };
	return pg && identify(c, pg, e) &&
	       choose(c, dsn, pg, into, is_fast || is_private(dsn), lock_fd, r, e);
}

/* ---- a stopped server */

bool clone_dir(
	struct clone *c, const char *from, const char *into, const struct run *r, struct err *e)
{
	char real[PATH_MAX], path[1100];
	int pid;

	*c = (struct clone){ 0 };
	if (!realpath(from, real) || strlen(real) > 800)
		return err_os(
			e, ERR_INPUT, errno ? errno : ENAMETOOLONG, "could not open '%s'", from);
	if (!pgserver_dir_major(real, &c->major, e) ||
		!clone_system_identifier(real, c->system_identifier, e))
		return false;
	if ((pid = labdir_postmaster(real))) {
		err_set(e, ERR_REFUSED, "a server, process %d, runs on '%s'", pid, from);
		return err_hint(e, "name the server by a connection string instead, or stop it");
	}
	snprintf(c->version, sizeof(c->version), "%d", c->major);
	labdir_path(real, "standby.signal", path);
	c->was_standby = file_exists(path);
	c->settings = settings_of_dir(real, e);
	if (!c->settings)
		return false;
	c->method = "copy of a stopped data directory";
	run_detail(r, "copying '%s'", real);
	return file_copy_tree(real, into, &c->is_reflink, e) && clone_take_links(into, e) &&
	       clone_take_tablespaces(into, into, e);
}
