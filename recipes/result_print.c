#include <math.h>
#include <stdlib.h>

#include "recipes/result.h"

#define CELL_MAX 24

static void add_list(struct buf *b, const struct json *list, const char *none)
{
	for (size_t i = 0; i < json_count(list); i++)
		buf_addf(b, "%s%s", i ? ", " : "", json_text(json_at(list, i), ""));
	if (json_count(list) == 0)
		buf_add_text(b, none);
}

static const char *ms_text(double ms, char text[CELL_MAX])
{
	if (isnan(ms))
		snprintf(text, CELL_MAX, "-");
	else
		snprintf(text, CELL_MAX,
			ms < 10    ? "%.2f ms"
			: ms < 100 ? "%.1f ms"
				   : "%.0f ms",
			ms);
	return text;
}

static double number(const struct json *map, const char *key)
{
	return json_number(json_get(map, key), NAN);
}

static void print_verdict(const struct json *result, FILE *to)
{
	const struct json *p = json_get(result, "production"), *lab = json_get(result, "lab"),
			  *f = json_get(result, "effect");
	const char *reason = json_text(json_get(result, "reason"), NULL);
	const char *quantile = json_text(json_get(f, "quantile"), "");
	char a[CELL_MAX], b[CELL_MAX];

	fprintf(to, "%s%s%s\n", json_text(json_get(result, "verdict"), ""), reason ? ": " : "",
		reason ? reason : "");
	fprintf(to, "  route       %.160s\n", json_text(json_get(result, "route"), ""));
	fprintf(to, "  production  %s %s -> %s", quantile, ms_text(number(p, "baseline_p99_ms"), a),
		ms_text(number(p, "spike_p99_ms"), b));
	if (!isnan(number(p, "ratio_low")))
		fprintf(to, " (x%.3g [%.3g, %.3g])", number(p, "ratio"), number(p, "ratio_low"),
			number(p, "ratio_high"));
	fprintf(to, ", %lld occurrences\n", (long long)json_int(json_get(p, "occurrences"), 0));
	fprintf(to, "  lab         %s %s -> %s with everything on", quantile,
		ms_text(number(lab, "baseline_p99_ms"), a),
		ms_text(number(lab, "spike_p99_ms"), b));
	if (!isnan(number(f, "e")))
		fprintf(to, ": E %.2f [%.2f, %.2f]", number(f, "e"), number(f, "low"),
			number(f, "high"));
	fprintf(to, "\n");
}

static void print_arms(const struct json *arms, FILE *to)
{
	int width = 16;

	for (size_t i = 0; i < json_count(arms); i++) {
		struct buf on = { 0 };

		add_list(&on, json_get(json_at(arms, i), "on"), "nothing");
		if ((int)on.n > width)
			width = on.n > 60 ? 60 : (int)on.n;
		buf_free(&on);
	}
	fprintf(to, "\n  %-*s %10s  %-22s  %s\n", width, "conditions on", "inside", "E", "verdict");
	for (size_t i = 0; i < json_count(arms); i++) {
		const struct json *a = json_at(arms, i);
		const char *reason = json_text(json_get(a, "reason"), NULL);
		char inside[CELL_MAX], e[64] = "-";
		struct buf on = { 0 };

		add_list(&on, json_get(a, "on"), "nothing");
		if (!isnan(number(a, "e")))
			snprintf(e, sizeof(e), "%5.2f [%5.2f, %5.2f]", number(a, "e"),
				number(a, "low"), number(a, "high"));
		fprintf(to, "  %-*s %10s  %-22s  %s%s%s%s%s\n", width, buf_text(&on),
			ms_text(number(a, "inside_ms"), inside), e,
			json_text(json_get(a, "verdict"), ""),
			json_is_true(json_get(a, "reference"), false) ? " (reference)" : "",
			json_count(json_get(a, "follows_from")) ? " (not run: it follows)" : "",
			reason ? ": " : "", reason ? reason : "");
		buf_free(&on);
	}
}

static void print_list(const char *label, const struct json *list, const char *none, FILE *to)
{
	struct buf text = { 0 };

	add_list(&text, list, none);
	fprintf(to, "  %-11s %s\n", label, buf_text(&text));
	buf_free(&text);
}

static void print_ablation(const struct json *ablation, FILE *to)
{
	const struct json *minimal = json_get(ablation, "minimal");

	fprintf(to, "\n");
	print_list("necessary", json_get(ablation, "necessary"), "none alone", to);
	if (json_count(json_get(ablation, "unknown")) > 0)
		print_list("unknown", json_get(ablation, "unknown"), "", to);
	for (size_t i = 0; i < json_count(minimal); i++)
		print_list(i == 0 ? "enough" : "or", json_at(minimal, i),
			"nothing: it is slow in isolation", to);
}

