#!/bin/bash
# A shell job with nothing but the target's socket; an experiment that is interrupted
# keeps its runs and goes on from there.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/pg.sh"
. "$(dirname "$0")/../lib/replay.sh"
. "$(dirname "$0")/../lib/recipe.sh"

dir=$(tap_dir)
recipe_scene "$dir"
recipe_target lab
cat >"$dir/lock.sh" <<SH
psql -Atqc 'BEGIN; LOCK TABLE t IN EXCLUSIVE MODE; SELECT pg_sleep(0.4); COMMIT' &&
echo "home \$(ls -A "\$HOME" | wc -l) scene \$(ls "$dir" 2>/dev/null | wc -l)"
SH
r=$dir/r.json
"$REPROD" recipe draft "$dir/scene.rcap" --correlation "$dir/correlation.json" --condition job:lock \
	--job "lock=$dir/lock.sh" -o "$r" >"$dir/out" 2>&1
ok $? "a recipe with a shell job is drafted" || diag <"$dir/out"

run() { "$REPROD" recipe run "$r" --target "$recipe_dsn" --job-log "$dir/log" -o "$dir/result.json" "$@"; }
"$REPROD" recipe run "$r" --target "$recipe_dsn" --job-log "$dir/log" -o "$dir/result.json" >"$dir/out" 2>&1 &
pid=$!
has_a_run() { [ -s "$dir/result.json.runs" ]; }
wait_until 60 has_a_run
ok $? "the first run is kept as it ends" || diag <"$dir/out"
kill -TERM $pid # a background process of this shell ignores INT
wait $pid
is $? 130 "an interrupt ends it"
like "$(cat "$dir/out")" 'hint: 1 runs are kept in .*--resume' "and says how to go on"
ok "$([[ ! -e $dir/result.json ]]; echo $?)" "no result is claimed"
is "$(pg_psql lab "SELECT count(*) FROM pg_stat_activity WHERE application_name LIKE 'reprod%'")" 0 "nothing is left connected"

run --resume >"$dir/out" 2>&1
is $? 0 "it goes on and is reproduced" || { diag <"$dir/out"; diag <"$dir/log"; }
is "$(replay_get "$dir/result.json" resumed_runs)" 1 "with the kept run"
like "$(cat "$dir/log")" 'home 0 scene 0' "the job sees an empty home and nothing of ours" || diag <"$dir/log"

# The same recipe against a job that is quick: nothing comes back.
echo 'psql -Atqc "SELECT 1"' >"$dir/lock.sh"
run --force >"$dir/out" 2>&1
is $? 3 "a job's file that was changed is not run"
"$REPROD" recipe draft "$dir/scene.rcap" --correlation "$dir/correlation.json" --condition job:lock \
	--job "lock=$dir/lock.sh" -o "$r" --force >"$dir/out" 2>&1
run --force --expect gone --junit "$dir/none/junit.xml" >"$dir/out" 2>&1
is $? 4 "an answer that cannot be saved is no answer" || diag <"$dir/out"
ok "$([[ -s $dir/result.json.runs ]]; echo $?)" "and its runs are kept"
rm -f "$dir/result.json"
run >"$dir/out" 2>&1
is $? 2 "which are not thrown away without a word" || diag <"$dir/out"
like "$(cat "$dir/out")" 'hint: --resume goes on' "but: go on with them"
run --resume --expect gone --junit "$dir/junit.xml" >"$dir/out" 2>"$dir/err"
is $? 0 "a mended job: gone, as expected" || diag <"$dir/out"
is "$(replay_get "$dir/result.json" runs | grep -o '"on"' | wc -l)" "$(replay_get "$dir/result.json" resumed_runs)" "answered from the kept runs"
like "$(cat "$dir/out")" '^not reproduced' "which comes first"
like "$(cat "$dir/junit.xml")" 'failures="0" errors="0"' "and passes"

echo 'exit 3' >"$dir/lock.sh"
"$REPROD" recipe draft "$dir/scene.rcap" --correlation "$dir/correlation.json" --condition job:lock \
	--job "lock=$dir/lock.sh" -o "$r" --force >"$dir/out" 2>&1
# By a bare database name, as other programs take one.
PGHOST=${pg_dirs[lab]} PGPORT=${pg_ports[lab]} PGUSER=postgres "$REPROD" recipe run "$r" --target shop \
	--junit "$dir/failed.xml" -o "$dir/result.json" --force >"$dir/out" 2>&1
is $? 6 "a job that fails leaves it unsure" || diag <"$dir/out"
like "$(cat "$dir/failed.xml")" 'no run of it was valid:.*job:lock.*code 3' "JUnit says why" || diag <"$dir/failed.xml"
like "$(cat "$dir/out")" 'invalid.*job:lock.*code 3' "and says why"
done_testing
