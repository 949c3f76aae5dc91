/*
 * pg.h - a blocking Postgres connection with deadlines, for everything that is not
 * replayed traffic.
 *
 * libpq behind a wall. Connection failures are ERR_ENV with the server's words and
 * a hint; passwords never appear in texts. Not for use by two threads.
 */
#ifndef REPROD_PG_H
#define REPROD_PG_H

#include "core/base/err.h"
#include "core/base/run.h"

struct pg;
struct pg_rows;

struct pg_options {
	const char *application; /* application_name; default "reprod" */
	bool is_read_only;
	int64_t connect_timeout_ns; /* default 10 s */
	int64_t statement_timeout_ns; /* 0: none */
	int64_t lock_timeout_ns; /* 0: none */
	bool is_replication;
	const struct run *run; /* whose stop cancels the statement under way; NULL: none */
};

struct pg *pg_open(const char *dsn, const struct pg_options *options, struct err *e);
void pg_close(struct pg *c);
/* True when a server takes connections there, whoever asks. */
bool pg_answers(const char *dsn);
/* Where a connection string (with PG* and the built-in defaults) leads, without
 * connecting: comma lists as libpq reads them; a host may be a socket's folder. */
struct pg_address {
	char hosts[1024];
	char ports[256];
	bool has_service; /* a service file has a say, so this may not be all */
};

bool pg_address_of(const char *dsn, struct pg_address *ret, struct err *e) MUST_USE;
/* The same connection without its password, for command lines that others can see;
 * password is "" when there is none in it. */
bool pg_split_password(const char *dsn, char *clean, size_t size, char *password,
	size_t password_size, struct err *e) MUST_USE;
int pg_version(const struct pg *c); /* 150018 */
/* One statement, text parameters (NULL terminated array or NULL); rows or NULL. */
struct pg_rows *pg_query(struct pg *c, struct err *e, const char *sql, const char *const *params);
/* As pg_query, rows thrown away. */
bool pg_exec(struct pg *c, struct err *e, const char *sql) MUST_USE;
bool pg_execf(struct pg *c, struct err *e, const char *fmt, ...)
	__attribute__((format(printf, 3, 4))) MUST_USE;
/* The first column of the first row as text ("" for null or none), into text. */
bool pg_one(struct pg *c, struct err *e, const char *sql, char *text, size_t size) MUST_USE;
/* SQLSTATE of the last failure, "" when none. */
const char *pg_sqlstate(const struct pg *c);
/* Quoted for use in SQL; caller frees with free(). NULL when out of memory. */
char *pg_quote_name(struct pg *c, const char *name);
char *pg_quote_literal(struct pg *c, const char *text);
/* Asks the server to cancel what runs (from a signal-stopped loop). */
void pg_cancel(struct pg *c);
bool pg_is_dead(const struct pg *c);

size_t pg_row_count(const struct pg_rows *rows);
size_t pg_column_count(const struct pg_rows *rows);
const char *pg_column_name(const struct pg_rows *rows, size_t column);
/* NULL for SQL null; lives as long as rows. */
const char *pg_cell(const struct pg_rows *rows, size_t row, size_t column);
int64_t pg_cell_int(const struct pg_rows *rows, size_t row, size_t column, int64_t fallback);
double pg_cell_number(const struct pg_rows *rows, size_t row, size_t column, double fallback);
bool pg_cell_is_true(const struct pg_rows *rows, size_t row, size_t column);
void pg_rows_free(struct pg_rows *rows);
void pg_rows_cleanup(struct pg_rows **rows);
void pg_cleanup(struct pg **c);

#endif
