\set id random(1, 500000)
UPDATE orders SET amount = amount + 1 WHERE id = :id;
