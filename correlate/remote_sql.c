#include "correlate/remote_sql.h"

#include <stdlib.h>

#include "core/driver/pg.h"
#include "correlate/remote_cells.h"

#define FETCH_SQL "FETCH 5000 FROM reprod_cells"

const char *const remote_sql_params[] = { "query", "table", "time", "route", "ms", "status", "from",
	"to", "bucket", "zone", "timeout", NULL };

/* What is asked, as it is put together. */
struct question {
	const struct remote_url *url;
	struct pg *pg;
	struct buf rows; /* "(SELECT ...)": where the rows come from */
	struct buf sql;
	struct buf zone; /* " AT TIME ZONE '...'", or nothing */
	int64_t from_ns, to_ns, width_ns, timeout_ns;
	bool has_status, is_epoch, is_local; /* t: seconds since 1970; a time without zone */
	const char *milliseconds; /* of q.ms, as an expression */
};

/* ---- where the rows come from */

static bool add_name(struct question *q, const char *name, struct err *e)
{
	char *quoted = pg_quote_name(q->pg, name);

	if (!quoted)
		return err_set(e, ERR_USAGE, "cannot use '%.60s' as a name", name);
	buf_add_text(&q->rows, quoted);
	free(quoted);
	return true;
}

/* "audit.requests" is a table of a schema; a name with a dot in itself needs query=. */
static bool add_table(struct question *q, const char *table, struct err *e)
{
	const char *dot = strchr(table, '.');
	char schema[128];

	if (!dot)
		return add_name(q, table, e);
	if ((size_t)(dot - table) >= sizeof(schema))
		return err_set(e, ERR_USAGE, "the name in table= is too long");
	snprintf(schema, sizeof(schema), "%.*s", (int)(dot - table), table);
	if (!add_name(q, schema, e))
		return false;
	buf_add_byte(&q->rows, '.');
	return add_name(q, dot + 1, e);
}

static bool rows_of_table(struct question *q, const char *table, struct err *e)
{
	static const struct {
		const char *param, *column;
	} columns[] = { { "time", "t" }, { "route", "route" }, { "ms", "ms" },
		{ "status", "status" } };

	buf_add_text(&q->rows, "(SELECT ");
	for (size_t i = 0; i < LENGTH(columns); i++) {
		const char *given = remote_url_get(q->url, columns[i].param);

		if (!given && strcmp(columns[i].param, "status") == 0)
			continue;
		buf_add_text(&q->rows, i ? ", " : "");
		if (!add_name(q, given ? given : columns[i].column, e))
			return false;
		buf_addf(&q->rows, " AS %s", columns[i].column);
	}
	buf_add_text(&q->rows, " FROM ");
	if (!add_table(q, table, e))
		return false;
	buf_add_byte(&q->rows, ')');
	return true;
}

static bool make_rows(struct question *q, struct err *e)
{
	const char *query = remote_url_get(q->url, "query");
	const char *table = remote_url_get(q->url, "table");

	if (!query == !table) {
		err_set(e, ERR_USAGE, "sql: needs query=, or table= (and not both)");
		return err_hint(e, "sql:DSN?query=SELECT t, route, ms FROM ...; "
				   "sql:DSN?table=requests&time=at&ms=took");
	}
	if (table)
		return rows_of_table(q, table, e);
	size_t n = strlen(query);
	while (n && strchr("; \t\r\n", query[n - 1]))
		n--;
	/* The line's end: the query may end in a comment. */
	buf_addf(&q->rows, "(%.*s\n)", (int)n, query);
	return true;
}

/* ---- what kinds its columns are of */

static bool lack_column(const char *name, struct err *e)
{
	err_set(e, ERR_INPUT, "the query has no column '%s'", name);
	return err_hint(e,
		"it needs t, route and ms (name them: SELECT at AS t, ...); status is used "
		"when it is there");
}

static bool take_time_kind(struct question *q, const char *type, struct err *e)
{
	static const char *const numbers[] = { "bigint", "integer", "numeric", "double precision",
		"real" };
	const char *zone = remote_url_get(q->url, "zone");
	char *quoted = zone ? pg_quote_literal(q->pg, zone) : NULL;

	if (quoted)
		buf_addf(&q->zone, " AT TIME ZONE %s", quoted);
	free(quoted);
	for (size_t i = 0; i < LENGTH(numbers); i++)
		q->is_epoch |= strcmp(type, numbers[i]) == 0;
	if (q->is_epoch || strcmp(type, "timestamp with time zone") == 0)
		return true;
	q->is_local = strcmp(type, "timestamp without time zone") == 0;
	if (!q->is_local) {
		err_set(e, ERR_INPUT, "the column 't' is of type %.60s", type);
		return err_hint(e,
			"a timestamptz, or a number of seconds since 1970; cast it in the query");
	}
	if (!q->zone.n) {
		err_set(e, ERR_INPUT, "the column 't' has no time zone");
		return err_hint(e, "zone=Europe/Berlin (or zone=UTC) says which its times are in");
	}
	return true;
}

