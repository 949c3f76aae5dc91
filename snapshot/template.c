#include "snapshot/template.h"

#include <stdlib.h>

#include "core/driver/target.h"
#include "snapshot/marker.h"
#include "snapshot/snapshot.h"

#define SUFFIX "_reprod_frozen"
#define FRESH "_reprod_fresh" /* a reset under way */
#define OLD "_reprod_old"
#define RENAMES_MAX 5
#define SQLSTATE_IN_USE "55006"

/* Two databases: the one named, and another to stand in while it is replaced. */
struct place {
	struct pg *outside; /* connected to "postgres" or "template1" */
	char name[64], frozen[96], fresh[96], old[96];
	char *quoted_name, *quoted_frozen, *quoted_fresh, *quoted_old; /* malloc'd */
	struct mark mark;
};

static void leave(struct place *p)
{
	pg_close(p->outside);
	free(p->quoted_name);
	free(p->quoted_frozen);
	free(p->quoted_fresh);
	free(p->quoted_old);
}

/* The last "dbname" in a connection string wins, also over a URI's. */
static struct pg *open_beside(const char *dsn, const char *database, struct err *e)
{
	char clean[4096], password[1024], whole[8192];
	struct pg *c = NULL;

	if (pg_split_password(dsn, clean, sizeof(clean), password, sizeof(password), e)) {
		char quoted[2100];
		size_t n = 0;

		for (const char *s = password; *s && n + 3 < sizeof(quoted); s++) {
			if (*s == '\'' || *s == '\\')
				quoted[n++] = '\\';
			quoted[n++] = *s;
		}
		quoted[n] = '\0';
		snprintf(whole, sizeof(whole), "%s dbname=%s%s%s%s", clean, database,
			password[0] ? " password='" : "", quoted, password[0] ? "'" : "");
		c = pg_open(whole, NULL, e);
	}
	explicit_bzero(password, sizeof(password));
	explicit_bzero(whole, sizeof(whole));
	return c;
}

static bool enter(struct place *p, const char *dsn, struct err *e)
{
	CLEANUP(pg_cleanup) struct pg *c = pg_open(dsn, NULL, e);
	struct err ignored = { 0 };

	*p = (struct place){ 0 };
	if (!c || !target_check(c, &p->mark, e) ||
		!pg_one(c, e, "SELECT current_database()", p->name, sizeof(p->name)))
		return false;
	if (strlen(p->name) + strlen(SUFFIX) > 63)
		return err_set(e, ERR_USAGE,
			"the database's name is too long to freeze (48 bytes at most)");
	snprintf(p->frozen, sizeof(p->frozen), "%s" SUFFIX, p->name);
	p->quoted_name = pg_quote_name(c, p->name);
	p->quoted_frozen = pg_quote_name(c, p->frozen);
	snprintf(p->fresh, sizeof(p->fresh), "%s" FRESH, p->name);
	p->quoted_fresh = pg_quote_name(c, p->fresh);
	snprintf(p->old, sizeof(p->old), "%s" OLD, p->name);
	p->quoted_old = pg_quote_name(c, p->old);
	if (strcmp(p->name, "postgres") != 0)
		p->outside = open_beside(dsn, "postgres", &ignored);
	if (!p->outside)
		p->outside = open_beside(dsn, "template1", e);
	return p->outside && p->quoted_name && p->quoted_frozen && p->quoted_fresh && p->quoted_old;
}

static bool exists(struct place *p, bool *ret, struct err *e)
{
	const char *const params[] = { p->frozen, NULL };
	CLEANUP(pg_rows_cleanup)
	struct pg_rows *rows =
		pg_query(p->outside, e, "SELECT FROM pg_database WHERE datname = $1", params);

	*ret = rows && pg_row_count(rows) > 0;
	return rows != NULL;
}

/* FILE_COPY (15 and later): the default writes all of it through the WAL. */
static bool copy_database(struct place *p, const char *from, const char *to, struct err *e)
{
	return pg_execf(p->outside, e, "CREATE DATABASE %s TEMPLATE %s%s", to, from,
		pg_version(p->outside) >= 150000 ? " STRATEGY file_copy" : "");
}

/* Nobody else may be connected to a template while it is copied. */
static bool end_others(struct place *p, struct err *e)
{
	const char *const params[] = { p->name, NULL };
	CLEANUP(pg_rows_cleanup)
	struct pg_rows *rows = pg_query(p->outside, e,
		"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = $1 "
		"AND pid <> pg_backend_pid()",
		params);

	return rows != NULL;
}

static bool renew(const char *dsn, const char *frozen_id, struct mark *m, struct err *e)
{
	CLEANUP(pg_cleanup) struct pg *c = pg_open(dsn, NULL, e);

	snprintf(m->frozen_id, sizeof(m->frozen_id), "%s", frozen_id);
	return c && marker_nonce(m->nonce, e) && marker_renew(c, m, e);
}

/* Owner, settings and rights belong to the database, not to its template: the frozen
 * one carries a copy of them, so that what a run sets doesn't outlive a reset. */
