#!/bin/bash
# A table under ACCESS EXCLUSIVE costs its size in the profile, never the profile.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/pg.sh"

dir=$(tap_dir)
pg_start prod
pg_psql prod "CREATE TABLE held AS SELECT i FROM generate_series(1, 1000) AS i;
	CREATE TABLE open_one AS SELECT i FROM generate_series(1, 1000) AS i; ANALYZE"
"$PG_BIN/psql" -X -q -d "$(pg_dsn prod)" -c "BEGIN; LOCK TABLE held; SELECT pg_sleep(60)" >/dev/null 2>&1 &
holder=$!
at_exit "kill $holder 2>/dev/null"
is_held() { [ "$(pg_psql prod "SELECT count(*) FROM pg_locks WHERE mode = 'AccessExclusiveLock' AND relation = 'held'::regclass::oid")" = 1 ]; }
wait_until 10 is_held
ok $? "a table is held exclusively"

start=$(date +%s%N)
out=$("$REPROD" snapshot describe "$(pg_dsn prod)" -o "$dir/p.json" 2>&1)
is $? 0 "describe ends with 0"
took_ms=$((($(date +%s%N) - start) / 1000000))
[ "$took_ms" -lt 2000 ]
ok $? "within two seconds" || diag "$took_ms ms"
like "$out" 'relations: partial .*held exclusively' "and says that a relation was held"
told() { perl -MJSON::PP -e 'local $/; open my $f, "<", $ARGV[0]; my $d = decode_json(<$f>);
	for (@{$d->{sections}{relations}{relations}}) { print defined $_->{pages} ? "pages" : "none" if $_->{name} eq $ARGV[1] }' "$dir/p.json" "$1"; }
is "$(told held)" none "the held table's size is left out"
is "$(told open_one)" pages "the other's is there"
done_testing
