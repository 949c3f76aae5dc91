#!/bin/bash
# pgbench and psql against a server with ssl = on: through a relay that speaks TLS to the
# server and writes a key log, the same bytes pass once in the clear and once encrypted.
# Both readings give the same sessions and requests.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/sniff.sh"
. "$(dirname "$0")/../lib/pg.sh"

dir=$(tap_dir)
cd "$dir" || exit 1
umask 077
openssl req -x509 -newkey rsa:2048 -nodes -keyout server.key -out server.crt -days 2 -subj /CN=t 2>/dev/null
pg_own server.key server.crt
pg_start_tcp db 'ssl = on' "ssl_cert_file = '$dir/server.crt'" "ssl_key_file = '$dir/server.key'" \
	'ssl_ciphers = ALL' || bail "no server"
port=$(pg_port db)

cat >relay.pl <<'END'
# Each connection becomes an s_client that begins TLS as libpq does.
use IO::Socket::INET;
my ($to, $keys, $announce, @options) = @ARGV;
my $listener = IO::Socket::INET->new(Listen => 16, LocalAddr => "127.0.0.1") or die;
open(my $out, ">", "$announce.new"); print $out $listener->sockport, "\n"; close $out;
rename "$announce.new", $announce;
$SIG{CHLD} = "IGNORE";
while (my $socket = $listener->accept) {
	next if fork;
	$SIG{CHLD} = "DEFAULT";
	open(STDIN, "<&", $socket); open(STDOUT, ">&", $socket); open(STDERR, ">", "/dev/null");
	exec "openssl", "s_client", "-quiet", "-starttls", "postgres", "-keylogfile", $keys, @options,
		"-connect", "127.0.0.1:$to";
}
END
relay() { # NAME OPTION...
	perl relay.pl "$port" keys "$1.port" "${@:2}" &
	at_exit "kill $! 2>/dev/null"
	wait_until 10 test -s "$1.port" || bail "no relay"
}
relay new
relay old -tls1_2 -cipher ECDHE-RSA-CHACHA20-POLY1305
new=$(cat new.port)
old=$(cat old.port)
pg_psql db "create table account (id int primary key, name text); insert into account select g, 'n' || g from generate_series(1, 100) g" >/dev/null
cat >script.sql <<'END'
\set id random(1, 100)
begin;
select name from account where id = :id;
update account set name = 'canary-in-a-value' where id = :id returning id;
end;
END

tcpdump -i lo -s0 -U --immediate-mode -B 65536 -Z "$(id -un)" -w all.pcap \
	"tcp port $port or tcp port $new or tcp port $old" 2>all.err &
tcpdump_pid=$!
wait_until 10 grep -qs listening all.err || bail "tcpdump did not start"
for p in "$new" "$old"; do
	at="host=127.0.0.1 port=$p user=postgres dbname=postgres sslmode=disable gssencmode=disable"
	for mode in simple extended prepared; do
		"$PG_BIN/pgbench" -n -f script.sql -M $mode -c 2 -t 8 "$at" >bench.out 2>&1 || diag <bench.out
	done
	"$PG_BIN/psql" -qAt "$at" -c 'select repeat(name, 1000) from account' >long.out
	"$PG_BIN/psql" -qAt "$at" -c "copy account from stdin" <<<$'1000\tcanary-in-a-row' >/dev/null
	"$PG_BIN/psql" -qAt "$at" -c "delete from account where id = 1000" >/dev/null
done
PGSSLMODE=require "$PG_BIN/psql" -qAt "host=127.0.0.1 port=$port user=postgres dbname=postgres" -c 'select 1' >/dev/null
tcpdump_stop all.pcap
head -c 32 /dev/zero >key
is "$(wc -l <long.out)" 100 "the relay carries long answers"

"$REPROD" capture all.pcap --port "$port" --tls-keylog keys --key key -o tls.rcap --json >tls.json 2>tls.err
is $? 0 "sessions over TLS are read with their keys" || diag <tls.err
"$REPROD" capture all.pcap --port "$new" --port "$old" --key key -o clear.rcap --json >clear.json 2>clear.err
is $? 0 "so are the same in the clear" || diag <clear.err
facts() { # all that is not a time, an address or a number of a session
	"$REPROD" capture cat --values "$1" |
		perl -ne 'next if /"flags":\["encrypted"\]/; s/"(session|seq|start|end|open|close|think_ms|duration_ms|first_byte_ms|client|server|in_flight|id|at|of|t|t_close)":("[^"]*"|[-0-9.]+|null),?//g; print' | sort
}
is "$("$REPROD" capture cat tls.rcap | grep -c '"route":')" "$("$REPROD" capture cat clear.rcap | grep -c '"route":')" "as many requests"
facts tls.rcap >tls.facts
facts clear.rcap >clear.facts
cmp -s tls.facts clear.facts
ok $? "with the same routes, values, rows and outcomes" || diff clear.facts tls.facts | head -20 | diag
like "$(tr -d ' \n' <tls.json)" '"encrypted":\{"read":24,"no_key":1\}' "what was read and what had no key is counted"
printf '%s\n' canary-in-a-value canary-in-a-row >canary.txt
"$REPROD" capture verify tls.rcap --canary canary.txt >verify.out 2>&1
is $? 0 "no value of the clients' is in it" || diag <verify.out
"$REPROD" capture all.pcap --port "$port" -o none.rcap >none.out 2>&1
is $? 3 "without a key log nothing is read"
like "$(cat none.out)" 'all 25 Postgres sessions are encrypted' "and says why"
like "$(cat none.out)" '--tls-keylog FILE' "with the advice"

# Packets that are missing: every 50th segment of the server's port.
tcpdump -r all.pcap -w port.pcap "tcp port $port" 2>/dev/null
perl -e '
	open(my $in, "<:raw", "port.pcap"); local $/; my $b = <$in>;
	my ($at, $n) = (24, 0); print substr($b, 0, 24);
	while ($at + 16 <= length $b) {
		my $len = unpack("V", substr($b, $at + 8, 4));
		print substr($b, $at, 16 + $len) unless $len > 500 && $n++ % 50 == 49; $at += 16 + $len;
	}' >holes.pcap
"$REPROD" capture holes.pcap --port "$port" --tls-keylog keys --key key -o holes.rcap --json >holes.json 2>holes.err
is $? 0 "packets may be missing" || diag <holes.err
like "$(tr -d ' \n' <holes.json)" '"tcp_gap":[0-9]+' "which the ledger tells"
[ "$("$REPROD" capture cat holes.rcap | grep -c '"route":')" -ge $(($("$REPROD" capture cat tls.rcap | grep -c '"route":') * 9 / 10)) ]
ok $? "and the rest is read"

# Live: the log grows while packets come.
cp keys before && : >keys
sniff_start live.rcap -i lo --port "$port" --tls-keylog keys --for 20s || bail "no live capture"
for p in "$new" "$old"; do
	"$PG_BIN/pgbench" -n -f script.sql -M prepared -c 2 -t 8 \
		"host=127.0.0.1 port=$p user=postgres dbname=postgres sslmode=disable gssencmode=disable" >bench.out 2>&1
done
live_has() { "$REPROD" capture cat live.rcap 2>/dev/null | grep -c '"route":' | awk '$1 >= 128 { exit 0 } { exit 1 }'; }
wait_until 6 live_has
sniff_stop >/dev/null
live_has
ok $? "live, with a key log that grows" || { diag <live.rcap.err; diag <live.rcap.out; }
done_testing
