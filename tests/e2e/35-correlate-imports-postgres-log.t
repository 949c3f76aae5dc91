#!/bin/bash
# What a real server did is read from its log, the same from each of the three formats.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/pg.sh"
dir=$(tap_dir)
logs=$dir/logs
mkdir "$logs" && chmod 777 "$logs"

conditions() { # FILE...: "id confirmed" of those of public tables and the server, a line each
	local files=()
	for f in "$@"; do files+=(--pglog "$f"); done
	"$REPROD" correlate "$dir/in.csv" "${files[@]}" --json | perl -MJSON::PP -e '
		local $/;
		my $d = decode_json(<STDIN>);
		print map { "$_->{id} $_->{occurrences}{confirmed}\n" } sort { $a->{id} cmp $b->{id} }
			grep { $_->{id} !~ /pg_catalog|information_schema|^traffic/ } @{$d->{conditions}};'
}

# Holds until somebody waits, and longer than the server takes to tell of it.
until_waited_for="do 'begin for i in 1 .. 500 loop exit when exists (select 1 from pg_locks where not granted); perform pg_sleep(0.01); end loop; perform pg_sleep(0.15); end'"
pg_start shop log_checkpoints=on log_autovacuum_min_duration=0 autovacuum_naptime=1s log_lock_waits=on \
	deadlock_timeout=20ms log_temp_files=0 work_mem=64kB wal_level=replica max_wal_senders=3 \
	log_replication_commands=on "log_destination='stderr,csvlog,jsonlog'" logging_collector=on \
	"log_directory='$logs'" "log_filename='pg'"
start=$(date +%s)
pg_psql shop "create table orders(a int primary key, b text)"
pg_psql shop "insert into orders select g, repeat('x', 50) from generate_series(1, 20000) g"
pg_psql shop checkpoint
pg_psql shop "update orders set b = 'hunter2'"
pg_psql shop "select count(*) from (select a, b from orders order by b, a desc offset 0) x" >/dev/null
pg_psql shop "begin; lock table orders; $until_waited_for; commit" >/dev/null &
holder=$!
locked() { [ "$(pg_psql shop "select count(*) from pg_locks where mode = 'AccessExclusiveLock' and granted and relation = 'orders'::regclass")" = 1 ]; }
wait_until 5 locked
pg_psql shop "select count(*) from orders" >/dev/null
wait $holder
pg_psql shop "alter system set work_mem = '1MB'"
pg_psql shop "select pg_reload_conf()" >/dev/null
"$PG_BIN/pg_basebackup" -d "$(pg_dsn shop)" -D "$dir/copy" -c fast >/dev/null 2>&1
vacuumed() { grep -q 'automatic vacuum of table "postgres.public.orders"' "$logs/pg" 2>/dev/null; }
wait_until 8 vacuumed
ok $? "the server vacuumed by itself"
victim=$(pg_psql shop "select pg_backend_pid()")
pg_psql shop "select pg_sleep(9)" >/dev/null 2>&1 &
client=$!
sleeping() { victim=$(pg_psql shop "select pid from pg_stat_activity where query = 'select pg_sleep(9)'") && [ -n "$victim" ]; }
wait_until 5 sleeping
kill -9 "$victim"
wait $client
is_up() { pg_psql shop "select 1" >/dev/null 2>&1; }
wait_until 8 is_up
pg_halt shop
chmod -R a+rX "$logs"
perl -e 'print "t,route,ms\n"; printf "%.2f,GET /a,%.2f\n", $ARGV[0] + $_ / 20, 1 + $_ % 7 / 10 for 0 .. 599' "$start" >"$dir/in.csv"

told=$(conditions "$logs/pg")
for id in autovacuum:public.orders backup:basebackup checkpoint:requested checkpoint:recovery crash:postgres \
	lock:AccessShareLock:relation reload:postgres restart:postgres setting:work_mem temp:files; do
	like "$told" "(^|"$'\n'")$id [1-9]" "$id is told"
done
unlike "$told" hunter2 "and no value"
is "$(conditions "$logs/pg.csv")" "$told" "csvlog tells the same"
is "$(conditions "$logs/pg.json")" "$told" "jsonlog too"
gzip -k "$logs/pg.csv"
is "$(conditions "$logs/pg.csv.gz")" "$told" "packed as well"
# Cut in the middle of a line: what came before is used. Both halves are the whole.
half=$(($(stat -c %s "$logs/pg.csv") / 2))
head -c $half "$logs/pg.csv" >"$dir/cut.csv"
"$REPROD" correlate "$dir/in.csv" --pglog "$dir/cut.csv" >"$dir/text" 2>"$dir/err"
like "$(cat "$dir/text")" 'lines of the Postgres log could not be read|checkpoint' "a cut log is read"
lines=$(($(wc -l <"$logs/pg") / 2))
head -n $lines "$logs/pg" >"$dir/one"
tail -n +$((lines + 1)) "$logs/pg" >"$dir/two"
is "$(conditions "$dir/two" "$dir/one")" "$told" "a log in two files, in any order, is one log"
is "$(conditions "$logs/pg" "$logs/pg.json")" "$told" "two formats of one log count once"
"$REPROD" correlate "$dir/in.csv" --pglog "$dir/in.csv" 2>"$dir/err"
is $? 3 "another file is refused"
like "$(cat "$dir/err")" 'hint: ' "with a hint"
done_testing