static void print_untested(const struct json *result, FILE *to)
{
	static const char *const lists[] = { "not_tested", "left_out" };

	for (size_t k = 0; k < LENGTH(lists); k++) {
		const struct json *list = json_get(result, lists[k]);

		for (size_t i = 0; i < json_count(list); i++)
			fprintf(to, "  not tested  %s: %s\n",
				json_text(json_get(json_at(list, i), "id"), ""),
				json_text(json_get(json_at(list, i), "reason"), ""));
	}
}

static void print_invalid(const struct json *runs, FILE *to)
{
	for (size_t i = 0; i < json_count(runs); i++) {
		const struct json *run = json_at(runs, i);
		struct buf on = { 0 };

		if (json_is_true(json_get(run, "valid"), true))
			continue;
		add_list(&on, json_get(run, "on"), "nothing");
		fprintf(to, "  invalid run of %s: %s\n", buf_text(&on),
			json_text(json_get(run, "reason"), ""));
		buf_free(&on);
	}
}

void result_print(const struct experiment *x, const struct json *result, FILE *to)
{
	print_verdict(result, to);
	print_arms(json_get(result, "arms"), to);
	if (x->verdict == VERDICT_REPRODUCED && x->options->is_ablating)
		print_ablation(json_get(result, "ablation"), to);
	fprintf(to, "\n");
	print_invalid(json_get(result, "runs"), to);
	for (size_t i = 0; i < json_count(json_get(result, "notes")); i++)
		fprintf(to, "  not seen    %s\n",
			json_text(json_at(json_get(result, "notes"), i), ""));
	print_untested(result, to);
	if (x->ran_out_of_time)
		fprintf(to, "  --max-time ended it early; --resume goes on\n");
	fprintf(to, "  %zu runs in %.1f minutes, seed %lld\n", x->run_count,
		number(result, "minutes"), (long long)json_int(json_get(result, "seed"), 0));
}

/* ---- JUnit */

static void add_xml(struct buf *b, const char *text)
{
	for (; *text; text++) {
		switch (*text) {
		case '&':
			buf_add_text(b, "&amp;");
			break;
		case '<':
			buf_add_text(b, "&lt;");
			break;
		case '>':
			buf_add_text(b, "&gt;");
			break;
		case '"':
			buf_add_text(b, "&quot;");
			break;
		default:
			/* XML 1.0 has no other control characters. */
			if ((unsigned char)*text >= 32 || *text == '\t' || *text == '\n')
				buf_add_byte(b, (unsigned char)*text);
		}
	}
}

void result_junit(const struct json *result, const char *name, const char *expect, struct buf *to)
{
	const char *verdict = json_text(json_get(result, "verdict"), "unsure");
	const char *reason = json_text(json_get(result, "reason"), "");
	const char *wanted =
		expect && strcmp(expect, "gone") == 0 ? "not reproduced" : "reproduced";
	bool is_unsure = strcmp(verdict, "unsure") == 0, is_wanted = strcmp(verdict, wanted) == 0;
	const char *tag = is_unsure ? "error" : "failure";
	double seconds = 60 * json_number(json_get(result, "minutes"), 0);

	buf_add_text(to, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
	buf_addf(to,
		"<testsuite name=\"reprod recipe\" tests=\"1\" failures=\"%d\" errors=\"%d\" time=\"%.1f\">\n",
		!is_unsure && !is_wanted, is_unsure, seconds);
	buf_add_text(to, "  <testcase classname=\"reprod\" name=\"");
	add_xml(to, name);
	buf_addf(to, "\" time=\"%.1f\">\n", seconds);
	if (!is_wanted) {
		buf_addf(to, "    <%s message=\"", tag);
		add_xml(to, verdict);
		buf_addf(to, ", expected %s%s", wanted, *reason ? ": " : "");
		add_xml(to, reason);
		buf_addf(to, "\"/>\n");
	}
	buf_add_text(to, "    <system-out>");
	add_xml(to, json_text(json_get(result, "route"), ""));
	if (json_type(json_path(result, "effect.low")) == JSON_NUMBER)
		buf_addf(to, "\nE %.3f [%.3f, %.3f]",
			json_number(json_path(result, "effect.e"), NAN),
			json_number(json_path(result, "effect.low"), NAN),
			json_number(json_path(result, "effect.high"), NAN));
	else
		buf_add_text(to, "\nE unknown");
	buf_add_text(to, "\nnecessary: ");
	for (size_t i = 0; i < json_count(json_path(result, "ablation.necessary")); i++) {
		buf_add_text(to, i ? ", " : "");
		add_xml(to, json_text(json_at(json_path(result, "ablation.necessary"), i), ""));
	}
	buf_add_text(to, "</system-out>\n  </testcase>\n</testsuite>\n");
}
