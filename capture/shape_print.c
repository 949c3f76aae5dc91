#include <inttypes.h>
#include <math.h>

#include "capture/shape.h"

enum { ROUTE_WIDTH = 37 };

static double number(const struct json *map, const char *path)
{
	return json_number(json_path(map, path), NAN);
}

/* As many digits as a number is worth, or "-". */
static const char *brief(double v, char text[24])
{
	if (isnan(v))
		return "-";
	if (v == trunc(v))
		snprintf(text, 24, "%.0f", v);
	else if (fabs(v) < 0.001)
		snprintf(text, 24, "%.1g", v);
	else
		snprintf(text, 24, "%.*f", fabs(v) < 10 ? 3 : fabs(v) < 1000 ? 1 : 0, v);
	return text;
}

static void print_row(FILE *to, const char *name)
{
	fprintf(to, "  %-14s", name);
}

static void print_distribution(const struct json *d, const char *name, FILE *to)
{
	char a[24], b[24], c[24], m[24];

	if (!(number(d, "n") > 0))
		return;
	print_row(to, name);
	fprintf(to, "p50 %s, p90 %s, p99 %s, max %s (n=%.0f)\n", brief(number(d, "p50"), a),
		brief(number(d, "p90"), b), brief(number(d, "p99"), c), brief(number(d, "max"), m),
		number(d, "n"));
}

static void print_arrivals(const struct json *s, FILE *to)
{
	const struct json *scales = json_path(s, "arrivals.scales");
	char a[24], b[24], c[24], d[24];

	print_row(to, "arrivals");
	fprintf(to, "%.0f requests, %s/s; gaps: CV %s, p50 %s ms, %.0f at the same instant\n",
		number(s, "requests"), brief(number(s, "arrivals.mean_per_s"), a),
		brief(number(s, "arrivals.gaps_ms.cv"), b),
		brief(number(s, "arrivals.gaps_ms.p50"), c), number(s, "arrivals.gaps_ms.zero"));
	fprintf(to, "\n  %13s%12s%12s%12s%12s\n", "slices of", "dispersion", "p50 /s", "p95 /s",
		"max /s");
	for (size_t i = 0; i < json_count(scales); i++) {
		const struct json *row = json_at(scales, i);

		if (!(number(row, "slices") > 0))
			continue;
		fprintf(to, "  %11g s%12s%12s%12s%12s\n", number(row, "slice_s"),
			brief(number(row, "dispersion"), a), brief(number(row, "p50_per_s"), b),
			brief(number(row, "p95_per_s"), c), brief(number(row, "max_per_s"), d));
	}
	fputc('\n', to);
}

static void print_levels(const struct json *s, FILE *to)
{
	char a[24];

	print_row(to, "in flight");
	fprintf(to, "mean %s, p95 %.0f, p99 %.0f, max %.0f by time; busy %.0f %% of it\n",
		brief(number(s, "in_flight.mean"), a), number(s, "in_flight.p95"),
		number(s, "in_flight.p99"), number(s, "in_flight.max"),
		100 * number(s, "in_flight.busy_share"));
	print_distribution(json_path(s, "in_flight.at_arrival"), "at arrival", to);
}

/* "p99 5.115 [4.843, 5.479]", or nothing when the count cannot carry it. */
static bool print_quantile(
	const struct json *l, const char *name, bool has_interval, bool is_first, FILE *to)
{
	char a[24], b[24], c[24], key[16];
	double v = number(l, name);

	if (isnan(v))
		return false;
	fprintf(to, "%s%s %s", is_first ? "" : ", ", name, brief(v, a));
	snprintf(key, sizeof(key), "%s_low", name);
	double low = number(l, key);
	snprintf(key, sizeof(key), "%s_high", name);
	double high = number(l, key);
	if (has_interval && !isnan(low) && !isnan(high))
		fprintf(to, " [%s, %s]", brief(low, b), brief(high, c));
	return true;
}

