#!/bin/bash
# The helpers themselves: a private server starts, answers, restarts on TCP and goes.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/pg.sh"

pg_start one 'work_mem = 3MB'
is "$(pg_psql one 'show work_mem')" 3MB "a server takes its configuration lines"
pid=${pg_pids[one]} dir=${pg_dirs[one]}
pg_start_tcp two
is "$("$PG_BIN/psql" -XAt "host=127.0.0.1 port=$(pg_port two) user=postgres dbname=postgres" -c 'select 7')" 7 \
	"a second one listens on loopback"
pg_stop one
kill -0 "$pid" 2>/dev/null
is $? 1 "a stopped server is gone"
[ ! -e "$dir" ]
ok $? "and so is its folder"
done_testing
