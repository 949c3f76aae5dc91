#!/usr/bin/env bash
# A table in Postgres gives what the same rows as a file give; only counts travel.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/pg.sh"
. "$(dirname "$0")/../lib/traffic.sh"

dir=$(tap_dir)
cd "$dir" || exit 1
traffic_csv >d.csv
"$REPROD" correlate d.csv --json >csv.json
pg_start_tcp db "log_statement = 'all'"
at="host=127.0.0.1 port=$(pg_port db) user=postgres dbname=postgres"
pg_psql db "CREATE TABLE raw (t float8, route text, ms float8, status int)"
"$PG_BIN/psql" -X -q -d "$at" -c "COPY raw FROM stdin CSV HEADER" <d.csv
pg_psql db "CREATE TABLE requests AS SELECT to_timestamp(t) AS t, route, ms, status FROM raw"
pg_psql db "CREATE SEQUENCE s"
pg_psql db "CREATE TABLE \"odd one\" AS SELECT t AT TIME ZONE 'Europe/Berlin' AS at, route AS path, ms * interval '1 ms' AS took,
	CASE status WHEN 503 THEN '57014' ELSE '00000' END AS status FROM requests"

same() { # NAME SOURCE
	"$REPROD" correlate "$2" --json >got.json 2>err
	is "$? $(cat err)" "0 " "$1: read"
	out=$(traffic_same csv.json got.json)
	ok $? "$1: the same requests, errors, quantiles and spikes as the file" || diag <<<"$out"
}
same "a query" "sql:$at?query=SELECT t, route, ms, status FROM requests"
same "a URL with libpq's own parameters" \
	"sql:postgresql://postgres:hunter%402@127.0.0.1:$(pg_port db)/postgres?sslmode=disable&table=raw&status=status"
same "times without a zone, an interval, SQLSTATEs" \
	"sql:$at?table=public.odd one&time=at&route=path&ms=took&status=status&zone=Europe/Berlin"
echo "SELECT t, route, ms, status FROM requests -- all of them" >q.sql
same "a query in a file" "sql:$at?query=@q.sql"
like "$(cat got.json)" '"sql:127.0.0.1:[0-9]+\?query=#[0-9a-f]{8}"' "inputs are named without user, database and query"
PGPORT=$(pg_port db) PGHOST=127.0.0.1 PGUSER=postgres PGDATABASE=postgres \
	same "the environment says where" "sql:?table=requests&status=status"

"$REPROD" correlate "sql:$at?table=requests&from=2026-11-30T12:30:00Z&to=2026-11-30T13:00:00Z" --json >part.json
is "$(perl -MJSON::PP -e 'local $/; print decode_json(<STDIN>)->{requests}' <part.json)" \
	"$(pg_psql db "SELECT count(*) FROM requests WHERE t >= '2026-11-30T12:30:00Z' AND t < '2026-11-30T13:00:00Z'")" \
	"from and to are a half-open range"
"$REPROD" correlate "sql:$at?query=SELECT t, route, CASE WHEN ms > 20 THEN ms ELSE -1 END AS ms FROM requests" --json >part.json
like "$(cat part.json)" 'rows without a time, a route, or a latency' "rows that are no requests are told"
like "$(cat part.json)" '"complete": false' "and the answer is not complete"

log=$(cat "$(pg_log db)")
like "$log" 'BEGIN READ ONLY' "in a read only transaction"
is "$(grep -c 'reprod_cells NO SCROLL' <<<"$log")" 7 "one question each"
refused() { # WANTED-CODE WORDS NAME PARAMETERS
	out=$("$REPROD" correlate "sql:$at password=hunter2?$4" 2>&1)
	is $? "$1" "$3: exit code"
	like "$out" "$2" "$3: says why"
	unlike "$out" hunter2 "$3: no password"
}
refused 3 "no column 't'" "a missing column" "query=SELECT 1 AS x"
refused 3 'has no time zone' "a time without zone" "table=odd one&time=at&route=path&ms=took"
refused 3 "'t' is of type text" "a time as text" "query=SELECT 'now' || route AS t, route, ms FROM requests"
refused 3 "'ms' is of type boolean" "a latency that is none" "query=SELECT t, route, ms > 1 AS ms FROM requests"
refused 3 'time=, route=, ms= and status= name' "a table without such a column" "table=odd one&zone=UTC"
refused 3 'relation "nosuch" does not exist' "no such table" "table=nosuch"
refused 3 'syntax error' "two statements" "query=SELECT t, route, ms FROM requests; DROP TABLE requests"
refused 3 'syntax error' "no SELECT" "query=DELETE FROM requests RETURNING t, route, ms"
refused 4 'read-only transaction' "a function that writes" "query=SELECT t, route, ms, nextval('s') FROM requests" 
refused 4 'statement timeout' "too slow" "query=SELECT t, route, ms, pg_sleep(9) FROM requests&timeout=1s"
refused 3 'no rows' "an empty range" "table=requests&from=2020-01-01T00:00:00Z&to=2020-01-02T00:00:00Z"
refused 3 'none of 20000 rows' "only nulls" "query=SELECT t, NULL::text AS route, ms FROM requests"
refused 2 "has no parameter 'tabel'" "a misspelt parameter" "tabel=requests"
refused 2 'needs query=, or table=' "no question" ""
refused 2 'is no time' "a bad time" "table=requests&from=yesterday"
is "$(pg_psql db 'SELECT count(*) FROM requests')" 20000 "nothing was changed"

is_sleeping() { [ "$(pg_psql db "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'reprod correlate' AND state = 'active'")" = 1 ]; }
is_quiet() { ! is_sleeping; }
"$REPROD" correlate "sql:$at?query=SELECT t, route, ms, pg_sleep(600) FROM requests&timeout=1h" >out 2>err &
pid=$!
wait_until 10 is_sleeping || bail "the slow query did not start"
kill -TERM $pid
wait $pid 2>/dev/null
is $? 130 "interrupted: exit code"
is "$(cat err)" "reprod: interrupted" "and nothing else is said"
wait_until 10 is_quiet
ok $? "the server was told to stop as well"

out=$("$REPROD" correlate "sql:host=127.0.0.1 port=1 password=hunter2?table=x" 2>&1)
is $? 4 "nobody there: exit code"
like "$out" '127.0.0.1:1: could not connect' "and who is not there"
unlike "$out" hunter2 "no password"

done_testing
