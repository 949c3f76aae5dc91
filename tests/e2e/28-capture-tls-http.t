#!/bin/bash
# curl against nginx over TLS 1.2 and 1.3 in several suites, HTTP/1.1 and HTTP/2: with the
# key log the requests are those of the same traffic in the clear; without it they are
# counted and named.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/sniff.sh"

lib=$(cd "$(dirname "$0")/../lib" && pwd)
dir=$(tap_dir)
cd "$dir" || exit 1
free_port() {
	perl -MIO::Socket::INET -e 'print IO::Socket::INET->new(Listen => 1, LocalAddr => "127.0.0.1")->sockport'
}
tls=$(free_port)
clear=$(free_port)
mkdir -p root && head -c 200000 /dev/zero | tr '\0' x >root/users && chmod -R a+rX .
openssl req -x509 -newkey rsa:2048 -nodes -keyout rsa.key -out rsa.crt -days 2 -subj /CN=t 2>/dev/null
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout ec.key -out ec.crt \
	-days 2 -subj /CN=t 2>/dev/null
cat >nginx.conf <<END
daemon off; worker_processes 1; pid $dir/pid; error_log $dir/error.log;
events { worker_connections 64; }
http {
	access_log off; default_type text/plain;
	client_body_temp_path $dir/t1; proxy_temp_path $dir/t2; fastcgi_temp_path $dir/t3;
	uwsgi_temp_path $dir/t4; scgi_temp_path $dir/t5;
	ssl_certificate $dir/rsa.crt; ssl_certificate_key $dir/rsa.key;
	ssl_certificate $dir/ec.crt; ssl_certificate_key $dir/ec.key;
	ssl_protocols TLSv1.2 TLSv1.3; ssl_ciphers ALL:@SECLEVEL=0;
	ssl_session_cache shared:s:1m;
	server { listen 127.0.0.1:$tls ssl http2; root $dir/root; location /orders { return 201 "done"; } }
	server { listen 127.0.0.1:$clear; root $dir/root; location /orders { return 201 "done"; } }
}
END
/usr/sbin/nginx -e "$dir/error.log" -c "$dir/nginx.conf" >nginx.out 2>&1 &
nginx=$!
at_exit 'kill $nginx 2>/dev/null'
answers() { curl -sk -o /dev/null --max-time 1 "$@"; }
wait_until 10 answers "https://127.0.0.1:$tls/users" || bail "nginx did not start"

tcpdump -i lo -s0 -U --immediate-mode -B 65536 -Z "$(id -un)" -w all.pcap \
	"tcp port $tls or tcp port $clear" 2>all.err &
tcpdump_pid=$!
wait_until 10 grep -qs listening all.err || bail "tcpdump did not start"
umask 077
export SSLKEYLOGFILE=$dir/keys
talk() { # URL [OPTION...]: five requests over one connection
	local url=$1
	shift
	curl -sk "$@" "$url/users" "$url/absent" "$url/users?token=canary-in-a-query" >/dev/null
	curl -sk "$@" -d 'card=canary-in-a-form' -H 'Cookie: s=canary-in-a-cookie' "$url/orders" "$url/orders" >/dev/null
}
suites=(ECDHE-RSA-AES128-GCM-SHA256 ECDHE-ECDSA-AES256-GCM-SHA384 ECDHE-RSA-CHACHA20-POLY1305
	ECDHE-ECDSA-AES128-CCM ECDHE-ECDSA-AES256-CCM8 AES256-GCM-SHA384)
suites13=(TLS_AES_128_GCM_SHA256 TLS_AES_256_GCM_SHA384 TLS_CHACHA20_POLY1305_SHA256)
for suite in "${suites[@]}"; do
	talk "https://127.0.0.1:$tls" --http1.1 --tls-max 1.2 --ciphers "$suite:@SECLEVEL=0"
done
for suite in "${suites13[@]}"; do
	talk "https://127.0.0.1:$tls" --http2 --tls13-ciphers "$suite"
done
n=$((${#suites[@]} + ${#suites13[@]}))
for ((i = 0; i < n; i++)); do talk "http://127.0.0.1:$clear"; done
unset SSLKEYLOGFILE
talk "https://127.0.0.1:$tls" --http1.1 # without a key
tcpdump_stop all.pcap
head -c 32 /dev/zero >key

"$REPROD" capture all.pcap --port "$tls" --tls-keylog keys --key key -o tls.rcap --json >tls.json 2>tls.err
is $? 0 "TLS is read with its keys" || diag <tls.err
"$REPROD" capture all.pcap --port "$clear" --key key -o clear.rcap --json >clear.json 2>clear.err
is $? 0 "so is the same in the clear" || diag <clear.err
"$REPROD" capture cat tls.rcap >tls.cat
"$REPROD" capture cat clear.rcap >clear.cat
shape() { # what was asked and answered, without times, HTTP/2's sizes and addresses
	perl -ne 'next unless /"status":(\d+)/; my $s = $1; print "$s ", /"route":("[^"]*")/, "\n"' "$1" | sort | uniq -c
}
is "$(grep -c '"status":' tls.cat)" $((5 * n)) "every request is there"
is "$(shape tls.cat)" "$(shape clear.cat)" "with the routes and answers of the clear"
like "$(tr -d ' \n' <tls.json)" '"encrypted":\{"read":'$((2 * n))',"no_key":2\}' "what was read and what had no key is counted"
printf '%s\n' canary-in-a-form canary-in-a-cookie canary-in-a-query "$(awk '/^CLIENT_RANDOM/ { print $3; exit }' keys)" >canary.txt
"$REPROD" capture verify tls.rcap --canary canary.txt >verify.out 2>&1
is $? 0 "no value of the clients', and no secret, is in it" || diag <verify.out

"$REPROD" capture all.pcap --port "$tls" -o none.rcap >none.out 2>&1
is $? 3 "without a key log there is nothing to read"
like "$(cat none.out)" '--tls-keylog FILE' "and the advice names the option"
"$lib/pcap-with-keys" all.pcap keys >own.pcapng
"$REPROD" capture own.pcapng --port "$tls" --key key -o own.rcap --json >own.json 2>own.err
is $? 0 "a pcapng file may bring its keys" || diag <own.err
"$REPROD" capture cat own.rcap >own.cat
cmp own.cat tls.cat
ok $? "and gives what the key log gives"
chmod 644 keys
"$REPROD" capture all.pcap --tls-keylog keys -o none.rcap >none.out 2>&1
is $? 5 "a key log that others can read is refused"
like "$(cat none.out)" "chmod 600 'keys'" "with what to do"
chmod 600 keys && sed -i '3s/.*/Subject: secrets/' keys
"$REPROD" capture all.pcap --tls-keylog keys -o none.rcap >none.out 2>&1
is $? 3 "a line that is no key is refused"
like "$(cat none.out)" 'keys: line 3: no line of a TLS key log' "and named"
done_testing
