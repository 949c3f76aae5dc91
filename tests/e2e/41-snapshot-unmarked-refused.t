#!/bin/bash
# Nothing but the one check is sent to a database without a mark.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/pg.sh"

dir=$(tap_dir)
pg_start prod 'log_statement = all' 'log_connections = off'
dsn=$(pg_dsn prod)
cmd() { "$REPROD" snapshot "$@" 2>"$dir/err"; }
# A statement that fails while it is parsed is logged with its error only.
sent() {
	grep -E 'LOG: +(statement|execute)|STATEMENT: ' "$(pg_log prod)" |
		sed -E 's/.*(LOG|STATEMENT): *//; s/^execute <unnamed>: //' | sort -u
}
only='^SELECT [^;]* FROM reprod\.proof\(\) AS p$'

cmd reset "$dsn"
is $? 5 "reset of an unmarked database is refused"
like "$(cat "$dir/err")" 'no mark.*hint:' "with the reason and what to do"
like "$(sent)" "$only" "and the check is all that was sent"
cmd freeze "$dsn"
is $? 5 "freeze too"
like "$(sent)" "$only" "likewise"
cmd status "$dsn" >"$dir/out"
is $? 1 "status answers no"
like "$(sent)" "$only" "with the same one query"

# A mark that was copied along is not this server's.
cmd mark "$dsn" --name postgres >/dev/null
is $? 0 "a test database can be marked" || diag <"$dir/err"
cmd status "$dsn" >/dev/null
is $? 0 "then it is a target"
pg_psql prod "CREATE DATABASE copied TEMPLATE postgres"
cmd status "$(pg_dsn prod copied)" >"$dir/out"
is $? 1 "its copy under another name isn't"
like "$(cat "$dir/out")" 'another database' "and the reason is told"
pg_psql prod "UPDATE reprod.mark SET proof = replace(proof, '\"system_identifier\": \"', '\"system_identifier\": \"1')"
cmd reset "$dsn"
is $? 5 "nor one with another server's identifier"
pg_psql prod "UPDATE reprod.mark SET proof = '{}'"
cmd reset "$dsn"
is $? 5 "nor one whose mark can't be read"
is "$(pg_psql prod 'CREATE ROLE nobody_special LOGIN; SELECT 1')" 1 "a role without rights"
is "$("$PG_BIN/psql" -XAtd "${dsn/user=postgres/user=nobody_special}" -c 'SELECT database_oid::int > 0 FROM reprod.proof()')" t \
	"can read the proof"
is "$("$PG_BIN/psql" -XAtd "${dsn/user=postgres/user=nobody_special}" -c 'SELECT * FROM reprod.mark' 2>&1 | grep -c denied)" 1 \
	"but not touch the mark"
done_testing
