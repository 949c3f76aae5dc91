UPDATE mails SET is_sent = true WHERE id IN (SELECT id FROM mails WHERE NOT is_sent ORDER BY id LIMIT 100);
