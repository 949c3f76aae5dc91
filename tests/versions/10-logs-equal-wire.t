#!/bin/bash
# The same traffic read from packets and from each log of servers 12, 15, 17 and 18,
# under a log_line_prefix each. tools/install-servers puts the servers where they are
# looked for: in $SERVERS, build/servers unless set.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/sniff.sh"
servers=${SERVERS:-$(cd "$(dirname "$0")/../.." && pwd)/build/servers}
PG_BIN=$servers/15/bin
. "$(dirname "$0")/../lib/pg.sh"
. "$(dirname "$0")/../lib/logs.sh"
cd "$(tap_dir)" || bail "no folder"

test_version() { # VERSION PREFIX
	PG_BIN=$servers/$1/bin
	[ -x "$PG_BIN/postgres" ] || bail "no server $1 in $servers: run tools/install-servers"
	# A checkout in a closed folder: the server's user runs a copy.
	if ! pg_as test -x "$PG_BIN/postgres" 2>/dev/null; then
		cp -R "$servers/$1" "$TEST_TMPDIR/server-$1" && chmod -R a+rX "$TEST_TMPDIR/server-$1"
		PG_BIN=$TEST_TMPDIR/server-$1/bin
	fi
	logs_test "$1" "$2"
	rm -rf "$TEST_TMPDIR/server-$1"
	rm -f server.*
}
test_version 12 '%t:%r:%u@%d:[%p]:'
test_version 15 '%m|%u|%d|%c|'
test_version 17 '%n [%p] %e user=%u,db=%d,app=%a,client=%h '
test_version 18 '%m [%p] %q[%L] %u@%d/%a '
done_testing
