#!/bin/bash
# However the demo ends, its servers, its traffic and its capture end with it.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/incident.sh"

dir=$(tap_dir)
incident_write "$dir/tiny" 60

plays() { # traffic has begun and, after one of its jobs, is in full swing
	incident_below "$pid" >"$dir/below"
	[ -s "$dir/$1/tiny/events.jsonl" ] && ps -o comm= -p "$(paste -sd, "$dir/below")" 2>/dev/null | grep -qx pgbench
}
are_gone() { ! ps -o pid= -p "$(paste -sd, "$dir/below")" >/dev/null 2>&1; }
play() { # SIGNAL
	# Of a group of its own, so that nothing but the demo itself gets the signal.
	setsid "$REPROD" demo --incident "$dir/tiny" -o "$dir/$1" >"$dir/$1.out" 2>"$dir/$1.err" &
	pid=$!
	at_exit "kill $pid 2>/dev/null"
	wait_until 30 plays "$1"
	ok $? "production plays before $1" || diag <"$dir/$1.err"
	socket=$(sed -n 1p "$dir/$1/tiny/production/reprod.socket")
	[ "$(wc -l <"$dir/below")" -ge 8 ]
	ok $? "with a server, its processes, traffic and a capture below" || ps -ef | diag
	kill "-$1" "$pid"
	wait "$pid" 2>/dev/null
	code=$?
	wait_until 10 are_gone
	ok $? "none of them is left after $1" || { ps -o pid,ppid,args -p "$(paste -sd, "$dir/below")" | diag; xargs kill -QUIT <"$dir/below" 2>/dev/null; }
}

play TERM
is "$code" 130 "an interrupted demo ends with 130"
[ -n "$socket" ] && [ ! -e "$socket" ]
ok $? "removes its socket's folder"
"$REPROD" capture show "$dir/TERM/tiny/production.rcap" >"$dir/show" 2>&1 || [ ! -e "$dir/TERM/tiny/production.rcap" ]
ok $? "and what was captured is readable" || diag <"$dir/show"
play KILL
is "$code" 137 "a killed one by the signal"
done_testing
