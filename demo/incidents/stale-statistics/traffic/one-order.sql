\set id random(1, 500000)
SELECT id, status, amount FROM orders WHERE id = :id;
