#!/bin/bash
# Each query of a watch on servers 12, 15, 17 and 18: no section is refused or left out,
# and what each version has is in the recording. tools/install-servers puts the servers
# where they are looked for: in $SERVERS, build/servers unless set.
. "$(dirname "$0")/../lib/tap.sh"
servers=${SERVERS:-$(cd "$(dirname "$0")/../.." && pwd)/build/servers}
PG_BIN=$servers/15/bin
. "$(dirname "$0")/../lib/pg.sh"
. "$(dirname "$0")/../lib/stats.sh"
cd "$(tap_dir)" || bail "no folder"

# These servers come without psql: the installed one serves all.
ask() { psql -X -q -A -t -v ON_ERROR_STOP=1 -d "$(pg_dsn prod)" -c "$1"; }
PATH=$PATH:/usr/lib/postgresql/15/bin

has_id() { # ID NAME
	grep -qE "^$1\$" ids
	ok $? "$2" || diag <ids
}

test_version() { # VERSION
	local v=$1 id
	PG_BIN=$servers/$v/bin
	[ -x "$PG_BIN/postgres" ] || bail "no server $v in $servers: run tools/install-servers"
	# A checkout in a closed folder: the server's user runs a copy.
	if ! pg_as test -x "$PG_BIN/postgres" 2>/dev/null; then
		cp -R "$servers/$v" "$TEST_TMPDIR/server-$v" && chmod -R a+rX "$TEST_TMPDIR/server-$v"
		PG_BIN=$TEST_TMPDIR/server-$v/bin
	fi
	pg_start prod "shared_preload_libraries = 'pg_stat_statements'" "autovacuum = off"
	ask "create extension pg_stat_statements"
	ask "create table orders (id int primary key, a int)"
	"$REPROD" correlate watch "$(pg_dsn prod)" -o "$v.rstat" --every 1s --for 60s --json >w.json 2>w.err &
	watch=$!
	at_exit "kill -KILL $watch 2>/dev/null"
	wait_until 5 stats_grew "$v.rstat" 1000 || diag <w.err
	began=$(date +%s)
	for i in 1 2 3; do
		ask "insert into orders select g, 1 from generate_series($i * 1000, $i * 1000 + 999) g"
		ask "update orders set a = a + 1"
		ask "select count(*) from orders where a > 0" >/dev/null
		size=$(stats_size "$v.rstat")
		wait_until 5 stats_grew "$v.rstat" "$size"
	done
	ask "vacuum analyze orders"
	ask "checkpoint"
	for i in 1 2; do
		size=$(stats_size "$v.rstat")
		wait_until 5 stats_grew "$v.rstat" "$size"
	done
	kill -TERM "$watch"
	wait "$watch"
	is $? 130 "$v: the watch ends as asked"
	is "$(grep -c 'is left out' w.err)" 0 "$v: no section is refused" || diag <w.err
	like "$(cat w.json)" '"timeouts": 0' "$v: none ran into its timeout" || diag <w.json
	stats_traffic "$began" "$(date +%s)" >traffic.csv
	"$REPROD" correlate traffic.csv --stats "$v.rstat" --json >out.json 2>out.err
	[ $? -le 6 ]
	ok $? "$v: it is read" || diag <out.err
	stats_ids out.json >ids
	has_id vacuum:public.orders "$v: the vacuum is an event"
	has_id checkpoint:requested "$v: so is the checkpoint"
	for id in n_dead_tup.public.orders n_tup_ins.public.orders database.commits \
		wal_position.written 'statements\.-?[0-9]+\.time' 'statements\.-?[0-9]+\.calls'; do
		has_id "metric:$id" "$v: $id is a metric"
	done
	[ "$v" -lt 14 ] || has_id metric:wal.records "$v: wal.records is a metric"
	[ "$v" -lt 16 ] || has_id 'metric:io\.client_backend\.relation\.normal\.hits' "$v: I/O is told by kind"
	pg_stop prod
	rm -rf "$TEST_TMPDIR/server-$v" w.json w.err ids
}
for v in 12 15 17 18; do test_version $v; done
done_testing
