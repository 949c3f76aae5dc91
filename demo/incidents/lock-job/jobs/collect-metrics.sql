INSERT INTO metrics (connections) SELECT count(*) FROM pg_stat_activity;
