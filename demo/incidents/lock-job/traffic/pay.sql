\set id random(1, 2000000)
\set amount random(-500, 500)
BEGIN;
SELECT balance FROM accounts WHERE id = :id;
UPDATE accounts SET balance = balance + :amount WHERE id = :id;
COMMIT;
