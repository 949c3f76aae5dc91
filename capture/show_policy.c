#include "capture/show_policy.h"

#include <inttypes.h>
#include <stdlib.h>

static const char *const actions[] = { "kept", "token", "shifted", "dropped" };

static void print_fixed(const struct json *places, FILE *to)
{
	for (size_t i = 0; i < json_count(places); i++) {
		struct json *value;
		const char *name = json_key_at(places, i, &value);

		if (json_type(value) == JSON_TEXT)
			fprintf(to, "  %-16s %s\n", name, json_text(value, ""));
	}
}

struct line {
	const char *name;
	const struct json *counts;
	int64_t total;
};

/* Many values first, then by name. */
static int fuller_first(const void *a, const void *b)
{
	const struct line *x = a, *y = b;

	if (x->total != y->total)
		return x->total < y->total ? 1 : -1;
	return strcmp(x->name, y->name);
}

static struct line line_of(const struct json *scope, size_t i)
{
	struct json *counts;
	struct line line = { .name = json_key_at(scope, i, &counts), .counts = counts };

	for (size_t k = 0; k < LENGTH(actions); k++)
		line.total += json_int(json_get(counts, actions[k]), 0);
	return line;
}

static void print_scope(const char *name, const struct json *scope, FILE *to)
{
	size_t n = json_count(scope);
	struct line *lines = calloc(n + 1, sizeof(*lines));

	if (!lines)
		return;
	for (size_t i = 0; i < n; i++)
		lines[i] = line_of(scope, i);
	qsort(lines, n, sizeof(*lines), fuller_first);
	fprintf(to, "\n  %10s %10s %10s %10s  %s\n", actions[0], actions[1], actions[2], actions[3],
		name);
	for (size_t i = 0; i < n; i++) {
		fputs("  ", to);
		for (size_t k = 0; k < LENGTH(actions); k++) {
			int64_t count = json_int(json_get(lines[i].counts, actions[k]), 0);

			if (count)
				fprintf(to, "%10" PRId64 " ", count);
			else
				fprintf(to, "%10s ", "-");
		}
		/* A quoted identifier may hold what a terminal would obey. */
		fputc(' ', to);
		for (const char *p = lines[i].name; *p; p++)
			fputc((unsigned char)*p < 0x20 || *p == 0x7f ? '.' : *p, to);
		fputc('\n', to);
	}
	free(lines);
}

static void print_json(const struct json *head, FILE *to)
{
	static const char *const fields[] = { "policy", "policy_digest", "routes_digest", "key_id",
		"places" };
	struct json *map = json_object();

	for (size_t i = 0; i < LENGTH(fields); i++) {
		const struct json *value = json_get(head, fields[i]);

		if (value)
			json_set(map, fields[i], json_copy(value));
		else
			json_set_null(map, fields[i]);
	}
	json_print(map, to);
	json_free(map);
}

void show_policy(const struct json *head, bool is_json, FILE *to)
{
	const struct json *places = json_get(head, "places");

	if (is_json) {
		print_json(head, to);
		return;
	}
	fprintf(to, "policy %.12s: what became of the values of each place\n",
		json_text(json_get(head, "policy_digest"), "?"));
	print_fixed(places, to);
	for (size_t i = 0; i < json_count(places); i++) {
		struct json *value;
		const char *name = json_key_at(places, i, &value);

		if (json_type(value) == JSON_MAP)
			print_scope(name, value, to);
	}
}
