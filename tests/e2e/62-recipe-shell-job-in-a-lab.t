#!/bin/bash
# A shell job against a lab's folder: as root it runs as another user than the lab's
# server, and yet reaches it, in the role that the recipe names.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/pg.sh"
. "$(dirname "$0")/../lib/replay.sh"
. "$(dirname "$0")/../lib/recipe.sh"

dir=$(tap_dir)
recipe_scene "$dir"
recipe_target src
pg_psql src 'CREATE ROLE worker; CREATE ROLE chief SUPERUSER'
pg_psql src 'GRANT ALL ON t TO worker' shop
"$REPROD" snapshot build "$(pg_dsn src)" --into "$dir/lab" --fast --database shop >"$dir/out" 2>&1 &&
	"$REPROD" snapshot freeze "$dir/lab" >>"$dir/out" 2>&1
ok $? "a lab is built and frozen" || diag <"$dir/out"
cat >"$dir/lock.sh" <<'SH'
psql -Atqc 'BEGIN; LOCK TABLE t IN EXCLUSIVE MODE; SELECT pg_sleep(0.4); COMMIT' &&
echo "as $(psql -Atqc 'SELECT current_user')"
SH
r=$dir/r.json
draft() {
	"$REPROD" recipe draft "$dir/scene.rcap" --correlation "$dir/correlation.json" --condition job:lock \
		--job "lock=$dir/lock.sh" -o "$r" --force "$@" >"$dir/out" 2>&1
}
role() { perl -pi -e 's/"timeout_s": *60/"timeout_s": 60, "role": "'"$1"'"/' "$r"; }

draft --job "refrsh=$dir/lock.sh"
is $? 2 "a command that belongs to no condition is a fault"
like "$(cat "$dir/out")" 'the conditions are: job:lock' "and the conditions are named" || diag <"$dir/out"
draft && role worker
is "$(replay_get "$r" conditions.0.on.role)" worker "the recipe names a role"
"$REPROD" recipe run "$r" --target "$dir/lab" --job-log "$dir/log" -o "$dir/result.json" >"$dir/out" 2>&1
is $? 0 "the job reaches the lab: reproduced" || { diag <"$dir/out"; diag <"$dir/log"; }
like "$(cat "$dir/log")" 'as worker' "and is in its role" || diag <"$dir/log"
replay_is "($(replay_get "$dir/result.json" control.e)) ^ 2 < 0.25"
ok $? "the reference arm is quiet against itself" || replay_get "$dir/result.json" control | diag

draft && role nosuchrole
"$REPROD" recipe run "$r" --target "$dir/lab" -o "$dir/other.json" >"$dir/out" 2>&1
is $? 3 "a role that is not there is a fault" || diag <"$dir/out"
like "$(cat "$dir/out")" "no role 'nosuchrole'" "by its name"
draft && role chief
"$REPROD" recipe run "$r" --target "$dir/lab" -o "$dir/other.json" --force >"$dir/out" 2>&1
is $? 5 "a superuser's role is refused" || diag <"$dir/out"
done_testing
