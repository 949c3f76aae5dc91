#!/bin/bash
# Logs that cannot be used are refused with what to change, and leave no file.
. "$(dirname "$0")/../lib/tap.sh"
dir=$(tap_dir)
at_exit "rm -rf '$dir'"
cd "$dir" || bail "no folder"

row() { # ZONE MESSAGE
	printf '2026-11-30 12:00:01.000 %s,"u","d",7,"[local]",6a.1,1,"SELECT",2026-11-30 11:59:00 %s,3/4,0,LOG,00000,"%s",,,,,,,,,"app","client backend",,0\n' "$1" "$1" "$2"
}
refused() { # FILE REGEX NAME
	"$REPROD" capture "$1" -o out.rcap >out 2>err
	is $? 3 "$3" || diag <err
	like "$(cat err)" "$2" "and says why"
	[ ! -e out.rcap ]
	ok $? "and leaves no file" || rm -f out.rcap
}

row UTC 'checkpoint starting: time' >quiet.csv
refused quiet.csv 'quiet.csv: 0 of 1 lines.*hint: .*log_min_duration_statement = 0' \
	"a log without a single request is bad input"
row UTC 'Dauer: 1.000 ms  Anweisung: select 1' >german.csv
refused german.csv 'lc_messages' "so is one in another language"
row CST 'duration: 1.000 ms  statement: select 1' >zone.csv
refused zone.csv "zone.csv.*'CST'.*hint: " "so is one whose time zone is not known"
echo '{"timestamp":"2026-11-30 12:00:01.000 UTC","pid":7,"session_id":"6a.1","error_severity":"LOG","message":"statement: select 1","user":"u"}' >j.log
refused j.log '0 of 1 lines.*durations are not.*log_duration' "a jsonlog of statements without durations"
echo '2026-11-30 12:00:01.000 UTC [7] LOG:  duration: 1.000 ms' >s.log
refused s.log '0 of 1 lines.*statements are not.*log_statement' "a stderr log of durations alone"
echo '2026-11-30 12:00:01.000 UTC LOG:  duration: 1.000 ms  statement: select 1' >p.log
refused p.log 'does not tell sessions apart.*%p' "a prefix without sessions"
echo '2026-11-30 12:00:01.000 UTC [7] PROTOKOLL:  Dauer: 1.000 ms  Anweisung: select 1' >d.log
refused d.log "not in English.*PROTOKOLL.*lc_messages" "a stderr log in another language, whatever its labels"

# Partly readable input is used, and told.
{
	row UTC 'duration: 1.000 ms  statement: select 1'
	echo 'half a line","nothing'
	row UTC 'duration: 2.000 ms  statement: select 2'
	row UTC 'duration: 3.000 ms  statement: select 3' | head -c 60
} >part.csv
"$REPROD" capture --json part.csv -o part.rcap >out 2>err
is $? 0 "a partly readable log is captured" || diag <err
like "$("$REPROD" capture show part.rcap)" '2 requests' "with what could be read"
like "$("$REPROD" capture show part.rcap)" 'unread: not a csvlog line 1, cut 1' \
	"and the rest by reason"

# Rotated and compressed files, given in no order; the last one ends too early.
for i in 3 1 2; do
	row UTC "duration: 1.000 ms  statement: select $i" | sed "s/12:00:01/12:00:0$i/" >"r$i.csv"
done
for i in $(seq 20000); do row UTC "duration: 1.000 ms  statement: select $RANDOM"; done >>r3.csv
gzip r1.csv && bzip2 r2.csv && gzip r3.csv && truncate -s -100 r3.csv.gz
"$REPROD" capture r3.csv.gz r1.csv.gz r2.csv.bz2 -o z.rcap >out 2>err
is $? 0 "rotated files are captured" || diag <err
like "$(cat err)" 'r3.csv.gz: the compressed stream ends too early' "a compressed file that is cut is named"
like "$("$REPROD" capture show z.rcap)" 'not complete' "and the capture is not complete"
is "$("$REPROD" capture cat z.rcap | grep '"type":"request"' | head -3 | grep -o '12:00:0[0-9]' | tr '\n' ' ')" \
	'12:00:00 12:00:01 12:00:02 ' "they are read in the order of their times"
done_testing
