#!/bin/bash
# Every protocol form reaches the server, and planned = sent + skipped + failed.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/pg.sh"
. "$(dirname "$0")/../lib/replay.sh"

dir=$(tap_dir)
pg_start lab "log_statement = all"
replay_target lab
pg_psql lab "CREATE TABLE t (id int PRIMARY KEY, v int); INSERT INTO t SELECT i, 0 FROM generate_series(1, 100) i;
	CREATE TABLE log (id bigserial PRIMARY KEY, t int); SELECT setval('log_id_seq', 5000);
	CREATE TABLE lines (log bigint, note text);
	CREATE TABLE c (a int, b text); GRANT ALL ON ALL TABLES IN SCHEMA public TO replayer;
	GRANT ALL ON ALL SEQUENCES IN SCHEMA public TO replayer" >/dev/null

replay_capture "$dir/a.rcap" <<'SCRIPT'
session 1 0 0
session 2 0 250
session 3 100 0
1 10 2 II simple 1 | SELECT v FROM t WHERE id = 1
1 20 2 IT simple 0 | BEGIN
1 25 2 TT unnamed 1 bind=7 | UPDATE t SET v = v + 1 WHERE id = $1
1 30 2 TI simple 0 | COMMIT
2 10 1 II prepare 0 stmt=1 | SELECT v FROM t WHERE id < $1
2 12 2 II named 9 stmt=1 bind=10 | SELECT v FROM t WHERE id < $1
2 40 2 II named 19 stmt=1 bind=20 | SELECT v FROM t WHERE id < $1
2 60 2 II named 4 stmt=2 bind=5 | SELECT id FROM t WHERE id < $1
2 80 1 IT unnamed 0 nosync | BEGIN
2 80.2 3 TI unnamed 3 nosync bind=4 | SELECT 'piped' FROM t WHERE id < $1
2 80.4 3 TI unnamed 0 | COMMIT
3 110 2 II unnamed 1 bind=7 | INSERT INTO log (t) VALUES ($1) RETURNING id
3 120 2 II unnamed 1 bind=41 bind=note edge=0:0:0:0 | INSERT INTO lines VALUES ($1, $2)
3 130 2 II copyin 2 copy=1\tx\n2\ty\n | COPY c FROM STDIN
3 140 2 II copyout 100 | COPY t TO STDOUT
3 150 2 II simple 0 error=22012 | SELECT 1/0
3 160 2 II simple 0 external | COPY t TO PROGRAM 'touch /tmp/never'
3 170 2 II simple 0 unknown | SELECT 2
3 180 2 II simple 0 | SELECT 1/0 + 1
SCRIPT
is $? 0 "a capture is made"

out=$("$REPROD" replay "$dir/a.rcap" --target "$(replay_dsn lab)" -o "$dir/r.json" 2>&1)
is $? 0 "replay ends with 0" || diag "$out"
like "$out" 'planned 18 = sent 16 \+ skipped 2 \+ failed 0' "the sum is told" || diag "$out"
g() { replay_get "$dir/r.json" "$1"; }
is "$(g planned)/$(g sent)/$(g failed)" 18/16/0 "planned = sent + skipped + failed"
is "$(g skipped)" '{"external effect":1,"text unknown":1}' "skips have their reasons"
is "$(g prepares)" 1 "a Parse of its own is not planned"
is "$(pg_psql lab 'SELECT v FROM t WHERE id = 7')" 1 "the transaction committed"
is "$(pg_psql lab 'SELECT count(*) FROM lines JOIN log ON log.id = log')" 1 "the generated key of this run was used"
is "$(g keys_substituted)" 1 "and counted"
is "$(pg_psql lab "SELECT string_agg(a || b, ',' ORDER BY a) FROM c")" 1x,2y "COPY rows arrived"
is "$(replay_route "$dir/r.json" 'WHERE id < $' rows)" 28 "rows of a prepared statement are counted"
is "$(replay_route "$dir/r.json" 'piped' rows)" 3 "and of a pipeline"
is "$(replay_route "$dir/r.json" 'COPY t TO' rows)" 100 "and of a COPY"
is "$(g divergence)" '[{"captured":null,"kind":"error","n":1,"replayed":"22012","route":"SELECT ?/? + ?"}]' \
	"only the error that production did not have is a divergence"
is "$(g sessions 2>/dev/null)$(g fidelity.delivery.sessions)" null3 "three sessions connected"
like "$(cat "$(pg_log lab)")" 'execute reprod_2_1_[0-9]+: SELECT v' "a named statement is executed by name"
unlike "$(cat "$(pg_log lab)")" 'TO PROGRAM' "what was skipped was not sent"
is "$(grep -c 'SELECT p.proof' "$(pg_log lab)")" 4 "each connection asked for the mark"
done_testing
