#include <string.h>

#include "capture/merge.h"

static const struct json *head_of(const struct merge *m, size_t i)
{
	return rcap_head(m->inputs[i].rcap);
}

/* ---- sums */

/* Numbers are added, maps go in depth, anything else stays as it was first. */
static struct json *sum(const struct json *a, const struct json *b)
{
	struct json *map, *value;
	const char *key;

	if (json_type(a) == JSON_NUMBER && json_type(b) == JSON_NUMBER) {
		if (!json_is_whole(a) || !json_is_whole(b))
			return json_copy(a);
		struct json *box = json_object();
		json_set_int(box, "n", json_int(a, 0) + json_int(b, 0));
		map = json_copy(json_get(box, "n"));
		json_free(box);
		return map;
	}
	if (json_type(a) != JSON_MAP || json_type(b) != JSON_MAP)
		return json_copy(json_type(a) == JSON_MISSING ? b : a);
	map = json_object();
	for (struct json_walk w = json_walk_of(a); (key = json_walk_next(&w, &value));)
		json_set(map, key, sum(value, json_get(b, key)));
	for (struct json_walk w = json_walk_of(b); (key = json_walk_next(&w, &value));)
		if (!json_get(a, key))
			json_set(map, key, json_copy(value));
	return map;
}

static void set_sum(struct json *to, const struct merge *m, const char *key)
{
	struct json *total = json_object();

	for (size_t i = 0; i < m->count; i++) {
		const struct json *value = json_get(head_of(m, i), key);
		struct json *next = json_type(value) == JSON_MAP ? sum(total, value) : NULL;

		if (next) {
			json_free(total);
			total = next;
		}
	}
	json_set(to, key, total);
}

/* ---- lists */

/* One after the other, of those that have it. */
static struct json *list_of(const struct merge *m, const char *key)
{
	struct json *list = json_array();

	for (size_t i = 0; i < m->count; i++) {
		const struct json *value = json_get(head_of(m, i), key);

		if (json_type(value) == JSON_LIST)
			for (size_t k = 0; k < json_count(value); k++)
				json_append(list, json_copy(json_at(value, k)));
		else if (json_type(value) == JSON_MAP)
			json_append(list, json_copy(value));
	}
	return list;
}

static bool same_json(const struct json *a, const struct json *b)
{
	struct buf x = { 0 }, y = { 0 };

	json_write(a, false, &x);
	json_write(b, false, &y);
	bool same = slice_same(buf_slice(&x), buf_slice(&y));
	buf_free(&x);
	buf_free(&y);
	return same;
}

static void append_new(struct json *list, const struct json *server)
{
	for (size_t k = 0; k < json_count(list); k++)
		if (same_json(json_at(list, k), server))
			return;
	json_append(list, json_copy(server));
}

/* All inputs' servers, each once: replay must refuse every one of them. */
static struct json *servers(const struct merge *m)
{
	struct json *list = json_array(), *all = list_of(m, "server");

	for (size_t i = 0; i < json_count(all); i++)
		append_new(list, json_at(all, i));
	json_free(all);
	/* A capture of several brings its own list. */
	for (size_t i = 0; i < m->count; i++) {
		const struct json *more = json_get(head_of(m, i), "servers");

		for (size_t k = 0; k < json_count(more); k++)
			append_new(list, json_at(more, k));
	}
	return list;
}

static const struct json *first_with_address(const struct json *list)
{
	for (size_t i = 0; i < json_count(list); i++)
		if (json_text(json_get(json_at(list, i), "address"), NULL))
			return json_at(list, i);
	return json_at(list, 0);
}

static void set_servers(struct json *to, const struct merge *m)
{
	struct json *list = servers(m);
	const struct json *first = first_with_address(list);

	if (first)
		json_set(to, "server", json_copy(first));
	else
		json_set_null(to, "server");
	if (json_count(list) > 1)
		json_set(to, "servers", list);
	else
		json_free(list);
}

/* ---- times and clocks */

static void set_times(struct json *to, const struct merge *m)
{
	int64_t start = 0, end = 0, ns;

	for (size_t i = 0; i < m->count; i++) {
		const struct json *head = head_of(m, i);
		int64_t skew = m->inputs[i].skew_ns;

		if (clock_parse(slice_of(json_text(json_get(head, "start"), "")), &ns) &&
			(!start || ns - skew < start))
			start = ns - skew;
		if (clock_parse(slice_of(json_text(json_get(head, "end"), "")), &ns) &&
			ns - skew > end)
			end = ns - skew;
	}
	if (start && end) {
		json_set_time(to, "start", start);
		json_set_time(to, "end", end);
	} else {
		json_set_null(to, "start");
		json_set_null(to, "end");
	}
}

/* As fine as the coarsest of them. */
static void set_clock(struct json *to, const struct merge *m)
{
	struct json *clock = json_object();
	const char *kind = json_text(json_path(head_of(m, 0), "clock.kind"), "packets");
	int64_t fineness = 0;

	for (size_t i = 0; i < m->count; i++) {
		int64_t ns = json_int(json_path(head_of(m, i), "clock.fineness_ns"), 0);

		fineness = ns > fineness ? ns : fineness;
		if (strcmp(kind, json_text(json_path(head_of(m, i), "clock.kind"), kind)) != 0)
			kind = "mixed";
	}
	json_set_int(clock, "fineness_ns", fineness);
	json_set_text(clock, "kind", kind);
	json_set(to, "clock", clock);
}

