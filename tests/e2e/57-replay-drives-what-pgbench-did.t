#!/bin/bash
# pgbench traffic sniffed off the loopback, replayed into another server: the same
# statements, rows and protocol forms, in time.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/sniff.sh"
. "$(dirname "$0")/../lib/pg.sh"
. "$(dirname "$0")/../lib/replay.sh"

dir=$(tap_dir)
tables="CREATE TABLE accounts (id int PRIMARY KEY, v int) WITH (fillfactor = 50);
	INSERT INTO accounts SELECT i, 0 FROM generate_series(1, 20000) i; CREATE TABLE log (id bigserial PRIMARY KEY, account int, at timestamptz DEFAULT now())"
pg_start_tcp prod
pg_psql prod "$tables"
pg_start lab "log_statement = all"
replay_target lab
pg_psql lab "$tables; GRANT ALL ON ALL TABLES IN SCHEMA public TO replayer; GRANT ALL ON ALL SEQUENCES IN SCHEMA public TO replayer"
cat >"$dir/script.sql" <<'SQL'
\set id random(1, 20000)
BEGIN;
UPDATE accounts SET v = v + 1 WHERE id = :id;
SELECT v FROM accounts WHERE id BETWEEN :id AND :id + 3;
INSERT INTO log (account) VALUES (:id);
COMMIT;
SELECT count(*) FROM log WHERE id < 5;
SQL
for mode in simple extended prepared; do
	sniff_start "$dir/$mode.rcap" -i lo --port "$(pg_port prod)" || bail "the capture did not start"
	"$PG_BIN/pgbench" -n -M $mode -f "$dir/script.sql" -c 4 -R 50 -T 2 \
		"host=127.0.0.1 port=$(pg_port prod) user=postgres dbname=postgres" >"$dir/pgbench.log" 2>&1
	ok $? "$mode: pgbench ran" || diag <"$dir/pgbench.log"
	# The last packets may still be on their way to the capture.
	sleep 0.3
	sniff_stop
	"$REPROD" capture show "$dir/$mode.rcap" --json >"$dir/show.json"
	: >"$(pg_log lab)"
	"$REPROD" replay "$dir/$mode.rcap" --target "$(replay_dsn lab)" --json >"$dir/r.json" 2>"$dir/log"
	is $? 0 "$mode: replay ends with 0" || diag <"$dir/log"
	is "$(replay_get "$dir/r.json" sent)" "$(replay_get "$dir/show.json" requests)" "$mode: every request was sent"
	is "$(replay_get "$dir/r.json" skipped)$(replay_get "$dir/r.json" failed)" '{}0' "$mode: none skipped or failed"
	is "$(replay_route "$dir/r.json" BETWEEN rows)" "$(replay_route "$dir/r.json" BETWEEN captured_rows)" \
		"$mode: with as many rows"
	is "$(replay_get "$dir/r.json" fidelity.outcome.errors)" 0 "$mode: and no error" ||
		replay_get "$dir/r.json" divergence | diag
	is "$(replay_get "$dir/r.json" fidelity.delivery.ok)" true "$mode: delivery is above the bar" ||
		replay_get "$dir/r.json" fidelity | diag
	case $mode in
	simple) like "$(cat "$(pg_log lab)")" 'statement: UPDATE accounts' "simple: as simple queries" ;;
	extended) like "$(cat "$(pg_log lab)")" 'execute <unnamed>: UPDATE accounts' "extended: as unnamed statements" ;;
	prepared) like "$(cat "$(pg_log lab)")" 'execute reprod_[0-9_]+: UPDATE accounts' "prepared: as prepared statements" ;;
	esac
done
done_testing