static void print_latency(const struct json *s, FILE *to)
{
	static const char *const names[] = { "p50", "p90", "p99", "p999" };
	const struct json *l = json_get(s, "latency_ms");
	bool is_first = true;
	char a[24];

	print_row(to, "latency ms");
	for (size_t i = 0; i < LENGTH(names); i++)
		/* Of the others there is no room for it. */
		if (print_quantile(l, names[i], i % 2 == 0, is_first, to))
			is_first = false;
	fprintf(to, "%smax %s\n", is_first ? "" : ", ", brief(number(l, "max"), a));
}

static void print_sessions(const struct json *s, FILE *to)
{
	char a[24], b[24];

	print_row(to, "sessions");
	fprintf(to, "%.0f; open: mean %s, p95 %.0f, max %.0f; opened %s/s, at most %.0f/s\n",
		number(s, "sessions.count"), brief(number(s, "sessions.open.mean"), a),
		number(s, "sessions.open.p95"), number(s, "sessions.open.max"),
		brief(number(s, "sessions.opened_per_s.mean"), b),
		number(s, "sessions.opened_per_s.max"));
	print_distribution(json_path(s, "sessions.lifetime_ms"), "lifetime ms", to);
	print_distribution(json_path(s, "sessions.requests_each"), "requests each", to);
	print_distribution(json_path(s, "think_ms.between_transactions"), "think ms", to);
	print_distribution(json_path(s, "think_ms.inside_transactions"), "inside txn ms", to);
}

static void print_transactions(const struct json *s, FILE *to)
{
	const struct json *t = json_get(s, "transactions");

	if (!(number(t, "explicit") + number(t, "single_statements") > 0))
		return;
	print_row(to, "transactions");
	fprintf(to, "%.0f explicit, %.0f single statements; %.0f with errors, %.0f rolled back",
		number(t, "explicit"), number(t, "single_statements"), number(t, "with_errors"),
		number(t, "rolled_back"));
	if (!isnan(number(t, "idle_share")))
		fprintf(to, "; idle %.0f %%", 100 * number(t, "idle_share"));
	fputc('\n', to);
	print_distribution(json_get(t, "statements"), "statements", to);
	print_distribution(json_get(t, "length_ms"), "length ms", to);
}

static void print_mix(const struct json *s, FILE *to)
{
	const struct json *forms = json_path(s, "mix.forms");

	print_row(to, "mix");
	fprintf(to, "%.0f reads, %.0f writes", number(s, "mix.reads"), number(s, "mix.writes"));
	for (size_t i = 0; i < json_count(forms); i++) {
		struct json *n;
		const char *name = json_key_at(forms, i, &n);

		fprintf(to, "%s %.0f %s", i ? "," : ";", json_number(n, 0), name);
	}
	fputc('\n', to);
	print_distribution(json_path(s, "sizes.bytes_in"), "bytes in", to);
	print_distribution(json_path(s, "sizes.bytes_out"), "bytes out", to);
	print_distribution(json_path(s, "sizes.rows"), "rows", to);
}

static void print_errors(const struct json *s, FILE *to)
{
	static const char *const flags[] = { "unanswered", "cancelled", "skipped" };
	const struct json *codes = json_path(s, "errors.codes");
	size_t shown = json_count(codes) < 8 ? json_count(codes) : 8;

	print_row(to, "errors");
	fprintf(to, "%.0f (%.3g %%)", number(s, "errors.requests"),
		100 * json_number(json_path(s, "errors.share"), 0));
	for (size_t i = 0; i < shown; i++)
		fprintf(to, "%s %s %.0f", i ? "," : ":",
			json_text(json_get(json_at(codes, i), "code"), "?"),
			number(json_at(codes, i), "requests"));
	if (shown < json_count(codes))
		fprintf(to, ", %zu more codes", json_count(codes) - shown);
	for (size_t i = 0; i < LENGTH(flags); i++) {
		double n = json_number(json_get(json_get(s, "errors"), flags[i]), 0);

		if (n > 0)
			fprintf(to, "; %s %.0f", flags[i], n);
	}
	fputc('\n', to);
}