static bool take_latency_kind(struct question *q, const char *type, struct err *e)
{
	static const char *const kinds[] = { "bigint", "integer", "smallint", "numeric",
		"double precision", "real" };

	q->milliseconds = "q.ms::float8";
	for (size_t i = 0; i < LENGTH(kinds); i++)
		if (strcmp(type, kinds[i]) == 0)
			return true;
	if (strcmp(type, "interval") == 0) {
		q->milliseconds = "extract(epoch FROM q.ms)::float8 * 1000";
		return true;
	}
	err_set(e, ERR_INPUT, "the column 'ms' is of type %.60s", type);
	return err_hint(e, "a number of milliseconds, or an interval");
}

/* Rows of no row still have columns. */
static bool look_at_columns(struct question *q, struct err *e)
{
	CLEANUP(pg_rows_cleanup) struct pg_rows *columns = NULL;
	CLEANUP(pg_rows_cleanup) struct pg_rows *types = NULL;
	bool has_t = false, has_route = false, has_ms = false;

	buf_reset(&q->sql);
	buf_addf(&q->sql, "SELECT * FROM %s AS q LIMIT 0", buf_text(&q->rows));
	columns = pg_query(q->pg, e, buf_text(&q->sql), NULL);
	for (size_t i = 0; columns && i < pg_column_count(columns); i++) {
		const char *name = pg_column_name(columns, i);

		has_t |= strcmp(name, "t") == 0;
		has_route |= strcmp(name, "route") == 0;
		has_ms |= strcmp(name, "ms") == 0;
		q->has_status |= strcmp(name, "status") == 0;
	}
	if (!columns)
		return false;
	if (!has_t || !has_route || !has_ms)
		return lack_column(!has_t ? "t" : !has_route ? "route" : "ms", e);
	/* The null row has the types when the query has no row at all. */
	buf_reset(&q->sql);
	buf_addf(&q->sql,
		"SELECT pg_typeof(t)::text, pg_typeof(ms)::text"
		" FROM (SELECT 1) AS one LEFT JOIN"
		" (SELECT t, ms FROM %s AS q LIMIT 0) AS x ON true",
		buf_text(&q->rows));
	types = pg_query(q->pg, e, buf_text(&q->sql), NULL);
	return types && take_time_kind(q, pg_cell(types, 0, 0), e) &&
	       take_latency_kind(q, pg_cell(types, 0, 1), e);
}

/* ---- the one big question */

static void add_limit(struct question *q, const char *compare, int64_t ns)
{
	buf_addf(&q->sql, " AND q.t %s ", compare);
	buf_addf(&q->sql, q->is_epoch ? "%.6f" : "to_timestamp(%.6f)", (double)ns / 1e9);
	/* In its own zone, so that an index on it is of use. */
	buf_add_text(&q->sql, q->is_local ? buf_text(&q->zone) : "");
}

static void add_limits(struct question *q)
{
	if (q->from_ns != INT64_MIN)
		add_limit(q, ">=", q->from_ns);
	if (q->to_ns != INT64_MAX)
		add_limit(q, "<", q->to_ns);
}

/* As input_read() has it: three digits are HTTP's, five characters an SQLSTATE. */
#define IS_ERROR                                                                                   \
	"CASE WHEN q.status::text ~ '^[0-9A-Z]{5}$' THEN q.status::text <> '00000'"                \
	" ELSE q.status::text ~ '^[5-9][0-9][0-9]$' END"

/* Microseconds as a file's milliseconds are rounded, and the bin of series_bin(): 64 to the
 * octave. The half keeps ln() clear of powers of two: exact up to 2^42. */
static const char cells_head[] =
	"DECLARE reprod_cells NO SCROLL CURSOR FOR "
	"SELECT floor(t / %.9f)::bigint, route, CASE WHEN us < 64 THEN us ELSE"
	" (e - 5) * 64 + ((us >> (e - 6)::int) & 63) END, count(*), count(*) FILTER (WHERE bad),"
	" max(us), min(t) FROM ("
	"SELECT t, route, us, bad, floor(ln(us + 0.5) / ln(2::float8))::bigint AS e FROM ("
	"SELECT CASE WHEN t BETWEEN -9e9 AND 9e9 THEN t END AS t, route, bad,"
	" CASE WHEN ms >= 0 AND ms <= " REMOTE_LATENCY_MAX_MS
	" THEN least(floor((floor(ms * 1e6 + 0.5) + 500) / 1000)::bigint, 4398046511103) END AS us"
	" FROM (SELECT ";
static const char cells_tail[] = ") AS a) AS b) AS c GROUP BY 1, 2, 3 ORDER BY 1, 2, 3";

static bool make_question(struct question *q, struct err *e)
{
	buf_reset(&q->sql);
	buf_addf(&q->sql, cells_head, (double)q->width_ns / 1e9);
	if (q->is_epoch)
		buf_add_text(&q->sql, "q.t::float8");
	else
		buf_addf(&q->sql, "extract(epoch FROM q.t%s)::float8",
			q->is_local ? buf_text(&q->zone) : "");
	buf_addf(&q->sql,
		" AS t, q.route::text AS route, %s AS ms, %s AS bad FROM %s AS q WHERE true",
		q->milliseconds, q->has_status ? IS_ERROR : "false", buf_text(&q->rows));
	add_limits(q);
	buf_add_text(&q->sql, cells_tail);
	return !q->sql.is_full || err_set(e, ERR_USAGE, "the query is too long");
}

