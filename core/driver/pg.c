#include "core/driver/pg.h"

#include <errno.h>
#include <libpq-fe.h>
#include <poll.h>
#include <stdlib.h>

#include "core/base/buf.h"
#include "core/base/clock.h"

/* How long past its statement_timeout a server may stay silent before it counts
 * as gone: the cancel itself takes a while under load. */
#define GRACE_NS (10 * NS_PER_S)

struct pg {
	PGconn *conn;
	int64_t answer_timeout_ns; /* 0: waits as long as the connection lives */
	bool is_replication;
	const struct run *run;
	char sqlstate[6];
};

struct pg_rows {
	PGresult *result;
};

/* A signal may come between a look at the flag and poll(). */
enum { LOOK_MS = 500 };

/* Waits for the socket; false at the deadline (0: none), or when run was stopped. */
static bool wait_socket(PGconn *conn, bool is_writing, int64_t deadline_ns, const struct run *run)
{
	for (;;) {
		if (run && run_stopped(run))
			return false;
		struct pollfd p = {
			.fd = PQsocket(conn),
			.events = (short)(is_writing ? POLLOUT | POLLIN : POLLIN),
		};
		int wait_ms = -1;

		if (deadline_ns) {
			int64_t left_ns = deadline_ns - clock_real_mono_ns();

			if (left_ns <= 0)
				return false;
			/* Signals that ask us to stop end poll() early and are met again by
			 * the caller's loop, so a long wait is no harm. */
			wait_ms = (int)(left_ns / NS_PER_MS) + 1;
		}
		if (run && (wait_ms < 0 || wait_ms > LOOK_MS))
			wait_ms = LOOK_MS;
		int n = poll(&p, 1, wait_ms);
		if (n > 0)
			return true;
		if (n < 0 && errno != EINTR)
			return false;
	}
}

/* libpq's texts have several lines and end in a newline; ours have one. */
static void one_line(const char *from, char *to, size_t size)
{
	size_t n = 0;

	for (; *from && n + 1 < size; from++) {
		char c = *from == '\n' || *from == '\t' ? ' ' : *from;

		if (c == ' ' && (n == 0 || to[n - 1] == ' '))
			continue;
		to[n++] = c;
	}
	while (n && to[n - 1] == ' ')
		n--;
	to[n] = '\0';
}

static bool fail_connect(PGconn *conn, struct err *e)
{
	char text[400];

	one_line(conn ? PQerrorMessage(conn) : "out of memory", text, sizeof(text));
	err_set(e, ERR_ENV, "could not connect: %s", text);
	return err_hint(e, "check that the server runs and that the connection string (or PGHOST, "
			   "PGPORT, PGUSER, PGDATABASE) names it; passwords belong in ~/.pgpass");
}

/* statement: the server answered with an error, or the connection is gone. */
static bool fail_statement(struct pg *c, const PGresult *result, struct err *e)
{
	char text[400];
	const char *primary = result ? PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY) : NULL;
	const char *state = result ? PQresultErrorField(result, PG_DIAG_SQLSTATE) : NULL;
	const char *hint = result ? PQresultErrorField(result, PG_DIAG_MESSAGE_HINT) : NULL;

	snprintf(c->sqlstate, sizeof(c->sqlstate), "%s", state ? state : "");
	one_line(primary ? primary : PQerrorMessage(c->conn), text, sizeof(text));
	if (state)
		err_set(e, ERR_ENV, "the server said: %s (SQLSTATE %s)", text, state);
	else
		err_set(e, ERR_ENV, "the connection to the server broke: %s", text);
	if (hint) {
		one_line(hint, text, sizeof(text));
		return err_hint(e, "%s", text);
	}
	return false;
}

static bool connect_poll(PGconn *conn, int64_t timeout_ns, struct err *e)
{
	int64_t deadline_ns = clock_real_mono_ns() + timeout_ns;
	PostgresPollingStatusType state = PGRES_POLLING_WRITING;

	while (state != PGRES_POLLING_OK) {
		if (state == PGRES_POLLING_FAILED)
			return fail_connect(conn, e);
		if (!wait_socket(conn, state == PGRES_POLLING_WRITING, deadline_ns, NULL)) {
			char text[CLOCK_TEXT_MAX];

			err_set(e, ERR_ENV, "could not connect within %s",
				clock_duration_text(timeout_ns, text));
			return err_hint(e, "the server may be down, behind a firewall, or out of "
					   "connection slots");
		}
		state = PQconnectPoll(conn);
	}
	return true;
}

