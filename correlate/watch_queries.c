/* The queries of watch_sql.h, in the order they are asked: what is cheap and what explains
 * most comes first, since a round that takes too long leaves out its end. */
#include "correlate/watch_sql.h"

#define COLUMN(name, kind, unit, text)                                                             \
	{                                                                                          \
		name, kind, unit,                                                                  \
		{                                                                                  \
			{                                                                          \
				0, 0, text                                                         \
			}                                                                          \
		}                                                                                  \
	}
#define COUNTER(name, text) COLUMN(name, STATS_COUNTER, "", text)
#define GAUGE(name, unit, text) COLUMN(name, STATS_GAUGE, unit, text)
#define TALLY(name, text) COLUMN(name, STATS_TALLY, "", text)
#define STAMP(name, text) COLUMN(name, STATS_STAMP, "us", text)
#define SINCE(name, kind, unit, min, text)                                                         \
	{                                                                                          \
		name, kind, unit,                                                                  \
		{                                                                                  \
			{                                                                          \
				min, 0, text                                                       \
			}                                                                          \
		}                                                                                  \
	}
#define UNTIL(name, kind, unit, max, text)                                                         \
	{                                                                                          \
		name, kind, unit,                                                                  \
		{                                                                                  \
			{                                                                          \
				0, max, text                                                       \
			}                                                                          \
		}                                                                                  \
	}
#define SPLIT(name, kind, unit, max, old, text)                                                    \
	{                                                                                          \
		name, kind, unit,                                                                  \
		{                                                                                  \
			{ 0, max, old },                                                           \
			{                                                                          \
				(max) + 1, 0, text                                                 \
			}                                                                          \
		}                                                                                  \
	}

#define NOW_LSN                                                                                    \
	"CASE WHEN pg_is_in_recovery() THEN pg_last_wal_receive_lsn() ELSE pg_current_wal_lsn() END"

static const struct watch_column server[] = {
	STAMP("started", "pg_postmaster_start_time()"),
	STAMP("conf_loaded", "pg_conf_load_time()"),
	STAMP("clock", "clock_timestamp()"),
	GAUGE("in_recovery", "", "pg_is_in_recovery()::int"),
	{ 0 },
};

static const struct watch_column one_count[] = { GAUGE("count", "", "count(*)"), { 0 } };

static const struct watch_column sessions[] = {
	GAUGE("total", "", "count(*)"),
	GAUGE("oldest_transaction", "ms",
		"coalesce(max(extract(epoch FROM clock_timestamp() - xact_start)), 0) * 1000"),
	GAUGE("oldest_active", "ms",
		"coalesce(max(extract(epoch FROM clock_timestamp() - query_start)) FILTER (WHERE state = 'active'), 0) * 1000"),
	GAUGE("oldest_idle_in_transaction", "ms",
		"coalesce(max(extract(epoch FROM clock_timestamp() - state_change)) FILTER (WHERE state LIKE 'idle in%'), 0) * 1000"),
	GAUGE("oldest_xmin", "xids", "coalesce(max(age(backend_xmin)), 0)"),
	{ 0 },
};

static const struct watch_column locks[] = {
	GAUGE("waiting", "", "count(*) FILTER (WHERE NOT granted)"),
	GAUGE("held", "", "count(*) FILTER (WHERE granted)"),
	GAUGE("blocked", "", "count(DISTINCT pid) FILTER (WHERE NOT granted)"),
	SINCE("longest_wait", STATS_GAUGE, "ms", 14,
		"coalesce(max(extract(epoch FROM clock_timestamp() - waitstart)), 0) * 1000"),
	{ 0 },
};

