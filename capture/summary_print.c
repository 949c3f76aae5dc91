#include "capture/summary.h"

#include <inttypes.h>
#include <math.h>

#include "capture/summary_cost.h"

enum { ROUTE_WIDTH = 38 }; /* the whole in 100 columns */

/* 1234567 as "1,234,567". */
static const char *grouped(int64_t n, char text[32])
{
	char digits[24];
	int length = snprintf(digits, sizeof(digits), "%" PRId64, n < 0 ? 0 : n);
	char *to = text;

	for (int i = 0; i < length; i++) {
		if (i && (length - i) % 3 == 0)
			*to++ = ',';
		*to++ = digits[i];
	}
	*to = '\0';
	return text;
}

static int64_t number(const struct json *map, const char *path)
{
	return json_int(json_path(map, path), 0);
}

static void print_row(FILE *to, const char *name)
{
	fprintf(to, "  %-10s", name);
}

static void print_when(const struct json *s, FILE *to)
{
	char text[CLOCK_TEXT_MAX];
	double seconds = json_number(json_get(s, "duration_s"), 0);

	print_row(to, "when");
	if (json_type(json_get(s, "start")) != JSON_TEXT) {
		fputs("no traffic\n", to);
		return;
	}
	fprintf(to, "%s to %s (%s)\n", json_text(json_get(s, "start"), "?"),
		json_text(json_get(s, "end"), "?"),
		clock_duration_text((int64_t)(seconds * 1e9), text));
}

static void print_sources(const struct json *s, FILE *to)
{
	const struct json *sources = json_get(s, "sources");

	if (!json_count(sources) && !json_path(s, "server.address"))
		return;
	print_row(to, "from");
	for (size_t i = 0; i < json_count(sources); i++) {
		const struct json *source = json_at(sources, i);

		fprintf(to, "%s%s %s", i ? ", " : "", json_text(json_get(source, "kind"), "source"),
			json_text(json_get(source, "name"), ""));
	}
	const char *address = json_text(json_path(s, "server.address"), NULL);
	if (address)
		fprintf(to, "%sserver %s", json_count(sources) ? "; " : "", address);
	int64_t port = number(s, "server.port");
	if (address && port)
		fprintf(to, ":%" PRId64, port);
	const char *version = json_text(json_path(s, "server.version"), NULL);
	if (version)
		fprintf(to, " (PostgreSQL %s)", version);
	fputc('\n', to);
}

/* When more than Postgres was heard. */
static void print_protocols(const struct json *s, FILE *to)
{
	const struct json *map = json_get(s, "protocols");

	if (!json_get(map, "http"))
		return;
	print_row(to, "protocols");
	for (size_t i = 0; i < json_count(map); i++) {
		struct json *one;
		const char *name = json_key_at(map, i, &one);
		char a[32], b[32];

		fprintf(to, "%s%s: %s requests of %s routes", i ? "; " : "", name,
			grouped(number(one, "requests"), a), grouped(number(one, "routes"), b));
		if (number(one, "errors"))
			fprintf(to, ", %s errors", grouped(number(one, "errors"), a));
	}
	fputc('\n', to);
}

static void print_traffic(const struct json *s, FILE *to)
{
	char a[32], b[32], c[32];
	double mean = json_number(json_path(s, "rate_per_s.mean"), NAN);
	double most = json_number(json_path(s, "rate_per_s.max"), NAN);

	print_row(to, "traffic");
	fprintf(to, "%s requests in %s sessions, %s errors", grouped(number(s, "requests"), a),
		grouped(number(s, "sessions"), b), grouped(number(s, "errors"), c));
	if (!isnan(mean) && !isnan(most))
		fprintf(to, "; %.1f/s, at most %.0f/s", mean, most);
	fputc('\n', to);
	mean = json_number(json_path(s, "in_flight.mean"), NAN);
	if (isnan(mean))
		return;
	print_row(to, "in flight");
	fprintf(to, "mean %.2f", mean);
	most = json_number(json_path(s, "in_flight.p95"), NAN);
	if (!isnan(most))
		fprintf(to, ", p95 %.1f", most);
	if (number(s, "in_flight.max"))
		fprintf(to, ", max %" PRId64, number(s, "in_flight.max"));
	fputc('\n', to);
}

static size_t print_reasons(const struct json *map, const char *what, size_t printed, FILE *to)
{
	for (size_t i = 0; i < json_count(map); i++) {
		struct json *value;
		const char *reason = json_key_at(map, i, &value);
		char text[32];

		if (json_int(value, 0) == 0)
			continue;
		fprintf(to, "%s%s%s %s", printed ? ", " : "", what, reason,
			grouped(json_int(value, 0), text));
		printed++;
	}
	return printed;
}