static bool apply_options(struct pg *c, const struct pg_options *o, struct err *e)
{
	struct buf sql = { 0 };
	bool ok = true;

	/* SET, not startup options: connection poolers refuse unknown startup
	 * parameters. Nothing is sent when nothing was asked for. */
	if (o->is_read_only)
		buf_add_text(&sql, "SET default_transaction_read_only = on;");
	if (o->statement_timeout_ns)
		buf_addf(&sql, "SET statement_timeout = %lld;",
			(long long)(o->statement_timeout_ns / NS_PER_MS));
	if (o->lock_timeout_ns)
		buf_addf(&sql, "SET lock_timeout = %lld;",
			(long long)(o->lock_timeout_ns / NS_PER_MS));
	if (sql.n)
		ok = pg_exec(c, e, buf_text(&sql));
	buf_free(&sql);
	return ok;
}

/* libpq's complaint about a malformed string quotes parts of it, passwords too. */
static bool parse_string(const char *dsn, PQconninfoOption **ret, struct err *e)
{
	bool is_string = strchr(dsn, '=') || strncmp(dsn, "postgres://", 11) == 0 ||
			 strncmp(dsn, "postgresql://", 13) == 0;
	char *text = NULL;

	*ret = NULL;
	if (!is_string)
		return true;
	*ret = PQconninfoParse(dsn, &text);
	PQfreemem(text);
	if (*ret)
		return true;
	err_set(e, ERR_USAGE, "cannot read the connection string");
	return err_hint(e, "write it as 'host=... port=... dbname=... user=...' or "
			   "postgresql://user@host:port/database");
}

static void ignore_notice(void *data, const char *text)
{
	(void)data;
	(void)text;
}

struct pg *pg_open(const char *dsn, const struct pg_options *options, struct err *e)
{
	const struct pg_options none = { 0 };
	const struct pg_options *o = options ? options : &none;
	const char *names[] = { "fallback_application_name", "dbname", "replication", NULL };
	const char *values[] = { o->application ? o->application : "reprod", dsn ? dsn : "",
		o->is_replication ? "true" : NULL, NULL };
	int64_t timeout_ns = o->connect_timeout_ns ? o->connect_timeout_ns : 10 * NS_PER_S;
	struct pg *c = calloc(1, sizeof(*c));

	if (!c) {
		err_set(e, ERR_ENV, "out of memory");
		return NULL;
	}
	PQconninfoOption *parsed;
	if (!parse_string(values[1], &parsed, e))
		goto fail;
	PQconninfoFree(parsed);
	c->is_replication = o->is_replication;
	c->run = o->run;
	c->answer_timeout_ns = o->statement_timeout_ns ? o->statement_timeout_ns + GRACE_NS : 0;
	c->conn = PQconnectStartParams(names, values, 1);
	if (!c->conn || PQstatus(c->conn) == CONNECTION_BAD) {
		fail_connect(c->conn, e);
		goto fail;
	}
	PQsetNoticeProcessor(c->conn, ignore_notice, NULL);
	if (!connect_poll(c->conn, timeout_ns, e) || !apply_options(c, o, e))
		goto fail;
	return c;
fail:
	pg_close(c);
	return NULL;
}

void pg_close(struct pg *c)
{
	if (!c)
		return;
	PQfinish(c->conn);
	free(c);
}

void pg_cleanup(struct pg **c)
{
	pg_close(*c);
}

bool pg_answers(const char *dsn)
{
	const char *const names[] = { "dbname", "connect_timeout", NULL };
	const char *const values[] = { dsn, "2", NULL };

	return PQpingParams(names, values, 1) == PQPING_OK;
}

static const char *option(const PQconninfoOption *list, const char *keyword)
{
	for (; list && list->keyword; list++)
		if (strcmp(list->keyword, keyword) == 0 && list->val && *list->val)
			return list->val;
	return NULL;
}

static const char *either(const char *a, const char *b)
{
	return a ? a : b ? b : "";
}

bool pg_address_of(const char *dsn, struct pg_address *ret, struct err *e)
{
	PQconninfoOption *given, *defaults;
	const char *host;

	*ret = (struct pg_address){ 0 };
	if (!parse_string(dsn ? dsn : "", &given, e))
		return false;
	defaults = PQconndefaults();
	host = option(given, "hostaddr");
	if (!host)
		host = option(given, "host");
	if (!host)
		host = either(option(defaults, "hostaddr"), option(defaults, "host"));
	snprintf(ret->hosts, sizeof(ret->hosts), "%s", host);
	snprintf(ret->ports, sizeof(ret->ports), "%s",
		either(option(given, "port"), option(defaults, "port")));
	ret->has_service = option(given, "service") || option(defaults, "service");
	PQconninfoFree(given);
	PQconninfoFree(defaults);
	return true;
}