static const struct watch_column database[] = {
	GAUGE("backends", "", "numbackends"),
	COUNTER("commits", "xact_commit"),
	COUNTER("rollbacks", "xact_rollback"),
	COUNTER("blocks_read", "blks_read"),
	COUNTER("blocks_hit", "blks_hit"),
	COUNTER("rows_returned", "tup_returned"),
	COUNTER("rows_fetched", "tup_fetched"),
	COUNTER("rows_inserted", "tup_inserted"),
	COUNTER("rows_updated", "tup_updated"),
	COUNTER("rows_deleted", "tup_deleted"),
	COUNTER("conflicts", "conflicts"),
	COUNTER("temp_files", "temp_files"),
	COLUMN("temp_bytes", STATS_COUNTER, "bytes", "temp_bytes"),
	COUNTER("deadlocks", "deadlocks"),
	COLUMN("block_read_time", STATS_COUNTER, "us", "blk_read_time * 1000"),
	COLUMN("block_write_time", STATS_COUNTER, "us", "blk_write_time * 1000"),
	SINCE("active_time", STATS_COUNTER, "us", 14, "active_time * 1000"),
	SINCE("idle_in_transaction_time", STATS_COUNTER, "us", 14,
		"idle_in_transaction_time * 1000"),
	SINCE("sessions", STATS_COUNTER, "", 14, "sessions"),
	SINCE("sessions_abandoned", STATS_COUNTER, "", 14, "sessions_abandoned"),
	SINCE("sessions_fatal", STATS_COUNTER, "", 14, "sessions_fatal"),
	SINCE("sessions_killed", STATS_COUNTER, "", 14, "sessions_killed"),
	SINCE("workers_wanted", STATS_COUNTER, "", 18, "parallel_workers_to_launch"),
	SINCE("workers_launched", STATS_COUNTER, "", 18, "parallel_workers_launched"),
	STAMP("stats_reset", "stats_reset"),
	{ 0 },
};

static const struct watch_column checkpoints[] = {
	SPLIT("timed", STATS_TALLY, "", 16, "checkpoints_timed", "num_timed"),
	SPLIT("requested", STATS_TALLY, "", 16, "checkpoints_req", "num_requested"),
	SINCE("done", STATS_TALLY, "", 18, "num_done"),
	SPLIT("write_time", STATS_TALLY, "us", 16, "checkpoint_write_time * 1000",
		"write_time * 1000"),
	SPLIT("sync_time", STATS_TALLY, "us", 16, "checkpoint_sync_time * 1000",
		"sync_time * 1000"),
	SPLIT("buffers", STATS_COUNTER, "", 16, "buffers_checkpoint", "buffers_written"),
	STAMP("stats_reset", "stats_reset"),
	{ 0 },
};

static const struct watch_column bgwriter[] = {
	COUNTER("buffers_clean", "buffers_clean"),
	COUNTER("maxwritten_clean", "maxwritten_clean"),
	COUNTER("buffers_alloc", "buffers_alloc"),
	UNTIL("buffers_backend", STATS_COUNTER, "", 16, "buffers_backend"),
	UNTIL("buffers_backend_fsync", STATS_COUNTER, "", 16, "buffers_backend_fsync"),
	STAMP("stats_reset", "stats_reset"),
	{ 0 },
};

static const struct watch_column wal_position[] = {
	COLUMN("written", STATS_COUNTER, "bytes", "pg_wal_lsn_diff(" NOW_LSN ", '0/0')"),
	COLUMN("replayed", STATS_COUNTER, "bytes",
		"pg_wal_lsn_diff(pg_last_wal_replay_lsn(), '0/0')"),
	{ 0 },
};

static const struct watch_column wal[] = {
	COUNTER("records", "wal_records"),
	COUNTER("full_page_images", "wal_fpi"),
	COLUMN("bytes", STATS_COUNTER, "bytes", "wal_bytes"),
	COUNTER("buffers_full", "wal_buffers_full"),
	UNTIL("writes", STATS_COUNTER, "", 17, "wal_write"),
	UNTIL("syncs", STATS_COUNTER, "", 17, "wal_sync"),
	UNTIL("write_time", STATS_COUNTER, "us", 17, "wal_write_time * 1000"),
	UNTIL("sync_time", STATS_COUNTER, "us", 17, "wal_sync_time * 1000"),
	STAMP("stats_reset", "stats_reset"),
	{ 0 },
};

