#!/bin/bash
# A watch does not hang on a locked catalog, and refuses what it cannot do.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/pg.sh"
. "$(dirname "$0")/../lib/stats.sh"

dir=$(tap_dir)
cd "$dir" || exit 1
pg_start prod
dsn=$(pg_dsn prod)

# A catalog that somebody holds: sections are left out, the watch goes on.
coproc holder { "$PG_BIN/psql" -X -q -A -t "$dsn" 2>/dev/null; }
echo "begin; lock table pg_class in access exclusive mode; select 'held';" >&"${holder[1]}"
read -r -t 5 -u "${holder[0]}" held
is "$held" held "the catalog is locked"
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
"$REPROD" correlate watch "$dsn" -o held.rstat >/dev/null 2>bad.err
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
