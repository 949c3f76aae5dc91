#!/bin/bash
# Serial, looping and interrupted runs.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/pg.sh"
. "$(dirname "$0")/../lib/replay.sh"

dir=$(tap_dir)
pg_start lab "log_statement = all" "log_line_prefix = '<%p> '"
replay_target lab
pg_psql lab "CREATE TABLE t (id int PRIMARY KEY, v int); INSERT INTO t SELECT i, 0 FROM generate_series(1, 10) i;
	GRANT ALL ON t TO replayer"
g() { replay_get "$dir/r.json" "$1"; }

# Interleaved transactions, and a named statement number that both sessions use.
replay_capture "$dir/a.rcap" <<'SCRIPT'
session 1 0 0
session 2 0 0
1 10 1 IT simple 0 | BEGIN
2 12 1 IT simple 0 | BEGIN
1 500 1 TT named 1 stmt=1 bind=1 | UPDATE t SET v = v + 1 WHERE id = $1
2 501 1 TT named 1 stmt=1 bind=2 | SELECT v FROM t WHERE id = $1
2 900 1 TI simple 0 | ROLLBACK
1 901 1 TI simple 0 | COMMIT
SCRIPT
start=$(date +%s%N)
"$REPROD" replay "$dir/a.rcap" --target "$(replay_dsn lab)" --serial --json >"$dir/r.json" 2>"$dir/log"
is $? 0 "a serial run ends with 0" || diag <"$dir/log"
took_ms=$((($(date +%s%N) - start) / 1000000))
[ "$took_ms" -lt 800 ]
ok $? "without think time" || diag "$took_ms ms"
is "$(g sent)/$(g failed)/$(g fidelity.delivery.sessions)" 6/0/1 "all went over one connection"
is "$(g divergence)" '[]' "and no transaction broke another"
order=$(grep -oE '(statement|execute [a-z0-9_]+): (BEGIN|UPDATE|SELECT v|ROLLBACK|COMMIT)' "$(pg_log lab)" |
	grep -v reprod.proof | sed 's/.*: //' | tr '\n' ' ')
is "$order" "BEGIN UPDATE COMMIT BEGIN SELECT v ROLLBACK " "each transaction whole, by its start"

"$REPROD" replay "$dir/a.rcap" --target "$(replay_dsn lab)" --serial --loop 1s --json >"$dir/r.json" 2>"$dir/log"
is $? 0 "a looping serial run ends with 0" || diag <"$dir/log"
replay_is "$(g duration_s) >= 1 && $(g duration_s) < 2 && $(g passes) > 10"
ok $? "after its time, many times over" || diag "$(g duration_s) s, $(g passes) passes"
replay_is "$(g planned) == $(g sent) && $(g sent) % 3 == 0"
ok $? "with whole transactions only" || diag "$(g planned) $(g sent)"

"$REPROD" replay "$dir/a.rcap" --target "$(replay_dsn lab)" --loop 2.5s --json >"$dir/r.json" 2>"$dir/log"
is $? 0 "a looping run of all sessions ends with 0" || diag <"$dir/log"
replay_is "$(g sent) >= 12 && $(g sent) % 3 == 0 && $(g planned) == $(g sent)"
ok $? "and has begun the traffic again" || diag "$(g sent)"
is "$(g connects)" 2 "over the same connections"

# Two windows of a second each out of ten, end to end.
for ((t = 0; t < 10000; t += 50)); do
	echo "$((t / 50 % 4 + 1)) $t 1 II simple 1 | SELECT $t"
done | replay_capture "$dir/b.rcap"
at() { echo "2026-01-01T00:00:0$1Z"; }
start=$(date +%s%N)
"$REPROD" replay "$dir/b.rcap" --target "$(replay_dsn lab)" --window "$(at 2)..$(at 3)" --window "$(at 7)..$(at 8)" \
	--json >"$dir/r.json" 2>"$dir/log"
is $? 0 "a run of two windows ends with 0" || diag <"$dir/log"
is "$(g sent)" 40 "and sends what is in them"
replay_is "$(g duration_s) >= 2 && $(g duration_s) < 2.5"
ok $? "end to end" || diag "$(g duration_s) s"

"$REPROD" replay "$dir/b.rcap" --target "$(replay_dsn lab)" --speed 10 --json >"$dir/r.json" 2>"$dir/log"
replay_is "$(g sent) == 200 && $(g duration_s) >= 0.9 && $(g duration_s) < 1.5"
ok $? "ten times the speed takes a tenth" || diag "$(g sent) $(g duration_s)"

: >"$(pg_log lab)"
"$REPROD" replay "$dir/b.rcap" --target "$(replay_dsn lab)" --json -o "$dir/kept.json" >"$dir/r.json" 2>"$dir/log" &
replay=$!
is_under_way() { grep -q 'statement: SELECT 1500$' "$(pg_log lab)"; }
wait_until 10 is_under_way
# Not INT: bash lets background commands ignore it.
kill -TERM $replay
wait $replay
is $? 130 "an interrupted run ends with 130"
replay_is "$(g planned) == 200 && $(g sent) >= 29 && $(g sent) < 100 && $(g sent) + $(replay_get "$dir/r.json" 'skipped.run ended') == 200"
ok $? "leaves its result, and planned = sent + skipped + failed" || diag "$(g planned) $(g sent) $(g skipped)"
is "$(g interrupted)/$(replay_get "$dir/kept.json" interrupted)/$(g fidelity.delivery.ok)" true/true/false \
	"which says that it was interrupted"
done_testing
