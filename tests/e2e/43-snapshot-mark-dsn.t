#!/bin/bash
# An ordinary test database: marked by its typed name, frozen and reset by template.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/pg.sh"

dir=$(tap_dir)
pg_start test 'archive_mode = off' 'max_logical_replication_workers = 0'
pg_psql test 'CREATE ROLE dev LOGIN CREATEDB'
pg_psql test 'CREATE DATABASE "Shop 1" OWNER dev'
pg_psql test "ALTER DATABASE \"Shop 1\" SET work_mem = '5MB'; REVOKE CONNECT ON DATABASE \"Shop 1\" FROM PUBLIC"
dsn="host=${pg_dirs[test]} port=5432 user=dev dbname='Shop 1'"
cmd() { "$REPROD" snapshot "$@" 2>"$dir/err"; }
sql() { "$PG_BIN/psql" -XqAtd "$dsn" -c "$1"; }
sql 'CREATE TABLE t AS SELECT g FROM generate_series(1, 100) g'

cmd mark "$dsn" </dev/null
is $? 2 "the name must be typed"
cmd mark "$dsn" --name shop
is $? 5 "and be the right one"
cmd mark "$dsn" --name 'Shop 1' >"$dir/out"
is $? 0 "an owner who is no superuser can mark" || diag <"$dir/err"
cmd status "$dsn" >"$dir/out"
is $? 0 "then status says yes" || diag <"$dir/out"
cmd reset "$dsn"
is $? 3 "what was never frozen can't be reset"
cmd freeze "$dsn" >"$dir/out"
is $? 0 "freeze makes a template" || diag <"$dir/err"
cmd freeze "$dsn"
is $? 2 "once"
nonce=$(sql 'SELECT proof FROM reprod.mark')
sql 'DELETE FROM t WHERE g > 3; CREATE TABLE more (x int)'
sql "ALTER DATABASE \"Shop 1\" SET work_mem = '9MB'; ALTER DATABASE \"Shop 1\" SET jit = off"
"$PG_BIN/psql" -XqAt -d "$(pg_dsn test)" >"$dir/gone" 2>&1 <<'SQL' &
SET client_min_messages = notice;
SELECT pg_advisory_lock(1);
DO $$ DECLARE gone int := 0; BEGIN
	WHILE (SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted) = 0 LOOP
		gone := gone + (NOT EXISTS (SELECT FROM pg_database WHERE datname = 'Shop 1'))::int;
	END LOOP;
	RAISE NOTICE 'gone: %', gone;
END $$
SQL
looks() { [ "$(pg_psql test "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'")" = 1 ]; }
wait_until 10 looks
cmd reset "$dsn" >"$dir/out"
is $? 0 "reset ends with 0" || diag <"$dir/err"
pg_psql test "SET lock_timeout = '300ms'; SELECT pg_advisory_lock(1)" >/dev/null 2>&1
wait $!
like "$(cat "$dir/gone")" 'gone: 0$' "a database had the name at every moment"
is "$(pg_psql test "SELECT count(*) FROM pg_database WHERE datname ~ '_reprod_(old|fresh)'")" 0 "and none is left beside"
is "$(sql 'SELECT count(*) FROM t')" 100 "the rows are back"
is "$(sql "SELECT to_regclass('more') IS NULL")" t "what was made since is gone"
is "$(sql 'SHOW work_mem') $(sql 'SHOW jit')" '5MB on' "so are the database's settings"
is "$(pg_psql test "SELECT has_database_privilege('public', 'Shop 1', 'CONNECT')")" f "and its rights"
[ "$nonce" != "$(sql 'SELECT proof FROM reprod.mark')" ]
ok $? "the mark was renewed"
cmd status "$dsn" >/dev/null
is $? 0 "and is valid for the new database"

# Servers that look like production, and restored backups.
pg_start prod 'wal_level = logical'
cmd mark "$(pg_dsn prod)" --name postgres --restored
is $? 5 "a restored backup that isn't neutralised is refused"
like "$(cat "$dir/err")" "max_logical_replication_workers" "with the reason"
pg_psql prod "SELECT pg_create_physical_replication_slot('standby')" >/dev/null
cmd mark "$(pg_dsn prod)" --name postgres
is $? 5 "a server with replication slots isn't taken for a test"
like "$(cat "$dir/err")" "looks like a production server" "and the reason is told"
is "$(pg_psql prod "SELECT count(*) FROM pg_namespace WHERE nspname = 'reprod'")" 0 "nothing was made there"
cmd mark "$(pg_dsn test)" --name postgres --restored >"$dir/out"
is $? 0 "a neutralised one is taken" || diag <"$dir/err"
done_testing
