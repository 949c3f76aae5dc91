-- The import of a partner's orders, with a status that nobody had before. Too few rows for
-- autovacuum's analyze threshold (10 % of the table), so the planner does not learn of them.
INSERT INTO orders
SELECT 500000 + i, 6, 'order-' || 500000 + i, 100 + i % 997
FROM generate_series(1, 20000) AS i;
INSERT INTO returns (status, order_number, fee)
SELECT 6, 'order-' || 500000 + i * 333, 5 + i % 7
FROM generate_series(1, 60) AS i;
