#!/bin/bash
# Packets that are packed on their way through a pipe are unpacked.
. "$(dirname "$0")/../lib/tap.sh"
lib=$(cd "$(dirname "$0")/../lib" && pwd)
dir=$(tap_dir)
at_exit "rm -rf '$dir'"
cd "$dir" || bail "no folder"
head -c 32 /dev/zero >key && chmod 600 key
servers=()
for ((i = 0; i < 200; i++)); do servers+=("10.0.0.2:5432"); done
perl "$lib/pgpcap.pl" "${servers[@]}" >a.pcap
"$REPROD" capture -q --key key a.pcap -o a.rcap || bail "no capture"
"$REPROD" capture cat a.rcap >want
like "$("$REPROD" capture show a.rcap)" '200 requests' "what is in the file"

for tool in cat gzip zstd bzip2; do
	# In one piece: what a pipe shows first may be too little to tell what is packed.
	"$tool" <a.pcap >packed
	dd if=packed bs=64k status=none | "$REPROD" capture -q --key key - -o "$tool.rcap" >out 2>err
	is $? 0 "$tool: read from a pipe" || diag <err
	"$REPROD" capture cat "$tool.rcap" | cmp - want
	ok $? "$tool: the same"
done
gzip <a.pcap >a.gz
"$REPROD" capture -q --key key - -o file.rcap <a.gz >out 2>err
is $? 0 "a file as standard input" || diag <err
head -c $(($(stat -c %s a.gz) / 2)) a.gz | "$REPROD" capture - -o cut.rcap >out 2>err
like "$(cat err)" 'standard input: packet [0-9]*: the compressed stream ends too early' "one that is cut is told"

# 300 MB of zeros in 1.3 MB behind some packets: memory is bounded, and it ends.
{ cat a.pcap; head -c 300000000 /dev/zero; } | gzip -1 >bomb.gz
# A sanitizer reserves terabytes of addresses: there only the end is judged.
( grep -qa __asan_init "$REPROD" || ulimit -v 250000; exec timeout 60 "$REPROD" capture -q --key key bomb.gz -o bomb.rcap ) >out 2>err
code=$?
[ $code -eq 0 ] || [ $code -eq 3 ]
ok $? "a gzip bomb ends" || { echo $code; diag <err; }
like "$("$REPROD" capture show bomb.rcap)" '200 requests' "with what came before it"
done_testing
