#include "core/base/clock.h"
#include "correlate/report_parts.h"
#include "correlate/timeline.h"
#include "correlate/words.h"

enum { REACHES_TOLD = 12 };

static void print_head(const struct report *r, FILE *to)
{
	const struct series *s = r->analysis->series;
	char first[CLOCK_TEXT_MAX], span[CLOCK_TEXT_MAX];

	fprintf(to, "%s\n", r->answer);
	fprintf(to, "  %llu requests of %zu route%s, from %s, %s\n",
		(unsigned long long)s->requests, s->route_count, s->route_count == 1 ? "" : "s",
		clock_text(s->first_ns, first),
		clock_duration_text(s->last_ns - s->first_ns, span));
	if (r->notes->is_incomplete)
		fputs("  incomplete: something that was given was not used, see the notes\n", to);
}

static void print_range(const struct reach *x, FILE *to)
{
	char from[CLOCK_TEXT_MAX], end[CLOCK_TEXT_MAX];

	if (x->is_assumed)
		fputs("taken as complete", to);
	else if (x->from_ns == INT64_MIN && x->to_ns == INT64_MAX)
		fputs("at all times", to);
	else
		fprintf(to, "%s to %s",
			x->from_ns == INT64_MIN ? "..." : clock_text(x->from_ns, from),
			x->to_ns == INT64_MAX ? "..." : clock_text(x->to_ns, end));
}

static void print_reach(const struct reach *x, FILE *to)
{
	fprintf(to, "    %s (%s): %llu read, ", x->source, x->dialect, (unsigned long long)x->read);
	print_range(x, to);
	if (x->bad)
		fprintf(to, "; %llu could not be read", (unsigned long long)x->bad);
	fputc('\n', to);
	if (x->note)
		words_wrap(x->note, 8, 8, to);
}

/* Outside of these nothing is known: an absence there is no evidence. */
static void print_reaches(const struct reach_list *list, FILE *to)
{
	if (!list->count)
		return;
	fputs("\n  how far the sources reach:\n", to);
	for (size_t i = 0; i < list->count && i < REACHES_TOLD; i++)
		print_reach(&list->items[i], to);
	if (list->count > REACHES_TOLD)
		fprintf(to, "    ... and %zu more\n", list->count - REACHES_TOLD);
}

static void print_notes(const struct notes *n, FILE *to)
{
	if (n->count)
		fputc('\n', to);
	for (size_t i = 0; i < n->count; i++)
		fprintf(to, "note: %s\n", n->items[i]);
	if (n->refused)
		fprintf(to, "note: %llu further notes were not kept\n",
			(unsigned long long)n->refused);
}

void report_print(const struct report *r, FILE *to)
{
	const struct analysis *a = r->analysis;

	print_head(r, to);
	if (a->route_count)
		timeline_print(a, 0, to);
	report_findings(a, to);
	report_unexplained(a, to);
	report_periods(r, to);
	report_routes(a, to);
	report_thin_routes(a, to);
	print_reaches(&r->causes->reaches, to);
	print_notes(r->notes, to);
}
