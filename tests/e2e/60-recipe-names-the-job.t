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

# correlate may take what the job itself sends for the slow route.
fingerprint() { "$REPROD" capture show --json "$1" | perl -MJSON::PP -e 'local $/; print decode_json(<STDIN>)->{routes}[0]{fingerprint}'; }
log_line() { # SECONDS MS SQL
	printf '2026-01-01 00:00:%s UTC,"app","shop",123,"127.0.0.1:5000",695.7b,1,"SELECT",2026-01-01 00:00:00 UTC,3/0,0,LOG,00000,' "$1"
	printf '"duration: %d.000 ms  statement: %s",,,,,,,,,"psql","client backend",,0\n' "$2" "$3"
}
log_line 01.000 1 'LOCK TABLE t IN EXCLUSIVE MODE' >"$dir/own.csv"
"$REPROD" capture "$dir/own.csv" -o "$dir/own.rcap" -q >"$dir/out" 2>&1 || diag <"$dir/out"
own=$(fingerprint "$dir/own.rcap")
perl -pe 's/"spikes": \[\]/"fingerprint": "'"$own"'", "route": "LOCK TABLE t IN EXCLUSIVE MODE", "spikes": [
	{"fingerprint": "'"$own"'", "lost_s": 9}, {"fingerprint": "'"$(fingerprint "$dir/scene.rcap")"'", "lost_s": 1}]/' "$dir/correlation.json" >"$dir/own.json"
"$REPROD" recipe draft "$dir/scene.rcap" --correlation "$dir/own.json" --condition job:lock \
	--job "lock=$dir/lock.sql" -o "$dir/own-recipe.json" >"$dir/out" 2>&1
ok $? "a correlation that names the job's own statement" || diag <"$dir/out"
like "$(replay_get "$dir/own-recipe.json" expectation.route)" '^UPDATE t' "the route that lost most besides is judged" || diag <"$dir/out"

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

# Scrubbed with a key that the database was not: nothing is changed before that is said.
for ((i = 0; i < 400; i++)); do
	printf -v at '%02d.%03d' $((1 + i / 20)) $((i % 20 * 50))
	log_line "$at" $((i < 200 ? 1 : 9)) "SELECT v FROM t WHERE name = 'somebody$i'"
done >"$dir/names.csv"
"$REPROD" capture "$dir/names.csv" -o "$dir/names.rcap" >"$dir/out" 2>&1 &&
	"$REPROD" recipe draft "$dir/names.rcap" --condition concurrency -o "$dir/names.json" >>"$dir/out" 2>&1
ok $? "traffic with scrubbed names" || diag <"$dir/out"
pg_psql lab 'CREATE DATABASE other'
pg_psql lab 'CREATE TABLE t (v int, name text)' other
other=$(pg_dsn lab other)
"$REPROD" snapshot mark "$other" --name other -q >/dev/null && "$REPROD" snapshot freeze "$other" -q >/dev/null
"$REPROD" recipe run "$dir/names.json" --target "$other" >"$dir/out" 2>&1
is $? 5 "does not fit a database scrubbed otherwise" || diag <"$dir/out"
is "$(pg_psql lab "SELECT relowner::regrole FROM pg_class WHERE relname = 't'" other)" postgres "whose tables keep their owner"
done_testing
