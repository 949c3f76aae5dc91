#!/bin/bash
# A csvlog of a real server becomes a capture: every statement that pgbench sent,
# under each way of logging durations, with its values and without the secrets.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/pg.sh"
dir=$(tap_dir)
at_exit "rm -rf '$dir'"
pgbench=$PG_BIN/pgbench
head -c 32 /dev/urandom >"$dir/key"
chmod 600 "$dir/key"

cat >"$dir/script.sql" <<'SQL'
\set id random(1, 1000)
SELECT abalance FROM pgbench_accounts WHERE aid = :id;
UPDATE pgbench_accounts SET abalance = abalance + 1 WHERE aid = :id;
SQL
printf '%s\n' 'Xanadu-Kubla-1797' 'it''s "two"' 912345678901 >"$dir/canaries"

count() { # FILE ROUTE-FRAGMENT: requests of the route
	"$REPROD" capture cat --route "$2" "$1" | grep -c '"type":"request"'
}

record() { # NAME CONF-LINE...: one log, copied to NAME.csv
	local name=$1 mode
	shift
	pg_start "$name" logging_collector=on log_destination=csvlog log_directory=csv \
		"log_filename='server.log'" log_connections=on log_disconnections=on \
		"log_min_error_statement=error" "$@"
	export PGHOST=${pg_dirs[$name]} PGPORT=${pg_ports[$name]} PGUSER=postgres PGDATABASE=postgres
	"$pgbench" -i -q -s 1 >"$dir/init" 2>&1 || { diag <"$dir/init"; bail "pgbench -i failed"; }
	for mode in simple extended prepared; do
		"$pgbench" -n -M $mode -c 3 -t 10 -f "$dir/script.sql" >"$dir/run" 2>&1 ||
			{ diag <"$dir/run"; bail "pgbench failed"; }
	done
	pg_psql "$name" "select 'Xanadu-Kubla-1797', 912345678901" >/dev/null
	pg_psql "$name" "select 'it''s \"two\"
on two lines, with a comma'" >/dev/null
	pg_psql "$name" "alter role postgres password 'Xanadu-Kubla-1797'" >/dev/null
	pg_psql "$name" "select 1/0" 2>/dev/null
	pg_psql "$name" "selec 'Xanadu-Kubla-1797'" 2>/dev/null
	pg_psql "$name" "set statement_timeout = 60; select pg_sleep(5)" 2>/dev/null
	cp "$(pg_dir "$name")/csv/server.csv" "$dir/$name.csv"
	pg_stop "$name"
}

check() { # NAME
	local f=$dir/$1.rcap
	"$REPROD" capture "$dir/$1.csv" --key "$dir/key" -o "$f" >"$dir/out" 2>&1
	ok $? "$1: the log is captured" || diag <"$dir/out"
	is "$(count "$f" 'SELECT abalance')" 90 "$1: each SELECT of each protocol form is there"
	is "$(count "$f" 'UPDATE pgbench_accounts SET abalance')" 90 "$1: and each UPDATE"
	is "$("$REPROD" capture cat --route 'SELECT abalance' "$f" | grep -c '"form":"named"')" 30 \
		"$1: 30 of them by a named statement"
	is "$("$REPROD" capture cat --route 'UPDATE pgbench_accounts' --values "$f" |
		grep '"form":"unnamed"' | grep -c '"kind":"bind"')" 30 "$1: with their bind values"
	like "$("$REPROD" capture cat "$f")" '"sqlstate":"22012"' "$1: a division by zero is an error"
	like "$("$REPROD" capture cat "$f")" '"sqlstate":"57014"[^}]*"cancelled"' \
		"$1: a statement timeout a cancelled request"
	like "$("$REPROD" capture cat --route pg_sleep "$f")" "\"duration_ms\":$2" \
		"$1: with the time that the log tells"
	"$REPROD" capture verify --canary "$dir/canaries" "$f" >"$dir/out"
	ok $? "$1: no canary is in the file" || diag <"$dir/out"
}

record minimum log_min_duration_statement=0
record statements log_statement=all log_duration=on
check minimum '0.000000'
check statements '[5-9][0-9]\.|[1-9][0-9][0-9]\.'

is "$("$REPROD" capture show --json "$dir/minimum.rcap" | sed -n 's/^  "requests": //p')" \
	"$("$REPROD" capture show --json "$dir/statements.rcap" | sed -n 's/^  "requests": //p')" \
	"both ways of logging give as many requests"
printf 'abalance\n' >"$dir/there"
"$REPROD" capture verify --canary "$dir/there" "$dir/minimum.rcap" >"$dir/out"
is $? 1 "a string that is there is found"
like "$(cat "$dir/out")" 'canary line 1 found as plain in the dictionary block at offset [0-9]' \
	"by its line and block"
unlike "$(cat "$dir/out")" abalance "and is not printed"
"$REPROD" capture "$dir/minimum.csv" --key "$dir/key" -o "$dir/again.rcap" >"$dir/out" 2>&1
cmp -s "$dir/minimum.rcap" "$dir/again.rcap"
ok $? "the same log under the same key gives the same bytes"
done_testing