/* ---- what was done */

static const char *how_name(enum merge_how how)
{
	static const char *const names[] = { [MERGE_REFERENCE] = "reference",
		[MERGE_BY_CONTENT] = "estimated",
		[MERGE_GIVEN] = "given",
		[MERGE_ASSUMED] = "assumed" };

	return names[how];
}

static struct json *file_json(const struct merge *m, size_t i)
{
	const struct merge_input *in = &m->inputs[i];
	struct json *map = json_object();
	const char *slash = strrchr(in->path, '/');

	json_set_text(map, "name", slash ? slash + 1 : in->path);
	json_set_text(map, "skew", how_name(in->how));
	json_set_number(map, "skew_ms", (double)in->skew_ns / 1e6);
	if (in->how == MERGE_BY_CONTENT) {
		json_set_int(map, "matches", (int64_t)in->found.matches);
		json_set_int(map, "agreeing", (int64_t)in->found.agreeing);
		json_set_number(map, "spread_ms", (double)in->found.spread_ns / 1e6);
		json_set_number(map, "drift_ms", (double)in->found.drift_ns / 1e6);
	}
	json_set_int(map, "sessions", (int64_t)rcap_totals(in->rcap).sessions);
	json_set_int(map, "requests", (int64_t)rcap_totals(in->rcap).requests);
	json_set_int(map, "double_sessions", (int64_t)in->dropped_sessions);
	json_set_int(map, "double_requests", (int64_t)in->dropped_requests);
	json_set_int(map, "sessions_not_compared", (int64_t)in->marks.unchecked);
	return map;
}

struct json *merge_report(const struct merge *m)
{
	struct json *map = json_object(), *files = json_array(), *doubles = json_object();
	uint64_t sessions = 0, requests = 0;

	for (size_t i = 0; i < m->count; i++) {
		json_append(files, file_json(m, i));
		sessions += m->inputs[i].dropped_sessions;
		requests += m->inputs[i].dropped_requests;
	}
	json_set(map, "files", files);
	json_set_int(doubles, "sessions", (int64_t)sessions);
	json_set_int(doubles, "requests", (int64_t)requests);
	json_set(map, "doubles", doubles);
	json_set_int(map, "sessions", (int64_t)m->sessions);
	json_set_int(map, "requests", (int64_t)m->requests);
	return map;
}

static void set_counts(struct json *to, const struct merge *m)
{
	struct json *counts;
	uint64_t prepares = 0;

	set_sum(to, m, "counts");
	counts = json_get(to, "counts");
	for (size_t i = 0; i < m->count; i++)
		prepares += m->inputs[i].dropped_prepares;
	json_set_int(counts, "sessions", (int64_t)m->sessions);
	json_set_int(counts, "requests", (int64_t)m->requests);
	json_set_int(
		counts, "prepares", json_int(json_get(counts, "prepares"), 0) - (int64_t)prepares);
}

/* ---- whole */

static bool all_say(const struct merge *m, const char *key, bool fallback)
{
	for (size_t i = 0; i < m->count; i++)
		if (!json_is_true(json_get(head_of(m, i), key), fallback))
			return false;
	return true;
}

static void set_list_of(struct json *to, const struct merge *m, const char *key, bool has_null)
{
	struct json *list = list_of(m, key);
	size_t n = json_count(list);

	if (n == 1)
		json_set(to, key, json_copy(json_at(list, 0)));
	else if (n)
		json_set(to, key, json_copy(list));
	else if (has_null)
		json_set_null(to, key);
	json_free(list);
}

static void set_complete(struct json *to, const struct merge *m)
{
	bool is_complete = all_say(m, "complete", true);

	for (size_t i = 0; i < m->count; i++)
		is_complete = is_complete && !rcap_is_torn(m->inputs[i].rcap);
	json_set_bool(to, "complete", is_complete);
}

struct json *merge_head(const struct merge *m)
{
	static const char *const first[] = { "policy", "policy_digest", "key_id", "is_key_fresh",
		"routes_digest" };
	struct json *head = json_object();
	int64_t changed = 0;

	json_set_text(head, "format", "rcap");
	json_set_int(head, "version", RCAP_VERSION);
	json_set(head, "sources", list_of(m, "sources"));
	set_times(head, m);
	set_servers(head, m);
	set_clock(head, m);
	for (size_t i = 0; i < LENGTH(first); i++)
		if (json_get(head_of(m, 0), first[i]))
			json_set(head, first[i], json_copy(json_get(head_of(m, 0), first[i])));
	json_set_bool(head, "predicates_kept", all_say(m, "predicates_kept", false));
	for (size_t i = 0; i < m->count; i++)
		changed += json_int(json_get(head_of(m, i), "changed_predicates"), 0);
	json_set_int(head, "changed_predicates", changed);
	set_sum(head, m, "places");
	set_sum(head, m, "ledger");
	set_sum(head, m, "lost");
	set_list_of(head, m, "sampling", true);
	set_list_of(head, m, "cost", false);
	set_list_of(head, m, "shedding", false);
	set_list_of(head, m, "audit", false);
	set_complete(head, m);
	set_counts(head, m);
	json_set(head, "merged", merge_report(m));
	return head;
}
