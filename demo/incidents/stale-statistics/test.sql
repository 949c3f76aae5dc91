-- The team's test database: the same schema, five thousand orders, every status, fresh statistics.
CREATE TABLE orders (
	id integer NOT NULL,
	status integer NOT NULL,
	number text NOT NULL,
	amount integer NOT NULL
);
INSERT INTO orders
SELECT i, CASE WHEN i % 25 < 6 THEN 1 + i % 25 ELSE 0 END, 'order-' || i, 100 + i % 997
FROM generate_series(1, 5000) AS i;
ALTER TABLE orders ADD PRIMARY KEY (id);
CREATE INDEX orders_status ON orders (status);

-- Returns of every status.
CREATE TABLE returns (
	id serial PRIMARY KEY,
	status integer NOT NULL,
	order_number text NOT NULL,
	fee integer NOT NULL
);
INSERT INTO returns (status, order_number, fee)
SELECT o.status, o.number, 5 + o.id % 7
FROM orders o
WHERE o.id / 25 % 10 = 1;
CREATE INDEX returns_status ON returns (status);

CREATE TABLE mails (
	id serial PRIMARY KEY,
	order_id integer NOT NULL,
	is_sent boolean NOT NULL DEFAULT false
);
INSERT INTO mails (order_id) SELECT i FROM generate_series(1, 50) AS i;
CREATE TABLE metrics (
	taken_at timestamptz NOT NULL DEFAULT now(),
	connections integer NOT NULL
);
-- So that the counters of the load are not reported after ANALYZE, as if it were stale at once.
SELECT pg_stat_force_next_flush();
VACUUM ANALYZE;
