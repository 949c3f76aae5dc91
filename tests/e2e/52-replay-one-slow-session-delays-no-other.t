#!/bin/bash
# A statement of 3 s in one session: the others go out on time.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/pg.sh"
. "$(dirname "$0")/../lib/replay.sh"

dir=$(tap_dir)
pg_start lab
replay_target lab
{
	echo "1 100 20 II simple 1 | SELECT pg_sleep(3)"
	for ((t = 0; t < 3500; t += 10)); do
		echo "$((2 + t / 10 % 5)) $t 1 II simple 1 | SELECT $t"
	done
} | replay_capture "$dir/a.rcap"
"$REPROD" replay "$dir/a.rcap" --target "$(replay_dsn lab)" --json >"$dir/r.json" 2>"$dir/log"
is $? 0 "replay ends with 0" || diag <"$dir/log"
replay_is "$(replay_route "$dir/r.json" pg_sleep service_ms.max) >= 3000"
ok $? "the slow statement took its 3 s"
replay_is "$(replay_get "$dir/r.json" lateness_ms.max) < 10"
ok $? "no request went out more than 10 ms late" || diag "$(replay_get "$dir/r.json" lateness_ms)"
replay_is "$(replay_get "$dir/r.json" queue_ms.max) < 10"
ok $? "and none waited in its own session" || diag "$(replay_get "$dir/r.json" queue_ms)"
done_testing
