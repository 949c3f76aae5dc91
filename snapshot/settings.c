#include "snapshot/settings.h"

#include <ctype.h>
#include <stdlib.h>

#include "core/base/file.h"

#define CONF_MAX (4 << 20)

/* Names from pg_settings of 12 to 18. A star stands for any end. */
static const char *const kept[] = {
	/* planner */
	"enable_*",
	"geqo*",
	"jit",
	"jit_above_cost",
	"jit_inline_above_cost",
	"jit_optimize_above_cost",
	"jit_expressions",
	"jit_tuple_deforming",
	"constraint_exclusion",
	"cursor_tuple_fraction",
	"default_statistics_target",
	"from_collapse_limit",
	"join_collapse_limit",
	"plan_cache_mode",
	"recursive_worktable_factor",
	"cpu_*",
	"effective_cache_size",
	"min_parallel_*",
	"parallel_*",
	"random_page_cost",
	"seq_page_cost",
	"force_parallel_mode",
	"debug_parallel_query",
	"compute_query_id",
	/* memory, workers, disk */
	"shared_buffers",
	"work_mem",
	"hash_mem_multiplier",
	"maintenance_work_mem",
	"autovacuum_work_mem",
	"temp_buffers",
	"logical_decoding_work_mem",
	"max_stack_depth",
	"max_prepared_transactions",
	"min_dynamic_shared_memory",
	"vacuum_buffer_usage_limit",
	"effective_io_concurrency",
	"maintenance_io_concurrency",
	"io_method",
	"io_workers",
	"io_max_concurrency",
	"io_combine_limit",
	"io_max_combine_limit",
	"max_parallel_*",
	"max_worker_processes",
	"backend_flush_after",
	"bgwriter_*",
	"temp_file_limit",
	"max_files_per_process",
	"old_snapshot_threshold",
	"transaction_buffers",
	"subtransaction_buffers",
	"commit_timestamp_buffers",
	"multixact_*_buffers",
	"notify_buffers",
	"serializable_buffers",
	/* vacuum (autovacuum itself is pinned by neutralise) */
	"autovacuum_*",
	"vacuum_*",
	/* WAL */
	"wal_level",
	"fsync",
	"full_page_writes",
	"synchronous_commit",
	"wal_buffers",
	"wal_compression",
	"wal_init_zero",
	"wal_recycle",
	"wal_log_hints",
	"wal_sync_method",
	"wal_skip_threshold",
	"wal_writer_*",
	"commit_delay",
	"commit_siblings",
	"checkpoint_*",
	"max_wal_size",
	"min_wal_size",
	"track_commit_timestamp",
	/* waits and sessions */
	"max_connections",
	"superuser_reserved_connections",
	"reserved_connections",
	"deadlock_timeout",
	"max_locks_per_transaction",
	"max_pred_locks_*",
	"lock_timeout",
	"statement_timeout",
	"transaction_timeout",
	"idle_in_transaction_session_timeout",
	"idle_session_timeout",
	"default_transaction_isolation",
	"default_transaction_deferrable",
	"client_connection_check_interval",
	/* meaning of statements */
	"search_path",
	"row_security",
	"TimeZone",
	"DateStyle",
	"IntervalStyle",
	"default_text_search_config",
	"extra_float_digits",
	"bytea_output",
	"default_toast_compression",
	"gin_*",
	"array_nulls",
	"backslash_quote",
	"escape_string_warning",
	"standard_conforming_strings",
	"synchronize_seqscans",
	"transform_null_equals",
	"lo_compat_privileges",
	"quote_all_identifiers",
	"check_function_bodies",
	"createrole_self_grant",
	"xmlbinary",
	"xmloption",
	/* what is counted */
	"track_*",
	"stats_fetch_consistency",
	/* extensions that may be loaded */
	"pg_stat_statements.*",
	"auto_explain.*",
	"pg_wait_sampling.*",
	"pg_hint_plan.*",
};

static bool fits(const char *pattern, const char *name)
{
	const char *star = strchr(pattern, '*');

	if (!star)
		return strcasecmp(pattern, name) == 0;
	size_t before = (size_t)(star - pattern), after = strlen(star + 1), n = strlen(name);
	return n >= before + after && strncasecmp(pattern, name, before) == 0 &&
	       strcasecmp(star + 1, name + n - after) == 0;
}

bool settings_is_kept(const char *name)
{
	for (size_t i = 0; i < LENGTH(kept); i++)
		if (fits(kept[i], name))
			return true;
	return false;
}

