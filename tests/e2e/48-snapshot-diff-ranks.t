#!/bin/bash
# Each planted difference is told with its condition; noise is not.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/pg.sh"
. "$(dirname "$0")/../lib/replay.sh"

dir=$(tap_dir)
pg_start prod 'random_page_cost = 1.1' 'autovacuum = off'
pg_start lab 'autovacuum = off'
small="CREATE TABLE orders (id int PRIMARY KEY, status int NOT NULL, note text);
	INSERT INTO orders SELECT i, i % 5, repeat('x', 20) FROM generate_series(1, ROWS) AS i;
	CREATE TABLE churned (id int PRIMARY KEY, n int) WITH (autovacuum_enabled = off);
	INSERT INTO churned SELECT i, i FROM generate_series(1, 5000) AS i;
	SELECT pg_stat_force_next_flush(); VACUUM ANALYZE"
pg_load() { printf '%s;\n' "$2" | sed "s/ROWS/$3/" | "$PG_BIN/psql" -X -q -v ON_ERROR_STOP=1 -d "$(pg_dsn "$1")" >/dev/null; }
pg_load prod "$small" 60000
pg_load lab "$small" 60000

first() { # FIELD CONDITION
	perl -MJSON::PP -e 'local $/; open my $f, "<", $ARGV[0]; my $d = decode_json(<$f>);
		for (@{$d->{differences}}) { if (($_->{condition} // "") eq $ARGV[2]) { print $_->{$ARGV[1]}; last } }' \
		"$dir/d.json" "$1" "$2"
}
diff_now() { "$REPROD" snapshot diff "$(pg_dsn prod)" "$(pg_dsn lab)" -o "$dir/d.json" --force >"$dir/out" 2>&1; }

diff_now
is $? 1 "a changed setting is a difference"
is "$(first object setting:random_page_cost)" random_page_cost "it is named"
is "$(first condition stats)" "" "fresh statistics are no difference"
is "$(first condition data)" "" "equal volume is no difference"

pg_psql prod "INSERT INTO orders SELECT 60000 + i, 9, 'x' FROM generate_series(1, 2400) AS i; SELECT pg_stat_force_next_flush()" >/dev/null
diff_now
is "$(first rank stats)" 1 "stale statistics after a bulk load come first"
is "$(first object stats)" public.orders "of that table"
like "$(first why stats)" "column 'status'" "and the column is told whose values the planner believes to know"

pg_psql prod "ANALYZE orders"
pg_psql prod "UPDATE orders SET note = 'y' WHERE id <= 600; SELECT pg_stat_force_next_flush()" >/dev/null
diff_now
is "$(first condition stats)" "" "a per cent of plain updates is not staleness"

pg_psql prod "UPDATE churned SET n = n + 1; UPDATE churned SET n = n + 1; UPDATE churned SET n = n + 1; SELECT pg_stat_force_next_flush()" >/dev/null
diff_now
like "$(first kind bloat)" 'dead tuples|bloat' "dead rows are told"
is "$(first object bloat)" public.churned "of that table"

pg_psql lab "CREATE INDEX orders_status ON orders (status)"
diff_now
is "$(first kind index:orders_status)" "missing index" "an index that only one side has is told"

"$REPROD" snapshot diff "$(pg_dsn lab)" "$(pg_dsn lab)" >/dev/null 2>&1
is $? 0 "a database does not differ from itself"
echo '{"format": "other"}' >"$dir/x.json"
out=$("$REPROD" snapshot diff "$dir/x.json" "$(pg_dsn lab)" 2>&1)
is $? 3 "a foreign file is bad input"
like "$out" 'x.json.*not a profile' "with words and its name"
out=$("$REPROD" snapshot diff "$dir/nosuch.json" "$dir/x.json" 2>&1)
is $? 3 "a file that is not there is not taken for a DSN"
like "$out" 'nosuch.json.*is not there' "with its name"
echo 'session 1 0 0
1 10 1 II simple 0 | SELECT 1' | replay_capture "$dir/whole.rcap"
head -c -30 "$dir/whole.rcap" >"$dir/cut.rcap"
out=$("$REPROD" snapshot diff "$dir/whole.rcap" "$(pg_dsn lab)" 2>&1)
is $? 3 "a capture is no profile"
like "$out" "hint: give a profile made by" "and what is wanted is said"
for f in whole cut; do
	"$REPROD" snapshot diff "$(pg_dsn lab)" "$(pg_dsn lab)" --capture "$dir/$f.rcap" >"$dir/out" 2>"$dir/$f.err"
	is $? 0 "a $f capture weighs the routes" || diag <"$dir/$f.err"
done
is "$(cat "$dir/whole.err")" "" "without a word"
like "$(cat "$dir/cut.err")" 'cut.rcap was not finished' "which is told of the cut one"
done_testing