static const char attributes_sql[] =
	"SELECT format('ALTER DATABASE %I OWNER TO %I', $2::text, r.rolname) FROM pg_database d "
	"JOIN pg_roles r ON r.oid = datdba WHERE datname = $1 AND r.rolname <> current_user "
	"UNION ALL SELECT format('ALTER %s SET %I TO %s', CASE WHEN setrole = 0 THEN "
	"format('DATABASE %I', $2::text) ELSE format('ROLE %I IN DATABASE %I', rolname, $2::text) "
	"END, split_part(c, '=', 1), CASE WHEN split_part(c, '=', 1) IN ('search_path', "
	"'session_preload_libraries', 'local_preload_libraries', 'temp_tablespaces') THEN "
	"substr(c, strpos(c, '=') + 1) ELSE quote_literal(substr(c, strpos(c, '=') + 1)) END) "
	"FROM pg_db_role_setting s JOIN pg_database d ON d.oid = s.setdatabase "
	"LEFT JOIN pg_roles r ON r.oid = s.setrole, unnest(setconfig) AS c WHERE datname = $1 "
	"UNION ALL SELECT format('REVOKE ALL ON DATABASE %I FROM PUBLIC', $2::text) "
	"FROM pg_database WHERE datname = $1 AND datacl IS NOT NULL "
	"UNION ALL SELECT format('GRANT %s ON DATABASE %I TO %s', a.privilege_type, $2::text, "
	"CASE WHEN a.grantee = 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(a.grantee)) END) "
	"FROM pg_database, aclexplode(datacl) AS a WHERE datname = $1";

static bool copy_attributes(struct place *p, const char *from, const char *to, struct err *e)
{
	const char *const params[] = { from, to, NULL };
	CLEANUP(pg_rows_cleanup)
	struct pg_rows *rows = pg_query(p->outside, e, attributes_sql, params);

	for (size_t i = 0; rows && i < pg_row_count(rows); i++)
		if (!pg_exec(p->outside, e, pg_cell(rows, i, 0)))
			return err_in(e, "%.120s", pg_cell(rows, i, 0));
	return rows != NULL;
}

bool template_freeze(
	const char *dsn, bool is_forced, const struct run *r, struct mark *ret_mark, struct err *e)
{
	struct place p;
	char frozen_id[33];
	bool has_frozen, ok = false;

	(void)r;
	if (!enter(&p, dsn, e) || !exists(&p, &has_frozen, e) || !marker_nonce(frozen_id, e))
		goto out;
	if (has_frozen && !is_forced) {
		err_set(e, ERR_USAGE, "'%s' has a frozen state already, the database '%s'", p.name,
			p.frozen);
		err_hint(e, "--force replaces it by the present state");
		goto out;
	}
	if ((has_frozen && !pg_execf(p.outside, e, "DROP DATABASE %s", p.quoted_frozen)) ||
		!renew(dsn, frozen_id, &p.mark, e) || !end_others(&p, e) ||
		!copy_database(&p, p.quoted_name, p.quoted_frozen, e) ||
		!copy_attributes(&p, p.name, p.frozen, e))
		goto out;
	*ret_mark = p.mark;
	ok = true;
out:
	leave(&p);
	return ok;
}

/* Both names change in one transaction: whenever we are killed, a whole database has the
 * name. A client that comes back at once is in the way of a rename, so it is tried again. */
static bool exchange(struct place *p, struct err *e)
{
	for (int i = 0; i < RENAMES_MAX; i++) {
		struct err why = { 0 };

		if (!end_others(p, e))
			return false;
		if (pg_execf(p->outside, &why,
			    "BEGIN; ALTER DATABASE %s RENAME TO %s; "
			    "ALTER DATABASE %s RENAME TO %s; COMMIT",
			    p->quoted_name, p->quoted_old, p->quoted_fresh, p->quoted_name)) {
			*e = (struct err){ 0 };
			return true;
		}
		bool is_busy = strcmp(pg_sqlstate(p->outside), SQLSTATE_IN_USE) == 0;
		*e = why;
		if (pg_is_dead(p->outside) || !pg_exec(p->outside, &why, "ROLLBACK") || !is_busy)
			return false;
	}
	return false;
}

/* The copy is made before the old one goes, so that a failure leaves the old one. */
static bool replace(struct place *p, struct err *e)
{
	const char *force = pg_version(p->outside) >= 130000 ? " WITH (FORCE)" : "";

	return pg_execf(p->outside, e, "DROP DATABASE IF EXISTS %s", p->quoted_fresh) &&
	       pg_execf(p->outside, e, "DROP DATABASE IF EXISTS %s", p->quoted_old) &&
	       copy_database(p, p->quoted_frozen, p->quoted_fresh, e) &&
	       copy_attributes(p, p->frozen, p->fresh, e) && exchange(p, e) &&
	       pg_execf(p->outside, e, "DROP DATABASE %s%s", p->quoted_old, force);
}

bool snapshot_reset_dsn(const char *dsn, const struct run *r, struct mark *ret_mark, struct err *e)
{
	struct place p;
	char frozen_id[33];
	bool has_frozen, ok = false;

	(void)r;
	if (!enter(&p, dsn, e) || !exists(&p, &has_frozen, e))
		goto out;
	if (!has_frozen) {
		err_set(e, ERR_INPUT, "'%s' has no frozen state (database '%s')", p.name, p.frozen);
		err_hint(e, "make one: reprod snapshot freeze DSN");
		goto out;
	}
	snprintf(frozen_id, sizeof(frozen_id), "%s", p.mark.frozen_id);
	if (!replace(&p, e) || !renew(dsn, frozen_id, &p.mark, e))
		goto out;
	*ret_mark = p.mark;
	ok = true;
out:
	leave(&p);
	return ok;
}