static void print_lost(const struct json *s, FILE *to)
{
	print_row(to, "lost");
	size_t n = print_reasons(json_get(s, "lost"), "", 0, to);
	n = print_reasons(json_path(s, "ledger.requests.unpaired"), "unpaired: ", n, to);
	if (!n)
		fputs("nothing", to);
	fputc('\n', to);
	if (number(s, "ledger.packets.seen")) {
		char a[32], b[32];

		print_row(to, "packets");
		fprintf(to, "%s seen, %s decoded", grouped(number(s, "ledger.packets.seen"), a),
			grouped(number(s, "ledger.packets.decoded"), b));
		fputs(json_count(json_path(s, "ledger.packets.skipped")) ? "; skipped: " : "", to);
		print_reasons(json_path(s, "ledger.packets.skipped"), "", 0, to);
		fputc('\n', to);
	}
	if (number(s, "ledger.lines.read") || json_count(json_path(s, "ledger.lines.unread"))) {
		char a[32];

		print_row(to, "lines");
		fprintf(to, "%s read", grouped(number(s, "ledger.lines.read"), a));
		fputs(json_count(json_path(s, "ledger.lines.unread")) ? "; unread: " : "", to);
		print_reasons(json_path(s, "ledger.lines.unread"), "", 0, to);
		fputc('\n', to);
	}
}

static void print_scrubbed(const struct json *s, FILE *to)
{
	const char *key = json_text(json_get(s, "key_id"), NULL);

	if (!key)
		return;
	print_row(to, "scrubbed");
	fprintf(to, "key %s%s, policy %.12s\n", key,
		json_is_true(json_get(s, "is_key_fresh"), false)
			? " (thrown away: fits no snapshot scrubbed elsewhere)"
			: "",
		json_text(json_get(s, "policy_digest"), "?"));
}

static void print_milliseconds(const struct json *v, FILE *to)
{
	double ms = json_number(v, NAN);

	if (isnan(ms))
		fprintf(to, "%8s", "-");
	else
		fprintf(to, "%8.*f", ms < 10 ? 3 : ms < 1000 ? 1 : 0, ms);
}

/* "[3.1, 4.9]" in 16 columns. */
static void print_interval(const struct json *latency, FILE *to)
{
	double low = json_number(json_get(latency, "p99_low"), NAN);
	double high = json_number(json_get(latency, "p99_high"), NAN);
	char text[64];

	if (isnan(low) && isnan(high))
		text[0] = '\0';
	else if (isnan(high))
		snprintf(text, sizeof(text), "[%.3g, ...]", low);
	else
		snprintf(text, sizeof(text), "[%.4g, %.4g]", isnan(low) ? 0 : low, high);
	fprintf(to, " %-16s", text);
}

/* A quoted identifier may hold anything, also what a terminal would obey. */
static void print_cut(const char *text, FILE *to)
{
	bool is_long = strlen(text) > ROUTE_WIDTH;
	size_t n = is_long ? ROUTE_WIDTH - 3 : strlen(text);

	for (size_t i = 0; i < n; i++)
		fputc((unsigned char)text[i] < 0x20 || text[i] == 0x7f ? '.' : text[i], to);
	fputs(is_long ? "..." : "", to);
}

static void print_route(const struct json *route, FILE *to)
{
	const struct json *latency = json_get(route, "latency_ms");
	const char *text = json_text(json_get(route, "route"), "");
	char n[32];

	fprintf(to, "  %10s%7" PRId64, grouped(number(route, "requests"), n),
		number(route, "errors"));
	if (json_type(json_get(latency, "p99")) == JSON_NUMBER) {
		print_milliseconds(json_get(latency, "p50"), to);
		print_milliseconds(json_get(latency, "p99"), to);
		print_interval(latency, to);
		print_milliseconds(json_get(latency, "max"), to);
	} else {
		char why[64];

		print_milliseconds(json_get(latency, "p50"), to);
		snprintf(why, sizeof(why), "n=%" PRId64 ": p99 not estimable",
			number(route, "requests"));
		fprintf(to, " %-24s", why);
		print_milliseconds(json_get(latency, "max"), to);
	}
	fputs("  ", to);
	print_cut(text, to);
	fputc('\n', to);
}

static void print_routes(const struct json *s, size_t shown, FILE *to)
{
	const struct json *routes = json_get(s, "routes");
	size_t n = json_count(routes);

	if (!n)
		return;
	if (!shown || shown > n)
		shown = n;
	fprintf(to, "\n  %10s%7s%8s%8s %-16s%8s  %s\n", "requests", "errors", "p50 ms", "p99 ms",
		"[95 %]", "max ms", "route");
	for (size_t i = 0; i < shown; i++)
		print_route(json_at(routes, i), to);
	if (shown < n)
		fprintf(to, "  and %zu more routes (--routes 0 shows all)\n", n - shown);
}

static void print_state(const struct json *s, const char *path, FILE *to)
{
	fprintf(to, "%s: capture format %" PRId64, path, number(s, "version"));
	if (!json_is_true(json_get(s, "finished"), true))
		fputs(", not finished (killed, or still being written)", to);
	else if (json_is_true(json_get(s, "complete"), true))
		fputs(", complete", to);
	else
		fputs(", not complete", to);
	if (number(s, "torn_bytes"))
		fprintf(to, "; the last %" PRId64 " bytes are no whole block",
			number(s, "torn_bytes"));
	if (number(s, "damaged_blocks"))
		fprintf(to, "; %" PRId64 " damaged blocks left out", number(s, "damaged_blocks"));
	fputc('\n', to);
}

void capture_summary_print(
	const struct json *summary, const char *path, size_t routes_shown, FILE *to)
{
	print_state(summary, path, to);
	print_when(summary, to);
	print_sources(summary, to);
	print_traffic(summary, to);
	print_protocols(summary, to);
	print_lost(summary, to);
	print_scrubbed(summary, to);
	summary_cost_print(summary, to);
	print_routes(summary, routes_shown, to);
}
