#!/bin/bash
# A server that stops answering (SIGSTOP) shows in p99, and what it never answered is
# counted at its age.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/pg.sh"
. "$(dirname "$0")/../lib/replay.sh"

dir=$(tap_dir)
pg_start lab "log_statement = all"
replay_target lab
{
	for ((t = 0; t < 2000; t += 10)); do
		echo "$((1 + t / 10 % 10)) $t 1 II simple 1 | SELECT $t"
	done
} | replay_capture "$dir/a.rcap"

# signal SIG: to the server's sessions. They lead no group of their own: children of it.
signal_sessions() {
	local pid
	for pid in $(cat "/proc/${pg_pids[lab]}/task/${pg_pids[lab]}/children"); do
		ps -o args= -p "$pid" | grep -q replayer && kill "-$1" "$pid"
	done
}
"$REPROD" replay "$dir/a.rcap" --target "$(replay_dsn lab)" --timeout 1.5s --json >"$dir/r.json" 2>"$dir/log" &
replay=$!
is_under_way() { grep -q 'statement: SELECT 900' "$(pg_log lab)"; }
wait_until 10 is_under_way
signal_sessions STOP
at_exit "signal_sessions CONT"
wait $replay
is $? 0 "the run ends, with 0" || diag <"$dir/log"
signal_sessions CONT
g() { replay_get "$dir/r.json" "$1"; }
unanswered=$(g unanswered)
replay_is "$unanswered >= 5 && $unanswered <= 110"
ok $? "requests unanswered are counted" || diag "$unanswered"
replay_is "$(replay_route "$dir/r.json" SELECT service_ms.p99) >= 1400"
ok $? "and their age is in the p99" || replay_route "$dir/r.json" SELECT service_ms.p99 | diag
is "$(replay_route "$dir/r.json" SELECT p99_is_at_least)" true "which is said to be a lower bound"
replay_is "$(g planned) == 200 && $(g sent) + $(g failed) == 200"
ok $? "planned = sent + skipped + failed" || diag "$(g planned) $(g sent) $(g failed) $(g skipped)"
done_testing
