#!/bin/bash
# A canary in every place where a statement can carry a value, sent to a real server:
# none of them is in the capture, be it from the wire or from the server's csvlog.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/sniff.sh"
. "$(dirname "$0")/../lib/pg.sh"

dir=$(tap_dir)
cd "$dir" || exit 1
pg_start_tcp prod 'logging_collector = on' 'log_destination = csvlog' "log_directory = 'log'" \
	"log_filename = 'prod.log'" 'log_file_mode = 0644' 'log_min_duration_statement = 0' 'log_connections = on'
dsn="host=127.0.0.1 port=$(pg_port prod) user=postgres dbname=postgres"

# @ becomes a word of its own in each line. Whether the server takes the statement or
# not, its text has passed.
cat >kinds.sql <<'END'
SELECT '@' AS a, E'\\@' AS b, U&'\0061@' AS c, $$@$$ AS d, $x$@$x$ AS e, N'@' AS f;
SELECT 1 /* @ */ -- @
SELECT 1 WHERE 'a' LIKE '@%' OR 'b' IN ('@', 'x@') OR 'c' = ANY (ARRAY['@']) OR 'd' ~ '@';
SELECT '{"key": "@"}'::jsonb ->> 'key', '@'::bytea, '[@,@]'::text;
CREATE TABLE kinds (id serial PRIMARY KEY, name text DEFAULT '@', note text CHECK (note <> '@'));
CREATE TABLE parts (k text) PARTITION BY LIST (k);
CREATE TABLE part_one PARTITION OF parts FOR VALUES IN ('@');
CREATE TYPE mood AS ENUM ('@', 'ok');
ALTER TYPE mood ADD VALUE '@';
CREATE DOMAIN code AS text DEFAULT '@' CHECK (value <> '@');
CREATE INDEX kinds_some ON kinds (id) WHERE name = '@';
CREATE VIEW kinds_view AS SELECT * FROM kinds WHERE name = '@';
ALTER TABLE kinds ALTER name SET DEFAULT '@';
INSERT INTO kinds (name, note) VALUES ('@', '@'), ('@', 'y') RETURNING id;
UPDATE kinds SET name = '@' WHERE note = '@';
DELETE FROM kinds WHERE name = '@';
MERGE INTO kinds k USING (SELECT '@' AS name) s ON k.name = s.name WHEN NOT MATCHED THEN INSERT (name) VALUES ('@');
PREPARE find (text) AS SELECT * FROM kinds WHERE name = $1 AND note <> '@';
EXECUTE find ('@');
DEALLOCATE find;
DECLARE c CURSOR FOR SELECT '@';
CREATE PROCEDURE ping (t text) LANGUAGE sql AS 'SELECT 1 /* @ */';
CALL ping ('@');
DO $$ BEGIN PERFORM '@'; END $$;
CREATE FUNCTION f () RETURNS text LANGUAGE plpgsql AS $$ BEGIN RETURN '@'; END $$;
COPY kinds (name) FROM PROGRAM 'echo @';
COPY (SELECT '@') TO STDOUT WITH (DELIMITER '|', NULL '@');
NOTIFY channel, '@';
COMMENT ON TABLE kinds IS '@';
SECURITY LABEL ON TABLE kinds IS '@';
ALTER SYSTEM SET cluster_name = '@';
SET application_name = '@';
SET my.setting = '@';
ALTER ROLE postgres SET my.setting = '@';
ALTER DATABASE postgres SET my.setting = '@';
CREATE ROLE zq LOGIN PASSWORD '@';
ALTER ROLE zq PASSWORD '@' VALID UNTIL '2030-01-01';
ALTER USER zq WITH ENCRYPTED PASSWORD '@';
CREATE SUBSCRIPTION s CONNECTION 'host=@ password=@' PUBLICATION p WITH (connect = false, slot_name = NONE);
ALTER SUBSCRIPTION s CONNECTION 'host=@ password=@';
CREATE FOREIGN DATA WRAPPER w OPTIONS (debug '@');
CREATE SERVER far FOREIGN DATA WRAPPER w OPTIONS (host '@');
CREATE USER MAPPING FOR postgres SERVER far OPTIONS (user '@', password '@');
ALTER USER MAPPING FOR postgres SERVER far OPTIONS (SET password '@');
SELECT dblink('host=h password=@', 'SELECT ''@''');
SELECT crypt('@', '@'), pgp_sym_encrypt('@', '@'), digest('@', 'sha1'), hmac('@', '@', 'md5');
SELECT set_config('my.setting', '@', false);
SELECT lo_from_bytea(0, '@');
EXPLAIN SELECT * FROM kinds WHERE name = '@';
CREATE TABLE copied AS SELECT '@' AS x;
SELECT * FROM json_to_record('{"a": "@"}') AS x (a text);
VALUES ('@'), ('@');
WITH x AS (SELECT '@' AS v) SELECT * FROM x WHERE v = '@';
SELECT '@
END
n=10
while IFS= read -r line; do
	n=$((n + 1))
	echo "zq${n}canary" >>canaries.txt
	printf '%s\n' "${line//@/zq${n}canary}"
