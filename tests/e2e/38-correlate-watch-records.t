#!/bin/bash
# A watch beside pgbench, vacuums, a reload and a restart: they come back as events and
# metrics, and nothing of what must not be recorded is in the file; after kill -9 it is
# readable.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/pg.sh"
. "$(dirname "$0")/../lib/stats.sh"

dir=$(tap_dir)
cd "$dir" || exit 1
pg_start prod "shared_preload_libraries = 'pg_stat_statements'" "app.secret = 'canarysetting'"
pg_psql prod "create extension pg_stat_statements"
pg_psql prod "create role canaryuser superuser login"
"$PG_BIN/pgbench" -i -q -s 1 "$(pg_dsn prod)" >bench.out 2>&1 || diag <bench.out
began=$(date +%s)

"$REPROD" correlate watch "$(pg_dsn prod)" -o w --every 1s --json >w.json 2>w.err &
watch=$!
"$REPROD" correlate watch "$(pg_dsn prod)" -o killed.rstat --every 1s >/dev/null 2>killed.err &
killed=$!
at_exit "kill -KILL $watch $killed 2>/dev/null"
# A round is there when the file has grown.
file() { ls w/stats-*.rstat 2>/dev/null | tail -1; }
wait_round() {
	local size
	size=$(stats_size "$(file)")
	wait_until 5 stats_grew "$(file)" "$size"
}
has_file() { [ -s killed.rstat ] && [ -n "$(file)" ]; }
wait_until 5 has_file || { diag <w.err; diag <killed.err; }
wait_round
"$PG_BIN/pgbench" -n -T 2 -c 2 "host=$(dirname "$(pg_dir prod)") port=5432 user=canaryuser dbname=postgres application_name=canaryapp" >bench.out 2>&1 || diag <bench.out
pg_psql prod "select 'canaryquery'" >/dev/null
pg_psql prod "vacuum analyze pgbench_accounts"
pg_psql prod "checkpoint"
wait_round
kill -KILL "$killed"
wait "$killed" 2>/dev/null
pg_psql prod "alter system set work_mem = '5MB'"
pg_psql prod "select pg_reload_conf()" >/dev/null
wait_round
wait_round
"$REPROD" correlate watch "$(pg_dsn prod)" -o w >two.out 2>two.err
is $? 4 "two watches do not share a folder"
pg_halt prod
pg_run prod
back() { grep -q 'is back after' w.err; }
wait_until 10 back
ok $? "a watch outlives a restart of the server" || diag <w.err
wait_round
kill -TERM "$watch"
wait "$watch"
is $? 130 "asked to end it ends"
ended=$(date +%s)
like "$(cat w.json)" '"gaps": 1,' "the time without the server is a gap"
like "$(cat w.json)" '"server_cpu_ms": [0-9.]*[1-9]' "its cost is told"
like "$(cat w.err)" 'the server is out of sight' "and that the server was"

stats_traffic "$began" "$ended" >traffic.csv
"$REPROD" correlate traffic.csv --stats w --json >out.json 2>out.err
[ $? -le 6 ]
ok $? "the recording is read" || diag <out.err
stats_ids out.json >ids
for id in vacuum:public.pgbench_accounts analyze:public.pgbench_accounts checkpoint:requested \
	reload:postgres setting:work_mem restart:postgres; do
	grep -qFx "$id" ids
	ok $? "$id is an event" || diag <ids
done
for id in metric:n_tup_upd.public.pgbench_accounts metric:database.commits metric:waits.Client.ClientRead \
	metric:locks.held metric:sessions.total metric:cpu.user; do
	grep -qFx "$id" ids
	ok $? "$id is a metric" || diag <ids
done
grep -qE '^metric:statements\.-?[0-9]+\.time$' ids
ok $? "statements are there by their query ids" || diag <ids

"$REPROD" correlate traffic.csv --stats killed.rstat --json >killed.json 2>killed.err
[ $? -le 6 ]
ok $? "after kill -9 the file is read" || diag <killed.err
stats_ids killed.json | grep -q 'metric:.*pgbench_accounts'
ok $? "and has what was recorded" || stats_ids killed.json | diag
for f in w/*.rstat killed.rstat; do stats_dump "$f"; done >dump
grep -aq 'pgbench_accounts' dump
ok $? "names of relations are in it"
! grep -aiq 'canary' dump
ok $? "no text of a query, name of a user or an application, no value of a setting" ||
	grep -aoi '.\{20\}canary[a-z]*' dump | head | diag

"$REPROD" correlate traffic.csv --stats none.rstat >/dev/null 2>none.err
is $? 3 "a recording that is not there is told"
mkdir empty
"$REPROD" correlate traffic.csv --stats empty >/dev/null 2>none.err
is $? 3 "so is a folder without one"
like "$(cat none.err)" 'no recording .*hint: .*correlate watch' "with what to do"
stats_traffic 1000000000 1000000060 >old.csv
"$REPROD" correlate old.csv --stats w --json >old.json 2>/dev/null
like "$(cat old.json)" 'not when the traffic was' "traffic of another time is told"
done_testing
