#!/bin/bash
# pgbench over loopback, captured live and by tcpdump at once: both have every request,
# nothing of the client's values, and the same packets give the same bytes.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/sniff.sh"
. "$(dirname "$0")/../lib/pg.sh"

dir=$(tap_dir)
cd "$dir" || exit 1
pg_start_tcp prod
port=$(pg_port prod)
dsn="host=127.0.0.1 port=$port user=postgres dbname=postgres"
bench() { PGHOST=127.0.0.1 PGPORT=$port PGUSER=postgres PGDATABASE=postgres "$PG_BIN/pgbench" "$@"; }
bench -i -q -s 1 >/dev/null 2>&1
"$PG_BIN/psql" -qX "$dsn" -c "create table t(id serial primary key, name text)"

sniff_start live.rcap -i lo --port "$port" || bail "the live capture did not start"
tcpdump_start all.pcap "$port" || bail "tcpdump did not start"
for mode in simple extended prepared; do
	bench -M "$mode" -c 3 -j 1 -n -t 100 >"$mode.out" 2>&1 || diag <"$mode.out"
done
cat >canary.txt <<-'END'
	canary-in-a-literal
	canary-in-a-copy
	canary-in-a-password
	canary-in-a-comment
	canary-in-a-row
	canary-in-an-app
	123456789012345
END
"$PG_BIN/psql" -qXAt "$dsn application_name=canary-in-an-app" >/dev/null 2>&1 <<-'END'
	insert into t(name) values ('canary-in-a-literal') returning id;
	select * from t where id = 1 /* canary-in-a-comment */;
	copy t(id, name) from stdin;
	500	canary-in-a-copy
	\.
	alter role postgres password 'canary-in-a-password';
	select 'canary-in-a-' || 'row' where 123456789012345 > 1;
	select 1/0;
END
tcpdump_stop all.pcap
sniff_stop
is $? 130 "an interrupted capture says so"
head -c 32 /dev/urandom >key && chmod 600 key
"$REPROD" capture all.pcap -o file.rcap --key key --json >file.json 2>file.err
is $? 0 "the packets that tcpdump wrote are read" || diag <file.err
"$REPROD" capture show live.rcap --json >live.json

want=$((3 * (3 * 100 * 7 + 2)))
"$REPROD" capture cat file.rcap >file.cat
is "$(grep -c '"route":"UPDATE pgbench_accounts' file.cat)" $((900 + 3)) \
	"900 updates and their prepares by 3 clients are there, from the file"
is "$(sniff_get live.json requests)" "$(sniff_get file.json requests)" "and as many requests live"
is "$(grep -c '"form":"named"' file.cat)" 2100 "2,100 of them ran a named statement"
like "$(grep -im1 'copy t(' file.cat)" '"form":"copy in".*"rows":1' "COPY is one request with its row"
like "$(grep -m1 '"sqlstate":"22012"' file.cat)" 'SELECT|select' "an error has its SQLSTATE"
for f in live file; do
	"$REPROD" capture verify "$f.rcap" --canary canary.txt >verify.out 2>&1
	is $? 0 "no canary is in the $f capture, and its ledger balances" || diag <verify.out
done
is "$(grep -c '"unpaired": {}' file.json)" 1 "every request has its answer"
like "$(cat file.json)" "\"address\": \"127.0.0.1\",?[[:space:]]+\"port\": $port" "the server's address is in the head"

"$REPROD" capture all.pcap -o again.rcap --key key -q
cmp -s file.rcap again.rcap
ok $? "the same packets with the same key give the same bytes"
"$REPROD" capture - -o piped.rcap --key key -q <all.pcap
is "$("$REPROD" capture cat piped.rcap | cksum)" "$("$REPROD" capture cat file.rcap | cksum)" \
	"standard input gives the same records"
"$REPROD" capture all.pcap -o other.rcap -q
cmp -s file.rcap other.rcap
is $? 1 "a fresh key gives others"
"$REPROD" capture all.pcap -o file.rcap 2>exists.err
is $? 2 "an existing file is not overwritten"
like "$(cat exists.err)" '--force' "and the hint names --force"

# Cut in the middle: what came before is kept, and said.
head -c $(($(stat -c %s all.pcap) / 2)) all.pcap >half.pcap
"$REPROD" capture half.pcap -o half.rcap --json >half.json 2>half.err
is $? 0 "a truncated file is readable up to the cut"
like "$(cat half.err)" 'packet [0-9]+: truncated' "which is named"
like "$(cat half.json)" '"complete": false' "and the capture is not complete"
"$REPROD" capture verify half.rcap >verify.out 2>&1
is $? 0 "its ledger balances" || diag <verify.out

# Joined in the middle, every 50th packet lost.
perl -e '
	open(my $in, "<:raw", "all.pcap"); local $/; my $b = <$in>;
	my ($at, $n) = (24, 0); print substr($b, 0, 24);
	while ($at + 16 <= length $b) {
		my $len = unpack("V", substr($b, $at + 8, 4));
		print substr($b, $at, 16 + $len) if $n > 40 && $n % 50; $n++; $at += 16 + $len;
	}' >lossy.pcap
"$REPROD" capture lossy.pcap -o lossy.rcap --json >lossy.json 2>lossy.err
is $? 0 "with packets missing the rest is read" || diag <lossy.err
like "$(cat lossy.json)" '"tcp_gap": [0-9]+' "the gaps are counted"
"$REPROD" capture verify lossy.rcap --canary canary.txt >verify.out 2>&1
is $? 0 "the ledger still balances" || diag <verify.out
[ "$(sniff_get lossy.json requests)" -gt $((want * 85 / 100)) ]
ok $? "and most requests are there" || diag "$(sniff_get lossy.json requests) of $want"
# The clock is set back by an hour in the middle.
perl -e 'local $/; open my $f, "<", "all.pcap"; binmode $f; binmode STDOUT; my $b = <$f>;
	my ($at, $n) = (24, 0);
	print substr($b, 0, 24);
	while ($at + 16 <= length $b) {
		my ($s, $us, $len, $wire) = unpack("VVVV", substr($b, $at, 16));
		$s -= 3600 if $n++ > 5000;
		print pack("VVVV", $s, $us, $len, $wire), substr($b, $at + 16, $len); $at += 16 + $len;
	}' >back.pcap
"$REPROD" capture back.pcap -o back.rcap --json >back.json 2>back.err
is $? 0 "a clock that was set back is no failure" || diag <back.err
like "$(cat back.json)" '"clock_went_back": [1-9][0-9]+' "it is counted"
is "$(sniff_get back.json requests)" "$(sniff_get file.json requests)" "every request is there"
"$REPROD" capture cat back.rcap | grep -q '"duration_ms":-'
is $? 1 "and none ends before it began"
if [ "$(id -u)" = 0 ]; then
	SUDO_UID=$(id -u daemon) SUDO_GID=$(id -g daemon) "$REPROD" capture -i lo --for 1s -o sudo.rcap >/dev/null 2>&1
	"$REPROD" capture show --json sudo.rcap >sudo.json
	like "$(cat sudo.json)" '"user": "daemon"' "under sudo the audit line names the caller"
	like "$(cat sudo.json)" '"policy_digest": "[0-9a-f]{64}"' "and the policy that was loaded"
fi
done_testing
