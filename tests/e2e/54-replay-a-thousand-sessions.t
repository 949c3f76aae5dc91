#!/bin/bash
# 1,100 sessions at once, with a soft limit of 256 open files.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/pg.sh"
. "$(dirname "$0")/../lib/replay.sh"

dir=$(tap_dir)
hard=$(ulimit -Hn)
[ "$hard" = unlimited ] || [ "$hard" -ge 2000 ] || skip_all "the hard limit of open files is $hard"
pg_start lab "max_connections = 1200" "shared_buffers = 64MB"
replay_target lab
{
	for ((s = 1; s <= 1100; s++)); do
		echo "session $s 0 0"
		for ((k = 0; k < 3; k++)); do
			echo "$s $((s + k * 1000)) 1 II simple 1 | SELECT $s"
		done
	done
} | replay_capture "$dir/a.rcap"
(
	ulimit -Sn 256
	exec "$REPROD" replay "$dir/a.rcap" --target "$(replay_dsn lab)" --json >"$dir/r.json" 2>"$dir/log"
)
is $? 0 "replay ends with 0" || diag <"$dir/log"
g() { replay_get "$dir/r.json" "$1"; }
is "$(g planned)/$(g sent)/$(g failed)" 3300/3300/0 "all was sent"
is "$(g fidelity.delivery.sessions)" 1100 "over as many sessions"
replay_is "$(g lateness_ms.p99) < 5"
ok $? "in time" || diag "$(g lateness_ms)"

"$REPROD" replay "$dir/a.rcap" --target "$(replay_dsn lab)" --sessions 3 --json >"$dir/three.json" 2>"$dir/log"
is "$(replay_get "$dir/three.json" sent)" 9 "--sessions takes the first ones"

prlimit --nofile=300:300 "$REPROD" replay "$dir/a.rcap" --target "$(replay_dsn lab)" >"$dir/out" 2>&1
is $? 4 "with a hard limit too low it ends with 4"
like "$(cat "$dir/out")" 'open files are needed.*hint: .*ulimit' "and says what is needed"
done_testing
