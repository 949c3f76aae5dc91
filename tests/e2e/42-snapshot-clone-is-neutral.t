#!/bin/bash
# A subscriber that archives and has foreign servers is cloned: publisher, archive
# and foreign server see nothing of the clone.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/pg.sh"

dir=$(tap_dir)
chmod 777 "$dir"
pg_start pub 'wal_level = logical' 'log_connections = on'
pg_start sub 'archive_mode = on' "archive_command = 'touch $dir/archived.%f'" \
	'max_prepared_transactions = 5' "shared_preload_libraries = 'pg_stat_statements'" \
	"session_preload_libraries = 'auto_explain'" "restore_command = 'touch $dir/restored'"
pg_psql pub 'CREATE TABLE t (id int PRIMARY KEY); CREATE PUBLICATION p FOR TABLE t; INSERT INTO t VALUES (1)'
pg_psql sub 'CREATE TABLE t (id int PRIMARY KEY)'
pg_psql sub "ALTER SYSTEM SET archive_timeout = '1s'"
pg_psql sub "CREATE SUBSCRIPTION s CONNECTION '$(pg_dsn pub) password=zq-secret' PUBLICATION p" 2>/dev/null
pg_psql sub "
CREATE EXTENSION postgres_fdw;
CREATE SERVER far FOREIGN DATA WRAPPER postgres_fdw OPTIONS (host '${pg_dirs[pub]}', dbname 'postgres');
CREATE USER MAPPING FOR postgres SERVER far OPTIONS (user 'postgres', password 'zq-secret');
CREATE USER MAPPING FOR PUBLIC SERVER far OPTIONS (user 'postgres');
CREATE FOREIGN TABLE far_t (id int) SERVER far OPTIONS (table_name 't');
CREATE FUNCTION no_ddl() RETURNS event_trigger LANGUAGE plpgsql AS 'BEGIN RAISE EXCEPTION ''no DDL here''; END';
SELECT pg_create_physical_replication_slot('held')" >/dev/null
pg_psql sub "CREATE EVENT TRIGGER no_ddl ON ddl_command_start EXECUTE FUNCTION no_ddl()"
pg_psql sub "BEGIN; INSERT INTO t VALUES (99); PREPARE TRANSACTION 'left open'"
is_synced() { [ "$(pg_psql sub 'SELECT count(*) FROM t')" = 1 ]; }
wait_until 20 is_synced
ok $? "the subscriber follows its publisher"

"$REPROD" snapshot build "$(pg_dsn sub)" --into "$dir/lab" --fast --json >"$dir/manifest" 2>"$dir/err"
is $? 0 "the subscriber is cloned while it runs" || diag <"$dir/err"
for wanted in '"subscriptions_disabled": 1' '"user_mappings_dropped": 2' \
	'"foreign_server_addresses_removed": 1' '"prepared_transactions_rolled_back": 1'; do
	like "$(cat "$dir/manifest")" "$wanted" "the manifest says $wanted"
done

# The publisher is stopped for the subscriber, so whatever comes now is the clone's.
pg_halt sub
rm -f "$dir"/archived.* "$dir/restored"
: >"$(pg_log pub)"
"$REPROD" snapshot freeze "$dir/lab" >/dev/null 2>"$dir/err"
is $? 0 "the clone starts and is frozen" || diag <"$dir/err"
"$REPROD" snapshot reset "$dir/lab" >/dev/null 2>"$dir/err"
is $? 0 "and reset" || diag <"$dir/err"
"$REPROD" snapshot status "$dir/lab" -v >"$dir/out" 2>&1
is $? 0 "status proves it harmless" || diag <"$dir/out"
is "$(grep -c 'connection received' "$(pg_log pub)")" 0 "the publisher saw no connection"
is "$(pg_psql pub "SELECT count(*) FROM pg_replication_slots WHERE NOT active")" 1 "its slot waits for the subscriber"
is "$(ls "$dir" | grep -c -e '^archived' -e '^restored')" 0 "nothing was archived or restored"
pg_as grep -rqa zq-secret "$dir/lab/postgresql.conf" "$dir/lab/postgresql.auto.conf"
is $? 1 "no password is in its configuration"

pg_run sub
pg_psql pub 'INSERT INTO t VALUES (2)'
is_two() { [ "$(pg_psql sub 'SELECT count(*) FROM t')" = 2 ]; }
wait_until 20 is_two
ok $? "and the subscriber goes on where it was"

# Tampered with, it doesn't start at all.
echo "archive_mode = on" >>"$dir/lab/postgresql.auto.conf"
"$REPROD" snapshot status "$dir/lab" >"$dir/out" 2>&1
is $? 1 "status answers no when archiving was switched on"
like "$(cat "$dir/out")" 'NOT OK archive_mode = off: on' "and says what"
"$REPROD" snapshot freeze "$dir/lab" --force >/dev/null 2>"$dir/err"
is $? 5 "the lab is refused"
"$REPROD" snapshot reset "$dir/lab" >/dev/null 2>"$dir/err"
is $? 0 "until it is put back"
touch "$dir/lab/standby.signal"
echo "primary_conninfo = 'host=${pg_dirs[pub]} user=postgres'" >>"$dir/lab/postgresql.auto.conf"
"$REPROD" snapshot freeze "$dir/lab" --force >/dev/null 2>"$dir/err"
is $? 5 "as one that would follow a primary is"
"$REPROD" snapshot reset "$dir/lab" >/dev/null 2>"$dir/err"
is $? 0 "which is put back, too"

# What it holds, not how it is set: it starts only to be asked, and takes no experiment.
: >"$(pg_log pub)"
pg_as "$PG_BIN/postgres" --single -D "$dir/lab" postgres >"$dir/out" 2>&1 <<SQL
ALTER SERVER far OPTIONS (SET host '${pg_dirs[pub]}')
CREATE USER MAPPING FOR postgres SERVER far OPTIONS (user 'postgres')
ALTER SUBSCRIPTION s CONNECTION '$(pg_dsn pub)'
ALTER SUBSCRIPTION s SET (slot_name = 's')
ALTER SUBSCRIPTION s ENABLE
SQL
"$REPROD" snapshot status "$dir/lab" >"$dir/out" 2>&1
is $? 1 "status answers no when it could connect out" || diag <"$dir/out"
like "$(cat "$dir/out")" 'NOT OK no enabled subscription: s' "and names the subscription"
like "$(cat "$dir/out")" 'NOT OK no user mappings.*: far' "and the foreign server"
is "$(grep -c 'connection received' "$(pg_log pub)")" 0 "while nothing connected"
done_testing
