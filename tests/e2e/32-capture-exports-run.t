#!/bin/bash
# What is exported runs: pgbench's scripts against a server, httperf's sessions against
# nginx; k6's and vegeta's files are whole.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/sniff.sh"
. "$(dirname "$0")/../lib/pg.sh"

dir=$(tap_dir)
cd "$dir" || exit 1
pg_start_tcp prod
pg_psql prod "CREATE TABLE items (id int PRIMARY KEY, name text, at timestamptz DEFAULT now());
	INSERT INTO items SELECT i, 'it''s:name ' || i FROM generate_series(1, 1000) i"
cat >script.sql <<'SQL'
\set id random(1, 1000)
BEGIN;
UPDATE items SET name = 'a: ''c'' $ \x' || :id WHERE id = :id;
SELECT name, at::date FROM items WHERE id BETWEEN :id AND :id + 3 AND at > '2001-01-01 10:30:00';
COMMIT;
SELECT count(*) FROM items WHERE id < :id;
SQL
sniff_start pg.rcap -i lo --port "$(pg_port prod)" || bail "the capture did not start"
"$PG_BIN/pgbench" -n -M prepared -f script.sql -c 3 -t 20 \
	"host=127.0.0.1 port=$(pg_port prod) user=postgres dbname=postgres" >pgbench.log 2>&1
ok $? "pgbench ran" || diag <pgbench.log
for i in 1 2 3; do
	psql -qAt "host=127.0.0.1 port=$(pg_port prod) user=postgres dbname=postgres" -c "SELECT id FROM items WHERE name = 'it''s:name $i' AND (ARRAY[$i,2])[1:1] = ARRAY[$i]"
done >psql.out 2>&1
counted() { [ "$(pg_psql prod "select count(*) from pg_stat_activity where application_name = 'pgbench'")" = 0 ]; }
wait_until 5 counted
sniff_stop
"$REPROD" capture export pg.rcap --to pgbench -o bench 2>export.out
is $? 0 "a capture becomes pgbench scripts" || diag <export.out
like "$(cat export.out)" 'bench: 183 requests' "of every statement but the transaction's own"
like "$(cat bench/run.sh)" '-M prepared' "in the form they were sent"
is "$(ls bench | tr '\n' ' ')" '01.sql 02.sql 03.sql 04.sql run.sh ' "one for each route"
for mode in simple prepared; do
	PATH=$PG_BIN:$PATH bench/run.sh postgres -h 127.0.0.1 -p "$(pg_port prod)" -U postgres -T 1 -R 200 -M $mode >run.out 2>&1
	ok $? "$mode: they run" || diag <run.out
	like "$(cat run.out)" 'number of failed transactions: 0' "$mode: without a failure"
done
"$REPROD" capture export pg.rcap --to pgbench -o bench 2>again.out
is $? 2 "what is there is not overwritten"
"$REPROD" capture export pg.rcap --to k6 -o no.js 2>no.out
is $? 3 "a capture without HTTP has nothing for k6"
[ ! -e no.js ]
ok $? "and leaves no file"
"$REPROD" capture export pg.rcap --to csv -o pg.csv 2>/dev/null
is "$(perl -ne '$n++ unless tr/,// >= 14; END { print $n + 0 }' pg.csv)" 0 "every row of the csv has its columns"
is "$(($(wc -l <pg.csv) - 1))" "$("$REPROD" capture cat pg.rcap | grep '"type":"request"' | grep -vc '"form":"prepare"')" "and there are as many as requests"

# HTTP.
port=$(perl -MIO::Socket::INET -e 'print IO::Socket::INET->new(Listen => 1, LocalAddr => "127.0.0.1")->sockport')
cat >nginx.conf <<END
daemon off; worker_processes 1; pid $dir/pid; error_log $dir/error.log;
events { worker_connections 64; }
http { access_log $dir/access.log; client_body_temp_path $dir/t1; proxy_temp_path $dir/t2; fastcgi_temp_path $dir/t3;
	uwsgi_temp_path $dir/t4; scgi_temp_path $dir/t5;
	server { listen 127.0.0.1:$port; location / { return 200 "done"; } } }
END
/usr/sbin/nginx -e "$dir/error.log" -c "$dir/nginx.conf" >nginx.out 2>&1 &
nginx=$!
at_exit "kill $nginx 2>/dev/null"
answers() { curl -s -o /dev/null --max-time 1 "http://127.0.0.1:$port/"; }
wait_until 10 answers || bail "nginx did not start"
perl -e '
	my $s = "\n\xf0\x9f\x90\xb5\xf0\x9f\x99\x88\xf0\x9f\x99\x89\n";
	for my $i (1 .. 30) {
		my ($id, $t) = (sprintf("%016x%08x", $i % 3 + 1, $i), 1700000000_000000000 + $i * 10_000_000);
		my $body = $i % 5 ? "" : "name=\xffit\x27s&n=$i";
		my $head = $body ? "POST /users/$i HTTP/1.1\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: " . length($body) : "GET /users/$i?page=2 HTTP/1.1";
		print "1 $id $t 1000\n$head\r\nHost: shop\r\nAccept: */*\r\n\r\n$body$s";
		print "2 $id ", $t + 2_000_000, " 1000\nHTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n$s";
	}' >in.gor
"$REPROD" capture in.gor -o http.rcap >http.out 2>&1
is $? 0 "a .gor file is captured" || diag <http.out
for f in k6 vegeta wsesslog; do
	"$REPROD" capture export http.rcap --to $f --base "http://127.0.0.1:$port/" -o out.$f 2>$f.out
	is $? 0 "$f: exported" || diag <$f.out
done
: >access.log
httperf --hog --server=127.0.0.1 --port="$port" --wsesslog="$(grep -c '^$' out.wsesslog | awk '{ print $1 + 1 }')",0,out.wsesslog \
	--rate=10 >httperf.out 2>&1
is $? 0 "httperf plays the sessions" || diag <httperf.out
is "$(wc -l <access.log)" "$(grep -c '^/' out.wsesslog)" "and sends each request once"
like "$(cat out.wsesslog)" 'think=0\.02' "with think times between them"
is "$(perl -MJSON::PP -ne '$t = decode_json($_); $n++ if $t->{method} && $t->{url} =~ m{^http://127} && ref $t->{header} eq "HASH"; END { print $n }' out.vegeta)" 30 \
	"each line of vegeta's is a target"
is "$(perl -MJSON::PP -MMIME::Base64 -ne '$b = decode_json($_)->{body}; $n++ if $b && decode_base64($b) =~ /^name=/; END { print $n }' out.vegeta)" 6 \
	"bodies are in base64"
is "$(grep -c '^  {method: ' out.k6)" 30 "k6's script has the requests"
like "$(cat out.k6)" "executor: 'constant-arrival-rate'" "and a rate"
done_testing
