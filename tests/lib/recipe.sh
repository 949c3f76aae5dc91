# recipe.sh - a planted job for the tests of recipe; source it after pg.sh and replay.sh.
#
#   recipe_scene DIR   a capture of four sessions that a lock stalls for 0.4 s five times,
#                      what correlate would say of it, and the job that does it
#   recipe_target NAME a server with the table, marked and frozen; sets recipe_dsn

recipe_at() { # MS, since the script's midnight
	awk -v ms="$1" 'BEGIN { printf "2026-01-01T00:00:%06.3fZ", ms / 1000 }'
}

recipe_scene() { # DIR
	local dir=$1 k from
	awk 'BEGIN {
		for (s = 1; s <= 4; s++) {
			print "session", s, 0, 0
			for (t = 5 * s; t < 8600; ) {
				phase = (t + 400) % 1400 - 1000 # stalls from 600 on, every 1400
				wait = phase >= 0 && phase < 400 && t > 500 && t < 7000 ? 400 - phase : 0
				print s, t, wait + 0.5, "II", "unnamed", 1, "bind=" s, "|", "UPDATE t SET v = v + 1 WHERE id = $1"
				t += wait + 20
			}
		}
	}' | replay_capture "$dir/scene.rcap"
	{
		printf '{"conditions": [{"id": "job:lock", "kind": "job", "verdict": "lines up", "group": 1, "lag_s": 0.02, "occurrences": {"times": ['
		for k in 0 1 2 3 4; do
			from=$((600 + 1400 * k))
			printf '%s{"start": "%s", "end": "%s", "hit": true}' "${k/#0/}${k:+}" "$(recipe_at $from)" "$(recipe_at $((from + 400)))" |
				sed 's/^[1-9]/, /; s/^, {/, {/'
		done
		printf ']}}], "spikes": []}\n'
	} >"$dir/correlation.json"
	echo 'BEGIN; LOCK TABLE t IN EXCLUSIVE MODE; SELECT pg_sleep(0.4); COMMIT;' >"$dir/lock.sql"
}

recipe_target() { # NAME
	pg_start "$1"
	pg_psql "$1" 'CREATE DATABASE shop'
	pg_psql "$1" 'CREATE TABLE t (id int PRIMARY KEY, v int) WITH (fillfactor = 50);
		INSERT INTO t SELECT i, 0 FROM generate_series(1, 100) i' shop
	recipe_dsn=$(pg_dsn "$1" shop)
	"$REPROD" snapshot mark "$recipe_dsn" --name shop -q >/dev/null && "$REPROD" snapshot freeze "$recipe_dsn" -q >/dev/null
}
