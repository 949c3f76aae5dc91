#include "snapshot/diff_facts.h"

#include <string.h>

static double setting_weight(const char *name)
{
	static const struct {
		const char *prefix;
		double weight;
	} weights[] = {
		{ "enable_", 82 },
		{ "random_page_cost", 75 },
		{ "work_mem", 72 },
		{ "hash_mem_multiplier", 68 },
		{ "plan_cache_mode", 75 },
		{ "jit", 66 },
		{ "effective_cache_size", 60 },
		{ "shared_buffers", 62 },
		{ "max_parallel", 60 },
		{ "default_statistics_target", 60 },
		{ "join_collapse", 62 },
		{ "from_collapse", 62 },
		{ "geqo", 55 },
		{ "seq_page_cost", 65 },
		{ "cpu_", 55 },
		{ "parallel_", 55 },
		{ "synchronous_commit", 70 },
		{ "commit_delay", 65 },
		{ "max_connections", 45 },
		{ "autovacuum", 50 },
		{ "vacuum_", 40 },
		{ "temp_buffers", 45 },
		{ "statement_timeout", 40 },
		{ "lock_timeout", 40 },
		{ "idle_in_transaction", 35 },
		{ "wal_", 35 },
		{ "checkpoint", 40 },
		{ "max_wal_size", 40 },
		{ "effective_io", 45 },
		{ "maintenance_work_mem", 30 },
		{ "backend_flush_after", 35 },
		{ "bgwriter", 30 },
		{ "cursor_tuple_fraction", 45 },
		{ "recursive_worktable", 40 },
		{ "constraint_exclusion", 50 },
		{ "default_transaction_isolation", 50 },
		{ "track_io_timing", 25 },
		{ "shared_preload_libraries", 25 },
	};

	for (size_t i = 0; i < LENGTH(weights); i++)
		if (strncmp(name, weights[i].prefix, strlen(weights[i].prefix)) == 0)
			return weights[i].weight;
	return 12;
}

/* Settings that say where the server lives, not how it behaves. */
static bool is_place(const char *name)
{
	static const char *const places[] = { "port", "data_", "in_hot_standby", "server_version",
		"lc_", "listen_", "unix_socket", "log_", "segment_size", "wal_segment_size",
		"block_size", "archive", "max_wal_senders", "max_replication", "wal_level",
		"recovery_", "primary_", "fsync", "max_logical", "shared_memory_size",
		"server_encoding", "huge_page", "debug_", "ssl", "bonjour", "event_source",
		"cluster_name" };

	for (size_t i = 0; i < LENGTH(places); i++)
		if (strncmp(name, places[i], strlen(places[i])) == 0)
			return true;
	return false;
}

static const struct json *find_setting(const struct json *list, const char *name)
{
	for (size_t i = 0; i < json_count(list); i++)
		if (strcmp(json_text(json_get(json_at(list, i), "name"), ""), name) == 0)
			return json_at(list, i);
	return NULL;
}

void diff_settings(struct diff *d)
{
	const struct json *mine = diff_list(d, 0, "settings.settings");
	const struct json *others = diff_list(d, 1, "settings.settings");

	for (size_t i = 0; i < json_count(mine); i++) {
		const char *name = json_text(json_get(json_at(mine, i), "name"), "");
		const char *a = json_text(json_get(json_at(mine, i), "value"), "");
		const char *unit = json_text(json_get(json_at(mine, i), "unit"), "");
		const struct json *other = find_setting(others, name);
		const char *b = json_text(json_get(other, "value"), "");

		if (!other || is_place(name) || strcmp(a, b) == 0)
			continue;
		diff_add(
			d, (struct diff_finding){
				   .kind = "setting",
				   .object = name,
				   .a = diff_text(d, "%s%s%s", a, *unit ? " x " : "", unit),
				   .b = diff_text(d, "%s%s%s", b, *unit ? " x " : "", unit),
				   .why = setting_weight(name) >= 55 ? "plans or waits depend on it"
								     : "may matter for load",
				   .close = diff_text(d, "ALTER SYSTEM SET %s = '%s'", name, b),
				   .condition = diff_text(d, "setting:%s", name),
				   .score = setting_weight(name),
			   });
	}
}

static const struct json *find_override(const struct json *list, const struct json *like)
{
	for (size_t i = 0; i < json_count(list); i++) {
		const struct json *x = json_at(list, i);

		if (strcmp(json_text(json_get(x, "role"), ""),
			    json_text(json_get(like, "role"), "")) == 0 &&
			strcmp(json_text(json_get(x, "name"), ""),
				json_text(json_get(like, "name"), "")) == 0)
			return x;
	}
	return NULL;
}

void diff_overrides(struct diff *d)
{
	const struct json *mine = diff_list(d, 0, "settings.overrides");
	const struct json *others = diff_list(d, 1, "settings.overrides");

	for (size_t i = 0; i < json_count(mine); i++) {
		const struct json *x = json_at(mine, i);
		const struct json *other = find_override(others, x);
		const char *name = json_text(json_get(x, "name"), "");
		const char *a = json_text(json_get(x, "value"), "");

		if (other && strcmp(json_text(json_get(other, "value"), ""), a) == 0)
			continue;
		diff_add(d,
			(struct diff_finding){
				.kind = "setting",
				.object = diff_text(d, "%s for role '%s', database '%s'", name,
					json_text(json_get(x, "role"), ""),
					json_text(json_get(x, "database"), "")),
				.a = a,
				.b = other ? json_text(json_get(other, "value"), "") : "not set",
				.why = "an override per role or database escapes a look at the configuration file",
				.close = "ALTER ROLE or ALTER DATABASE ... SET on one side",
				.condition = diff_text(d, "setting:%s", name),
				.score = setting_weight(name),
			});
	}
}

void diff_versions(struct diff *d)
{
	double a = json_number(json_path(d->profile[0], "sections.identity.server_version_num"), 0);
	double b = json_number(json_path(d->profile[1], "sections.identity.server_version_num"), 0);
	bool is_major = (int)a / 10000 != (int)b / 10000;

	if (a == b || a == 0 || b == 0)
		return;
	diff_add(d,
		(struct diff_finding){
			.kind = "version",
			.object = "server",
			.a = json_text(
				json_path(d->profile[0], "sections.identity.server_version"), ""),
			.b = json_text(
				json_path(d->profile[1], "sections.identity.server_version"), ""),
			.why = is_major ? "planners of two major versions choose differently"
					: "minor fixes differ",
			.score = is_major ? 60 : 15,
		});
}
