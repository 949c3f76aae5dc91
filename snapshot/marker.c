#include "snapshot/marker.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/random.h>

bool marker_nonce(char nonce[33], struct err *e)
{
	unsigned char bytes[16];

	if (getrandom(bytes, sizeof(bytes), 0) != (ssize_t)sizeof(bytes))
		return err_os(e, ERR_ENV, errno, "could not get random bytes");
	for (size_t i = 0; i < sizeof(bytes); i++)
		snprintf(nonce + 2 * i, 3, "%02x", bytes[i]);
	return true;
}

/* proof() runs as its owner, so that roles without pg_read_all_settings learn the
 * data directory; where the owner may not either (a managed server), it is ''.
 * pg_temp last: nobody's temporary objects are called. */
static const char schema_sql[] =
	"CREATE SCHEMA IF NOT EXISTS reprod;"
	"GRANT USAGE ON SCHEMA reprod TO PUBLIC;"
	"CREATE TABLE IF NOT EXISTS reprod.mark (one boolean PRIMARY KEY DEFAULT true CHECK (one), "
	"proof text NOT NULL);"
	"REVOKE ALL ON reprod.mark FROM PUBLIC;"
	"CREATE OR REPLACE FUNCTION reprod.proof(OUT proof text, OUT system_identifier text, "
	"OUT data_directory text, OUT database_oid text, OUT is_in_recovery boolean) "
	"LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $proof$\n"
	"BEGIN\n"
	"	SELECT m.proof INTO proof FROM reprod.mark AS m;\n"
	"	SELECT c.system_identifier::text INTO system_identifier FROM pg_control_system() AS c;\n"
	"	SELECT d.oid::text INTO database_oid FROM pg_database AS d "
	"WHERE d.datname = current_database();\n"
	"	is_in_recovery := pg_is_in_recovery();\n"
	"	BEGIN\n"
	"		data_directory := current_setting('data_directory');\n"
	"	EXCEPTION WHEN insufficient_privilege THEN\n"
	"		data_directory := '';\n"
	"	END;\n"
	"END\n$proof$;"
	"GRANT EXECUTE ON FUNCTION reprod.proof() TO PUBLIC;";

/* So that nothing of the source's own (event triggers, replica roles, a read-only
 * default, a timeout) gets in the way of our few statements. */
static const char session_sql[] =
	"SET default_transaction_read_only = off; SET statement_timeout = 0; SET lock_timeout = '10s';"
	"SET search_path = pg_catalog;";

static bool store(struct pg *c, const struct mark *m, struct err *e)
{
	CLEANUP(json_cleanup) struct json *j = mark_json(m);
	CLEANUP(pg_rows_cleanup) struct pg_rows *rows = NULL;
	struct buf text = { 0 };

	json_write(j, false, &text);
	const char *const params[] = { buf_text(&text), NULL };
	rows = pg_query(c, e,
		"INSERT INTO reprod.mark (one, proof) VALUES (true, $1) "
		"ON CONFLICT (one) DO UPDATE SET proof = EXCLUDED.proof",
		params);
	buf_free(&text);
	return rows != NULL;
}

static bool read_server(struct pg *c, struct mark *m, struct err *e)
{
	CLEANUP(pg_rows_cleanup)
	struct pg_rows *rows = pg_query(c, e,
		"SELECT system_identifier, data_directory, database_oid FROM reprod.proof()", NULL);
	const char *directory;

	if (!rows)
		return false;
	directory = pg_cell(rows, 0, 1);
	snprintf(m->system_identifier, sizeof(m->system_identifier), "%s",
		pg_cell(rows, 0, 0) ? pg_cell(rows, 0, 0) : "");
	if (directory && strlen(directory) >= sizeof(m->data_directory))
		return err_set(e, ERR_ENV, "the path of the data directory is too long");
	snprintf(m->data_directory, sizeof(m->data_directory), "%s", directory ? directory : "");
	m->database_oid = (uint32_t)pg_cell_int(rows, 0, 2, 0);
	return true;
}

bool marker_write(struct pg *c, struct mark *m, struct err *e)
{
	return pg_exec(c, e, session_sql) && pg_exec(c, e, schema_sql) && read_server(c, m, e) &&
	       store(c, m, e);
}

bool marker_renew(struct pg *c, struct mark *m, struct err *e)
{
	char has_mark[8];

	if (!pg_exec(c, e, session_sql) ||
		!pg_one(c, e, "SELECT to_regproc('reprod.proof') IS NOT NULL", has_mark,
			sizeof(has_mark)))
		return false;
	/* A database that was created since is marked as the others are. */
	if (has_mark[0] != 't')
		return marker_write(c, m, e);
	return read_server(c, m, e) && store(c, m, e);
}
