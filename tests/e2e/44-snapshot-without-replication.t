#!/bin/bash
# A role that may not replicate, on the server's own machine: the files are copied
# between the functions that start and stop a backup. And all of it as a plain user.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/pg.sh"

dir=$(tap_dir)
pg_own "$dir"
pg_start prod
pg_halt prod
echo 'local all all trust' >"$(pg_dir prod)/pg_hba.conf"
mkdir -p "$dir/space" && pg_own "$dir/space"
pg_run prod
pg_psql prod "CREATE TABLESPACE apart LOCATION '$dir/space'"
pg_psql prod "CREATE TABLE t TABLESPACE apart AS SELECT g FROM generate_series(1, 3000) g"
# Writes go on while the copy is made.
pg_psql prod 'CREATE TABLE busy (id bigserial, note text)'
(while pg_psql prod "INSERT INTO busy (note) SELECT repeat('x', 100) FROM generate_series(1, 200)"; do :; done 2>/dev/null) &
writer=$!
pg_as "$REPROD" snapshot build "$(pg_dsn prod)" --into "$dir/lab" --fast --json >"$dir/out" 2>"$dir/err"
is $? 0 "build ends with 0 for a plain user" || diag <"$dir/err"
kill $writer
wait $writer 2>/dev/null
like "$(cat "$dir/out")" 'file copy of a running server' "and says how the copy was made"
pg_as "$REPROD" snapshot status "$dir/lab" >"$dir/out" 2>&1
is $? 0 "the copy recovers and is a lab" || diag <"$dir/out"
pg_as "$REPROD" snapshot freeze "$dir/lab" >/dev/null 2>&1
is $? 0 "it can be frozen"
pg_as "$REPROD" snapshot reset "$dir/lab" >/dev/null 2>&1
is $? 0 "and reset"

# Neither way is open.
pg_psql prod 'CREATE ROLE weak LOGIN'
dsn=$(pg_dsn prod)
pg_as "$REPROD" snapshot build "${dsn/user=postgres/user=weak}" --into "$dir/no" >/dev/null 2>"$dir/err"
is $? 4 "a role that can do neither is told"
like "$(cat "$dir/err")" 'hint:.*REPLICATION' "what it needs"
[ ! -e "$dir/no" ]
ok $? "and nothing is left behind"
done_testing
