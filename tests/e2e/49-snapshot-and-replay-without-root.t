#!/bin/bash
# Whoever is not root builds, resets and replays too, with servers of his own user; in a
# user namespace with all its capabilities, and with no network at all.
# (As root every other test does so; this one gives root up first.)
if [ "$(id -u)" = 0 ]; then
	# What is needed is copied: nobody may not be able to enter the tree.
	dir=$(mktemp -d "${TEST_TMPDIR:-/tmp}/XXXXX") && mkdir -p "$dir/tests/e2e" "$dir/tests/lib" || exit 1
	here=$(cd "$(dirname "$0")" && pwd)
	cp "$0" "$dir/tests/e2e/test" && cp "$here"/../lib/*.sh "$dir/tests/lib/" &&
		cp "$REPROD" "$TEST_OUT/tests/test_replay_plan" "$dir/tests/" || exit 1
	chmod -R a+rX "$dir" && chown -R nobody "$dir" || exit 1
	exec setpriv --reuid nobody --regid "$(id -g nobody)" --clear-groups env HOME=/nonexistent \
		TEST_TMPDIR="$dir" TEST_OUT="$dir" REPROD="$dir/tests/reprod" bash "$dir/tests/e2e/test"
fi
if [ -z "${IN_NAMESPACE:-}" ] && unshare --user --map-current-user --net --keep-caps true 2>/dev/null; then
	IN_NAMESPACE=1 exec unshare --user --map-current-user --net --keep-caps -- bash "$0"
fi
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/pg.sh"
. "$(dirname "$0")/../lib/replay.sh"

dir=$(tap_dir)
[ "$(id -u)" != 0 ]
ok $? "this is not root"
pg_start prod
pg_psql prod 'CREATE TABLE t (id int PRIMARY KEY, v int); INSERT INTO t SELECT i, 0 FROM generate_series(1, 10) i; ANALYZE'
lab() { "$REPROD" snapshot "$@" >"$dir/out" 2>&1; }
lab build "$(pg_dsn prod)" --into "$dir/lab" --fast
is $? 0 "build" || diag <"$dir/out"
lab freeze "$dir/lab"
is $? 0 "freeze" || diag <"$dir/out"
file=$(ls "$dir"/lab/base/*/pg_filenode.map | head -n 1)
sum=$(cksum <"$file")
echo damaged >"$file"
lab reset "$dir/lab"
is $? 0 "reset" || diag <"$dir/out"
is "$(cksum <"$file")" "$sum" "puts the files back"
lab status "$dir/lab"
is $? 0 "status proves it" || diag <"$dir/out"
is "$(find "$dir/lab" ! -user "$(id -un)" | wc -l)" 0 "all of it is this user's"

replay_target prod
pg_psql prod 'GRANT ALL ON t TO replayer'
replay_capture "$dir/a.rcap" <<'SCRIPT'
session 1 0 0
1 10 1 II simple 0 | UPDATE t SET v = v + 1 WHERE id = 1
SCRIPT
"$REPROD" replay "$dir/a.rcap" --target "$(replay_dsn prod)" --json >"$dir/r.json" 2>"$dir/out"
is $? 0 "replay" || diag <"$dir/out"
is "$(replay_get "$dir/r.json" sent)/$(replay_get "$dir/r.json" failed)" 1/0 "sends what was captured"
done_testing
