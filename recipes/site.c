#include "recipes/site.h"

#include <dirent.h>
#include <stdlib.h>
#include <unistd.h>

#include "core/base/file.h"
#include "core/driver/target.h"

#define REPLAY_ROLE "reprod_replay"

struct pg *site_admin(const struct site *s, struct err *e)
{
	return pg_open(s->admin_dsn, &(struct pg_options){ .application = "reprod recipe" }, e);
}

/* To libpq a word alone is a database, but only as long as it is alone. */
static void name_database(const char *word, const char *role, char *to, size_t size)
{
	char quoted[256];
	size_t n = 0;

	for (; *word && n + 3 < sizeof(quoted); word++) {
		if (*word == '\'' || *word == '\\')
			quoted[n++] = '\\';
		quoted[n++] = *word;
	}
	quoted[n] = '\0';
	snprintf(to, size, "dbname='%s' user=%s", quoted, role);
}

/* The same database as another role; libpq takes the last word on a keyword. */
static void with_role(const char *dsn, const char *role, char *to, size_t size)
{
	bool is_uri =
		strncmp(dsn, "postgresql://", 13) == 0 || strncmp(dsn, "postgres://", 11) == 0;

	if (is_uri)
		snprintf(to, size, "%s%cuser=%s", dsn, strchr(dsn, '?') ? '&' : '?', role);
	else if (strchr(dsn, '=') || !*dsn)
		snprintf(to, size, "%s user=%s", dsn, role);
	else
		name_database(dsn, role, to, size);
}

/* What an ordinary role needs to send production's statements to a test database. */
static const char role_sql[] =
	"DO $$ DECLARE s record; BEGIN "
	"IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = '" REPLAY_ROLE "') THEN "
	"CREATE ROLE " REPLAY_ROLE " LOGIN NOSUPERUSER; END IF; "
	"EXECUTE format('GRANT CONNECT, TEMPORARY ON DATABASE %I TO " REPLAY_ROLE
	"', current_database()); "
	"FOR s IN SELECT nspname FROM pg_namespace WHERE nspname NOT LIKE 'pg\\_%' "
	"AND nspname NOT IN ('information_schema', 'reprod') LOOP "
	"EXECUTE format('GRANT USAGE, CREATE ON SCHEMA %I TO " REPLAY_ROLE "', s.nspname); "
	"EXECUTE format('GRANT ALL ON ALL TABLES IN SCHEMA %I TO " REPLAY_ROLE "', s.nspname); "
	"EXECUTE format('GRANT ALL ON ALL SEQUENCES IN SCHEMA %I TO " REPLAY_ROLE "', s.nspname); "
	"END LOOP; END $$";

/* Relations of superusers, so that a job may lock, refresh or alter them. */
static const char owner_sql[] =
	"DO $$ DECLARE o record; BEGIN FOR o IN SELECT format('ALTER %s %s OWNER TO " REPLAY_ROLE
	"', CASE relkind WHEN 'v' THEN 'VIEW' WHEN 'm' THEN 'MATERIALIZED VIEW' WHEN 'S' THEN 'SEQUENCE' "
	"ELSE 'TABLE' END, c.oid::regclass) AS sql FROM pg_class c JOIN pg_namespace n ON n.oid = relnamespace "
	"JOIN pg_roles r ON r.oid = relowner WHERE r.rolsuper AND relkind IN ('r', 'p', 'v', 'm', 'S') "
	"AND nspname NOT LIKE 'pg\\_%' AND nspname NOT IN ('information_schema', 'reprod') "
	"AND NOT EXISTS (SELECT FROM pg_depend d WHERE d.classid = 'pg_class'::regclass AND d.objid = c.oid "
	"AND (d.deptype = 'e' OR (relkind = 'S' AND d.deptype IN ('a', 'i')))) LOOP "
	"EXECUTE o.sql; END LOOP; END $$";

