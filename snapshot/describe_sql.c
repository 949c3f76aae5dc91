#include "snapshot/describe_sql.h"

#define GRANT_MONITOR "GRANT pg_monitor TO CURRENT_USER"
#define GRANT_STATS "GRANT pg_read_all_data TO CURRENT_USER (14+), or GRANT SELECT on the tables"

/* Schemas of users; the mark's own schema is ours. */
#define USER_SCHEMAS(n)                                                                            \
	n ".nspname NOT IN ('pg_catalog', 'information_schema', 'reprod') AND " n                  \
	  ".nspname NOT LIKE 'pg\\_toast%' AND " n ".nspname NOT LIKE 'pg\\_temp%'"

/* Somebody else holds the relation exclusively, or waits to: asking for its size would
 * queue behind either. */
#define IS_LOCKED(oid)                                                                             \
	"EXISTS (SELECT FROM pg_catalog.pg_locks l WHERE l.relation = " oid                        \
	" AND l.mode = 'AccessExclusiveLock'"                                                      \
	" AND l.pid <> pg_backend_pid()"                                                           \
	" AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database()))"

/* Settings whose values cannot hold a secret: numbers, switches and enumerations of
 * the categories that plans, memory and vacuum depend on, and a few named texts. */
#define HARMLESS_SETTINGS(t)                                                                       \
	"((" t ".vartype IN ('bool', 'integer', 'real', 'enum') AND (" t                           \
	".category LIKE 'Query Tuning%' OR " t ".category LIKE 'Resource Usage%' OR " t            \
	".category LIKE 'Autovacuum%' OR " t ".category LIKE 'Write-Ahead Log%' OR " t             \
	".category LIKE 'Statistics%' OR " t ".category LIKE 'Client Connection Defaults%' OR " t  \
	".category LIKE 'Lock Management%' OR " t ".category LIKE 'Connections%' OR " t            \
	".category LIKE 'Preset%'))"                                                               \
	" OR " t                                                                                   \
	".name IN ('TimeZone', 'lc_collate', 'lc_ctype', 'server_encoding', 'shared_preload_libraries'))"

#define INTS                                                                                       \
	"'int2'::regtype, 'int4'::regtype, 'int8'::regtype, 'numeric'::regtype, 'float4'::regtype, 'float8'::regtype"
#define TIMES "'date'::regtype, 'timestamp'::regtype, 'timestamptz'::regtype"

/* Relative gaps between neighbouring histogram bounds, which sum up to 1; computed
 * here so that the bounds stay in the server. Values that are not finite have an n. */
#define BOUNDS "s.histogram_bounds::text"
#define IS_FINITE BOUNDS " IS NOT NULL AND position('n' IN lower(" BOUNDS ")) = 0"
#define GAPS(type, gap, whole)                                                                     \
	"(SELECT array_agg(round((" gap " / nullif(" whole                                         \
	", 0))::numeric, 5)) FROM (SELECT " BOUNDS "::" type                                       \
	" AS b OFFSET 0) a, unnest(b[:cardinality(b) - 1], b[2:]) AS u (p, q))"
#define NUMBER_GAPS GAPS("float8[]", "(q - p)", "(b[cardinality(b)] - b[1])")
#define TIME_GAPS                                                                                  \
	GAPS("timestamptz[]", "extract(epoch FROM q - p)",                                         \
		"extract(epoch FROM b[cardinality(b)] - b[1])")

/* Columns of pg_stat_user_tables; n_ins_since_vacuum came with 13. */
#define ACTIVITY_SQL(inserted_since_vacuum)                                                               \
	"SELECT schemaname, relname, n_live_tup, n_dead_tup, n_mod_since_analyze, " inserted_since_vacuum \
	", n_tup_ins, n_tup_upd, n_tup_del, n_tup_hot_upd, seq_scan, idx_scan,"                           \
	" extract(epoch FROM last_vacuum), extract(epoch FROM last_autovacuum),"                          \
	" extract(epoch FROM last_analyze), extract(epoch FROM last_autoanalyze),"                        \
	" vacuum_count + autovacuum_count, analyze_count + autoanalyze_count"                             \
	" FROM pg_stat_user_tables WHERE schemaname <> 'reprod' ORDER BY 1, 2"

