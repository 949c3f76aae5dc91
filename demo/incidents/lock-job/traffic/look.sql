\set id random(1, 2000000)
SELECT id, branch, balance FROM accounts WHERE id = :id;