static const struct watch_column replication[] = {
	GAUGE("standbys", "", "count(*)"),
	GAUGE("replay_lag", "ms", "coalesce(max(extract(epoch FROM replay_lag)), 0) * 1000"),
	GAUGE("flush_lag", "ms", "coalesce(max(extract(epoch FROM flush_lag)), 0) * 1000"),
	GAUGE("behind", "bytes", "coalesce(max(pg_wal_lsn_diff(" NOW_LSN ", replay_lsn)), 0)"),
	GAUGE("replay_delay", "ms",
		"CASE WHEN pg_is_in_recovery() AND pg_last_wal_receive_lsn() IS DISTINCT FROM "
		"pg_last_wal_replay_lsn() THEN extract(epoch FROM clock_timestamp() - "
		"pg_last_xact_replay_timestamp()) * 1000 ELSE 0 END"),
	{ 0 },
};

static const struct watch_column slots[] = {
	GAUGE("total", "", "count(*)"),
	GAUGE("inactive", "", "count(*) FILTER (WHERE NOT active)"),
	GAUGE("retained", "bytes", "coalesce(max(pg_wal_lsn_diff(" NOW_LSN ", restart_lsn)), 0)"),
	{ 0 },
};

static const struct watch_column io[] = {
	COUNTER("reads", "reads"),
	COLUMN("read_time", STATS_COUNTER, "us", "read_time * 1000"),
	COUNTER("writes", "writes"),
	COLUMN("write_time", STATS_COUNTER, "us", "write_time * 1000"),
	COUNTER("writebacks", "writebacks"),
	COUNTER("extends", "extends"),
	COUNTER("hits", "hits"),
	COUNTER("evictions", "evictions"),
	COUNTER("fsyncs", "fsyncs"),
	COLUMN("fsync_time", STATS_COUNTER, "us", "fsync_time * 1000"),
	STAMP("stats_reset", "stats_reset"),
	{ 0 },
};

static const struct watch_column tables[] = {
	COUNTER("seq_scan", "seq_scan"),
	COUNTER("seq_tup_read", "seq_tup_read"),
	COUNTER("idx_scan", "idx_scan"),
	COUNTER("idx_tup_fetch", "idx_tup_fetch"),
	COUNTER("n_tup_ins", "n_tup_ins"),
	COUNTER("n_tup_upd", "n_tup_upd"),
	COUNTER("n_tup_del", "n_tup_del"),
	COUNTER("n_tup_hot_upd", "n_tup_hot_upd"),
	SINCE("n_tup_newpage_upd", STATS_COUNTER, "", 16, "n_tup_newpage_upd"),
	COUNTER("heap_read", "pg_stat_get_blocks_fetched(relid) - pg_stat_get_blocks_hit(relid)"),
	COUNTER("heap_hit", "pg_stat_get_blocks_hit(relid)"),
	GAUGE("n_live_tup", "rows", "n_live_tup"),
	GAUGE("n_dead_tup", "rows", "n_dead_tup"),
	GAUGE("n_mod_since_analyze", "rows", "n_mod_since_analyze"),
	SINCE("n_ins_since_vacuum", STATS_GAUGE, "rows", 13, "n_ins_since_vacuum"),
	TALLY("vacuum", "vacuum_count"),
	TALLY("autovacuum", "autovacuum_count"),
	TALLY("analyze", "analyze_count"),
	TALLY("autoanalyze", "autoanalyze_count"),
	STAMP("last_vacuum", "last_vacuum"),
	STAMP("last_autovacuum", "last_autovacuum"),
	STAMP("last_analyze", "last_analyze"),
	STAMP("last_autoanalyze", "last_autoanalyze"),
	SINCE("vacuum_time", STATS_TALLY, "us", 18, "total_vacuum_time * 1000"),
	SINCE("autovacuum_time", STATS_TALLY, "us", 18, "total_autovacuum_time * 1000"),
	SINCE("analyze_time", STATS_TALLY, "us", 18, "total_analyze_time * 1000"),
	SINCE("autoanalyze_time", STATS_TALLY, "us", 18, "total_autoanalyze_time * 1000"),
	{ 0 },
};

