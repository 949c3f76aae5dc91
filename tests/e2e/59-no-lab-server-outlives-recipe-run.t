#!/bin/bash
# The server of a lab ends with the experiment that started it, also when that is killed.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/pg.sh"
. "$(dirname "$0")/../lib/replay.sh"
. "$(dirname "$0")/../lib/recipe.sh"
. "$(dirname "$0")/../lib/incident.sh"

dir=$(tap_dir)
recipe_scene "$dir"
recipe_target prod
"$REPROD" snapshot build "$recipe_dsn" --into "$dir/lab" --fast >"$dir/out" 2>&1 &&
	"$REPROD" snapshot freeze "$dir/lab" >>"$dir/out" 2>&1
ok $? "a lab is built" || diag <"$dir/out"
"$REPROD" recipe draft "$dir/scene.rcap" --correlation "$dir/correlation.json" --condition job:lock \
	--job "lock=$dir/lock.sql" -o "$dir/r.json" >"$dir/out" 2>&1
ok $? "a recipe is drafted" || diag <"$dir/out"

has_lab() {
	incident_below "$pid" >"$dir/below"
	[ "$(ps -o args= -p "$(paste -sd, "$dir/below")" 2>/dev/null | grep -c '^postgres: .*reprod_replay')" -ge 4 ]
}
are_gone() { ! ps -o pid= -p "$(paste -sd, "$dir/below")" >/dev/null 2>&1; }
cut() { # SIGNAL
	"$REPROD" recipe run "$dir/r.json" --target "$dir/lab" -o "$dir/$1.json" >"$dir/out" 2>&1 &
	pid=$!
	at_exit "kill $pid 2>/dev/null"
	wait_until 30 has_lab
	ok $? "the lab takes traffic before $1" || { diag <"$dir/out"; ps -ef | diag; }
	kill "-$1" "$pid"
	wait "$pid" 2>/dev/null
	code=$?
	wait_until 10 are_gone
	ok $? "no process of it is left after $1" || { ps -o pid,ppid,args -p "$(paste -sd, "$dir/below")" | diag; xargs kill -QUIT <"$dir/below" 2>/dev/null; }
}
cut KILL
is "$code" 137 "the signal ended it"
# What other killed ones left in /tmp goes with the next server of the same user.
left=$(mktemp -d /tmp/reprod-XXXXXX) full=$(mktemp -d /tmp/reprod-XXXXXX) new=$(mktemp -d /tmp/reprod-XXXXXX)
at_exit "rm -rf '$left' '$full' '$new'"
touch "$full/x" && touch -d '2 minutes ago' "$left" "$full"
"$REPROD" snapshot status "$dir/lab" >"$dir/out" 2>&1
is $? 0 "the lab is usable at once" || diag <"$dir/out"
[ ! -e "$left" ] && [ -e "$full/x" ] && [ -e "$new" ]
ok $? "a socket's folder that was left empty is swept, one in use or new is not"
cut TERM
is "$code" 130 "an interrupt ends it by itself"
done_testing
