#!/bin/bash
# 1, 1 and 9000 ms in one minute: the largest and the count are told exactly, a p99 is not.
. "$(dirname "$0")/../lib/tap.sh"

dir=$(tap_dir)
cd "$dir" || exit 1
printf 't,route,ms\n1796040001,SELECT 1,1\n1796040002,SELECT 1,1\n1796040003,SELECT 1,9000\n' >trap.csv
for route in "" "--route=SELECT 1"; do
	"$REPROD" correlate trap.csv ${route:+"$route"} >out 2>err
	is $? 0 "an answer without events ${route:+for a named route}"
	like "$(cat out)" "n=3: p99 not estimable, max 9000\.000 ms" "count and largest are told"
	unlike "$(cat out)" "p99 (is )?[0-9]" "no p99 is"
done
"$REPROD" correlate trap.csv --route "SELECT 1" --json >out.json
is "$(grep -cE '"p99(_low|_high)?_ms": [0-9]' out.json)" 0 "nor in the document"
done_testing
