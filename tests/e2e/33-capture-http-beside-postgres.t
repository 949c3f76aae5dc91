#!/bin/bash
# A capture of HTTP and Postgres together: replay, recipe and correlate take what is
# theirs and say what they leave.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/sniff.sh"
. "$(dirname "$0")/../lib/pg.sh"
. "$(dirname "$0")/../lib/replay.sh"

dir=$(tap_dir)
cd "$dir" || exit 1
pg_start_tcp prod
pg_start lab
replay_target lab
for s in prod lab; do
	pg_psql $s "CREATE TABLE t (id int PRIMARY KEY, code text); INSERT INTO t VALUES (1, 'a-1'), (2, 'a-2');
		GRANT ALL ON t TO PUBLIC" >/dev/null
done
db=$(pg_port prod)
web=$(perl -MIO::Socket::INET -e 'print IO::Socket::INET->new(Listen => 1, LocalAddr => "127.0.0.1")->sockport')
cat >nginx.conf <<END
daemon off; worker_processes 1; pid $dir/pid; error_log $dir/error.log;
events { worker_connections 64; }
http {
	access_log $dir/access.log combined;
	client_body_temp_path $dir/t1; proxy_temp_path $dir/t2; fastcgi_temp_path $dir/t3;
	uwsgi_temp_path $dir/t4; scgi_temp_path $dir/t5;
	server { listen 127.0.0.1:$web; location / { return 200 "done"; } }
}
END
/usr/sbin/nginx -e "$dir/error.log" -c "$dir/nginx.conf" >nginx.out 2>&1 &
nginx=$!
trap 'kill $nginx 2>/dev/null' EXIT
answers() { curl -s -o /dev/null --max-time 1 "http://127.0.0.1:$web/users/1"; }
wait_until 10 answers || bail "nginx did not start"

echo '{"format": "reprod-policy", "version": 1, "columns": {"*": "keep"}}' >keep.json
tcpdump_start both.pcap "$db or tcp port $web" || bail "tcpdump did not start"
for i in 1 2 3; do curl -s -d "who=person-$i" "http://127.0.0.1:$web/orders/$i/items" >/dev/null; done
for i in 1 2; do psql -qAt "host=127.0.0.1 port=$db user=postgres dbname=postgres" -c "SELECT id FROM t WHERE code = 'a-$i'" >/dev/null; done
tcpdump_stop both.pcap
"$REPROD" capture both.pcap --policy keep.json -o both.rcap --json >both.json 2>both.err
is $? 0 "both protocols are read from one file" || diag <both.err
like "$(cat both.json)" '"http": 3\b' "three connections speak HTTP"

"$REPROD" replay both.rcap --target "host=127.0.0.1 port=$db user=postgres dbname=postgres" >own.out 2>own.err
is $? 5 "the captured database is refused though HTTP came first"
like "$(cat own.err)" "captured server itself \(port $db\)" "by its own port, not the web server's"
"$REPROD" replay both.rcap --target "$(replay_dsn lab)" --json >run.json 2>run.err
is $? 0 "a marked database takes the statements: HTTP's pseudonyms look no rows up" || diag <run.err
is "$(replay_get run.json .sent) $(replay_get run.json .skipped.http)" "2 3" "both are sent, and the HTTP requests counted"

"$REPROD" recipe draft both.rcap --route 'POST /orders' -o r.json >draft.out 2>draft.err
is $? 3 "an HTTP route is not drafted"
like "$(cat draft.err)" "is an HTTP route, and only statements are judged.*--route" "which is said" || diag <draft.err
"$REPROD" correlate both.rcap >why.txt 2>why.err
like "$(cat why.txt)" 'POST /orders/\{id\}/items' "correlate has HTTP routes" || diag <why.err

pg_psql lab 'CREATE TABLE orders (id int)' >/dev/null
pg_psql prod 'CREATE TABLE orders (id int); CREATE INDEX ON orders (id)' >/dev/null
for with in "" "--capture both.rcap"; do
	# shellcheck disable=SC2086 # two words, or none
	"$REPROD" snapshot diff "$(pg_dsn prod)" "$(pg_dsn lab)" $with --json >diff.json 2>diff.err
	scores="${scores:-} $(grep -A12 'orders' diff.json | grep -m1 -o '"score": [0-9.]*' | cut -d' ' -f2)"
done
read -r plain weighed <<<"$scores"
replay_is "$weighed > 0 && $weighed < 0.6 * $plain"
ok $? "an HTTP path that names a table does not weigh it" || diag "$scores" <diff.json

"$REPROD" capture export both.rcap --to gor -o web.gor 2>/dev/null
"$REPROD" capture web.gor --policy keep.json -o web.rcap >web.out 2>&1
"$REPROD" replay web.rcap --target "$(replay_dsn lab)" >web.out 2>web.err
is $? 3 "a capture of HTTP alone is not replayed"
like "$(cat web.err)" "holds 3 HTTP requests and no statement.*export" "and the other tools are named" || diag <web.err
"$REPROD" capture access.log -o log.rcap >log.out 2>&1
"$REPROD" correlate log.rcap >why.out 2>why.err
is $? 3 "a log without durations has nothing to correlate"
like "$(cat why.err)" "have no latency.*request_time" "and says what to log" || diag <why.err
head -c 3000000 /dev/urandom | base64 | zstd -qc | "$REPROD" capture - -o z.rcap >z.out 2>z.err
is $? 3 "a compressed pipe that shows nothing of itself is refused"
like "$(cat z.err)" "do not tell what is in the zstd stream.*--format" "and is not called empty" || diag <z.err

done_testing
