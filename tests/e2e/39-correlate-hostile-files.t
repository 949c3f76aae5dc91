#!/bin/bash
# Times that no clock shows, control characters that terminals obey, pipes that never end:
# one line says what is wrong, and a signal ends the wait.
. "$(dirname "$0")/../lib/tap.sh"

dir=$(tap_dir)
cd "$dir" || exit 1

perl -e 'print "t,route,ms\n"; printf "%d,/a,%d\n", 1796040000 + $_, 2 + $_ % 3 for 0 .. 299' >base.csv

# run ARGS...: its exit code, answer and errors in files; what hangs is killed.
run() {
	timeout -k 1 9 "$REPROD" correlate "$@" >out 2>err
	echo $? >rc
}

printf 't,route,ms\n1796040000,/a,1\n9.9e10,/a,1\n9e9,/a,1\n-8999999999,/a,1\n' >far.csv
run far.csv
is "$(cat rc)" 0 "latencies at impossible times are left out"
like "$(cat out)" '3 lines could not be read' "and counted"
like "$(cat out)" "'9.9e10' is not a time" "the first is told"
printf 't,route,ms\n9000000000,/a,1\n' >only.csv
run only.csv
is "$(cat rc)" 3 "a file of such times is bad input"
like "$(cat err)" 'after 2096' "it says which times there are"

printf 't,name,value\n-8999999999,x,1\n1796040000,x,3\n9.9e10,x,3\n8999999999,x,2\n' >far-metric.csv
run base.csv -m far-metric.csv
like "$(cat rc)" '^[016]$' "metrics at impossible times do not end it"
like "$(cat out)" '3 lines of metrics could not be read' "and are counted"

{
	echo '{"t": -899999999, "t_end": 8999999999, "kind": "window", "name": "ever"}'
	echo '{"t": "-9223372036", "t_end": "9223372036", "kind": "window", "name": "ever"}'
	echo '{"t": 8999999999, "kind": "job", "name": "late"}'
	echo '{"t": -8999999999, "kind": "job", "name": "late"}'
} >far.jsonl
run base.csv -e far.jsonl
like "$(cat rc)" '^[016]$' "events from the beginning to the end of time are judged"
is "$(cat err)" "" "without a word on stderr"

printf 't,route,ms\n1796040000,/\302\233\0631m\033[31m,1\n' >c1.csv
run c1.csv
unlike "$(od -An -c out | tr -d ' \n')" '302233|033' "no control character of a route reaches the terminal, also of the upper set"

git init -q repo && git -C repo -c user.name=a -c user.email=a@b commit -q --allow-empty -m a
touch -d @16000000000 repo/.git/HEAD 2>/dev/null
run base.csv --git repo --json
like "$(cat rc)" '^[016]$' "a repository written in a far year is read"
like "$(cat out)" '"2096-' "its reach ends with the times there are"

{ echo 'kind: CronJob'; perl -e 'print "x: ", "[" x 100000'; } >deep.yaml
run base.csv --schedule deep.yaml
is "$(cat rc)" 3 "deep YAML is refused"
like "$(cat err)" 'brackets' "at once"

mkfifo pipe
# interrupted WHAT ARGS...: SIGTERM ends the wait for a pipe whose writer is silent.
interrupted() {
	local what=$1 reader
	shift
	sleep 20 >pipe &
	silent=$!
	"$REPROD" correlate "$@" >out 2>err &
	reader=$!
	for _ in $(seq 100); do
		[[ $(cat /proc/$reader/wchan 2>/dev/null) == *pipe_read* || $(cat /proc/$reader/syscall 2>/dev/null) == "0 "* ]] && break
		sleep 0.05
	done
	kill -TERM $reader
	wait $reader
	is $? 130 "$what: a silent pipe is left on SIGTERM"
	kill $silent
	wait $silent 2>/dev/null
}
interrupted latencies pipe
interrupted events base.csv -e pipe
interrupted metrics base.csv -m pipe
interrupted schedules base.csv --crontab pipe
interrupted logs base.csv --pglog pipe

# Within a line that never ends a signal is obeyed, too.
"$REPROD" correlate base.csv -m /dev/zero >out 2>err &
reader=$!
for _ in $(seq 200); do
	[ "$(awk '/rchar/ { print $2 }' /proc/$reader/io)" -gt 1000000 ] && break
	sleep 0.02
done
kill -TERM $reader
wait $reader
is $? 130 "one endless line is left on SIGTERM"
like "$(cat err)" 'interrupted' "and says so"

done_testing