static const struct watch_column indexes[] = {
	COUNTER("idx_scan", "idx_scan"),
	COUNTER("idx_tup_read", "idx_tup_read"),
	COUNTER("idx_tup_fetch", "idx_tup_fetch"),
	COUNTER("blocks_read",
		"pg_stat_get_blocks_fetched(indexrelid) - pg_stat_get_blocks_hit(indexrelid)"),
	COUNTER("blocks_hit", "pg_stat_get_blocks_hit(indexrelid)"),
	{ 0 },
};

/* One query id may have several users and databases. */
static const struct watch_column statements[] = {
	{ "time", STATS_COUNTER, "us",
		{ { 0, 12, "sum(total_time) * 1000" }, { 13, 0, "sum(total_exec_time) * 1000" } } },
	COUNTER("calls", "sum(calls)"),
	COUNTER("rows", "sum(rows)"),
	COUNTER("blocks_hit", "sum(shared_blks_hit)"),
	COUNTER("blocks_read", "sum(shared_blks_read)"),
	COUNTER("blocks_dirtied", "sum(shared_blks_dirtied)"),
	COUNTER("blocks_written", "sum(shared_blks_written)"),
	COUNTER("temp_read", "sum(temp_blks_read)"),
	COUNTER("temp_written", "sum(temp_blks_written)"),
	SINCE("wal_bytes", STATS_COUNTER, "bytes", 13, "sum(wal_bytes)"),
	SINCE("stats_reset", STATS_STAMP, "us", 17, "max(stats_since)"),
	{ 0 },
};

static const struct watch_column settings[] = {
	TALLY("changes", "hashtextextended(coalesce(reset_val, ''), 0)"),
	{ 0 },
};

static const struct watch_column sizes[] = {
	GAUGE("size", "bytes", "pg_relation_size(oid)"),
	{ 0 },
};

static const struct watch_column database_size[] = {
	GAUGE("size", "bytes", "pg_database_size(current_database())"),
	{ 0 },
};

#define RUNNING(kind, view)                                                                        \
	"SELECT '" kind "' AS kind, relid FROM pg_stat_progress_" view                             \
	" WHERE datname = current_database()"
#define RUNNING_12                                                                                 \
	RUNNING("vacuum", "vacuum")                                                                \
	" UNION ALL " RUNNING("create-index", "create_index") " UNION ALL " RUNNING(               \
		"cluster", "cluster")
#define RUNNING_13                                                                                 \
	RUNNING_12 " UNION ALL " RUNNING("analyze",                                                \
		"analyze") " UNION ALL SELECT 'basebackup', 0 FROM pg_stat_progress_basebackup"

