#!/bin/bash
# capture policy: rules from names and types, by a role that may read no row, the same
# document each time, and one that capture takes.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/pg.sh"

dir=$(tap_dir)
cd "$dir" || exit 1
pg_start prod
pg_psql prod "
CREATE TYPE mood AS ENUM ('zq_open', 'zq_closed');
CREATE DOMAIN code AS text;
CREATE TABLE people (id bigint PRIMARY KEY, email text UNIQUE, born date, is_member boolean,
	feeling mood, tags text[], doc jsonb, pay numeric, password text, plan text,
	state text CHECK (state IN ('draft', 'sent')), zip code, key uuid);
CREATE TABLE orders (person bigint REFERENCES people, at timestamptz);
CREATE SCHEMA other;
CREATE TABLE other.orders (person bigint, at timestamptz, note text);
INSERT INTO people SELECT i, 'zqrow' || i, '2001-02-03', true, 'zq_open', '{zqrow}', '{}', i, 'zqrow',
	'zqrow' || i % 3, 'sent', 'zqrow', gen_random_uuid() FROM generate_series(1, 100) i;
ANALYZE people;
CREATE ROLE plain LOGIN" >setup.out 2>&1 || diag <setup.out
dsn="$(pg_dsn prod) user=plain"

"$REPROD" capture policy "$dsn" -o p.json >out.txt 2>&1
is $? 0 "a role that may read no table drafts a policy" || diag <out.txt
like "$(cat out.txt)" "18 columns: .* keep, .* token, .* shift, .* by spelling; 4 words kept" "it says what it decided"
rule() { perl -MJSON::PP -e 'local $/; open F, "p.json"; $j = decode_json(<F>); print $j->{columns}{$ARGV[0]} // "-"' "$1"; }
for case in people.id:- people.email:token people.born:shift people.is_member:keep people.feeling:keep people.tags:token \
	people.doc:- people.pay:- people.password:token people.state:keep people.zip:token people.key:- orders.at:shift \
	orders.note:token; do
	is "$(rule "${case%:*}")" "${case#*:}" "${case%:*} is '${case#*:}'"
done
is "$(grep -c zqrow p.json)" 0 "no value of a row is in it"
like "$(cat p.json)" '"zq_open"' "labels of enums are kept words"
like "$(cat p.json)" "has 'passw' in it" "a comment says why"

"$REPROD" capture policy "$dsn" --force -o p2.json -q >/dev/null
cmp p.json p2.json
ok $? "the same catalog gives the same document"
"$REPROD" capture policy "$dsn" -o p.json >out.txt 2>&1
is $? 2 "an existing file needs --force"

# With the rows readable the statistics say how many values there are, and no more.
"$REPROD" capture policy "$(pg_dsn prod)" --force -o p.json >out.txt
like "$(cat p.json)" "of about 3 distinct values" "few distinct values are worth a comment"
is "$(grep -c zqrow p.json)" 0 "and no value is in it even then"

printf '2024-05-01 10:00:00.000 UTC,"u","d",1,"h:1",1.1,1,"SELECT",2024-05-01 10:00:00 UTC,1/1,0,LOG,00000,"duration: 1.000 ms  statement: SELECT * FROM people WHERE state = '"'sent' AND email = 'zqmail'"'",,,,,,,,,"psql","client backend",,0\n' >log.csv
"$REPROD" capture log.csv --policy p.json -o c.rcap >out.txt 2>&1
is $? 0 "capture takes the draft" || diag <out.txt
like "$("$REPROD" capture cat --values c.rcap)" "'sent'" "and keeps what it keeps"
is "$("$REPROD" capture cat --values c.rcap | grep -c zqmail)" 0 "and no more"
done_testing