static void add_option(struct buf *to, const char *keyword, const char *value)
{
	buf_addf(to, "%s%s='", to->n ? " " : "", keyword);
	for (; *value; value++) {
		if (*value == '\'' || *value == '\\')
			buf_add_byte(to, '\\');
		buf_add_byte(to, (unsigned char)*value);
	}
	buf_add_byte(to, '\'');
}

bool pg_split_password(const char *dsn, char *clean, size_t size, char *password,
	size_t password_size, struct err *e)
{
	struct buf text = { 0 };
	PQconninfoOption *parsed;
	bool ok;

	password[0] = '\0';
	if (!parse_string(dsn, &parsed, e))
		return false;
	if (!parsed)
		add_option(&text, "dbname", dsn);
	for (const PQconninfoOption *o = parsed; o && o->keyword; o++) {
		if (!o->val || !*o->val)
			continue;
		if (strcmp(o->keyword, "password") == 0)
			snprintf(password, password_size, "%s", o->val);
		else
			add_option(&text, o->keyword, o->val);
	}
	PQconninfoFree(parsed);
	ok = text.n < size;
	if (ok)
		memcpy(clean, buf_text(&text), text.n + 1);
	else
		err_set(e, ERR_USAGE, "the connection string is too long");
	buf_free(&text);
	return ok;
}

int pg_version(const struct pg *c)
{
	return PQserverVersion(c->conn);
}

static bool send_statement(struct pg *c, const char *sql, const char *const *params, bool is_simple)
{
	int count = 0;

	if (is_simple || c->is_replication)
		return PQsendQuery(c->conn, sql) == 1;
	while (params && params[count])
		count++;
	return PQsendQueryParams(c->conn, sql, count, NULL, params, NULL, NULL, 0) == 1;
}

/* The next result, or NULL at the end; *ret_timed_out when the server is silent. Once
 * stopped, it is asked to cancel, and then says that it did. */
static PGresult *next_result(struct pg *c, int64_t deadline_ns, bool *ret_timed_out)
{
	const struct run *run = c->run;

	while (PQisBusy(c->conn)) {
		if (!wait_socket(c->conn, false, deadline_ns, run)) {
			if (run && run_stopped(run)) {
				pg_cancel(c);
				run = NULL;
				continue;
			}
			*ret_timed_out = true;
			return NULL;
		}
		if (!PQconsumeInput(c->conn))
			break;
	}
	return PQgetResult(c->conn);
}

static bool is_good(const PGresult *result)
{
	ExecStatusType status = PQresultStatus(result);

	return status == PGRES_TUPLES_OK || status == PGRES_COMMAND_OK ||
	       status == PGRES_EMPTY_QUERY;
}

/* A COPY of our own would wait for data for ever: that is a fault of the caller. */
static bool is_copy(const PGresult *result)
{
	ExecStatusType status = PQresultStatus(result);

	return status == PGRES_COPY_IN || status == PGRES_COPY_OUT || status == PGRES_COPY_BOTH;
}

/* Sends, waits, and keeps the last result; the first error wins. */
static PGresult *run(
	struct pg *c, const char *sql, const char *const *params, bool is_simple, struct err *e)
{
	int64_t deadline_ns =
		c->answer_timeout_ns ? clock_real_mono_ns() + c->answer_timeout_ns : 0;
	PGresult *last = NULL, *result;
	bool is_silent = false, has_failed = false;

	c->sqlstate[0] = '\0';
	if (!send_statement(c, sql, params, is_simple)) {
		fail_statement(c, NULL, e);
		return NULL;
	}
	while ((result = next_result(c, deadline_ns, &is_silent))) {
		bool copies = is_copy(result);

		if (!is_good(result) && !has_failed) {
			has_failed = true;
			fail_statement(c, result, e);
		}
		PQclear(last);
		last = result;
		if (copies)
			break;
	}
	if (is_silent) {
		err_set(e, ERR_ENV, "the server did not answer within %lld s",
			(long long)(c->answer_timeout_ns / NS_PER_S));
		has_failed = true;
	} else if (!last && !has_failed) {
		fail_statement(c, NULL, e);
		has_failed = true;
	}
	if (has_failed) {
		PQclear(last);
		if (c->run && run_stopped(c->run))
			err_set(e, ERR_INTERRUPTED, "interrupted");
		return NULL;
	}
	return last;
}