static void print_by_flight(const struct json *s, FILE *to)
{
	const struct json *rows = json_get(s, "latency_by_in_flight");
	char a[24], b[24], c[24], d[24], range[32];

	if (!json_count(rows))
		return;
	fprintf(to, "\n  %13s%12s%12s%12s%12s%12s\n", "in flight", "requests", "p50 ms", "p90 ms",
		"p99 ms", "max ms");
	for (size_t i = 0; i < json_count(rows); i++) {
		const struct json *row = json_at(rows, i);
		int64_t from = json_int(json_get(row, "from"), 0);
		int64_t last = json_int(json_get(row, "to"), 0);

		if (last == from)
			snprintf(range, sizeof(range), "%" PRId64, from);
		else if (last)
			snprintf(range, sizeof(range), "%" PRId64 "-%" PRId64, from, last);
		else
			snprintf(range, sizeof(range), "from %" PRId64, from);
		fprintf(to, "  %13s%12.0f%12s%12s%12s%12s\n", range, number(row, "requests"),
			brief(number(row, "p50_ms"), a), brief(number(row, "p90_ms"), b),
			brief(number(row, "p99_ms"), c), brief(number(row, "max_ms"), d));
	}
}

/* A quoted identifier may hold anything, also what a terminal would obey. */
static void print_cut(const char *text, FILE *to)
{
	bool is_long = strlen(text) > ROUTE_WIDTH;
	size_t n = is_long ? ROUTE_WIDTH - 3 : strlen(text);

	for (size_t i = 0; i < n; i++)
		fputc((unsigned char)text[i] < 0x20 || text[i] == 0x7f ? '.' : text[i], to);
	fputs(is_long ? "...\n" : "\n", to);
}

static void print_routes(const struct json *s, size_t shown, FILE *to)
{
	const struct json *routes = json_get(s, "routes");
	size_t n = json_count(routes);
	char a[24], b[24], c[24];

	if (!n)
		return;
	shown = shown && shown < n ? shown : n;
	fprintf(to, "\n  %10s%8s%8s%9s%9s%9s%5s  %s\n", "requests", "share", "busy", "p50 ms",
		"p99 ms", "in fl.", "max", "route");
	for (size_t i = 0; i < shown; i++) {
		const struct json *r = json_at(routes, i);

		fprintf(to, "  %10.0f%6.1f %%%6.1f %%%9s%9s%9s%5.0f  ", number(r, "requests"),
			100 * number(r, "share"), 100 * json_number(json_get(r, "busy_share"), 0),
			brief(number(r, "latency_ms.p50"), a),
			brief(number(r, "latency_ms.p99"), b),
			brief(number(r, "in_flight.mean"), c), number(r, "in_flight.max"));
		print_cut(json_text(json_get(r, "route"), ""), to);
	}
	if (shown < n)
		fprintf(to, "  and %zu more routes (--routes 0 shows all)\n", n - shown);
}

static void print_notes(const struct json *s, FILE *to)
{
	const struct json *notes = json_get(s, "notes");

	for (size_t i = 0; i < json_count(notes); i++)
		fprintf(to, "%snote: %s\n", i ? "" : "\n", json_text(json_at(notes, i), ""));
}

void capture_shape_print(const struct json *s, const char *path, size_t routes, FILE *to)
{
	char text[CLOCK_TEXT_MAX];

	fprintf(to, "%s: %s to %s (%s)\n", path, json_text(json_get(s, "start"), "?"),
		json_text(json_get(s, "end"), "?"),
		clock_duration_text(
			(int64_t)(json_number(json_get(s, "duration_s"), 0) * 1e9), text));
	if (!(number(s, "requests") + number(s, "sessions.count") > 0)) {
		fputs("  0 requests\n", to);
		print_notes(s, to);
		return;
	}
	print_arrivals(s, to);
	if (number(s, "requests") > 0) {
		print_levels(s, to);
		print_latency(s, to);
	}
	print_sessions(s, to);
	print_transactions(s, to);
	print_mix(s, to);
	print_errors(s, to);
	print_by_flight(s, to);
	print_routes(s, routes, to);
	print_notes(s, to);
}
