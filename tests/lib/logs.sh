# logs.sh - the same traffic off the wire and from each log of a server; source it
# after tap.sh, sniff.sh and pg.sh. PG_CLIENT_BIN has psql and pgbench, PG_BIN the server.
PG_CLIENT_BIN=${PG_CLIENT_BIN:-/usr/lib/postgresql/15/bin}
lib_dir=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

logs_bench() { PGHOST=127.0.0.1 PGPORT=$port PGUSER=postgres PGDATABASE=postgres \
	"$PG_CLIENT_BIN/pgbench" "$@"; }
logs_psql() { "$PG_CLIENT_BIN/psql" -qXAt "host=127.0.0.1 port=$port user=postgres dbname=postgres ${1:-}"; }

# What clients do: each protocol form, errors, scripts in one message, COPY, cursors.
logs_traffic() {
	local mode
	for mode in simple extended prepared; do
		logs_bench -M "$mode" -c 3 -j 1 -n -t 20 >"$mode.out" 2>&1 || diag <"$mode.out"
	done
	logs_psql "application_name='a b|c'" >psql.out 2>&1 <<-'END'
		select 'it''s', 2; select 3
		;
		select 1/0;
		selec 1;
		select 'it''s "two"
			lines', E'tab\there';
		select 1\; select 2\; select 3;
		begin;
		declare c cursor for select generate_series(1, 30);
		fetch 10 from c;
		move 5 in c;
		close c;
		insert into logs_t(id, name) values (1, 'one') returning id;
		insert into logs_t(id, name) values (1, 'again');
		select 2;
		rollback;
		copy logs_t(id, name) from stdin;
		500	five hundred
		\.
		copy logs_t to stdout;
		prepare p(int) as select $1 + 1;
		execute p(41);
		deallocate p;
		select pg_sleep(0.05);
		set statement_timeout = 40;
		select pg_sleep(5);
	END
}

# logs_record NAME VERSION: leaves wire.pcap, server.csv, server.log and from 15 server.json
logs_record() {
	local destination=stderr,csvlog
	[ "$2" -lt 15 ] || destination=$destination,jsonlog
	pg_start_tcp "$1" logging_collector=on "log_destination='$destination'" log_directory=logs \
		"log_filename='server.log'" log_connections=on log_disconnections=on \
		log_min_duration_statement=0 "log_line_prefix='$3'"
	port=$(pg_port "$1")
	logs_psql >/dev/null <<-'END'
		create table logs_t(id int primary key, name text);
	END
	logs_bench -i -q -s 1 >init.out 2>&1 || { diag <init.out; bail "pgbench -i failed"; }
	# A log begins before the packets do: what is in both is compared.
	rm -f wire.pcap wire.pcap.err
	tcpdump_start wire.pcap "$port" || bail "tcpdump did not start"
	local from
	from=$(stat -c %s "$(pg_dir "$1")"/logs/server.csv)
	cp "$(pg_dir "$1")"/logs/server.* .
	logs_traffic
	tcpdump_stop wire.pcap
	pg_halt "$1"
	local f
	for f in "$(pg_dir "$1")"/logs/server.*; do
		tail -c +$(($(stat -c %s "${f##*/}") + 1)) "$f" >new && mv new "${f##*/}"
	done
	[ "$from" -gt 0 ] || bail "the server wrote no csvlog"
}

logs_compare() { # NAME LOG
	"$REPROD" capture "$2" --key key --force -o log.rcap >out 2>&1 ||
		{ diag <out; ok 1 "$1: read"; return; }
	"$REPROD" capture cat log.rcap >log.cat
	"$lib_dir/same-requests" wire.cat log.cat >out 2>&1
	ok $? "$1: as on the wire" || diag <out
}

# logs_test VERSION PREFIX: one version of the server, all its formats
logs_test() {
	head -c 32 /dev/urandom >key && chmod 600 key
	logs_record "v$1" "$1" "$2"
	"$REPROD" capture wire.pcap --key key --force -o wire.rcap >out 2>&1 || diag <out
	"$REPROD" capture cat wire.rcap >wire.cat
	is "$(grep -c '"route":"UPDATE pgbench_accounts' wire.cat)" 183 \
		"$1: 60 updates of each protocol form, and three prepares, are on the wire"
	logs_compare "$1: csvlog" server.csv
	[ "$1" -lt 15 ] || logs_compare "$1: jsonlog" server.json
	logs_compare "$1: stderr under '$2'" server.log
}