struct json *settings_of_server(struct pg *c, struct err *e)
{
	CLEANUP(pg_rows_cleanup)
	struct pg_rows *rows = pg_query(c, e,
		"SELECT name, current_setting(name) FROM pg_catalog.pg_settings "
		"WHERE context <> 'internal' AND (setting IS DISTINCT FROM boot_val "
		"  OR name = 'shared_preload_libraries') "
		"AND source NOT IN ('client', 'session', 'interactive', 'user', 'database user', "
		"  'database', 'default') ORDER BY name",
		NULL);
	struct json *settings;

	if (!rows)
		return NULL;
	settings = json_object();
	for (size_t i = 0; i < pg_row_count(rows); i++) {
		const char *name = pg_cell(rows, i, 0), *value = pg_cell(rows, i, 1);

		if (value &&
			(settings_is_kept(name) || strcmp(name, "shared_preload_libraries") == 0))
			json_set_text(settings, name, value);
	}
	return settings;
}

/* ---- the syntax of postgresql.conf (PostgreSQL manual, 20.1.2) */

static const char *skip_blanks(const char *p)
{
	while (*p == ' ' || *p == '\t' || *p == '\r')
		p++;
	return p;
}

/* 'it''s', 'back\'slash' or a bare word; false at a syntax error. */
static bool read_value(const char *p, struct buf *value)
{
	if (*p != '\'') {
		size_t n = strcspn(p, " \t\r#");

		buf_add(value, p, n);
		return n > 0;
	}
	for (p++; *p; p++) {
		if (*p == '\'' && p[1] != '\'')
			return true;
		if ((*p == '\'' || *p == '\\') && p[1])
			p++;
		buf_add_byte(value, (unsigned char)*p);
	}
	return false;
}

static void read_line(const char *line, struct json *into)
{
	struct buf value = { 0 };
	char name[128];
	const char *p = skip_blanks(line);
	size_t n = 0;

	while (isalnum((unsigned char)p[n]) || p[n] == '_' || p[n] == '.' || p[n] == '$')
		n++;
	if (n == 0 || n >= sizeof(name))
		return;
	/* Names fold case, so Archive_Mode is archive_mode. */
	for (size_t i = 0; i < n; i++)
		name[i] = (char)tolower((unsigned char)p[i]);
	name[n] = '\0';
	p = skip_blanks(p + n);
	if (*p == '=')
		p = skip_blanks(p + 1);
	if (read_value(p, &value))
		json_set_text(into, name, buf_text(&value));
	buf_free(&value);
}

bool settings_read_file(const char *path, struct json *into, struct err *e)
{
	struct buf text = { 0 };

	if (!file_exists(path))
		return true;
	if (!file_read(path, CONF_MAX, &text, e)) {
		buf_free(&text);
		return false;
	}
	for (char *line = text.p; line && *line;) {
		char *end = strchr(line, '\n');

		if (end)
			*end = '\0';
		read_line(line, into);
		line = end ? end + 1 : NULL;
	}
	buf_free(&text);
	return true;
}

struct json *settings_of_dir(const char *dir, struct err *e)
{
	CLEANUP(json_cleanup) struct json *all = json_object();
	static const char *const names[] = { "postgresql.conf", "postgresql.auto.conf" };
	struct json *settings;

	for (size_t i = 0; i < LENGTH(names); i++) {
		char path[1200];

		snprintf(path, sizeof(path), "%s/%s", dir, names[i]);
		if (!settings_read_file(path, all, e))
			return NULL;
	}
	settings = json_object();
	for (size_t i = 0; i < json_count(all); i++) {
		struct json *value;
		const char *name = json_key_at(all, i, &value);

		if (settings_is_kept(name) || strcasecmp(name, "shared_preload_libraries") == 0)
			json_set_text(settings, name, json_text(value, ""));
	}
	return settings;
}

void settings_write(const struct json *settings, struct buf *to)
{
	for (size_t i = 0; i < json_count(settings); i++) {
		struct json *value;
		const char *name = json_key_at(settings, i, &value);

		buf_addf(to, "%s = '", name);
		for (const char *p = json_text(value, ""); *p; p++) {
			/* A newline would start another setting. */
			if (*p == '\n' || *p == '\r')
				continue;
			if (*p == '\'' || *p == '\\')
				buf_add_byte(to, (unsigned char)*p);
			buf_add_byte(to, (unsigned char)*p);
		}
		buf_add_text(to, "'\n");
	}
}