static bool prepare_roles(struct site *s, const struct json *capture_head, struct err *e)
{
	struct pg *c = site_admin(s, e);
	char text[64];
	bool ok = c && target_check(c, &s->mark, e) &&
		  (!capture_head || target_fits_capture(&s->mark, capture_head, e)) &&
		  pg_one(c, e, "SELECT current_database()", s->database, sizeof(s->database)) &&
		  pg_one(c, e, "SELECT rolsuper FROM pg_roles WHERE rolname = current_user", text,
			  sizeof(text));

	s->is_superuser = ok && text[0] == 't';
	if (ok && s->is_superuser && !s->is_dir)
		ok = pg_exec(c, e, role_sql) && pg_exec(c, e, owner_sql);
	pg_close(c);
	return ok;
}

static bool open_dsn(
	struct site *s, const struct json *capture_head, const struct run *r, struct err *e)
{
	snprintf(s->admin_dsn, sizeof(s->admin_dsn), "%s", s->given);
	if (!prepare_roles(s, capture_head, e))
		return false;
	if (s->is_superuser)
		run_note(r,
			"%s: traffic runs as role %s, to which the superusers' relations of '%s' now belong",
			s->name, REPLAY_ROLE, s->database);
	if (s->is_superuser)
		with_role(s->given, REPLAY_ROLE, s->traffic_dsn, sizeof(s->traffic_dsn));
	else
		snprintf(s->traffic_dsn, sizeof(s->traffic_dsn), "%s", s->given);
	return true;
}

static void adopt_lab(struct site *s)
{
	snprintf(s->admin_dsn, sizeof(s->admin_dsn), "%s", s->lab.admin_dsn);
	snprintf(s->traffic_dsn, sizeof(s->traffic_dsn), "%s", s->lab.dsn);
	snprintf(s->database, sizeof(s->database), "%s", s->lab.database);
	s->mark = s->lab.mark;
}

bool site_open(struct site *s, const char *given, const char *name, const struct json *capture_head,
	const struct run *r, struct err *e)
{
	*s = (struct site){ .given = given, .name = name, .is_dir = file_is_dir(given) };
	if (s->is_dir) {
		if (!lab_open(&s->lab, given, r, e))
			return err_in(e, "%s", name);
		adopt_lab(s);
		s->is_open = true;
		return target_fits_capture(&s->mark, capture_head, e) || err_in(e, "%s", name);
	}
	s->is_open = true;
	return open_dsn(s, capture_head, r, e) || err_in(e, "%s", name);
}

/* On a database that others keep running, a setting is the database's. */
static bool set_on_database(struct site *s, const char *const *settings, struct err *e)
{
	struct pg *c = site_admin(s, e);
	bool ok = c != NULL;

	for (size_t i = 0; ok && settings && settings[i]; i++) {
		const char *equals = strchr(settings[i], '=');
		char word[128];
		char *name, *database, *value;

		snprintf(word, sizeof(word), "%.*s", (int)(equals - settings[i]), settings[i]);
		name = pg_quote_name(c, word);
		database = pg_quote_name(c, s->database);
		value = pg_quote_literal(c, equals + 1);
		ok = name && database && value &&
		     pg_execf(c, e, "ALTER DATABASE %s SET %s = %s", database, name, value);
		free(name);
		free(database);
		free(value);
	}
	pg_close(c);
	return ok;
}

bool site_reset(struct site *s, const char *const *settings, const struct run *r, struct err *e)
{
	int64_t began_ns = clock_mono_ns(&r->clock);
	bool ok;

	if (s->is_dir) {
		ok = lab_reset(&s->lab, settings, r, e);
		if (ok)
			adopt_lab(s);
	} else {
		ok = snapshot_reset_dsn(s->given, r, &s->mark, e) && prepare_roles(s, NULL, e) &&
		     (!settings || !settings[0] || set_on_database(s, settings, e));
	}
	s->resets++;
	s->reset_ns = clock_mono_ns(&r->clock) - began_ns;
	return ok || err_in(e, "%s", s->name);
}

static const char mighty_sql[] =
	"SELECT r.rolsuper OR EXISTS (SELECT FROM pg_roles m WHERE (m.rolsuper OR m.rolname IN "
	"('pg_execute_server_program', 'pg_write_server_files', 'pg_read_server_files')) "
	"AND pg_has_role(r.oid, m.oid, 'MEMBER')) FROM pg_roles r WHERE r.rolname = $1";

