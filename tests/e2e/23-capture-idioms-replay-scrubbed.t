#!/bin/bash
# 36 idioms of applications, each as one text, with text binds and with binary binds:
# captured off the wire and replayed against a copy whose rows were scrubbed with the same
# key and policy, all run and touch as many rows as they did.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/sniff.sh"
. "$(dirname "$0")/../lib/pg.sh"
. "$(dirname "$0")/../lib/replay.sh"

dir=$(tap_dir)
cd "$dir" || exit 1
pg_start_tcp prod
pg_start lab
schema="
CREATE TYPE mood AS ENUM ('glad', 'sad', 'calm');
CREATE TABLE people (id int PRIMARY KEY, email text UNIQUE, name text, feeling mood, born date, seen timestamptz,
	pay numeric, key uuid, addr inet, doc jsonb, tags text[], blob bytea, span int4range, nap interval, big bigint,
	state text CHECK (state IN ('draft', 'sent', 'dropped')), is_member boolean);
CREATE TABLE orders (id serial PRIMARY KEY, person int REFERENCES people, note text, total numeric, at timestamptz);
CREATE TABLE jobs (id int PRIMARY KEY, state text, payload text);"
pg_psql prod "$schema
INSERT INTO people SELECT i, 'person' || i || '@mail.example', 'Name ' || i % 40, (ARRAY['glad','sad','calm'])[1 + i % 3]::mood,
	date '1990-01-01' + i, timestamptz '2024-01-01 00:00:00+00' + i * interval '1 hour', i * 10.5,
	('00000000-0000-4000-8000-' || lpad(i::text, 12, '0'))::uuid, ('10.1.2.' || i)::inet,
	jsonb_build_object('city', 'City ' || i % 10, 'n', i), ARRAY['tag' || i % 5, 'all'], decode(md5(i::text), 'hex'),
	int4range(i, i + 10), i * interval '1 minute', 900000000000 + i, (ARRAY['draft','sent'])[1 + i % 2], i % 2 = 0
	FROM generate_series(1, 200) i;
INSERT INTO orders (person, note, total, at) SELECT 1 + i % 200, 'note ' || i % 20, i, timestamptz '2024-02-01 00:00:00+00' + i * interval '1 day'
	FROM generate_series(1, 300) i;
INSERT INTO jobs SELECT i, 'draft', 'payload ' || i FROM generate_series(1, 20) i; ANALYZE" >setup.out 2>&1 || diag <setup.out
replay_target lab
pg_psql lab "$schema GRANT ALL ON ALL TABLES IN SCHEMA public TO replayer; GRANT ALL ON ALL SEQUENCES IN SCHEMA public TO replayer" >setup.out 2>&1 ||
	diag <setup.out

head -c 48 /dev/urandom >key && chmod 600 key
"$REPROD" capture policy "$(pg_dsn prod)" -o policy.json >policy.out 2>&1
is $? 0 "a policy is drafted" || diag <policy.out
copy_table() { # TABLE COLUMNS: to the lab, scrubbed
	pg_psql prod "COPY $1 ($2) TO STDOUT" | "$TEST_OUT/tests/test_scrubcopy" key policy.json "COPY $1 ($2) FROM STDIN" >"$1.rows" &&
		pg_psql lab "\\copy $1 ($2) FROM '$1.rows'" >"$1.out" 2>&1 || { diag <"$1.out"; return 1; }
}
copy_table people "id,email,name,feeling,born,seen,pay,key,addr,doc,tags,blob,span,nap,big,state,is_member" &&
	copy_table orders "id,person,note,total,at" && copy_table jobs "id,state,payload"
ok $? "the tables are copied, every field scrubbed"
pg_psql lab "SELECT setval('orders_id_seq', 300); ANALYZE" >setup.out
is "$(grep -c '@mail.example' people.rows)" 0 "no address is in the copy"
is "$(pg_psql lab "SELECT count(*) FROM people JOIN orders ON person = people.id")" 300 "keys still meet"

