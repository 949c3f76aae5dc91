#!/bin/bash
# A signal while a pipe is silent: everything that came before it is in the file.
. "$(dirname "$0")/../lib/tap.sh"
lib=$(cd "$(dirname "$0")/../lib" && pwd)
dir=$(tap_dir)
at_exit "rm -rf '$dir'"
cd "$dir" || bail "no folder"

perl "$lib/pgpcap.pl" 10.0.0.2:5432 10.0.0.3:5432 >packets
gzip -k packets
perl -e 'for my $i (0 .. 2999) {
	my @g = gmtime(1796040000 + $i);
	printf qq(10.0.0.1 - - [%02d/Nov/2026:%02d:%02d:%02d +0000] "GET /a HTTP/1.1" 200 100 "-" "c" rt=0.010\n), @g[3, 2, 1, 0];
}' >access.log
perl -e 'for my $i (0 .. 299) {
	my @g = gmtime(1796040000 + $i);
	printf qq(2026-11-30 %02d:%02d:%02d.500 UTC [77] LOG:  duration: 5.000 ms  statement: select 1\n), @g[2, 1, 0];
}' >server.log

# It has slept for longer than it looks for the first bytes of a format.
waits_for_more() { # PID
	local i
	for ((i = 0; i < 30; i++)); do
		[ "$(awk '{ print $3 }' "/proc/$1/stat")" = S ] || return 1
		sleep 0.05
	done
}
interrupted() { # FILE REQUESTS
	rm -f pipe && mkfifo pipe
	"$REPROD" capture - -o out.rcap --force <pipe >out 2>err &
	local pid=$! status
	exec 9>pipe
	cat "$1" >&9
	wait_until 20 waits_for_more $pid
	kill -TERM $pid
	wait $pid
	status=$?
	exec 9>&-
	is $status 130 "$1: interrupted" || diag <err
	is "$("$REPROD" capture show out.rcap --json | grep -m1 '"requests": [0-9]' | tr -dc 0-9)" "$2" "$1: with all its requests"
}
interrupted packets 2
interrupted packets.gz 2
interrupted access.log 3000
interrupted server.log 300

# While its first bytes are looked at: there is no second signal to come.
looks() { grep -q '^State:.S' "/proc/$1/status"; }
rm -f pipe && mkfifo pipe
"$REPROD" capture - -o early.rcap <pipe >out 2>err &
pid=$!
exec 9>pipe
printf 'half a line' >&9
wait_until 10 looks $pid
kill -TERM $pid
ended() { ! kill -0 $pid 2>/dev/null; }
wait_until 10 ended || kill -KILL $pid
wait $pid
is $? 130 "a signal before anything is told ends it as well" || diag <err
exec 9>&-
done_testing
