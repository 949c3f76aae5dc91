\set status random(3, 6)
SELECT count(*), sum(o.amount - r.fee) FROM orders o JOIN returns r ON r.order_number = o.number WHERE o.status = :status AND r.status = :status;
