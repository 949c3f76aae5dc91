#!/bin/bash
# A real nginx logs in three formats; each gives the same requests. Exported to .gor they
# are read back equal.
. "$(dirname "$0")/../lib/tap.sh"

dir=$(tap_dir)
cd "$dir" || exit 1
port=$(perl -MIO::Socket::INET -e 'print IO::Socket::INET->new(Listen => 1, LocalAddr => "127.0.0.1")->sockport')
spec='$msec $connection $connection_requests $remote_addr "$request" $status $bytes_sent $request_time'
fields='end=.t,request=.r,status=.s,bytes_out=.n,duration=.d,connection=.c,connection_requests=.cr'
mkdir -p root && echo x >root/users && chmod -R a+rX .
cat >nginx.conf <<END
daemon off; worker_processes 1; pid $dir/pid; error_log $dir/error.log;
events { worker_connections 64; }
http {
	log_format own '$spec';
	log_format js escape=json '{"t":"\$msec","r":"\$request","s":\$status,"n":\$bytes_sent,"d":\$request_time,"c":\$connection,"cr":\$connection_requests,"ua":"\$http_user_agent"}';
	log_format timed '\$remote_addr - \$remote_user [\$time_local] "\$request" \$status \$body_bytes_sent "\$http_referer" "\$http_user_agent" \$request_time';
	access_log $dir/own.log own; access_log $dir/js.log js; access_log $dir/timed.log timed; access_log $dir/plain.log combined;
	client_body_temp_path $dir/t1; proxy_temp_path $dir/t2; fastcgi_temp_path $dir/t3;
	uwsgi_temp_path $dir/t4; scgi_temp_path $dir/t5;
	server { listen 127.0.0.1:$port; root $dir/root; location /orders { return 201 "done"; } }
}
END
/usr/sbin/nginx -e "$dir/error.log" -c "$dir/nginx.conf" >nginx.out 2>&1 &
nginx=$!
at_exit "kill $nginx 2>/dev/null"
answers() { curl -s -o /dev/null --max-time 1 "http://127.0.0.1:$port/users"; }
wait_until 10 answers || bail "nginx did not start"
for _ in 1 2 3 4 5; do
	curl -s "http://127.0.0.1:$port/users?page=2" "http://127.0.0.1:$port/absent-canary" -d 'x=1' "http://127.0.0.1:$port/orders" \
		-A 'odd "agent" \ é'
done >/dev/null 2>&1
printf 'junk\r\n\r\n' >"/dev/tcp/127.0.0.1/$port"
lines() { [ "$(wc -l <plain.log)" -ge 16 ]; }
wait_until 5 lines

facts() { # FILE: what all formats know, in order
	"$REPROD" capture cat "$1" | perl -ne 'next unless /"type":"request"/;
		/"route":"([^"]*)"/; my $r = $1; /"status":(\w+)/; print "$r $1\n"'
}
"$REPROD" capture own.log --log-format "$spec" -o own.rcap >own.out 2>&1
is $? 0 "a log_format string is taken as it is" || diag <own.out
"$REPROD" capture js.log --fields "$fields" -o js.rcap >js.out 2>&1
is $? 0 "JSON lines are read by a map of fields" || diag <js.out
gzip -k timed.log
"$REPROD" capture timed.log.gz -o timed.rcap >timed.out 2>&1
is $? 0 "a compressed log is told by its lines" || diag <timed.out
like "$(cat timed.out)" "format 'combined-time'" "and its format is said"
"$REPROD" capture - -o plain.rcap <plain.log >plain.out 2>&1
is $? 0 "so is one on standard input" || diag <plain.out
cat plain.log | "$REPROD" capture - -o pipe.rcap >pipe.out 2>&1
is $? 0 "also through a pipe" || diag <pipe.out
like "$(cat plain.out)" 'no durations, so latencies cannot be estimated' "and what it does not tell"

wanted=$(facts own.rcap)
is "$(grep -c . <<<"$wanted")" 16 "all requests are there"
for f in js timed plain pipe; do is "$(facts $f.rcap)" "$wanted" "$f: the same ones in the same order"; done
like "$("$REPROD" capture show own.rcap)" '16 requests in (6|16) sessions' "connections are sessions"
like "$("$REPROD" capture show own.rcap)" 'no request line \(TLS or junk on the port\) 1' "junk is counted"
unlike "$("$REPROD" capture show plain.rcap --json)" '"p50": [0-9]' "no latency is made up"
like "$("$REPROD" capture show own.rcap --json)" '"p50": [0-9]' "where there are durations there is one"
echo absent-canary >canary
"$REPROD" capture verify own.rcap --canary canary >verify.out 2>&1
is $? 0 "what clients sent is not in the file" || diag <verify.out

# Out to GoReplay's format and in again.
"$REPROD" capture export own.rcap --to gor -o own.gor 2>export.out
is $? 0 "the requests go to a .gor file" || diag <export.out
"$REPROD" capture own.gor -o back.rcap >back.out 2>&1
is $? 0 "which is read" || diag <back.out
times() { "$REPROD" capture cat "$1" | perl -ne 'next unless /"type":"request"/; print join(" ", map { /"$_":("[^"]*"|[^,}]*)/ } qw(t duration_ms status session seq in_flight)), "\n"'; }
is "$(times back.rcap)" "$(times own.rcap)" "and holds the same times, statuses and sessions"
head -c -5 own.gor | gzip | head -c -4 >cut.gor.gz
"$REPROD" capture cut.gor.gz -o cut.rcap >cut.out 2>&1
is $? 0 "a .gor.gz without an end is read as far as it goes" || diag <cut.out

# What cannot be read says what it is.
"$REPROD" capture own.log own.gor -o no.rcap >no.out 2>&1
is $? 3 "a format that nobody knows is refused"
like "$(cat no.out)" 'own.log: .*HTTP requests.*hint: .*--log-format' "with what to give"
"$REPROD" capture plain.log own.gor -o no.rcap >no.out 2>&1
is $? 2 "different kinds are refused"
like "$(cat no.out)" "'own.gor' \(gor\) and 'plain.log'" "with their names"
"$REPROD" capture plain.log --log-format '$status $request' -o no.rcap >no.out 2>&1
is $? 2 "a log format without a time is refused"
like "$(cat no.out)" 'has no time' "and says so"
[ ! -e no.rcap ]
ok $? "no file is left"
done_testing
