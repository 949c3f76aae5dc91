#!/bin/bash
# pgbench over loopback, seen twice: the second time with a clock that is 1.5 s ahead and
# with packets missing. Merged they are the first; the shape is pgbench's own account.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/sniff.sh"
. "$(dirname "$0")/../lib/pg.sh"

dir=$(tap_dir)
cd "$dir" || exit 1
pg_start_tcp prod
port=$(pg_port prod)
bench() { PGHOST=127.0.0.1 PGPORT=$port PGUSER=postgres PGDATABASE=postgres "$PG_BIN/pgbench" "$@"; }
bench -i -q -s 1 >/dev/null 2>&1
tcpdump_start all.pcap "$port" || bail "tcpdump did not start"
bench -M prepared -c 4 -j 1 -n -t 50 >bench.out 2>&1 || diag <bench.out
tcpdump_stop all.pcap
head -c 32 /dev/urandom >key && chmod 600 key
perl -e '
	open(my $in, "<:raw", "all.pcap"); local $/; my $b = <$in>;
	binmode STDOUT; my ($at, $n) = (24, 0); print substr($b, 0, 24);
	while ($at + 16 <= length $b) {
		my ($s, $us, $len, $wire) = unpack("VVVV", substr($b, $at, 16));
		my $t = $s * 1e6 + $us + 1.5e6; $n++;
		print pack("VVVV", int($t / 1e6), $t % 1e6, $len, $wire), substr($b, $at + 16, $len) if $n < 400 || $n > 700;
		$at += 16 + $len;
	}' >late.pcap
"$REPROD" capture all.pcap -o a.rcap --key key -q && "$REPROD" capture late.pcap -o b.rcap --key key -q
ok $? "both are captured"

"$REPROD" capture merge a.rcap b.rcap -o m.rcap --json >merge.json 2>merge.err
is $? 0 "they are merged" || diag <merge.err
like "$(cat merge.json)" '"skew": "estimated",[[:space:]]+"skew_ms": 1500,' "the skew is found"
is "$("$REPROD" capture cat --values m.rcap | cksum)" "$("$REPROD" capture cat --values a.rcap | cksum)" \
	"what is left is the whole capture, each session once"
"$REPROD" capture verify m.rcap -o verify.out
is $? 0 "its counts are those of its records" || diag <verify.out
"$REPROD" capture merge b.rcap a.rcap -o n.rcap -q
is "$("$REPROD" capture show --json n.rcap | grep -m1 '"requests":')" \
	"$("$REPROD" capture show --json a.rcap | grep -m1 '"requests":')" "in the other order too"
"$REPROD" capture all.pcap -o c.rcap -q
"$REPROD" capture merge a.rcap c.rcap -o x.rcap 2>refused.err
is $? 5 "captures of different keys are refused"
[ ! -e x.rcap ] && [ ! -e x.rcap.new ]
ok $? "and leave nothing behind"
"$REPROD" capture merge a.rcap b.rcap -o m.rcap 2>exists.err
is $? 2 "an existing file is not overwritten"

"$REPROD" capture shape --json a.rcap >shape.json
is $? 0 "the shape is told"
like "$(cat shape.json)" '"explicit": 200,' "200 transactions"
like "$(tr -d '\n ' <shape.json)" '"statements":\{"n":200,"mean":7,' "of seven statements each"
like "$(tr -d '\n ' <shape.json)" '"named":1400[,}]' "by named statements"
"$REPROD" capture shape a.rcap >shape.txt
is "$(awk 'length > 100' shape.txt)" "" "people read it in 100 columns"
for command in "show a.rcap" "shape a.rcap" "cat a.rcap" "coverage a.rcap"; do
	# A closed pipe: true reads nothing.
	{ "$REPROD" capture $command 2>pipe.err; echo $? >pipe.code; } | true
	like "$(cat pipe.code):$(cat pipe.err)" '^(0|141):$' "capture $command | head is quiet"
done
like "$("$REPROD" --json version)" '"version"' "flags may stand before the command"
done_testing
