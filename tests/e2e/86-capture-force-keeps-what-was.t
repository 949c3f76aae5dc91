#!/bin/bash
# --force loses nothing to a capture that comes to nothing, and an option that means
# nothing for an input is refused before anything is touched.
. "$(dirname "$0")/../lib/tap.sh"
dir=$(tap_dir)
at_exit "rm -rf '$dir'"
cd "$dir" || bail "no folder"

row() { # MESSAGE
	printf '2026-11-30 12:00:01.000 UTC,"u","d",7,"[local]",6a.1,1,"SELECT",2026-11-30 11:59:00 UTC,3/4,0,LOG,00000,"%s",,,,,,,,,"app","client backend",,0\n' "$1"
}
row 'duration: 1.000 ms  statement: select 1' >good.csv
row 'checkpoint starting: time' >quiet.csv
echo '10.0.0.1 - - [30/Nov/2026:12:00:00 +0000] "GET / HTTP/1.1" 200 5 "-" "-"' >access.log
perl -e 'print pack("VvvVVVV", 0xa1b2c3d4, 2, 4, 0, 0, 65535, 1)' >empty.pcap

"$REPROD" capture -q good.csv -o old.rcap >out 2>err
is $? 0 "a capture" || diag <err
cp old.rcap kept

keeps() { # EXIT NAME ARGUMENT...
	local want=$1 name=$2
	shift 2
	"$REPROD" capture --force -o old.rcap "$@" >out 2>err
	is $? "$want" "$name: exit $want" || diag <err
	cmp old.rcap kept
	ok $? "$name: the old file is whole"
	is "$(echo old.rcap*)" old.rcap "$name: and nothing lies beside it"
}
keeps 3 "a log without requests" quiet.csv
keeps 2 "a zone that is none" --log-zone Mars/Base good.csv
keeps 2 "a format string that is none" --log-format '%%%' access.log
keeps 3 "packets that are none" empty.pcap
keeps 4 "an interface that is not there" -i nonexistent0 --for 1s

"$REPROD" capture -q --force access.log -o old.rcap >out 2>err
is $? 0 "one that is whole takes its place" || diag <err
like "$("$REPROD" capture show old.rcap)" 'GET /' "with what it read"
is "$(stat -c %a old.rcap)" 600 "and is the owner's alone"

refuses() { # REGEX ARGUMENT...
	local regex=$1
	shift
	"$REPROD" capture "$@" -o none.rcap >out 2>err
	is $? 2 "refused: $*" || diag <err
	like "$(cat err)" "$regex.*hint: " "and told"
}
refuses "--for is for live captures" --for 1m good.csv
refuses "--log-zone means nothing for a packet file" --log-zone UTC empty.pcap
refuses "--log-format means nothing for a packet file" --log-format '$remote_addr' empty.pcap
refuses "--tls-keylog means nothing for an access log" --tls-keylog k access.log
refuses "--port means nothing for a Postgres log" --port 5432 good.csv
refuses "--log-prefix means nothing for an access log" --log-prefix '%m' access.log
refuses "--routes means nothing for a Postgres log" --routes r good.csv
refuses "--probe-window is for live captures" --probe-window 1s good.csv
refuses "--format means nothing for a live capture" -i lo --format csvlog
refuses "--probe-pid means nothing without --probe" -i lo --probe-pid 1
done_testing
