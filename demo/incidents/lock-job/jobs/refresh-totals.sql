-- Totals per branch must add up, so nobody may change an account meanwhile.
BEGIN;
LOCK TABLE accounts IN SHARE ROW EXCLUSIVE MODE;
DELETE FROM branch_totals;
INSERT INTO branch_totals (branch, accounts, balance, digest)
SELECT branch, count(*), sum(balance), sum(hashtext(note || id))
FROM accounts
GROUP BY branch;
COMMIT;