cat >idioms.txt <<'END'
SELECT * FROM people WHERE id = $1 | int4:17
SELECT * FROM people WHERE email = $1 | text:person17@mail.example
SELECT * FROM people WHERE lower(email) = lower($1) | text:person18@mail.example
SELECT date_trunc('day', seen), count(*) FROM people WHERE seen >= $1 GROUP BY 1 ORDER BY 1 | time:2024-01-03 00:00:00+00
SELECT * FROM people WHERE feeling = $1 | mood:sad
SELECT * FROM people WHERE feeling IN ('glad', $1) | mood:calm
SELECT * FROM people WHERE seen > timestamptz '2024-01-09 00:00:00+00' - interval '2 days'
SELECT * FROM people WHERE nap > $1 | span:1 hour
SELECT seen AT TIME ZONE 'Europe/Berlin' FROM people WHERE born BETWEEN $1 AND $2 | date:1990-02-01 | date:1990-03-01
SELECT doc ->> 'city' FROM people WHERE doc ->> 'city' = $1 | text:City 3
SELECT * FROM people WHERE doc @> $1 | json:{"city": "City 4"}
SELECT * FROM people WHERE 'people'::regclass::oid > 0 AND id < $1 | int4:9
SELECT * FROM people WHERE state LIKE 'dr%' AND id < $1 | int4:50
SELECT * FROM people WHERE state ILIKE 'SE%'
SELECT * FROM people WHERE 'all' = ANY (tags) AND tags @> ARRAY['tag1']
SELECT * FROM people WHERE id = ANY ($1) | ints:{3,4,5,99999}
SELECT * FROM people WHERE email = ANY ($1) | texts:{person3@mail.example,person4@mail.example,nobody}
INSERT INTO orders (person, note, total, at) VALUES ($1, $2, 5, '2024-03-01') RETURNING id | int4:7 | text:note new
INSERT INTO jobs (id, state, payload) VALUES ($1, 'sent', $2) ON CONFLICT (id) DO UPDATE SET payload = excluded.payload WHERE jobs.state = 'draft' | int4:3 | text:payload new
WITH late AS (SELECT person, sum(total) AS s FROM orders WHERE at > $1 GROUP BY 1) SELECT * FROM late JOIN people p ON p.id = late.person WHERE p.state = 'sent' | time:2024-06-01 00:00:00+00
MERGE INTO jobs j USING (VALUES (5, 'payload x')) AS v (id, payload) ON j.id = v.id WHEN MATCHED THEN UPDATE SET payload = v.payload WHEN NOT MATCHED THEN INSERT (id, payload) VALUES (v.id, v.payload)
SELECT extract(year FROM born), count(*) FROM people WHERE extract(month FROM born) = 2 GROUP BY 1
SELECT d::date FROM generate_series(timestamp '2024-01-01', timestamp '2024-01-10', interval '1 day') d
SELECT id, row_number() OVER (PARTITION BY state ORDER BY pay DESC), lag(pay, 1) OVER (ORDER BY id) FROM people WHERE pay > $1 | num:1000
SELECT DISTINCT ON (state) state, name FROM people ORDER BY state, id
SELECT p.id, o.* FROM people p, LATERAL (SELECT * FROM orders WHERE person = p.id ORDER BY at LIMIT 2) o WHERE p.name = $1 | text:Name 7
SELECT * FROM people p WHERE EXISTS (SELECT FROM orders o WHERE o.person = p.id AND o.note = $1) | text:note 7
SELECT * FROM people WHERE id NOT IN (SELECT person FROM orders WHERE note = $1) | text:note 9
SELECT * FROM people WHERE key = $1 | uuid:00000000-0000-4000-8000-000000000023
SELECT * FROM people WHERE addr = $1 | inet:10.1.2.77
SELECT * FROM people WHERE blob = $1 | bytea:\xc81e728d9d4c2f636f067f89cc14862c
SELECT * FROM people WHERE span @> $1::int | int4:55
SELECT * FROM people WHERE big = $1 | int8:900000000042
SELECT CASE WHEN state = 'sent' THEN 'yes' ELSE 'no' END, coalesce(name, 'nobody') FROM people WHERE CASE WHEN is_member THEN name = $1 ELSE email = $2 END | text:Name 8 | text:person9@mail.example
SELECT * FROM people WHERE (id, email) IN ((3, 'person3@mail.example'), (4, $1)) | text:person4@mail.example
UPDATE people SET name = $1, pay = pay + 1 WHERE (email, state) = ($2, 'sent') RETURNING id | text:Name new | text:person41@mail.example
SELECT * FROM people WHERE is_member = $1 AND name IS NOT DISTINCT FROM $2 LIMIT 3 OFFSET 1 | bool:t | text:Name 2
SELECT count(*) FILTER (WHERE state = $1) FROM people HAVING count(*) > 5 | text:sent
SELECT * FROM people WHERE $1::text IS NULL OR email = $1 | text:person50@mail.example
BEGIN
SAVEPOINT one
SELECT * FROM jobs WHERE state = $1 ORDER BY id LIMIT 2 FOR UPDATE SKIP LOCKED | text:draft
ROLLBACK TO SAVEPOINT one
SELECT set_config('work_mem', '8MB', true), pg_advisory_xact_lock(42)
COMMIT
UPDATE jobs SET payload = v.p FROM (VALUES (7, 'payload a'), (8, 'payload b')) AS v (id, p) WHERE jobs.id = v.id
DELETE FROM orders WHERE note = $1 AND total < $2 | text:note 3 | int4:100
SELECT * FROM people WHERE email = (SELECT email FROM people WHERE id = $1) UNION ALL SELECT * FROM people WHERE name = $2 | int4:5 | text:Name 5
WITH RECURSIVE r AS (SELECT id FROM people WHERE email = $1 UNION ALL SELECT id + 1 FROM r WHERE id < 20) SELECT * FROM r | text:person12@mail.example
SELECT name FROM people WHERE to_tsvector('simple', name) @@ plainto_tsquery('simple', 'nothing')
END
sniff_start wire.rcap -i lo --port "$(pg_port prod)" --key key --policy policy.json || bail "the capture did not start"
"$TEST_OUT/tests/test_sqlsend" "host=127.0.0.1 port=$(pg_port prod) user=postgres dbname=postgres" <idioms.txt >sent.txt 2>sent.err
is $? 0 "every idiom runs on production" || diag <sent.err
sniff_stop
[ "$(cut -d' ' -f3- sent.txt | sort -u | wc -l)" -ge 48 ]
ok $? "at least 36 idioms, and what they need"
# An idiom that touches no row would prove nothing.
is "$(grep -cE '^(simple|text|binary) 0 ' sent.txt)" 3 "but the last and repeated deletes, each touches rows" ||
	grep -E '^[a-z]+ 0 ' sent.txt | diag

