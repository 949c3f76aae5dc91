#!/usr/bin/env bash
# A table in ClickHouse gives what the same rows as a file give; only counts travel.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/clickhouse.sh"
. "$(dirname "$0")/../lib/traffic.sh"
lib=$(cd "$(dirname "$0")/../lib" && pwd)

dir=$(tap_dir)
cd "$dir" || exit 1
PATH=$PATH:/usr/sbin
traffic_csv >d.csv
"$REPROD" correlate d.csv --json >csv.json
clickhouse_start
clickhouse "CREATE TABLE requests (t Float64, route String, ms Float64, status UInt16) ENGINE = Memory" </dev/null
clickhouse "INSERT INTO requests FORMAT CSVWithNames" <d.csv
clickhouse "CREATE TABLE odd (\`the time\` DateTime, path String, took Float64, state String, ms Nullable(Float64)) ENGINE = Memory" </dev/null
clickhouse "INSERT INTO odd SELECT toDateTime(toUInt32(t)), concat(route, '\\t\\\\x'), ms, if(status = 503, '57014', '00000'), if(ms > 20, ms, NULL) FROM requests" </dev/null

same() { # NAME SOURCE
	"$REPROD" correlate "$2" --json >got.json 2>err
	is "$? $(cat err)" "0 " "$1: read"
	out=$(traffic_same csv.json got.json)
	ok $? "$1: the same requests, errors, quantiles and spikes as the file" || diag <<<"$out"
}
same "a query" "clickhouse:http://$clickhouse_at?query=SELECT t, route, ms, status FROM requests"
same "a table, by a user who may only read" \
	"clickhouse:http://reader:s3cret@$clickhouse_at/?database=default&table=requests&status=status"
unlike "$(cat got.json)" 'reader|s3cret' "no credentials in the document"

"$REPROD" correlate "clickhouse:http://$clickhouse_at?table=odd&time=the time&route=path&ms=took&status=state" --json >odd.json
is "$? $(perl -MJSON::PP -e 'local $/; my $d = decode_json(<STDIN>); print "$d->{requests} ", join "|", map { "$_->{route} $_->{errors}" } @{$d->{series}}' <odd.json)" \
	"0 20000 $(perl -MJSON::PP -e 'local $/; my $d = decode_json(<STDIN>); print join "|", map { "$_->{route}\t\\x $_->{errors}" } @{$d->{series}}' <csv.json)" \
	"DateTime, SQLSTATEs, and routes with a tab and a backslash"
"$REPROD" correlate "clickhouse:http://$clickhouse_at?table=odd&time=the time&route=path" --json >odd.json
like "$(cat odd.json)" 'rows without a time, a route, or a latency' "rows with a null are told"
"$REPROD" correlate "clickhouse:http://$clickhouse_at?table=requests&from=2026-11-30T12:30:00Z&to=2026-11-30T13:00:00Z" --json >part.json
is "$(perl -MJSON::PP -e 'local $/; print decode_json(<STDIN>)->{requests}' <part.json)" \
	"$(clickhouse "SELECT count() FROM requests WHERE t >= 1796041800 AND t < 1796043600" </dev/null)" "from and to are a half-open range"

refused() { # WANTED-CODE WORDS NAME ADDRESS?PARAMETERS
	out=$("$REPROD" correlate "clickhouse:http://$4" 2>&1)
	is $? "$1" "$3: exit code"
	like "$out" "$2" "$3: says why"
	unlike "$out" 'hunter2' "$3: no password"
}
refused 4 'status 40[13]' "a wrong password" "reader:hunter2@$clickhouse_at?table=requests"
refused 3 "Table default.nosuch doesn't exist" "no such table" "$clickhouse_at?table=nosuch"
refused 3 'Unknown identifier|Missing columns' "a missing column" "$clickhouse_at?query=SELECT t, ms FROM requests"
refused 3 'Syntax error' "no SELECT" "$clickhouse_at?query=DROP TABLE requests"
refused 3 'no rows' "an empty range" "$clickhouse_at?table=requests&from=2020-01-01T00:00:00Z&to=2020-01-02T00:00:00Z"
refused 2 'needs query=, or table=' "no question" "$clickhouse_at"
is "$(clickhouse "SELECT count() FROM requests" </dev/null)" 20000 "nothing was changed"

# What a server of today sends that this one cannot be made to: an error in mid-answer.
setpriv --pdeathsig KILL -- perl "$lib/http-script" "$dir/port" "$dir/log" 2>/dev/null &
server=$!
at_exit "kill -KILL $server 2>/dev/null"
disown
wait_until 10 test -e port || bail "the scripted server did not start"
at=127.0.0.1:$(cat port)
printf 't\troute\tms\n' >REPLY-NAMES
printf '179604000\tGET /a\t139\t2\t0\t151\t1796040000.5\nCode: 241. DB::Exception: Memory limit (for query) exceeded\n' >REPLY
refused 4 'gave up in the middle: Code: 241' "an error in mid-answer" "$at/answer?table=requests"
printf '179604000\tGET /a\t99\t2\t0\t151\t1796040000.5\n' >REPLY
refused 3 "where another value belongs" "another bin than that of its largest" "$at/answer?table=requests"
printf '179604000\tGET /a\t100\t2\t0' >REPLY
refused 3 'something else than the columns' "half a line" "$at/answer?table=requests"
printf '<html>log in</html>\n' >REPLY
refused 3 'web page' "a web page" "$at/answer?table=requests"
like "$(tail -1 log)" 'GROUP%20BY%20k%2C%20route%2C%20bin' "the question groups"

done_testing