#define ACTIVITY_FIELDS                                                                            \
	{                                                                                          \
		{ "schema", FIELD_NAME }, { "name", FIELD_NAME }, { "live", FIELD_NUMBER },        \
			{ "dead", FIELD_NUMBER }, { "modified_since_analyze", FIELD_NUMBER },      \
			{ "inserted_since_vacuum", FIELD_NUMBER }, { "inserted", FIELD_NUMBER },   \
			{ "updated", FIELD_NUMBER }, { "deleted", FIELD_NUMBER },                  \
			{ "hot_updated", FIELD_NUMBER }, { "seq_scans", FIELD_NUMBER },            \
			{ "index_scans", FIELD_NUMBER }, { "last_vacuum", FIELD_TIME },            \
			{ "last_autovacuum", FIELD_TIME }, { "last_analyze", FIELD_TIME },         \
			{ "last_autoanalyze", FIELD_TIME }, { "vacuums", FIELD_NUMBER },           \
		{                                                                                  \
			"analyzes", FIELD_NUMBER                                                   \
		}                                                                                  \
	}

const struct question describe_questions[] = {
	{ "identity", NULL, 0, 0,
		"SELECT current_setting('server_version_num'), current_setting('server_version'), current_database(),"
		" encode(sha256(system_identifier::text::bytea), 'hex'), pg_is_in_recovery(),"
		" current_setting('block_size'), current_setting('data_checksums'),"
		" (SELECT pg_encoding_to_char(encoding) FROM pg_database WHERE datname = current_database()),"
		" (SELECT datcollate FROM pg_database WHERE datname = current_database()),"
		" pg_database_size(current_database()),"
		" CASE WHEN pg_is_in_recovery() THEN pg_last_wal_replay_lsn() ELSE pg_current_wal_lsn() END,"
		" extract(epoch FROM clock_timestamp()), extract(epoch FROM pg_postmaster_start_time()),"
		" (SELECT extract(epoch FROM stats_reset) FROM pg_stat_database WHERE datname = current_database())"
		" FROM pg_control_system()",
		{ { "server_version_num", FIELD_NUMBER }, { "server_version", FIELD_NAME },
			{ "database", FIELD_NAME }, { "source_id", FIELD_NAME },
			{ "is_in_recovery", FIELD_FLAG }, { "block_size", FIELD_NUMBER },
			{ "data_checksums", FIELD_FLAG }, { "encoding", FIELD_NAME },
			{ "collation", FIELD_NAME }, { "database_bytes", FIELD_NUMBER },
			{ "wal_lsn", FIELD_NAME }, { "server_time", FIELD_TIME },
			{ "started_at", FIELD_TIME }, { "stats_reset", FIELD_TIME } },
		GRANT_MONITOR },
	{ "settings", "settings", 0, 0,
		"SELECT name, setting, unit, source, pending_restart FROM pg_settings s WHERE " HARMLESS_SETTINGS(
			"s") " ORDER BY name COLLATE \"C\"",
		{ { "name", FIELD_NAME }, { "value", FIELD_NAME }, { "unit", FIELD_NAME },
			{ "source", FIELD_NAME }, { "is_pending_restart", FIELD_FLAG } },
		GRANT_MONITOR },
	{ "settings", "overrides", 0, 0,
		"SELECT coalesce(r.rolname, ''), coalesce(d.datname, ''), s.name, substr(c.item, length(s.name) + 2)"
		" FROM pg_db_role_setting x LEFT JOIN pg_roles r ON r.oid = x.setrole"
		" LEFT JOIN pg_database d ON d.oid = x.setdatabase, unnest(x.setconfig) AS c (item)"
		" JOIN pg_settings s ON s.name = split_part(c.item, '=', 1) WHERE " HARMLESS_SETTINGS(
			"s") " AND (d.datname IS NULL OR d.datname = current_database()) ORDER BY 1, 2, 3",
		{ { "role", FIELD_NAME }, { "database", FIELD_NAME }, { "name", FIELD_NAME },
			{ "value", FIELD_NAME } },
		GRANT_MONITOR },
	{ "relations", "relations", 0, 0,
		"SELECT n.nspname, c.relname, c.relkind, c.relpersistence, c.relpages, c.reltuples, c.relallvisible,"
		" age(c.relfrozenxid), c.locked,"
		" CASE WHEN NOT c.locked THEN pg_relation_size(c.oid) / current_setting('block_size')::bigint END,"
		" CASE WHEN NOT c.locked AND c.reltoastrelid <> 0 AND NOT " IS_LOCKED(
			"c.reltoastrelid") " THEN pg_relation_size(c.reltoastrelid)"
					   " / current_setting('block_size')::bigint END,"
					   " (SELECT option_value FROM pg_options_to_table(c.reloptions) WHERE option_name = 'fillfactor'),"
					   " (SELECT option_value FROM pg_options_to_table(c.reloptions) WHERE option_name = 'autovacuum_enabled'),"
					   " pn.nspname, p.relname, c.relhassubclass, c.relrowsecurity"
					   " FROM (SELECT *, " IS_LOCKED(
						   "pg_class.oid") " AS locked FROM pg_class) c"
								   " JOIN pg_namespace n ON n.oid = c.relnamespace"
								   " LEFT JOIN pg_inherits i ON i.inhrelid = c.oid AND i.inhseqno = 1"
								   " LEFT JOIN pg_class p ON p.oid = i.inhparent LEFT JOIN pg_namespace pn ON pn.oid = p.relnamespace"
								   " WHERE c.relkind IN ('r', 'p', 'm') AND " USER_SCHEMAS(
									   "n") " ORDER BY 1, 2",
		{ { "schema", FIELD_NAME }, { "name", FIELD_NAME }, { "kind", FIELD_NAME },
			{ "persistence", FIELD_NAME }, { "relpages", FIELD_NUMBER },
			{ "reltuples", FIELD_NUMBER }, { "relallvisible", FIELD_NUMBER },
			{ "xid_age", FIELD_NUMBER }, { "is_locked", FIELD_FLAG },
			{ "pages", FIELD_NUMBER }, { "toast_pages", FIELD_NUMBER },
			{ "fillfactor", FIELD_NUMBER }, { "autovacuum_enabled", FIELD_FLAG },
			{ "parent_schema", FIELD_NAME }, { "parent", FIELD_NAME },
			{ "has_children", FIELD_FLAG }, { "has_row_security", FIELD_FLAG } },
		GRANT_MONITOR },
	{ "activity", "tables", 13, 0, ACTIVITY_SQL("n_ins_since_vacuum"), ACTIVITY_FIELDS,
		GRANT_MONITOR },
	{ "activity", "tables", 0, 12, ACTIVITY_SQL("NULL"), ACTIVITY_FIELDS, GRANT_MONITOR },
	{ "indexes", "indexes", 0, 0,
		"SELECT n.nspname, t.relname, c.relname, a.amname, i.indisunique, i.indisprimary, i.indisvalid,"
		" i.indpred IS NOT NULL, i.indexprs IS NOT NULL, c.relpages, c.reltuples,"
		" CASE WHEN NOT t.locked AND NOT " IS_LOCKED(
			"c.oid") " THEN pg_relation_size(c.oid) / current_setting('block_size')::bigint END,"
				 " (SELECT string_agg(coalesce(quote_ident(att.attname), '(expression)'), ', ' ORDER BY k.ord)"
				 " FROM unnest(i.indkey::int2[]) WITH ORDINALITY AS k (num, ord)"
				 " LEFT JOIN pg_attribute att ON att.attrelid = i.indrelid AND att.attnum = k.num AND k.num > 0),"
				 " i.indnkeyatts, s.idx_scan"
				 " FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid"
				 " JOIN (SELECT *, " IS_LOCKED(
					 "pg_class.oid") " AS locked FROM pg_class) t ON t.oid = i.indrelid"
							 " JOIN pg_namespace n ON n.oid = c.relnamespace JOIN pg_am a ON a.oid = c.relam"
							 " LEFT JOIN pg_stat_user_indexes s ON s.indexrelid = c.oid WHERE " USER_SCHEMAS(
								 "n") " ORDER BY 1, 2, 3",
		{ { "schema", FIELD_NAME }, { "table", FIELD_NAME }, { "name", FIELD_NAME },
			{ "method", FIELD_NAME }, { "is_unique", FIELD_FLAG },
			{ "is_primary", FIELD_FLAG }, { "is_valid", FIELD_FLAG },
			{ "is_partial", FIELD_FLAG }, { "has_expressions", FIELD_FLAG },
			{ "relpages", FIELD_NUMBER }, { "reltuples", FIELD_NUMBER },
			{ "pages", FIELD_NUMBER }, { "columns", FIELD_NAME },
			{ "key_columns", FIELD_NUMBER }, { "scans", FIELD_NUMBER } },
		GRANT_MONITOR },
	{ "columns", "columns", 0, 0,
		"SELECT n.nspname, c.relname, a.attname, format_type(a.atttypid, a.atttypmod), a.attnotnull, a.attstattarget,"
		" s.null_frac, s.avg_width, s.n_distinct, s.correlation, s.most_common_freqs::text,"
		" coalesce(array_length(s.histogram_bounds::text::text[], 1), 0),"
		" CASE WHEN a.atttypid IN (" INTS ") AND " IS_FINITE " THEN " NUMBER_GAPS
		" WHEN a.atttypid IN (" TIMES ") AND " IS_FINITE " THEN " TIME_GAPS " END::text,"
		" s.attname IS NOT NULL"
		" FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid JOIN pg_namespace n ON n.oid = c.relnamespace"
		" LEFT JOIN pg_stats s ON s.schemaname = n.nspname AND s.tablename = c.relname AND s.attname = a.attname"
		" AND s.inherited = (c.relkind = 'p')"
		" WHERE c.relkind IN ('r', 'p', 'm') AND a.attnum > 0 AND NOT a.attisdropped AND " USER_SCHEMAS(
			"n") " ORDER BY 1, 2, a.attnum",
		{ { "schema", FIELD_NAME }, { "table", FIELD_NAME }, { "name", FIELD_NAME },
			{ "type", FIELD_NAME }, { "is_not_null", FIELD_FLAG },
			{ "statistics_target", FIELD_NUMBER }, { "null_frac", FIELD_NUMBER },
			{ "avg_width", FIELD_NUMBER }, { "n_distinct", FIELD_NUMBER },
			{ "correlation", FIELD_NUMBER }, { "common_frequencies", FIELD_NUMBERS },
			{ "histogram_bounds", FIELD_NUMBER }, { "histogram_gaps", FIELD_NUMBERS },
			{ "has_statistics", FIELD_FLAG } },
		GRANT_STATS },
	{ "dependencies", "foreign_keys", 0, 0,
		"SELECT cn.nspname, c.relname, pn.nspname, p.relname, cardinality(k.conkey), k.convalidated,"
		" (SELECT string_agg(quote_ident(a.attname), ', ' ORDER BY u.ord) FROM unnest(k.conkey) WITH ORDINALITY"
		" AS u (num, ord) JOIN pg_attribute a ON a.attrelid = k.conrelid AND a.attnum = u.num)"
		" FROM pg_constraint k JOIN pg_class c ON c.oid = k.conrelid JOIN pg_namespace cn ON cn.oid = c.relnamespace"
		" JOIN pg_class p ON p.oid = k.confrelid JOIN pg_namespace pn ON pn.oid = p.relnamespace"
		" WHERE k.contype = 'f' AND " USER_SCHEMAS("cn") " ORDER BY 1, 2, 7",
		{ { "schema", FIELD_NAME }, { "table", FIELD_NAME },
			{ "parent_schema", FIELD_NAME }, { "parent", FIELD_NAME },
			{ "columns_count", FIELD_NUMBER }, { "is_validated", FIELD_FLAG },
			{ "columns", FIELD_NAME } },
		GRANT_MONITOR },
	{ "dependencies", "extended_statistics", 0, 0,
		"SELECT n.nspname, c.relname, x.stxname, cardinality(x.stxkeys::int2[]) FROM pg_statistic_ext x"
		" JOIN pg_class c ON c.oid = x.stxrelid JOIN pg_namespace n ON n.oid = c.relnamespace WHERE " USER_SCHEMAS(
			"n") " ORDER BY 1, 2, 3",
		{ { "schema", FIELD_NAME }, { "table", FIELD_NAME }, { "name", FIELD_NAME },
			{ "columns_count", FIELD_NUMBER } },
		GRANT_MONITOR },
	{ "horizon", NULL, 0, 0,
		"SELECT (SELECT max(age(backend_xmin)) FROM pg_stat_activity WHERE pid <> pg_backend_pid()),"
		" (SELECT extract(epoch FROM max(clock_timestamp() - xact_start)) FROM pg_stat_activity"
		" WHERE pid <> pg_backend_pid() AND backend_type = 'client backend'),"
		" (SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend'),"
		" (SELECT count(*) FROM pg_prepared_xacts), (SELECT count(*) FROM pg_replication_slots),"
		" (SELECT max(age(xmin)) FROM pg_replication_slots), age(datfrozenxid)"
		" FROM pg_database WHERE datname = current_database()",
		{ { "oldest_xmin_age", FIELD_NUMBER }, { "oldest_transaction_s", FIELD_NUMBER },
			{ "clients", FIELD_NUMBER }, { "prepared_transactions", FIELD_NUMBER },
			{ "replication_slots", FIELD_NUMBER }, { "slot_xmin_age", FIELD_NUMBER },
			{ "database_xid_age", FIELD_NUMBER } },
		GRANT_MONITOR },
	{ "cache", "tables", 0, 0,
		"SELECT schemaname, relname, heap_blks_read, heap_blks_hit, idx_blks_read, idx_blks_hit"
		" FROM pg_statio_user_tables WHERE schemaname <> 'reprod' ORDER BY 1, 2",
		{ { "schema", FIELD_NAME }, { "name", FIELD_NAME }, { "heap_read", FIELD_NUMBER },
			{ "heap_hit", FIELD_NUMBER }, { "index_read", FIELD_NUMBER },
			{ "index_hit", FIELD_NUMBER } },
		GRANT_MONITOR },
	{ "io", NULL, 0, 16,
		"SELECT checkpoints_timed, checkpoints_req, buffers_checkpoint, buffers_clean, buffers_alloc"
		" FROM pg_stat_bgwriter",
		{ { "checkpoints_timed", FIELD_NUMBER }, { "checkpoints_requested", FIELD_NUMBER },
			{ "buffers_checkpoint", FIELD_NUMBER }, { "buffers_clean", FIELD_NUMBER },
			{ "buffers_allocated", FIELD_NUMBER } },
		GRANT_MONITOR },
	{ "io", NULL, 17, 0,
		"SELECT c.num_timed, c.num_requested, c.buffers_written, b.buffers_clean, b.buffers_alloc"
		" FROM pg_stat_checkpointer c, pg_stat_bgwriter b",
		{ { "checkpoints_timed", FIELD_NUMBER }, { "checkpoints_requested", FIELD_NUMBER },
			{ "buffers_checkpoint", FIELD_NUMBER }, { "buffers_clean", FIELD_NUMBER },
			{ "buffers_allocated", FIELD_NUMBER } },
		GRANT_MONITOR },
	{ "extensions", "extensions", 0, 0,
		"SELECT e.extname, e.extversion FROM pg_extension e ORDER BY 1",
		{ { "name", FIELD_NAME }, { "version", FIELD_NAME } }, GRANT_MONITOR },
	{ "roles", NULL, 0, 0,
		"SELECT rolname, rolsuper, rolbypassrls, pg_has_role(current_user, 'pg_monitor', 'MEMBER'),"
		" (SELECT count(*) FROM pg_policy), (SELECT count(*) FROM pg_roles WHERE rolcanlogin)"
		" FROM pg_roles WHERE rolname = current_user",
		{ { "described_by", FIELD_NAME }, { "is_superuser", FIELD_FLAG },
			{ "bypasses_row_security", FIELD_FLAG }, { "is_monitor", FIELD_FLAG },
			{ "policies", FIELD_NUMBER }, { "login_roles", FIELD_NUMBER } },
		GRANT_MONITOR },
};

const size_t describe_question_count = LENGTH(describe_questions);