static bool run_statement(struct pg *pg, const char *sql, struct err *e)
{
	/* The extended protocol takes one statement only, whatever the query holds. */
	struct pg_rows *rows = pg_query(pg, e, sql, NULL);

	pg_rows_free(rows);
	return rows != NULL;
}

static bool add_rows(struct remote_cells *cells, const struct pg_rows *rows, struct err *e)
{
	for (size_t i = 0; i < pg_row_count(rows); i++) {
		const char *fields[REMOTE_CELL_FIELDS];

		for (size_t k = 0; k < LENGTH(fields); k++)
			fields[k] = pg_cell(rows, i, k);
		if (!remote_cells_add(cells, fields, e))
			return false;
	}
	return true;
}

static bool fetch(
	struct question *q, struct remote_cells *cells, const struct run *run, struct err *e)
{
	bool is_done = false;

	while (!is_done) {
		CLEANUP(pg_rows_cleanup) struct pg_rows *rows = pg_query(q->pg, e, FETCH_SQL, NULL);

		if (!rows || !add_rows(cells, rows, e))
			return false;
		is_done = pg_row_count(rows) == 0 || run_stopped(run);
	}
	return true;
}

static bool ask(
	struct question *q, struct remote_cells *cells, const struct run *run, struct err *e)
{
	return make_rows(q, e) && run_statement(q->pg, "BEGIN READ ONLY", e) &&
	       look_at_columns(q, e) && make_question(q, e) &&
	       run_statement(q->pg, buf_text(&q->sql), e) && fetch(q, cells, run, e) &&
	       run_statement(q->pg, "COMMIT", e) && remote_cells_finish(cells, e);
}

/* What the server says of a question is the asker's to mend; hints by its code. */
static void explain(const struct question *q, struct err *e)
{
	const char *state = pg_sqlstate(q->pg);
	char text[CLOCK_TEXT_MAX];

	if (e->kind == ERR_INTERRUPTED)
		return;
	if (strcmp(state, "57014") == 0)
		err_hint(e,
			"it was given %s: give it longer (timeout=5m) or less to do (from=, to=)",
			clock_duration_text(q->timeout_ns, text));
	else if (strncmp(state, "42501", 5) == 0)
		err_hint(e, "this user may not read that: GRANT SELECT");
	else if (strncmp(state, "42", 2) == 0 || strncmp(state, "22", 2) == 0) {
		e->kind = ERR_INPUT;
		if (!e->hint[0] && strcmp(state, "42703") == 0 && remote_url_get(q->url, "table"))
			err_hint(e, "time=, route=, ms= and status= name the table's columns "
				    "(t, route and ms when they are not given)");
		else if (!e->hint[0])
			err_hint(e,
				"the query runs inside of SELECT ... FROM (QUERY): try it alone first");
	}
}

/* Without the host nobody knows which of several servers said it. */
static void name_server(const char *dsn, struct err *e)
{
	struct pg_address where;
	struct err unread = { 0 };

	if (e->kind != ERR_USAGE && e->kind != ERR_INTERRUPTED &&
		pg_address_of(dsn, &where, &unread))
		err_in(e, "sql: %.100s%s%.20s", where.hosts, where.ports[0] ? ":" : "",
			where.ports);
}

bool remote_sql_read(struct series *s, const struct remote_url *url, const struct remote *remote,
	struct remote_counts *ret, struct err *e)
{
	struct question q = { .url = url,
		.from_ns = INT64_MIN,
		.to_ns = INT64_MAX,
		.width_ns = REMOTE_WIDTH_NS,
		.timeout_ns = 60 * NS_PER_S };
	struct pg_options options = { .application = "reprod correlate",
		.is_read_only = true,
		.lock_timeout_ns = 5 * NS_PER_S,
		.run = remote->run };
	bool ok = false;

	if (!remote_url_range(url, &remote->run->clock, &q.from_ns, &q.to_ns, e) ||
		!remote_url_duration(url, "bucket", 10 * NS_PER_MS, &q.width_ns, e) ||
		!remote_url_duration(url, "timeout", NS_PER_S, &q.timeout_ns, e))
		return false;
	options.statement_timeout_ns = q.timeout_ns;
	struct remote_cells cells = { s, q.width_ns, ret };
	buf_init(&q.rows, REMOTE_TEXT_MAX);
	buf_init(&q.sql, 2 * REMOTE_TEXT_MAX);
	q.pg = pg_open(url->address, &options, e);
	if (q.pg) {
		ok = ask(&q, &cells, remote->run, e);
		if (!ok)
			explain(&q, e);
	}
	if (!ok)
		name_server(url->address, e);
	pg_close(q.pg);
	buf_free(&q.rows);
	buf_free(&q.sql);
	buf_free(&q.zone);
	return ok;
}
