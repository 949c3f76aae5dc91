#!/bin/bash
# Connections that break and servers that go: the rest of the transaction is failed, the
# session goes on, the run ends, and the sum is right.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/pg.sh"
. "$(dirname "$0")/../lib/replay.sh"

dir=$(tap_dir)
pg_start lab "log_statement = all"
replay_target lab
g() { replay_get "$dir/r.json" "$1"; }
skipped_sum() { perl -MJSON::PP -e 'my $s = 0; $s += $_ for values %{decode_json($ARGV[0])}; print $s' "$(g skipped)"; }
balances() { [ "$(g planned)" = $(($(g sent) + $(g failed) + $(skipped_sum))) ]; }

replay_capture "$dir/a.rcap" <<'SCRIPT'
session 1 0 0
session 2 0 0
1 10 1 IT simple 0 | BEGIN
1 20 1 TT simple 1 | SELECT pg_sleep(30)
1 30 1 TT simple 1 | SELECT 'never sent'
1 40 1 TI simple 0 | COMMIT
1 900 1 II simple 1 | SELECT 'sent again'
2 10 1 II simple 1 | SELECT 'other session'
2 1500 1 II simple 1 | SELECT 'other session'
SCRIPT
"$REPROD" replay "$dir/a.rcap" --target "$(replay_dsn lab)" --json >"$dir/r.json" 2>"$dir/log" &
replay=$!
is_sleeping() { [ "$(pg_psql lab "SELECT count(*) FROM pg_stat_activity WHERE query LIKE '%pg_sleep(30)' AND usename = 'replayer'")" = 1 ]; }
wait_until 10 is_sleeping
pg_psql lab "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE '%pg_sleep(30)' AND usename = 'replayer'" >/dev/null
wait $replay
is $? 0 "a broken connection does not end the run" || diag <"$dir/log"
is "$(g planned)/$(g sent)/$(g failed)" 7/5/2 "the rest of its transaction failed"
! grep -q 'never sent' "$(pg_log lab)"
ok $? "and was not sent outside of it"
grep -q 'sent again' "$(pg_log lab)"
ok $? "the session goes on with its next transaction"
is "$(g connects)" 3 "over a new connection"

"$REPROD" replay "$dir/a.rcap" --target "$(replay_dsn lab)" --timeout 300ms --json >"$dir/r.json" 2>"$dir/log"
is $? 0 "a request over its time does not end the run" || diag <"$dir/log"
is "$(g planned)/$(g sent)/$(g failed)/$(g unanswered)" 7/5/2/1 "it is given up and its transaction failed"
has_ended() { ! is_sleeping; }
wait_until 10 has_ended
ok $? "and it is cancelled on the server"

{
	for ((t = 0; t < 3000; t += 20)); do
		echo "$((t / 20 % 5 + 1)) $t 1 II simple 1 | SELECT $t"
	done
} | replay_capture "$dir/b.rcap"
: >"$(pg_log lab)"
"$REPROD" replay "$dir/b.rcap" --target "$(replay_dsn lab)" --json >"$dir/r.json" 2>"$dir/log" &
replay=$!
is_under_way() { grep -q 'statement: SELECT 500' "$(pg_log lab)"; }
wait_until 10 is_under_way
pg_halt lab
wait $replay
is $? 0 "a server that goes away does not hang the run" || diag <"$dir/log"
balances
ok $? "planned = sent + skipped + failed" || diag "$(g planned) $(g sent) $(g skipped) $(g failed)"
replay_is "$(g failed) > 50"
ok $? "what could not be sent is failed" || diag "$(g failed)"
is "$(g fidelity.delivery.ok)" false "and the run is below the bar"

pg_run lab
pg_psql lab "ALTER ROLE replayer CONNECTION LIMIT 3"
"$REPROD" replay "$dir/b.rcap" --target "$(replay_dsn lab)" --json >"$dir/r.json" 2>"$dir/log"
is $? 0 "sessions that cannot connect do not end the run" || diag <"$dir/log"
is "$(g fidelity.delivery.sessions)/$(g planned)/$(g sent)/$(g failed)" 3/150/90/60 "their requests failed"
like "$(g fidelity.delivery.reason)" 'plan was sent' "and the run is below the bar"
done_testing