const struct watch_query watch_queries[] = {
	{ .name = "server", .flags = STATS_OWN, .columns = server },
	{ .name = "sessions",
		.from = { { 0, 0, "pg_stat_activity" } },
		.columns = sessions,
		.tail = "WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()" },
	{ .name = "activity",
		.flags = STATS_GONE_IS_ZERO,
		.key = "replace(coalesce(state, 'unknown'), ' ', '_')",
		.from = { { 0, 0, "pg_stat_activity" } },
		.columns = one_count,
		.tail = "WHERE backend_type = 'client backend' AND pid <> pg_backend_pid() GROUP BY 1" },
	{ .name = "waits",
		.flags = STATS_GONE_IS_ZERO,
		.key = "wait_event_type || '.' || wait_event",
		.from = { { 0, 0, "pg_stat_activity" } },
		.columns = one_count,
		.tail = "WHERE wait_event_type <> 'Activity' AND pid <> pg_backend_pid() GROUP BY 1" },
	{ .name = "locks",
		.flags = STATS_GONE_IS_ZERO,
		.key = "coalesce(mode, '')",
		.from = { { 0, 0, "pg_locks" } },
		.columns = locks,
		.tail = "WHERE pid <> pg_backend_pid() GROUP BY GROUPING SETS ((mode), ())" },
	{ .name = "database",
		.from = { { 0, 0, "pg_stat_database" } },
		.columns = database,
		.tail = "WHERE datname = current_database()" },
	{ .name = "checkpoints",
		.from = { { 0, 16, "pg_stat_bgwriter" }, { 17, 0, "pg_stat_checkpointer" } },
		.columns = checkpoints },
	{ .name = "bgwriter", .from = { { 0, 0, "pg_stat_bgwriter" } }, .columns = bgwriter },
	{ .name = "wal_position", .columns = wal_position },
	{ .name = "wal", .min = 14, .from = { { 0, 0, "pg_stat_wal" } }, .columns = wal },
	{ .name = "replication",
		.from = { { 0, 0, "pg_stat_replication" } },
		.columns = replication },
	{ .name = "slots", .from = { { 0, 0, "pg_replication_slots" } }, .columns = slots },
	{ .name = "running",
		.flags = STATS_GONE_IS_ZERO,
		.key = "kind || ':' || coalesce(nspname || '.' || relname, 'other')",
		.from = { { 0, 12,
				  "(" RUNNING_12
				  ") r LEFT JOIN pg_class c ON c.oid = relid LEFT JOIN pg_namespace n ON n.oid = relnamespace" },
			{ 13, 0,
				"(" RUNNING_13
				") r LEFT JOIN pg_class c ON c.oid = relid LEFT JOIN pg_namespace n ON n.oid = relnamespace" } },
		.columns = one_count,
		.tail = "GROUP BY 1" },
	{ .name = "io",
		.min = 16,
		.key = "replace(backend_type || '.' || object || '.' || context, ' ', '_')",
		.from = { { 0, 0, "pg_stat_io" } },
		.columns = io,
		.tail = "WHERE coalesce(reads, 0) + coalesce(writes, 0) + coalesce(extends, 0) + "
			"coalesce(hits, 0) + coalesce(fsyncs, 0) > 0" },
	{ .name = "tables",
		.flags = STATS_COLUMN_FIRST,
		.key = "schemaname || '.' || relname",
		.from = { { 0, 0, "pg_stat_user_tables" } },
		.columns = tables,
		.tail = "WHERE schemaname !~ '^pg_temp' ORDER BY coalesce(seq_tup_read, 0) + "
			"coalesce(idx_tup_fetch, 0) + n_tup_ins + n_tup_upd + n_tup_del DESC "
			"LIMIT 2000" },
	{ .name = "indexes",
		.flags = STATS_COLUMN_FIRST,
		.key = "schemaname || '.' || indexrelname",
		.from = { { 0, 0, "pg_stat_user_indexes" } },
		.columns = indexes,
		.tail = "WHERE schemaname !~ '^pg_temp' ORDER BY idx_scan DESC LIMIT 2000" },
	{ .name = "statements",
		.extension = "pg_stat_statements",
		.key = "queryid::text",
		.from = { { 0, 0, "%s.pg_stat_statements(false)" } },
		.columns = statements,
		.tail = "WHERE queryid IS NOT NULL GROUP BY queryid LIMIT 20000",
		.top = 30 },
	{ .name = "settings",
		.flags = STATS_OWN,
		.key = "name",
		.from = { { 0, 0, "pg_settings" } },
		.columns = settings,
		.tail = "WHERE name NOT IN ('in_hot_standby', 'application_name')",
		.every_ns = 60 * NS_PER_S,
		.is_hashed = true },
	{ .name = "relations",
		.flags = STATS_COLUMN_FIRST,
		.key = "name",
		.from = { { 0, 0,
			"(SELECT c.oid, nspname || '.' || relname AS name FROM pg_class c JOIN pg_namespace n "
			"ON n.oid = relnamespace WHERE relkind IN ('r', 'm', 'i') AND nspname !~ '^pg_' "
			"AND nspname <> 'information_schema' ORDER BY relpages DESC LIMIT 50) r" } },
		.columns = sizes,
		.every_ns = 300 * NS_PER_S },
	{ .name = "database_size", .columns = database_size, .every_ns = 300 * NS_PER_S },
	{ 0 },
};
