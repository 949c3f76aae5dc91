# incident.sh - a made-up incident that plays in seconds; source it after tap.sh.
#
#   incident_write DIR [SECONDS]   a job locks the one table for 0.4 s every 1.5 s
#   incident_below PID             every process below PID, one number a line

incident_write() { # DIR [SECONDS]
	local dir=$1
	mkdir -p "$dir/traffic" "$dir/jobs"
	cat >"$dir/incident.json" <<-JSON
		{
		  "title": "a job holds the table for 0.4 s every 1.5 s",
		  "production": {"seconds": ${2:-9}, "clients": 4, "rate_per_s": 120, "protocol": "prepared",
		    "traffic": [{"file": "traffic/pay.sql"}]},
		  "jobs": [{"name": "lock", "file": "jobs/lock.sql", "every_s": 1.5, "at_s": 1, "innocent": false}],
		  "ablate": ["job:lock"],
		  "truth": {"condition": "job:lock", "necessary": ["job:lock"], "route": "UPDATE accounts SET balance"}
		}
	JSON
	cat >"$dir/schema.sql" <<-'SQL'
		CREATE TABLE accounts AS SELECT i AS id, 0 AS balance FROM generate_series(1, 1000) AS i;
		ALTER TABLE accounts ADD PRIMARY KEY (id);
		ANALYZE;
	SQL
	cat >"$dir/traffic/pay.sql" <<-'SQL'
		\set id random(1, 1000)
		UPDATE accounts SET balance = balance + 1 WHERE id = :id;
	SQL
	echo 'BEGIN; LOCK TABLE accounts IN ACCESS EXCLUSIVE MODE; SELECT pg_sleep(0.4); COMMIT;' >"$dir/jobs/lock.sql"
	chmod -R a+rX "$dir"
}

incident_below() { # PID
	ps -e -o pid= -o ppid= | awk -v root="$1" '{ parent[$1] = $2 }
		END { for (p in parent) { for (q = p; q in parent && q != root; q = parent[q]); if (q == root && p != root) print p } }'
}