"$REPROD" capture cat --values wire.rcap >cat.txt
is "$(grep -cE 'person[0-9]+@mail|Name 7|note 7' cat.txt)" 0 "no value of production is in the capture"
# What a scrubbed snapshot's mark says: whose key and policy.
"$REPROD" capture show wire.rcap --json >show.json
pg_psql lab "UPDATE reprod.mark SET proof = proof::jsonb || jsonb_build_object('tier', 'scrubbed',
	'key_id', '$(grep -oE '"key_id": *"[0-9a-f]+"' show.json | head -1 | grep -oE '[0-9a-f]{16}')',
	'policy_digest', '$(grep -oE '"digest": *"[0-9a-f]+"' policy.json | grep -oE '[0-9a-f]{64}')')"
"$REPROD" replay wire.rcap --target "$(pg_dsn lab) user=replayer" --json >replay.json 2>replay.err
code=$?
case $code in 0 | 1 | 6) ok 0 "it is replayed" ;; *) ok 1 "it is replayed (exit $code)" || diag <replay.err ;; esac
is "$(replay_get replay.json fidelity.outcome.rows_same_share)" 1 "as many rows as in production, everywhere" ||
	perl -MJSON::PP -0777 -ne 'for (@{decode_json($_)->{routes}}) { print "$_->{rows_differ} of $_->{rows_compared}: $_->{route}\n" if $_->{rows_differ} }' replay.json | diag
is "$(replay_get replay.json fidelity.outcome.errors_differ)" 0 "and no error"
planned=$(wc -l <sent.txt)
is "$(replay_get replay.json fidelity.outcome.rows_compared)" "$planned" "and every statement was compared" ||
	replay_get replay.json fidelity | diag
done_testing