done <kinds.sql >sent.sql
printf '%s\n' zqbindcanary 918273645546 'zq.person@canary.example' 5f0c7c1e-9d5e-4c1b-8a3f-77aa11bb22cc >>canaries.txt

sniff_start live.rcap -i lo --port "$(pg_port prod)" || bail "the capture did not start"
# A line each: one that does not end must not swallow the next.
while IFS= read -r line; do printf '%s\n' "$line"; done <sent.sql |
	while IFS= read -r statement; do printf '%s\0' "$statement"; done |
	xargs -0 -n 1 "$PG_BIN/psql" -qX "$dsn" -c >psql.out 2>&1
cat >bind.sql <<'END'
SELECT length(:word::text), length(:mail::text), :number::bigint, :id::uuid;
END
PGHOST=127.0.0.1 PGPORT=$(pg_port prod) PGUSER=postgres PGDATABASE=postgres "$PG_BIN/pgbench" -n -M prepared -t 3 \
	-D word=zqbindcanary -D mail=zq.person@canary.example -D number=918273645546 \
	-D id=5f0c7c1e-9d5e-4c1b-8a3f-77aa11bb22cc -f bind.sql >pgbench.out 2>&1
ok $? "binds of four classes were sent" || diag <pgbench.out
sniff_stop
like "$("$REPROD" capture show live.rcap)" "$(wc -l <kinds.sql | tr -d ' ')|[5-9][0-9] requests" "the statements were captured"

"$REPROD" capture "$(pg_dir prod)/log/prod.csv" -o log.rcap >log.out 2>&1
is $? 0 "the csvlog of the same minute is read" || diag <log.out
for f in live log; do
	"$REPROD" capture verify "$f.rcap" --canary canaries.txt >verify.out 2>&1
	is $? 0 "no canary is in the capture ($f)" || diag <verify.out
	is "$("$REPROD" capture cat "$f.rcap" | grep -ci 'zq[0-9]*canary')" 0 "nor in what cat prints ($f)"
	[ "$("$REPROD" capture cat "$f.rcap" | grep -c '"type":"request"')" -gt 45 ]
	ok $? "and it is not empty ($f)"
done

# The check can fail: a policy that keeps everything shows the words; secrets are dropped
# all the same.
echo '{"format": "reprod-policy", "version": 1, "keep_digits": 1000, "columns": {"*": "keep"}}' >keep.json
"$REPROD" capture "$(pg_dir prod)/log/prod.csv" --policy keep.json -o kept.rcap -q
"$REPROD" capture verify kept.rcap --canary canaries.txt >verify.out 2>&1
is $? 1 "with a policy that keeps all, canaries are found"
grep -iE 'password|subscription|mapping|dblink|crypt' sent.sql | grep -oE 'zq[0-9]+canary' | sort -u >secrets.txt
"$REPROD" capture verify kept.rcap --canary secrets.txt >verify.out 2>&1
is $? 0 "but no secret" || diag <verify.out
done_testing
