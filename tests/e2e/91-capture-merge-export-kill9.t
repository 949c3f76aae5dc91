#!/bin/bash
# merge and export that are killed at any instant leave the old file or the whole new one.
. "$(dirname "$0")/../lib/tap.sh"
dir=$(tap_dir)
at_exit "rm -rf '$dir'"
cd "$dir" || bail "no folder"
awk 'BEGIN { for (i = 0; i < 60000; i++)
	printf "10.0.0.%d - - [30/Nov/2026:12:%02d:%02d +0000] \"GET /shop/%d HTTP/1.1\" 200 5 \"-\" \"-\"\n", i % 9, i / 6000, i / 100 % 60, i }' >access.log
head -c 32 /dev/zero >key && chmod 600 key
"$REPROD" capture -q --key key access.log -o a.rcap || bail "no capture"
cp a.rcap b.rcap

killed() { # COMMAND...: after each of some parts of the time that it takes
	local began=$EPOCHREALTIME took i pid
	"$@" >/dev/null 2>&1 || bail "$*"
	took=$(awk -v a="$began" -v b="$EPOCHREALTIME" 'BEGIN { print b - a }')
	sum=$(sha256sum <out)
	for i in 0.05 0.3 0.6 0.9; do
		echo old >out
		timeout -s KILL "$(awk -v t="$took" -v i="$i" 'BEGIN { print t * i + 0.001 }')" "$@" >/dev/null 2>&1
		[ "$(cat out | head -c 4)" = old ] || [ "$(sha256sum <out)" = "$sum" ]
		ok $? "$3 killed at $i of its time: the old file or the whole new one"
		rm -f out.*.new
	done
}
killed "$REPROD" capture merge a.rcap b.rcap -o out --force
killed "$REPROD" capture export a.rcap --to csv -o out --force
killed "$REPROD" capture --key key access.log -o out --force
done_testing
