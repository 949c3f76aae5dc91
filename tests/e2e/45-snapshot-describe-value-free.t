#!/bin/bash
# A database full of canaries: none of them may be in the profile, whoever describes it.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/pg.sh"

dir=$(tap_dir)
pg_start prod "primary_conninfo = 'password=zq-canary-setting'"
pg_psql prod "
CREATE TYPE mood AS ENUM ('zq-canary-enum-a', 'zq-canary-enum-b');
CREATE TABLE people (
	id bigint PRIMARY KEY,
	mail text DEFAULT 'zq-canary-default',
	country text CHECK (country <> 'zq-canary-check'),
	mood mood,
	born date,
	tags text[],
	doc jsonb,
	secret_number bigint
);
CREATE INDEX people_special ON people (id) WHERE country = 'zq-canary-predicate';
CREATE INDEX people_expr ON people ((mail || 'zq-canary-expression'));
CREATE STATISTICS people_stats ON country, mood FROM people;
COMMENT ON TABLE people IS 'zq-canary-comment';
INSERT INTO people
SELECT i, 'zq-canary-mail-' || i % 50, 'zq-canary-country-' || i % 4, 'zq-canary-enum-a',
	date '1987-06-05' + i % 900, ARRAY['zq-canary-tag-' || i % 9], '{\"k\": \"zq-canary-doc\"}', 918273645000 + i % 3
FROM generate_series(1, 5000) AS i;
ALTER ROLE postgres SET application_name = 'zq-canary-role';
ANALYZE people;
"
"$REPROD" snapshot describe "$(pg_dsn prod)" -o "$dir/p.json" >"$dir/out" 2>"$dir/err"
is $? 0 "describe ends with 0"
[ -s "$dir/p.json" ]
ok $? "and leaves a profile"
is "$(grep -ci 'zq-canary' "$dir/p.json")" 0 "no text canary is in the profile"
is "$(grep -c '9182736450' "$dir/p.json")" 0 "no common number is in it"
is "$(grep -c '198[7-9]-' "$dir/p.json")" 0 "no date of a row is in it"
is "$(grep -ci 'zq-canary' "$dir/out" "$dir/err" | grep -c ':[1-9]')" 0 "nor in what was printed"

# The numbers that plans depend on are there.
column() { # NAME FIELD
	perl -MJSON::PP -e '
		local $/; open my $f, "<", $ARGV[0]; my $d = decode_json(<$f>);
		for (@{$d->{sections}{columns}{columns}}) {
			next unless $_->{name} eq $ARGV[1] && $_->{table} eq "people";
			my $v = $_->{$ARGV[2]};
			print ref $v ? "@$v" : $v;
		}' "$dir/p.json" "$1" "$2"
}
is "$(column country n_distinct)" 4 "distinct values of a column are told"
like "$(column country common_frequencies)" '0\.25' "frequencies of its common values are told"
like "$(column born histogram_gaps)" '0\.0' "the shape of a date's histogram is told"
done_testing
