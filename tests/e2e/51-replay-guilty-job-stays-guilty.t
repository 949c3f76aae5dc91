#!/bin/bash
# Production: sessions run BEGIN/UPDATE/UPDATE/COMMIT while a job holds a lock for 3 s.
# Replayed without the job, nothing may inherit the captured wait; with it, it is back.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/pg.sh"
. "$(dirname "$0")/../lib/replay.sh"

dir=$(tap_dir)
pg_start lab
replay_target lab
pg_psql lab "CREATE TABLE a (id int PRIMARY KEY, v int) WITH (fillfactor = 50); INSERT INTO a SELECT i, 0 FROM generate_series(1, 100) i;
	CREATE TABLE b (id int PRIMARY KEY, v int) WITH (fillfactor = 50); INSERT INTO b SELECT i, 0 FROM generate_series(1, 100) i;
	GRANT ALL ON a, b TO replayer"

# Four sessions, a transaction each 40 ms, 4.5 s; from 1 s to 4 s the second UPDATE waits
# for the job, holding the row of the first. Each row of a belongs to all sessions, so
# that locks held too long would be felt by the others. The captured times are those of
# a server that behaved so.
traffic() { # JOB_FROM_MS JOB_TO_MS
	awk -v from="$1" -v to="$2" 'BEGIN {
		for (s = 1; s <= 4; s++) {
			print "session", s, 0, 0
			for (t = 5 * s; t < 4500; ) {
				k = int(t / 40) % 5 + 1
				print s, t, 0.4, "IT", "simple", 0, "|", "BEGIN"
				print s, t + 0.6, 0.6, "TT", "unnamed", 1, "bind=" k, "|", "UPDATE a SET v = v + 1 WHERE id = $1"
				wait = t >= from && t < to ? to - t : 0.6
				print s, t + 1.4, wait, "TT", "unnamed", 1, "bind=" s, "|", "UPDATE b SET v = v + 1 WHERE id = $1"
				print s, t + 1.6 + wait, 0.4, "TI", "simple", 0, "|", "COMMIT"
				t += wait > 40 ? wait + 40 : 40
			}
		}
	}'
}
traffic 1000 4000 | replay_capture "$dir/incident.rcap"
traffic 0 0 | replay_capture "$dir/quiet.rcap"

# run CAPTURE RESULT
run() { "$REPROD" replay "$1" --target "$(replay_dsn lab)" --json >"$2" 2>"$dir/log" || diag <"$dir/log"; }
# The job blocks the second UPDATE, which blocks other sessions at the first.
p99() {
	printf '%s\n' "$(replay_route "$1" 'UPDATE a' service_ms.p99)" "$(replay_route "$1" 'UPDATE b' service_ms.p99)" |
		sort -g | tail -n 1
}

run "$dir/quiet.rcap" "$dir/quiet.json"
run "$dir/incident.rcap" "$dir/without.json"
quiet=$(p99 "$dir/quiet.json") without=$(p99 "$dir/without.json")
# One scheduling hiccup of the machine must not decide: the baseline is at least 2 ms.
replay_is "$without <= 3 * ($quiet > 2 ? $quiet : 2)"
ok $? "without the job p99 is within 3x of the quiet baseline" || diag "$without ms, quiet $quiet ms"
is "$(replay_get "$dir/without.json" failed)" 0 "everything was sent"
is "$(replay_get "$dir/without.json" fidelity.delivery.ok)" true "as planned" ||
	replay_get "$dir/without.json" fidelity.delivery | diag

"$PG_BIN/psql" -X -q -d "$(pg_dsn lab)" >/dev/null 2>&1 <<'SQL' &
SELECT pg_sleep(1.0);
BEGIN; LOCK TABLE b IN ACCESS EXCLUSIVE MODE; SELECT pg_sleep(3); COMMIT;
SQL
run "$dir/incident.rcap" "$dir/with.json"
wait $!
with=$(p99 "$dir/with.json")
replay_is "$with > 2000 && $with < 4000"
ok $? "with the job it is near production's 3 s" || diag "$with ms"
replay_is "$(replay_get "$dir/with.json" lateness_ms.p99) < 5"
ok $? "and that is the server's time, not our own lateness" || diag "$(replay_get "$dir/with.json" lateness_ms)"
done_testing
