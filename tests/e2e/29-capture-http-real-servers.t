#!/bin/bash
# curl, h2load and nghttp against nginx and nghttpd over loopback: every request is in
# the capture with its status, over HTTP/1.1 and HTTP/2.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/sniff.sh"

dir=$(tap_dir)
cd "$dir" || exit 1
free_port() {
	perl -MIO::Socket::INET -e 'print IO::Socket::INET->new(Listen => 1, LocalAddr => "127.0.0.1")->sockport'
}
one=$(free_port)
two=$(free_port)
c=$(free_port)
mkdir -p root && head -c 20000 /dev/zero | tr '\0' x >root/users && chmod -R a+rX .
cat >nginx.conf <<END
daemon off; worker_processes 1; pid $dir/pid; error_log $dir/error.log;
events { worker_connections 64; }
http {
	access_log $dir/access.log; default_type text/plain; keepalive_requests 10000;
	client_body_temp_path $dir/t1; proxy_temp_path $dir/t2; fastcgi_temp_path $dir/t3;
	uwsgi_temp_path $dir/t4; scgi_temp_path $dir/t5;
	server { listen 127.0.0.1:$one; root $dir/root; location /orders { return 201 "done"; } }
	server { listen 127.0.0.1:$two http2; root $dir/root; }
}
END
/usr/sbin/nginx -e "$dir/error.log" -c "$dir/nginx.conf" >nginx.out 2>&1 &
nginx=$!
/usr/sbin/nghttpd --no-tls -a 127.0.0.1 -d "$dir/root" "$c" >nghttpd.out 2>&1 &
nghttpd=$!
trap 'kill $nginx $nghttpd 2>/dev/null' EXIT
answers() { curl -s -o /dev/null --max-time 1 "$@"; }
wait_until 10 answers "http://127.0.0.1:$one/users" || bail "nginx did not start"
wait_until 10 answers --http2-prior-knowledge "http://127.0.0.1:$c/users" || bail "nghttpd did not start"
wait_until 10 test -s access.log || bail "nginx logs nothing"
: >access.log

tcpdump -i lo -s0 -U --immediate-mode -B 65536 -Z "$(id -un)" -w all.pcap \
	"tcp port $one or tcp port $two or tcp port $c" 2>all.err &
tcpdump_pid=$!
wait_until 10 grep -qs listening all.err || bail "tcpdump did not start"
for _ in 1 2 3 4 5; do curl -s "http://127.0.0.1:$one/users" "http://127.0.0.1:$one/absent" -I; done >/dev/null 2>&1
curl -s -d 'card=canary-in-a-form' -H 'Cookie: s=canary-in-a-cookie' "http://127.0.0.1:$one/orders?x=canary-in-a-query" >/dev/null
curl -s -H 'Transfer-Encoding: chunked' -d 'canary-in-a-chunk' "http://127.0.0.1:$one/orders" >/dev/null
head -c 3000000 /dev/zero | curl -s -H 'Expect: 100-continue' -T - "http://127.0.0.1:$one/orders" >/dev/null
h2load -n 200 -c 2 -m 10 -H 'authorization: canary-in-h2' "http://127.0.0.1:$two/users" >h2load.out 2>&1
curl -s --http2-prior-knowledge "http://127.0.0.1:$c/users" >/dev/null
nghttp "http://127.0.0.1:$c/users" "http://127.0.0.1:$c/absent" >nghttp.out 2>&1
tcpdump_stop all.pcap

"$REPROD" capture all.pcap -o all.rcap --json >all.json 2>all.err
is $? 0 "the packets are read" || diag <all.err
"$REPROD" capture cat all.rcap >all.cat
count() { grep -c "$1" all.cat; }
is "$(count '"protocol":"http".*"status":200')" $((5 + 200 + 2)) "every 200 is there"
is "$(count '"status":404')" 6 "so is every 404"
is "$(count '"status":201')" 3 "and every 201, after 100-continue too"
is "$(wc -l <access.log)" $((10 + 3 + 200)) "as many as nginx logged"
like "$(grep -m1 '"status":201' all.cat)" '"bytes_in":[0-9]+.*"bytes_out":[0-9]+' "with their sizes"
like "$(cat all.json)" '"http2": 4\b' "four connections spoke HTTP/2"
is "$(grep -c '"unpaired": {}' all.json)" 1 "every request has its answer"
printf '%s\n' canary-in-a-form canary-in-a-cookie canary-in-a-query canary-in-a-chunk canary-in-h2 >canary.txt
"$REPROD" capture verify all.rcap --canary canary.txt >verify.out 2>&1
is $? 0 "no value of the clients' is in it, and the ledger balances" || diag <verify.out

# Joined late: the first 30 packets of each server's traffic are missing.
tcpdump -r all.pcap -w two.pcap "tcp port $two" 2>/dev/null
perl -e '
	open(my $in, "<:raw", "two.pcap"); local $/; my $b = <$in>;
	my ($at, $n) = (24, 0); print substr($b, 0, 24);
	while ($at + 16 <= length $b) {
		my $len = unpack("V", substr($b, $at + 8, 4));
		print substr($b, $at, 16 + $len) if $n++ > 30; $at += 16 + $len;
	}' >late.pcap
"$REPROD" capture late.pcap -o late.rcap --port "$two" --json >late.json 2>late.err
is $? 0 "HTTP/2 that began before is read" || diag <late.err
"$REPROD" capture cat late.rcap >late.cat
[ "$(grep -c '"status":200' late.cat)" -gt 100 ]
ok $? "its requests and answers are there" || diag "$(grep -c '"status":200' late.cat)"
done_testing
