#!/bin/bash
# A real server: a cancel request is joined to the statement it hit, a timeout is none, and
# a connection that prepared before the capture began gets its text from a later one.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/sniff.sh"
. "$(dirname "$0")/../lib/pg.sh"

dir=$(tap_dir)
cd "$dir" || exit 1
pg_start_tcp prod
port=$(pg_port prod)
export PGHOST=127.0.0.1 PGPORT=$port PGUSER=postgres PGDATABASE=postgres
"$PG_BIN/pgbench" -i -q -s 1 >/dev/null 2>&1
activity() { pg_psql prod "select count(*) from pg_stat_activity where $1"; }
seen() { [ "$(activity "$1")" -ge 1 ]; }

# Prepared before anybody listens; goes on while the capture runs.
printf 'select abalance from pgbench_accounts where aid = 4711;\n' >by_id.sql
"$PG_BIN/pgbench" -n -M prepared -f by_id.sql -R 50 -T 60 -c 1 >early.out 2>&1 &
early=$!
wait_until 10 seen "application_name = 'pgbench' and query like 'select abalance%'" ||
	bail "pgbench did not start"

sniff_start live.rcap -i lo --port "$port" || bail "the live capture did not start"
"$PG_BIN/pgbench" -n -M prepared -f by_id.sql -t 20 -c 1 >late.out 2>&1

exec 3> >(exec "$PG_BIN/psql" -qX >cancelled.out 2>&1)
psql=$!
echo 'select 1 as warm; select pg_sleep(60);' >&3
wait_until 10 seen "query like 'select pg_sleep(60)%' and state = 'active'"
kill -INT "$psql"
wait_until 10 grep -q 'user request' cancelled.out
ok $? "psql cancelled its statement" || diag <cancelled.out
exec 3>&-
"$PG_BIN/psql" -qX -c 'set statement_timeout = 50' -c 'select pg_sleep(61)' >timeout.out 2>&1
like "$(cat timeout.out)" 'statement timeout' "another one ran into its timeout"
# The pooled one ran after the late one had told its text.
known() { # something of the early connection is known by now
	"$REPROD" capture cat live.rcap 2>/dev/null | grep -v '"text_unknown"' | grep -c '"form":"named"'
}
enough() { [ "$(known)" -gt 25 ]; }
wait_until 15 enough
ok $? "the early connection's statements have their text" || diag <live.rcap.err
kill "$early"
sniff_stop

"$REPROD" capture show live.rcap --json >show.json
"$REPROD" capture cat live.rcap >cat.json
is "$(grep -c '"joined": 1' show.json)" 1 "the cancel request was joined"
is "$(grep -c '"sqlstate":"57014"' cat.json)" 2 "two statements were ended by the server"
is "$(grep '"sqlstate":"57014"' cat.json | grep -c '"cancelled"')" 1 "one of them was cancelled"
like "$(grep '"cancelled"' cat.json)" 'select pg_sleep' "the one that slept"
done_testing
