-- Production: two million accounts, a summary that a job refreshes, small side tables.
CREATE TABLE accounts (
	id integer NOT NULL,
	branch integer NOT NULL,
	balance integer NOT NULL,
	note text NOT NULL
);
INSERT INTO accounts
SELECT i, i % 500, 1000 + i % 977, repeat(chr(97 + i % 26), 24)
FROM generate_series(1, 2000000) AS i;
ALTER TABLE accounts ADD PRIMARY KEY (id);

CREATE TABLE branch_totals (
	branch integer PRIMARY KEY,
	accounts bigint NOT NULL,
	balance bigint NOT NULL,
	digest bigint NOT NULL
);
CREATE TABLE web_sessions (
	id serial PRIMARY KEY,
	expires_at timestamptz NOT NULL
);
INSERT INTO web_sessions (expires_at)
SELECT now() + i * interval '1 second' FROM generate_series(1, 20000) AS i;
CREATE TABLE metrics (
	taken_at timestamptz NOT NULL DEFAULT now(),
	connections integer NOT NULL
);
-- So that the counters of the load are not reported after ANALYZE, as if it were stale at once.
SELECT pg_stat_force_next_flush();
VACUUM ANALYZE;
