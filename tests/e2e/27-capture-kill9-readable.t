#!/bin/bash
# A capture that is killed at any instant is readable up to its last flush, and what
# it counts is what it holds.
. "$(dirname "$0")/../lib/tap.sh"
dir=$(tap_dir)
at_exit "rm -rf '$dir'"

# 150,000 requests of 40 sessions over 150 s, no server needed.
awk 'BEGIN {
	srand(7)
	for (i = 0; i < 150000; i++) {
		s = int(i / 1000)
		printf "2026-11-30 12:%02d:%02d.%03d UTC,\"u\",\"d\",%d,\"10.0.0.1:%d\",6a.%x,%d,\"SELECT\",2026-11-30 11:59:00 UTC,3/4,0,LOG,00000,\"duration: %.3f ms  execute S_%d: select * from t%d where id = $1\",\"parameters: $1 = '\''%d'\''\",,,,,,,,\"app\",\"client backend\",,0\n",
			s / 60, s % 60, i % 1000, 100 + i % 40, 4000 + i % 40, 1 + i % 40, i, 0.1 + rand() * 3, i % 12, i % 12, rand() * 1000000
	}
}' >"$dir/log.csv"

size() { stat -c %s "$dir/k.rcap" 2>/dev/null || echo 0; }
has_grown() { [ "$(size)" -ge "$1" ] || ! kill -0 "$pid" 2>/dev/null; }
field() { sed -n "s/^  \"$1\": \([0-9a-z]*\),\{0,1\}$/\1/p" "$dir/k.json"; }

for bytes in 1 20000 200000 500000 900000 1400000; do
	rm -f "$dir/k.rcap"
	"$REPROD" capture -q "$dir/log.csv" -o "$dir/k.rcap" >/dev/null 2>"$dir/err" &
	pid=$!
	wait_until 20 has_grown "$bytes"
	kill -KILL "$pid" 2>/dev/null
	wait "$pid" 2>/dev/null
	"$REPROD" capture show --json "$dir/k.rcap" >"$dir/k.json" 2>"$dir/err"
	ok $? "killed at $(size) bytes, it is readable" || diag <"$dir/err"
	lines=$("$REPROD" capture cat -q "$dir/k.rcap" | grep -c '"type":"request"')
	is "$lines" "$(field requests)" "and its counts are those of its $lines requests"
done
is "$(field finished)" false "a killed capture is not called finished"
unlike "$("$REPROD" capture verify "$dir/k.rcap")" ': ok' "nor verified"

"$REPROD" capture -q "$dir/log.csv" -o "$dir/k.rcap" --force >/dev/null 2>&1
"$REPROD" capture show --json "$dir/k.rcap" >"$dir/k.json"
is "$(field requests) $(field finished)" '150000 true' "left alone, it holds all 150000 requests"
"$REPROD" capture verify "$dir/k.rcap" >"$dir/out"
ok $? "and verifies" || diag <"$dir/out"

# The same for a disk that is full: what was written stays.
(
	trap '' XFSZ
	ulimit -f 300
	"$REPROD" capture -q "$dir/log.csv" -o "$dir/full.rcap" 2>"$dir/err" >/dev/null
)
is $? 4 "a file that cannot grow ends with 4"
like "$(cat "$dir/err")" 'full.rcap.*could not write.*hint: .*kept' "and says what is kept"
like "$("$REPROD" capture show "$dir/full.rcap" 2>&1)" 'not finished' "which is readable"
done_testing
