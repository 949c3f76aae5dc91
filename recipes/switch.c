#include "recipes/switch.h"

#include <stdlib.h>

#include "core/model/sqllex.h"

bool switch_setting(const struct recipe_condition *c, bool is_on, char *text, size_t size)
{
	const char *value = is_on ? c->on_value : c->off_value;

	if (c->how != SWITCH_SETTING || !*value)
		return false;
	return snprintf(text, size, "%s=%s", c->name, value) < (int)size;
}

/* For each named table (regclass spelling), or once for the whole database. */
static bool for_tables(
	const struct recipe_condition *c, struct pg *admin, const char *verb, struct err *e)
{
	if (json_count(c->tables) == 0)
		return pg_exec(admin, e, verb);
	for (size_t i = 0; i < json_count(c->tables); i++) {
		const char *params[] = { json_text(json_at(c->tables, i), ""), NULL };
		CLEANUP(pg_rows_cleanup)
		struct pg_rows *rows = pg_query(admin, e, "SELECT to_regclass($1)::text", params);
		const char *name = rows ? pg_cell(rows, 0, 0) : NULL;

		if (!rows)
			return false;
		if (!name)
			return err_set(e, ERR_INPUT, "condition '%s': there is no table '%s'",
				c->id, params[0]);
		if (!pg_execf(admin, e, "%s %s", verb, name))
			return false;
	}
	return true;
}

static bool run_script(const char *sql, struct pg *admin, struct err *e)
{
	struct slice rest = slice_of(sql), statement;

	while (sql_split_next(&rest, &statement) == STEP_ITEM) {
		if (!pg_execf(admin, e, "%.*s", (int)statement.n, statement.p))
			return false;
	}
	return true;
}

bool switch_apply(const struct recipe_condition *c, bool is_on, struct pg *admin, struct err *e)
{
	bool ok = true;

	if (c->how == SWITCH_STATS && !is_on)
		ok = for_tables(c, admin, "ANALYZE", e);
	else if (c->how == SWITCH_BLOAT && !is_on)
		ok = for_tables(c, admin, "VACUUM FULL", e);
	else if (c->how == SWITCH_SQL)
		ok = run_script(is_on ? c->on_sql : c->off_sql, admin, e);
	return ok || err_in(e, "condition '%s'", c->id);
}

/* reltuples moves with VACUUM and index builds too, so it belongs to the state. */
static const char stats_sql[] =
	"SELECT md5(coalesce((SELECT string_agg(md5(s::text), '' ORDER BY starelid, staattnum, stainherit) "
	"FROM pg_statistic s WHERE starelid >= 16384 AND NOT EXISTS (SELECT FROM pg_class r JOIN pg_namespace n "
	"ON n.oid = relnamespace WHERE r.oid = starelid AND nspname = 'reprod')), '') || "
	"coalesce((SELECT string_agg(c.oid::text || ' ' || reltuples::bigint, ',' ORDER BY c.oid) FROM pg_class c "
	"JOIN pg_namespace n ON n.oid = relnamespace "
	"WHERE c.oid >= 16384 AND relkind IN ('r', 'm', 'p') AND nspname <> 'reprod'), ''))";

static const char plain_stats_sql[] =
	"SELECT md5(coalesce(string_agg(md5(s::text), '' ORDER BY schemaname, tablename, attname, inherited), '')) "
	"FROM pg_stats s WHERE schemaname NOT IN ('pg_catalog', 'information_schema', 'reprod')";

/* Bloat moves a little under traffic: told in steps of a tenth. */
static const char size_sql[] =
	"SELECT round(10 * ln(greatest(1, sum(pg_relation_size(oid))))) FROM pg_class "
	"WHERE oid >= 16384 AND relkind IN ('r', 'm', 'i')";

static bool read_text(struct pg *admin, const char *sql, struct switch_reading *ret, struct err *e)
{
	return pg_one(admin, e, sql, ret->text, sizeof(ret->text));
}

bool switch_read(const struct recipe_condition *c, struct pg *admin, const struct site *s,
	struct switch_reading *ret, struct err *e)
{
	char sql[256];
	bool ok = true;

	*ret = (struct switch_reading){ 0 };
	if (c->how == SWITCH_STATS) {
		ok = read_text(
			admin, s->is_superuser || s->is_dir ? stats_sql : plain_stats_sql, ret, e);
	} else if (c->how == SWITCH_SETTING) {
		char *name = pg_quote_literal(admin, c->name);

		snprintf(sql, sizeof(sql), "SELECT current_setting(%s)", name ? name : "''");
		free(name);
		ok = read_text(admin, sql, ret, e);
	} else if (c->how == SWITCH_BLOAT) {
		ok = read_text(admin, size_sql, ret, e);
	} else if (c->how == SWITCH_SQL && *c->check_sql) {
		ok = read_text(admin, c->check_sql, ret, e);
	} else if (c->how == SWITCH_DATA) {
		/* The nonce changes with each reset and never within a run. */
		ok = read_text(admin, "SELECT current_database()", ret, e);
		if (ok)
			snprintf(ret->text, sizeof(ret->text), "%.60s %.32s", s->name,
				s->mark.nonce);
	}
	return ok || err_in(e, "reading back condition '%s'", c->id);
}
