#!/bin/bash
# A job that holds a lock: drafted, checked, run and ablated against a database by DSN.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/pg.sh"
. "$(dirname "$0")/../lib/replay.sh"
. "$(dirname "$0")/../lib/recipe.sh"

dir=$(tap_dir)
recipe_scene "$dir"
recipe_target lab
ok $? "the database is marked and frozen"
r=$dir/r.json

"$REPROD" recipe draft "$dir/scene.rcap" --correlation "$dir/correlation.json" --condition job:lock \
	--condition concurrency -o "$r" >"$dir/out" 2>&1
ok $? "a recipe is drafted" || diag <"$dir/out"
is "$("$REPROD" recipe check "$r" | cut -d: -f2)" " /conditions/0/on/file" "a job without a command is a fault, by its pointer"
"$REPROD" recipe run "$r" --target "$recipe_dsn" >"$dir/out" 2>&1
is $? 3 "and is not run"
like "$(cat "$dir/out")" 'conditions/0/on/file.*no command' "which is said"

"$REPROD" recipe draft "$dir/scene.rcap" --correlation "$dir/correlation.json" --condition job:lock \
	--condition concurrency --job "lock=$dir/lock.sql" -o "$r" --force >"$dir/out" 2>&1
ok $? "it is drafted with its command" || diag <"$dir/out"
"$REPROD" recipe check "$r" >"$dir/out"
ok $? "and has no fault" || diag <"$dir/out"
is "$(replay_get "$r" conditions.0.on.file)" lock.sql "paths are relative to the recipe"
replay_is "$(replay_get "$r" expectation.spike_ms) > 200 && $(replay_get "$r" expectation.baseline_ms) < 5"
ok $? "production's numbers are those of the scene" || replay_get "$r" expectation | diag

"$REPROD" recipe run "$r" --target "$recipe_dsn" --ablate --dry-run >"$dir/out" 2>&1
is $? 0 "a dry run says what would be run"
like "$(cat "$dir/out")" '4 runs of about' "and how many runs"

"$REPROD" recipe run "$r" --target "$recipe_dsn" --ablate --record --junit "$dir/junit.xml" -o "$dir/result.json" >"$dir/out" 2>&1
is $? 0 "it is reproduced" || diag <"$dir/out"
is "$(replay_get "$dir/result.json" verdict)" reproduced "says the result"
is "$(replay_get "$dir/result.json" ablation.necessary)" '["job:lock"]' "the job is necessary, and nothing else" || diag <"$dir/out"
is "$(replay_get "$dir/result.json" ablation.minimal)" '[["job:lock"]]' "it is enough: the lock stops a lone client too"
like "$(cat "$dir/junit.xml")" 'failures="0" errors="0"' "JUnit passes"
is "$(replay_get "$r" results.0.verdict)" reproduced "the verdict is kept in the recipe"
ok "$([[ ! -e $dir/result.json.runs ]]; echo $?)" "the runs' side file is gone"
"$REPROD" recipe check "$r" >/dev/null
ok $? "and the recipe is still sound"
is "$(pg_psql lab 'SELECT count(*) FROM pg_stat_activity WHERE application_name LIKE $$reprod%$$')" 0 "nothing is left connected"

"$REPROD" recipe run "$r" --target "$(pg_dsn lab postgres)" >"$dir/out" 2>&1
is $? 5 "an unmarked database is refused" || diag <"$dir/out"
done_testing