bool site_admit_role(const struct site *s, const char *role, struct err *e)
{
	const char *params[] = { role, NULL };
	struct pg *c = *role ? site_admin(s, e) : NULL;
	struct pg_rows *rows = c ? pg_query(c, e, mighty_sql, params) : NULL;
	const char *mighty = rows ? pg_cell(rows, 0, 0) : NULL;
	char *name = c ? pg_quote_name(c, role) : NULL;
	bool ok = !*role || (rows && name);

	if (ok && *role && !mighty)
		ok = err_set(e, ERR_INPUT, "there is no role '%s' in the %s", role, s->name);
	else if (ok && *role && *mighty == 't')
		ok = err_set(e, ERR_REFUSED,
			"role '%s' is a superuser or may reach the server's files", role);
	else if (ok && *role && (s->is_superuser || s->is_dir))
		ok = pg_execf(c, e, "GRANT %s TO " REPLAY_ROLE, name);
	free(name);
	pg_rows_free(rows);
	pg_close(c);
	return ok;
}

static void socket_of(struct confine *c, const char *dir, int port)
{
	c->port = port;
	snprintf(c->host, sizeof(c->host), "%.255s", dir);
	if (dir[0] == '/')
		snprintf(c->socket, sizeof(c->socket), "%.220s/.s.PGSQL.%d", dir, port);
}

void site_confine(const struct site *s, struct confine *c)
{
	struct pg_address address;
	struct err ignored = { 0 };

	snprintf(c->database, sizeof(c->database), "%s", s->database);
	snprintf(c->user, sizeof(c->user), "%s", REPLAY_ROLE);
	if (s->is_dir) {
		socket_of(c, s->lab.server.socket_dir, s->lab.server.port);
		snprintf(c->bin_dir, sizeof(c->bin_dir), "%s", s->lab.server.bin_dir);
		return;
	}
	if (pg_address_of(s->traffic_dsn, &address, &ignored)) {
		int port = atoi(address.ports);
		/* Without a host libpq takes its built-in folder, Debian's. */
		socket_of(c, *address.hosts ? address.hosts : "/var/run/postgresql",
			port ? port : 5432);
	}
	if (!s->is_superuser) {
		struct pg *pg = site_admin(s, &ignored);

		if (pg && !pg_one(pg, &ignored, "SELECT current_user", c->user, sizeof(c->user)))
			c->user[0] = '\0';
		pg_close(pg);
	}
}

/* user, system, and what ended children used (fields 14 to 17 of /proc/PID/stat). */
static int64_t ticks_of(const char *pid, int *ret_parent)
{
	unsigned long user, system;
	long children_user, children_system;
	char path[64], line[1024];
	const char *at;
	size_t n;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%.20s/stat", pid);
	f = fopen(path, "re");
	if (!f)
		return -1;
	n = fread(line, 1, sizeof(line) - 1, f);
	fclose(f);
	line[n] = '\0';
	at = strrchr(line, ')');
	if (!at || sscanf(at + 1, " %*c %d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu %ld %ld",
			   ret_parent, &user, &system, &children_user, &children_system) != 5)
		return -1;
	return (int64_t)(user + system) + children_user + children_system;
}

bool site_cpu_ns(const struct site *s, int64_t *ret_ns)
{
	int64_t ticks = 0, hz = sysconf(_SC_CLK_TCK);
	struct dirent *entry;
	DIR *proc;

	if (!s->is_dir || s->lab.server.proc.pid <= 0 || hz <= 0)
		return false;
	proc = opendir("/proc");
	if (!proc)
		return false;
	while ((entry = readdir(proc))) {
		int parent = 0;
		int64_t used;

		if (entry->d_name[0] < '1' || entry->d_name[0] > '9')
			continue;
		used = ticks_of(entry->d_name, &parent);
		if (used >= 0 && (parent == s->lab.server.proc.pid ||
					 atoi(entry->d_name) == s->lab.server.proc.pid))
			ticks += used;
	}
	closedir(proc);
	*ret_ns = ticks * (NS_PER_S / hz);
	return true;
}

void site_close(struct site *s)
{
	if (s->is_open && s->is_dir)
		lab_close(&s->lab);
	*s = (struct site){ 0 };
}