struct pg_rows *pg_query(struct pg *c, struct err *e, const char *sql, const char *const *params)
{
	PGresult *result = run(c, sql, params, false, e);
	struct pg_rows *rows = result ? calloc(1, sizeof(*rows)) : NULL;

	if (!rows) {
		if (result)
			err_set(e, ERR_ENV, "out of memory");
		PQclear(result);
		return NULL;
	}
	rows->result = result;
	return rows;
}

bool pg_exec(struct pg *c, struct err *e, const char *sql)
{
	PGresult *result = run(c, sql, NULL, true, e);

	PQclear(result);
	return result != NULL;
}

bool pg_execf(struct pg *c, struct err *e, const char *fmt, ...)
{
	struct buf sql = { 0 };
	bool ok;
	va_list ap;

	va_start(ap, fmt);
	buf_vaddf(&sql, fmt, ap);
	va_end(ap);
	ok = sql.is_full ? err_set(e, ERR_ENV, "out of memory") : pg_exec(c, e, buf_text(&sql));
	buf_free(&sql);
	return ok;
}

bool pg_one(struct pg *c, struct err *e, const char *sql, char *text, size_t size)
{
	struct pg_rows *rows = pg_query(c, e, sql, NULL);
	const char *cell;

	if (!rows)
		return false;
	cell = pg_row_count(rows) && pg_column_count(rows) ? pg_cell(rows, 0, 0) : NULL;
	snprintf(text, size, "%s", cell ? cell : "");
	pg_rows_free(rows);
	return true;
}

const char *pg_sqlstate(const struct pg *c)
{
	return c->sqlstate;
}

/* libpq's own memory must go back by PQfreemem; callers of ours use free(). */
static char *take_over(char *from)
{
	char *copy = from ? strdup(from) : NULL;

	PQfreemem(from);
	return copy;
}

char *pg_quote_name(struct pg *c, const char *name)
{
	return take_over(PQescapeIdentifier(c->conn, name, strlen(name)));
}

char *pg_quote_literal(struct pg *c, const char *text)
{
	return take_over(PQescapeLiteral(c->conn, text, strlen(text)));
}

void pg_cancel(struct pg *c)
{
	char text[256];
	PGcancel *cancel = PQgetCancel(c->conn);

	if (!cancel)
		return;
	PQcancel(cancel, text, sizeof(text));
	PQfreeCancel(cancel);
}

bool pg_is_dead(const struct pg *c)
{
	return PQstatus(c->conn) != CONNECTION_OK;
}

size_t pg_row_count(const struct pg_rows *rows)
{
	return (size_t)PQntuples(rows->result);
}

size_t pg_column_count(const struct pg_rows *rows)
{
	return (size_t)PQnfields(rows->result);
}

const char *pg_column_name(const struct pg_rows *rows, size_t column)
{
	return PQfname(rows->result, (int)column);
}

const char *pg_cell(const struct pg_rows *rows, size_t row, size_t column)
{
	if (row >= pg_row_count(rows) || column >= pg_column_count(rows) ||
		PQgetisnull(rows->result, (int)row, (int)column))
		return NULL;
	return PQgetvalue(rows->result, (int)row, (int)column);
}

int64_t pg_cell_int(const struct pg_rows *rows, size_t row, size_t column, int64_t fallback)
{
	const char *text = pg_cell(rows, row, column);
	char *end;

	if (!text || !*text)
		return fallback;
	errno = 0;
	long long v = strtoll(text, &end, 10);
	return errno || *end ? fallback : v;
}

double pg_cell_number(const struct pg_rows *rows, size_t row, size_t column, double fallback)
{
	const char *text = pg_cell(rows, row, column);
	char *end;

	if (!text || !*text)
		return fallback;
	double v = strtod(text, &end);
	return *end ? fallback : v;
}

bool pg_cell_is_true(const struct pg_rows *rows, size_t row, size_t column)
{
	const char *text = pg_cell(rows, row, column);

	return text && (text[0] == 't' || text[0] == '1' || strcmp(text, "on") == 0);
}

void pg_rows_free(struct pg_rows *rows)
{
	if (!rows)
		return;
	PQclear(rows->result);
	free(rows);
}

void pg_rows_cleanup(struct pg_rows **rows)
{
	pg_rows_free(*rows);
}
