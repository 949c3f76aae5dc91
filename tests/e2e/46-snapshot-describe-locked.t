#!/bin/bash
# A table under ACCESS EXCLUSIVE, or one that somebody waits to take so, costs its size in
# the profile, never the profile.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/pg.sh"

dir=$(tap_dir)
pg_start prod
pg_psql prod "CREATE TABLE held AS SELECT i FROM generate_series(1, 1000) AS i;
	CREATE TABLE waited_for AS SELECT i FROM generate_series(1, 1000) AS i;
	CREATE TABLE open_one AS SELECT i FROM generate_series(1, 1000) AS i;
	CREATE INDEX open_i ON open_one (i); ANALYZE"
hold() { # SQL
	"$PG_BIN/psql" -X -q -d "$(pg_dsn prod)" -c "$1" >/dev/null 2>&1 &
	at_exit "kill $! 2>/dev/null"
}
count_exclusive() { pg_psql prod "SELECT count(*) FROM pg_locks WHERE mode = 'AccessExclusiveLock' AND granted = $1
	AND relation IN ('held'::regclass, 'waited_for'::regclass, 'open_i'::regclass)"; }
is_held() { [ "$(count_exclusive true)/$(count_exclusive false)" = 2/1 ]; }
hold "BEGIN; LOCK TABLE held; SELECT pg_sleep(60)"
hold "BEGIN; REINDEX INDEX open_i; SELECT pg_sleep(60)"
hold "BEGIN; SELECT FROM waited_for LIMIT 1; SELECT pg_sleep(60)"
reads() { [ "$(pg_psql prod "SELECT count(*) FROM pg_locks WHERE relation = 'waited_for'::regclass")" = 1 ]; }
wait_until 10 reads
hold "ALTER TABLE waited_for ADD COLUMN more int"
wait_until 10 is_held
ok $? "a table and an index are held exclusively, a second table is waited for"

start=$(date +%s%N)
out=$("$REPROD" snapshot describe "$(pg_dsn prod)" -o "$dir/p.json" 2>&1)
is $? 0 "describe ends with 0"
took_ms=$((($(date +%s%N) - start) / 1000000))
[ "$took_ms" -lt 2000 ]
ok $? "within two seconds" || diag "$took_ms ms"
like "$out" 'relations: partial .*2 relation.s. were held' "and says that a relation was held"
told() { perl -MJSON::PP -e 'local $/; open my $f, "<", $ARGV[0]; my $d = decode_json(<$f>);
	for (@{$d->{sections}{relations}{relations}}, @{$d->{sections}{indexes}{indexes}}) { print defined $_->{pages} ? "pages" : "none" if $_->{name} eq $ARGV[1] }' "$dir/p.json" "$1"; }
is "$(told held)" none "the held table's size is left out"
is "$(told waited_for)" none "as that of the one in whose queue it would stand"
is "$(told open_i)" none "and the held index's"
is "$(told open_one)" pages "the other's is there"
done_testing
