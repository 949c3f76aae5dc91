#!/bin/bash
# A watch keeps exact counts by the hour, the latest minutes in full, and the minutes
# around a breach; it forgets what is old, and after kill -9 its files are readable.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/sniff.sh"
. "$(dirname "$0")/../lib/pg.sh"

dir=$(tap_dir)
cd "$dir" || exit 1
pg_start_tcp prod
port=$(pg_port prod)
ask() { "$PG_BIN/psql" -qXAt "host=127.0.0.1 port=$port user=postgres dbname=postgres" "$@"; }
tcpdump_start short.pcap "$port" || bail "tcpdump did not start"
{
	for i in $(seq 1500); do echo "select $i;"; done
	# The slowdown, in the middle.
	for i in $(seq 150); do echo "select $i, pg_sleep(0.002);"; done
	for i in $(seq 1500); do echo "select $i;"; done
} | ask >/dev/null
tcpdump_stop short.pcap
# Its seconds become minutes: 21:58 and on, over the hour.
perl -e 'local $/; open my $f, "<", "short.pcap"; binmode $f; binmode STDOUT; my $b = <$f>;
	my ($at, $first, $n) = (24); print substr($b, 0, 24);
	while ($at + 16 <= length $b) {
		my ($s, $us, $len, $wire) = unpack("VVVV", substr($b, $at, 16));
		my $t = $s * 1e6 + $us; $first //= $t;
		# Packets come a tenth of a second apart, on top of twice the time they took.
		$t = 1796075880e6 + 1e5 * $n++ + 2 * ($t - $first);
		print pack("VVVV", $t / 1e6, $t % 1e6, $len, $wire), substr($b, $at + 16, $len);
		$at += 16 + $len;
	}' >long.pcap
"$REPROD" capture long.pcap -o all.rcap --json >all.json 2>all.err || diag <all.err
all=$(sniff_get all.json requests)

# Two that come later begin here.
"$REPROD" capture watch --from long.pcap -o s --ring 20s --schedule '*/2 * * * *' -q >/dev/null 2>s.err &
scheduled=$!
"$REPROD" capture watch --from long.pcap -o d --ring 20s --schedule '* * * * *' --budget disk=4K -q >/dev/null 2>d.err &
disk=$!
"$REPROD" capture watch --from long.pcap -o w --ring 60s --breach 'pg_sleep:p90>80ms' --json >w.json 2>w.err
is $? 0 "packets of a file are watched" || diag <w.err
is "$(sniff_get w.json requests)" "$all" "every request was seen"
is "$(sniff_get w.json incidents)" 1 "a breach that goes on is one incident"
like "$(cat w.err)" 'keeping the minutes around: pg_sleep:p90>80ms: it was [0-9.]+ ms, n=[0-9]+' "it is told"
flock w "$REPROD" capture watch --from long.pcap -o w >two.out 2>two.err
is $? 4 "two watches do not share a folder"
like "$(cat two.err)" "another watch keeps its files in 'w'" "the second is told"
mkfifo pipe
{ head -c 4096 long.pcap; wait_until 10 test -e gone; rm -rf gone; tail -c +4097 long.pcap; } >pipe &
"$REPROD" capture watch --from pipe -o gone >gone.out 2>gone.err
is $? 4 "a folder that is removed meanwhile is a failure"
like "$(cat gone.err)" "the folder 'gone' was removed" "which is told"
sum=0 bad=0
for f in w/counts-*.rcap; do
	n=$("$REPROD" capture show --json "$f" | grep -m1 '"requests":' | tr -dc 0-9)
	sum=$((sum + n))
	"$REPROD" capture verify "$f" >verify.out 2>&1 || { bad=$((bad + 1)); diag <verify.out; }
done
is "$sum" "$all" "the counts of all hours add up"
is "$bad" 0 "and they verify"
is "$(ls w/counts-*.rcap | wc -l)" "$(ls w | grep -c '^counts-.*T2[0-9]0000Z')" "each file is an hour's"
is "$("$REPROD" capture cat "$(ls w/counts-* | head -1)" | wc -l)" 0 "and holds no request"
incident=$(ls w/incident-*.rcap)
"$REPROD" capture verify "$incident" >verify.out 2>&1
is $? 0 "the incident verifies" || diag <verify.out
"$REPROD" capture cat "$incident" >incident.cat
slow=$(grep -c 'pg_sleep' incident.cat)
[ "$slow" -ge 100 ]
ok $? "the slow statements are in it" || diag "$slow"
like "$(cat incident.cat)" '"type":"session"' "with their session"
[ "$(grep -c '"type":"request"' incident.cat)" -lt "$all" ]
ok $? "and only the minutes around" || diag "$(grep -c . incident.cat) of $all"
ring=$(ls w/ring-* | wc -l)
[ "$ring" -ge 8 ] && [ "$ring" -le 12 ]
ok $? "the ring has its ten pieces" || diag "$ring"

# Live from here on, beside what follows: one that is killed, and one that is asked to end.
"$REPROD" capture watch -i lo --port "$port" -o live --ring 10s >live.out 2>live.err &
pid=$!
at_exit "kill -KILL $pid 2>/dev/null"
"$REPROD" capture watch -i lo --port "$port" -o asked >asked.out 2>asked.err &
asked=$!
at_exit "kill -KILL $asked 2>/dev/null"
wait "$scheduled"
[ "$(ls s/incident-* | wc -l)" -ge 2 ]
ok $? "a schedule keeps the minutes around its times" || { ls s | diag; diag <s.err; }
touch s/notes.txt
"$REPROD" capture watch --from long.pcap -o s --ring 20s --keep 1s -q >/dev/null 2>s.err
is "$(ls s | grep -c incident)" 0 "what is older than --keep goes"
is "$(ls s | grep -c notes)" 1 "files of others stay"
wait "$disk"
[ "$(ls d | grep -c -e incident -e counts)" -le 2 ]
ok $? "a disk budget holds the folder down" || ls d | diag

for bad in 'x' 'x:p99' 'x:p42>5ms' 'x:p99>' 'x:p99>-1s'; do
	"$REPROD" capture watch --from long.pcap -o bad --breach "$bad" >/dev/null 2>bad.err
	is $? 2 "--breach '$bad' is refused"
done
"$REPROD" capture watch --from long.pcap -o bad --schedule 'often' >/dev/null 2>bad.err
is $? 2 "a schedule that is none is refused"

# The killed one.
wait_until 10 test -e live || diag <live.err
has_ring() { [ -n "$(ls live/ring-* 2>/dev/null)" ]; }
wait_until 10 has_ring
ask -c 'select 4711' >/dev/null
has_it() { for f in live/ring-*; do "$REPROD" capture cat "$f" 2>/dev/null | grep -q 'select' && return; done; return 1; }
wait_until 8 has_it
ok $? "a live watch has the request within seconds" || { diag <live.err; ls -la live | diag; }
kill -KILL "$pid"
wait "$pid" 2>/dev/null
for f in live/*.rcap; do "$REPROD" capture show "$f" >/dev/null 2>show.err || diag <show.err; done
has_it
ok $? "and still after kill -9"
wait_until 5 test -e asked
kill -TERM "$asked"
wait "$asked"
is $? 130 "one that is asked to end is interrupted, as a capture is"
whole=0
for f in asked/*.rcap; do "$REPROD" capture verify "$f" >verify.out 2>&1 || { whole=1; diag <verify.out; }; done
ok $whole "and its files are whole"
done_testing
