#!/bin/bash
# The logs of servers 12, 15, 17 and 18 tell the same things by the same names.
# tools/install-servers puts the servers where they are looked for: in $SERVERS,
# build/servers unless set.
. "$(dirname "$0")/../lib/tap.sh"
servers=${SERVERS:-$(cd "$(dirname "$0")/../.." && pwd)/build/servers}
PG_BIN=$servers/15/bin
. "$(dirname "$0")/../lib/pg.sh"
dir=$(tap_dir)
# These servers come without psql: the installed one serves all.
PATH=$PATH:/usr/lib/postgresql/15/bin
ask() { psql -X -q -A -t -v ON_ERROR_STOP=1 -d "$(pg_dsn shop)" -c "$1"; }
# Holds until somebody waits, and longer than the server takes to tell of it.
until_waited_for="do 'begin for i in 1 .. 500 loop exit when exists (select 1 from pg_locks where not granted); perform pg_sleep(0.01); end loop; perform pg_sleep(0.15); end'"
vacuumed() { grep -q 'automatic vacuum of table "postgres.public.orders"' "$logs/pg" 2>/dev/null; }
locked() { [ "$(ask "select count(*) from pg_locks where mode = 'AccessExclusiveLock' and granted and relation = 'orders'::regclass")" = 1 ]; }

conditions() { # FILE
	"$REPROD" correlate "$dir/in.csv" --pglog "$1" --json | perl -MJSON::PP -e '
		local $/;
		my $d = decode_json(<STDIN>);
		print map { "$_->{id}\n" } sort { $a->{id} cmp $b->{id} }
			grep { $_->{id} !~ /pg_catalog|information_schema|pg_toast|^traffic/ } @{$d->{conditions}};'
}

test_version() { # VERSION DESTINATIONS
	local v=$1 holder told start
	PG_BIN=$servers/$v/bin
	[ -x "$PG_BIN/postgres" ] || bail "no server $v in $servers: run tools/install-servers"
	# A checkout in a closed folder: the server's user runs a copy.
	if ! pg_as test -x "$PG_BIN/postgres" 2>/dev/null; then
		cp -R "$servers/$v" "$TEST_TMPDIR/server-$v" && chmod -R a+rX "$TEST_TMPDIR/server-$v"
		PG_BIN=$TEST_TMPDIR/server-$v/bin
	fi
	logs=$dir/$v
	mkdir "$logs" && chmod 777 "$logs"
	start=$(date +%s)
	pg_start shop log_checkpoints=on log_autovacuum_min_duration=0 autovacuum_naptime=1s log_lock_waits=on \
		deadlock_timeout=20ms log_temp_files=0 work_mem=64kB "log_destination='$2'" logging_collector=on \
		"log_directory='$logs'" "log_filename='pg'"
	ask "create table orders(a int primary key, b text)"
	ask "insert into orders select g, repeat('x', 50) from generate_series(1, 20000) g"
	ask checkpoint
	ask "update orders set b = 'hunter2'"
	ask "select count(*) from (select a, b from orders order by b, a desc offset 0) x" >/dev/null
	ask "begin; lock table orders; $until_waited_for; commit" >/dev/null &
	holder=$!
	wait_until 5 locked
	ask "select count(*) from orders" >/dev/null
	wait $holder
	ask "alter system set work_mem = '1MB'"
	ask "select pg_reload_conf()" >/dev/null
	wait_until 10 vacuumed
	ok $? "$v: the server vacuumed by itself"
	pg_stop shop
	perl -e 'print "t,route,ms\n"; printf "%.2f,GET /a,%.2f\n", $ARGV[0] + $_ / 20, 1 + $_ % 7 / 10 for 0 .. 399' "$start" >"$dir/in.csv"
	told=$(conditions "$logs/pg")
	for id in autoanalyze:public.orders autovacuum:public.orders checkpoint:requested checkpoint:shutdown \
		lock:AccessShareLock:relation reload:postgres restart:postgres setting:work_mem temp:files; do
		like "$told" "(^|"$'\n'")$id($|"$'\n'")" "$v: $id"
	done
	for kind in csv json; do
		[ ! -e "$logs/pg.$kind" ] || is "$(conditions "$logs/pg.$kind")" "$told" "$v: ${kind}log tells the same"
	done
	rm -rf "$TEST_TMPDIR/server-$v"
}
test_version 12 stderr,csvlog
test_version 15 stderr,csvlog,jsonlog
test_version 17 stderr,csvlog,jsonlog
test_version 18 stderr,csvlog,jsonlog
done_testing
