#include <math.h>
#include <string.h>

#include "correlate/report_parts.h"
#include "correlate/words.h"

enum { TABLE_MAX = 20, RULED_OUT_MAX = 15, ID = 30, VERDICT = 11, HITS = 9, RANGE = 19, P = 9 };

static bool is_candidate(const struct finding *f)
{
	return f->verdict <= VERDICT_SUGGESTIVE;
}

static void print_title(FILE *to)
{
	fputs("\n", to);
	words_pad("", 4, to);
	words_pad("verdict", VERDICT + 1, to);
	words_pad("what", ID + 1, to);
	words_pad("runs hit", HITS + 1, to);
	words_pad("lift [95 %]", RANGE + 1, to);
	words_pad("p", P, to);
	fputs("q\n", to);
}

static void hits_text(const struct finding *f, char text[24])
{
	if (f->metric)
		snprintf(text, 24, "-");
	else
		snprintf(text, 24, "%zu/%zu", f->whole.hit, f->whole.evaluable);
}

/* A metric has no windows: its effect stands in the place of a lift. */
static void strength_text(const struct finding *f, char text[WORDS_RANGE_MAX])
{
	if (f->metric)
		snprintf(text, WORDS_RANGE_MAX, "effect %.2f", f->by_metric.effect);
	else if (f->whole.lift_low >= 1000)
		snprintf(text, WORDS_RANGE_MAX, "over 1000"); /* none outside to speak of */
	else
		words_range(f->whole.lift, f->whole.lift_low, f->whole.lift_high, text);
}

static void print_row(const struct finding *f, FILE *to)
{
	char hits[24], strength[WORDS_RANGE_MAX], p[WORDS_NUMBER_MAX], q[WORDS_NUMBER_MAX];

	hits_text(f, hits);
	strength_text(f, strength);
	fprintf(to, "%3zu ", f->group);
	words_pad(verdict_text(f->verdict), VERDICT, to);
	fputc(' ', to);
	words_pad(f->condition->id, ID, to);
	fputc(' ', to);
	words_pad(hits, HITS, to);
	fputc(' ', to);
	words_pad(strength, RANGE, to);
	fputc(' ', to);
	words_pad(words_number(f->p, p), P, to);
	fprintf(to, "%s\n", words_number(f->q, q));
}

static void print_candidates(const struct analysis *a, FILE *to)
{
	size_t n = 0;

	for (size_t i = 0; i < a->finding_count; i++) {
		const struct finding *f = &a->findings[i];

		if (!is_candidate(f) || n++ >= TABLE_MAX)
			continue;
		if (n == 1)
			print_title(to);
		print_row(f, to);
		words_wrap(f->reason, 6, 6, to);
		report_depth(a, f, to);
	}
	if (n > TABLE_MAX)
		fprintf(to, "  ... and %zu more\n", n - TABLE_MAX);
}

static bool is_shared_group(const struct analysis *a, size_t group)
{
	size_t n = 0;

	for (size_t i = 0; i < a->finding_count; i++)
		n += a->findings[i].group == group && is_candidate(&a->findings[i]);
	return n > 1;
}

/* Those that timing cannot tell apart, one line a group. */
static void print_groups(const struct analysis *a, FILE *to)
{
	size_t told = 0;

	for (size_t i = 0; i < a->finding_count; i++) {
		size_t group = a->findings[i].group, n = 0;

		if (!is_candidate(&a->findings[i]) || group <= told || !is_shared_group(a, group))
			continue;
		told = group;
		fprintf(to, "  group %zu, not to be told apart by timing:", group);
		for (size_t k = 0; k < a->finding_count; k++)
			if (a->findings[k].group == group && is_candidate(&a->findings[k]))
				fprintf(to, "%s%s", n++ ? ", " : " ", a->findings[k].condition->id);
		fputc('\n', to);
	}
}

static void print_other(const struct finding *f, FILE *to)
{
	char line[sizeof(f->reason) + 256];

	snprintf(line, sizeof(line), "%.200s: %s", f->condition->id, f->reason);
	words_wrap(line, 4, 8, to);
}

static void print_others(const struct analysis *a, enum verdict v, const char *title, FILE *to)
{
	size_t n = 0;

	for (size_t i = 0; i < a->finding_count; i++) {
		if (a->findings[i].verdict != v || n++ >= RULED_OUT_MAX)
			continue;
		if (n == 1)
			fprintf(to, "\n  %s\n", title);
		print_other(&a->findings[i], to);
	}
	if (n > RULED_OUT_MAX)
		fprintf(to, "    ... and %zu more, see --json\n", n - RULED_OUT_MAX);
}

void report_findings(const struct analysis *a, FILE *to)
{
	print_candidates(a, to);
	print_groups(a, to);
	print_others(a, VERDICT_NO_EVIDENCE, "ruled out, as far as timing can (no evidence):", to);
	print_others(a, VERDICT_CANNOT_TELL, "could not be told:", to);
}
