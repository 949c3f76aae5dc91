#!/bin/bash
# A watch never hangs and never grows without bound: a locked catalog, a full disk, a
# budget of disk, refusals. Days pass by a clock of the test's.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/pg.sh"
. "$(dirname "$0")/../lib/stats.sh"

dir=$(tap_dir)
cd "$dir" || exit 1
pg_start prod
dsn=$(pg_dsn prod)
pg_psql prod "do \$\$ begin for i in 1..100 loop execute format('create table t%s (a int)', i); end loop; end \$\$"
export REPROD_NOW=2026-11-30T12:00:00Z

"$REPROD" correlate watch "$dsn" -o kept --every 20m --for 2d --keep 12h --json >kept.json 2>kept.err
is $? 0 "two days are watched" || diag <kept.err
like "$(cat kept.json)" '"rounds": 144,' "a round each twenty minutes"
like "$(cat kept.json)" '"sections_skipped": 0,' "none was left out" || diag <kept.err
n=$(ls kept | wc -l)
[ "$n" -ge 12 ] && [ "$n" -le 18 ]
ok $? "--keep leaves the files of half a day" || { diag "$n"; ls kept | diag; }
is "$(ls kept | head -1)" "$(ls kept | sort | head -1)" "the oldest went"
like "$(ls kept | tail -1)" '^stats-20261202T1[0-2]' "the newest is there"
touch kept/notes.txt
"$REPROD" correlate watch "$dsn" -o kept --every 20m --for 40m --keep 1h >/dev/null 2>&1
ls kept | grep -q notes.txt
ok $? "files of others stay"
"$REPROD" correlate watch "$dsn" -o small --every 1h --for 10d --keep 1M --json >small.json 2>small.err
is $? 0 "a folder of 1 MB" || diag <small.err
[ "$(du -sb small | cut -f1)" -le $((1100 * 1024)) ] && [ "$(sed -n 's/.*"files_dropped": \([0-9]*\).*/\1/p' small.json)" -gt 0 ]
ok $? "--keep 1M holds it down" || { du -sb small | diag; diag <small.json; }

(ulimit -f 24; "$REPROD" correlate watch "$dsn" -o full.rstat --for 2h) >full.out 2>full.err
is $? 4 "a full disk ends it"
like "$(cat full.err)" 'could not write.*hint: the first [0-9]+ bytes are kept' "and is told"
[ "$(stats_size full.rstat)" -le 24576 ] && [ "$(stats_size full.rstat)" -gt 10000 ]
ok $? "what was recorded is there" || stats_size full.rstat | diag
stats_traffic 1796040000 1796040300 >traffic.csv
"$REPROD" correlate traffic.csv --stats full.rstat --json >full.json 2>full.err
[ $? -le 6 ]
ok $? "and readable" || diag <full.err
like "$(cat full.json)" '"metric:' "with its metrics"

# A catalog that somebody holds: sections are left out, the watch goes on.
coproc holder { "$PG_BIN/psql" -X -q -A -t "$dsn" 2>/dev/null; }
echo "begin; lock table pg_class in access exclusive mode; select 'held';" >&"${holder[1]}"
read -r -t 5 -u "${holder[0]}" held
is "$held" held "the catalog is locked"
unset REPROD_NOW
"$REPROD" correlate watch "$dsn" -o locked.rstat --every 1s --for 1s >/dev/null 2>locked.err &
locked=$!
wait_until 12 pg_is_gone "$locked"
ok $? "a locked catalog is no hang" || kill -KILL "$locked"
wait "$locked"
code=$?
[ "$code" = 0 ] || [ "$code" = 4 ]
ok $? "it ends as it should" || { diag "$code"; diag <locked.err; }
echo "rollback;" >&"${holder[1]}"
# The same while it runs.
"$REPROD" correlate watch "$dsn" -o held.rstat --every 1s --json >held.json 2>held.err &
watch=$!
at_exit "kill -KILL $watch 2>/dev/null"
wait_until 5 stats_grew held.rstat 2000
echo "begin; lock table pg_class, pg_index in access exclusive mode; select 'held';" >&"${holder[1]}"
read -r -t 5 -u "${holder[0]}" held
size=$(stats_size held.rstat)
wait_until 5 stats_grew held.rstat "$size"
ok $? "rounds go on while the catalog is locked"
size=$(stats_size held.rstat)
wait_until 5 stats_grew held.rstat "$size"
echo "rollback; \\q" >&"${holder[1]}"
kill -TERM "$watch"
wait "$watch"
is $? 130 "asked to end it ends"
is "$(stats_dump held.rstat | grep -ac 'AccessExclusiveLock')" 1 "the lock is in the recording"

for bad in '' '-o x --every 10ms' '-o x --keep 5' '-o x --keep 1K' '-o x.rstat --keep 1d' '-o x --timeout 1ms'; do
	# shellcheck disable=SC2086
	"$REPROD" correlate watch "$dsn" $bad >/dev/null 2>bad.err
	is $? 2 "'$bad' is refused" || diag <bad.err
done
"$REPROD" correlate watch "$dsn" -o full.rstat >/dev/null 2>bad.err
is $? 2 "a file that exists is not overwritten"
"$REPROD" correlate watch "host=$dir port=1 dbname=x" -o y.rstat >/dev/null 2>bad.err
is $? 4 "no server is a failure at the start"
[ ! -e y.rstat ]
ok $? "which leaves no file"
pg_psql prod "create role plain login"
"$REPROD" correlate watch "host=$(dirname "$(pg_dir prod)") port=5432 user=plain dbname=postgres" -o plain.rstat --for 1s >/dev/null 2>plain.err
is $? 0 "a role without rights can watch" || diag <plain.err
like "$(cat plain.err)" 'GRANT pg_monitor' "and is told what it cannot see"
done_testing
