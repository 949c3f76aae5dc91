#include "capture/summary_cost.h"

#include <inttypes.h>
#include <math.h>

enum { INTERVALS_SHOWN = 5 };

static void print_row(FILE *to, const char *name)
{
	fprintf(to, "  %-10s", name);
}

static int64_t number(const struct json *map, const char *path)
{
	return json_int(json_path(map, path), 0);
}

static void print_sampling(const struct json *s, FILE *to)
{
	const struct json *sampling = json_get(s, "sampling");

	if (json_type(sampling) != JSON_MAP)
		return;
	print_row(to, "sampled");
	fprintf(to,
		"%" PRId64 " of %" PRId64 " requests in %" PRId64 " of %" PRId64
		" sessions are stored; counts are of all\n",
		number(sampling, "requests.stored"), number(sampling, "requests.seen"),
		number(sampling, "sessions.stored"), number(sampling, "sessions.seen"));
}

static void print_cost(const struct json *s, FILE *to)
{
	const struct json *cost = json_get(s, "cost");
	double ns = json_number(json_get(cost, "cpu_ns_per_request"), NAN);
	double share = json_number(json_get(cost, "cpu_share"), NAN);

	if (json_type(cost) != JSON_MAP)
		return;
	print_row(to, "cost");
	if (!isnan(ns))
		fprintf(to, "%.1f us CPU a request, ", ns / 1000);
	if (!isnan(share))
		fprintf(to, "%.2f %% of a core, ", 100 * share);
	fprintf(to, "%.1f MiB at most; the kernel dropped %" PRId64 " packets\n",
		json_number(json_get(cost, "memory_max_bytes"), 0) / 1048576,
		number(cost, "drops.kernel") + number(cost, "drops.interface"));
}

static void print_interval(const struct json *i, FILE *to)
{
	print_row(to, "");
	fprintf(to, "%s to %s: %s, %.0f %% of sessions kept (%s)\n",
		json_text(json_get(i, "start"), "?"), json_text(json_get(i, "end"), "the end"),
		json_text(json_get(i, "level"), "?"),
		100 * json_number(json_get(i, "sessions_kept"), 1),
		json_text(json_get(i, "why"), "?"));
}

static void print_shedding(const struct json *s, FILE *to)
{
	const struct json *list = json_path(s, "shedding.intervals");
	size_t n = json_count(list);

	if (!n)
		return;
	print_row(to, "shed");
	fprintf(to, "%zu times; what was kept then is usable\n", n);
	for (size_t i = 0; i < n && i < INTERVALS_SHOWN; i++)
		print_interval(json_at(list, i), to);
	if (n > INTERVALS_SHOWN) {
		print_row(to, "");
		fprintf(to, "and %zu more (--json shows all)\n", n - INTERVALS_SHOWN);
	}
}

static void print_merged(const struct json *s, FILE *to)
{
	const struct json *files = json_path(s, "merged.files");

	for (size_t i = 0; i < json_count(files); i++) {
		const struct json *f = json_at(files, i);

		print_row(to, i ? "" : "merged");
		fprintf(to, "%s: clock %s, %.3f ms", json_text(json_get(f, "name"), "?"),
			json_text(json_get(f, "skew"), "?"),
			json_number(json_get(f, "skew_ms"), 0));
		if (number(f, "double_sessions"))
			fprintf(to, "; %" PRId64 " sessions that another has too",
				number(f, "double_sessions"));
		fputc('\n', to);
	}
}

static void print_ended(const struct json *s, FILE *to)
{
	const char *why = json_text(json_get(s, "ended"), NULL);

	if (!why)
		return;
	print_row(to, "ended");
	fprintf(to, "early: %s\n", why);
}

void summary_cost_print(const struct json *summary, FILE *to)
{
	print_sampling(summary, to);
	print_shedding(summary, to);
	print_cost(summary, to);
	print_ended(summary, to);
	print_merged(summary, to);
}
