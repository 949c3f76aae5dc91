#!/bin/bash
# A lab of a running server: built, proved, frozen, changed, reset.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/pg.sh"

dir=$(tap_dir)
pg_start prod 'work_mem = 7MB' 'random_page_cost = 1.25' 'autovacuum = off'
mkdir -p "$dir/space" && pg_own "$dir/space"
pg_psql prod 'CREATE DATABASE shop'
pg_psql prod "CREATE TABLESPACE apart LOCATION '$dir/space'"
pg_psql prod "
CREATE ROLE app LOGIN;
CREATE TABLE orders AS SELECT g AS id, g % 5 AS status FROM generate_series(1, 5000) g;
CREATE TABLE apart (id int) TABLESPACE apart; INSERT INTO apart VALUES (42);
ALTER TABLE orders OWNER TO app; ANALYZE orders" shop

lab() { "$REPROD" snapshot "$@" 2>"$dir/err"; }

lab build "$(pg_dsn prod shop)" --into "$dir/lab" --fast --json >"$dir/manifest"
is $? 0 "build ends with 0" || diag <"$dir/err"
like "$(cat "$dir/manifest")" '"tier": "clone"' "its manifest names the tier"
like "$(cat "$dir/manifest")" '"work_mem": "7MB"' "settings that matter were kept"
unlike "$(cat "$dir/manifest")" 'archive_command|port=|user=' "and no command or connection string"
is "$(stat -c %a "$dir/lab")" 700 "the folder is closed to others"
[ ! -e "$dir/lab.building" ]
ok $? "nothing says half built"
is "$(readlink "$dir"/lab/pg_tblspc/*)" "$(echo "$dir"/lab/reprod.tblspc/*)" "tablespaces lie inside the lab"

lab status "$dir/lab" >"$dir/out"
is $? 0 "status finds nothing wrong" || diag <"$dir/out"
like "$(tail -n 1 "$dir/out")" '^may be a target$' "and says so"
lab status "$dir/lab" --json >"$dir/out"
is "$(grep -c '"ok": false' "$dir/out")" 0 "no item is bad"
like "$(cat "$dir/out")" '"is_neutralised": true' "status --json proves it"
lab status "$dir/lab" -o "$dir/proof.json" >/dev/null
is "$(cat "$dir/proof.json")" "$(cat "$dir/out")" "-o keeps the same"

lab reset "$dir/lab"
is $? 3 "a lab that was never frozen can't be reset"
lab freeze "$dir/lab" >"$dir/out"
is $? 0 "freeze ends with 0" || diag <"$dir/err"
lab freeze "$dir/lab"
is $? 2 "a frozen state isn't replaced by accident"
lab freeze "$dir/lab" --force >"$dir/out"
is $? 0 "but with --force"
id=$(sed -n 's/.*"frozen_id": "\(.*\)",/\1/p' "$dir/lab.frozen/reprod.frozen.json")

nonce=$(grep nonce "$dir/lab/reprod.mark")
for f in "$dir"/lab/base/*/pg_filenode.map; do echo damaged >"$f"; done
echo x >"$dir/lab/base/stray"
lab reset "$dir/lab" --json >"$dir/out"
is $? 0 "reset ends with 0" || diag <"$dir/err"
like "$(cat "$dir/out")" "\"frozen_id\": \"$id\"" "to the state that was frozen"
[ ! -e "$dir/lab/base/stray" ]
ok $? "files that were not there are gone"
is "$(cat "$dir"/lab/base/*/pg_filenode.map | grep -c damaged)" 0 "and damaged ones are whole"
[ "$nonce" != "$(grep nonce "$dir/lab/reprod.mark")" ]
ok $? "the mark has a new nonce"
lab status "$dir/lab" >/dev/null
is $? 0 "and the lab is as good as before"

# Production was only read.
is "$(pg_psql prod "select count(*) from pg_namespace where nspname = 'reprod'" shop)" 0 "the source has no schema of ours"
is "$(pg_psql prod "select count(*) from pg_roles where rolname like 'reprod%'")" 0 "and no role"
is "$(pg_psql prod "select count(*) from pg_replication_slots")" 0 "and no slot"

# A lab of a lab's folder, and what build refuses.
lab build "$dir/lab" --into "$dir/second" -d shop >"$dir/out"
is $? 0 "a stopped data directory can be the source" || diag <"$dir/err"
is "$(readlink "$dir"/second/pg_tblspc/*)" "$(echo "$dir"/second/reprod.tblspc/*)" "its tablespaces are its own"
lab build "$(pg_dir prod)" --into "$dir/third" >"$dir/out"
is $? 5 "a running server's folder can't"
[ ! -e "$dir/third" ]
ok $? "and nothing is left behind"
lab build "$(pg_dsn prod shop)" --into "$dir/lab" --fast
is $? 2 "an existing lab isn't replaced by accident"
mkdir "$dir/mine" && echo x >"$dir/mine/file"
lab build "$(pg_dsn prod shop)" --into "$dir/mine" --force --fast
is $? 5 "somebody's folder is never replaced, even with --force"
lab build "$(pg_dsn prod shop)" --into "$dir/x" --tier synthetic
is $? 2 "a tier that isn't there is a usage error"
like "$(cat "$dir/err")" "'clone'" "which says what is there"
lab build "$(pg_dsn prod nowhere)" --into "$dir/lab" --force --fast
is $? 4 "a source that can't be reached is told"
lab build "$(pg_dsn prod nowhere)" --into "$dir/none" --fast
is "$(ls -d "$dir"/none* 2>/dev/null)" "" "and leaves nothing where there was none"
lab status "$dir/lab" >/dev/null
is $? 0 "before the old lab is touched"
lab status "$dir/mine"
is $? 5 "a folder of others has no status"

# kill -9 in the middle of a build.
"$REPROD" snapshot build "$(pg_dsn prod shop)" --into "$dir/cut" --fast >/dev/null 2>&1 &
wait_until 20 test -e "$dir/cut/base"
kill -9 $!
wait $! 2>/dev/null
lab status "$dir/cut"
is $? 3 "what an interrupted build left is no lab" || ls "$dir" | diag
lab build "$(pg_dsn prod shop)" --into "$dir/cut" --fast
is $? 2 "and isn't replaced without being asked"
lab build "$(pg_dsn prod shop)" --into "$dir/cut" --fast --force >/dev/null
is $? 0 "but with --force" || diag <"$dir/err"
done_testing
