#include "correlate/input.h"

#include "core/base/clock.h"

#define N(count) ((unsigned long long)(count))

static void note_lines(const struct input *in, struct notes *to)
{
	if (in->first_bad.kind)
		notes_bad(to, in->bad, "lines", &in->first_bad);
	else if (in->bad)
		notes_lack(
			to, "%llu requests were refused: out of range, or past a cap", N(in->bad));
	if (in->is_cut)
		notes_add(to, "the last line has no line break and cannot be read: a file was cut");
	if (in->cut_path)
		notes_lack(to, "%s: %s; what came before is used", in->cut_path, in->cut_why);
	if (in->disordered)
		notes_add(to,
			"%llu lines are out of order by a minute or more: all are used, by their times",
			N(in->disordered));
	if (in->scaled)
		notes_add(to,
			"%llu times are too large for epoch seconds: read as milli-, micro- or "
			"nanoseconds",
			N(in->scaled));
	if (in->local)
		notes_add(
			to, "%llu times without a zone were read in that of --zone", N(in->local));
}

static void note_captures(const struct input *in, struct notes *to)
{
	char floor[CLOCK_TEXT_MAX];

	if (in->is_torn)
		notes_lack(
			to, "a capture file ends without its last block: what was whole is used");
	if (in->gap)
		notes_add(to, "%llu requests with missing packets were left out", N(in->gap));
	if (in->untimed)
		notes_add(to, "%llu requests without a latency were left out", N(in->untimed));
	if (in->dropped)
		notes_add(to,
			"%llu packets were dropped while it was captured, at unknown times: requests "
			"may be missing",
			N(in->dropped));
	if (in->found_floor_ns)
		notes_add(to,
			"no statement of a log is faster than %s: log_min_duration_statement left out "
			"the faster ones, so quantiles are not known",
			clock_duration_text(in->found_floor_ns, floor));
	if (in->shed)
		notes_add(to,
			"in %llu time ranges a capture kept only some of the sessions: fewer requests "
			"there are no lull",
			N(in->shed));
}

static void note_series(const struct series *s, struct notes *to)
{
	if (s->bin_step > 1)
		notes_add(to, "so many different requests that latencies are told within %.1f %%",
			0.8 * s->bin_step);
	if (s->gaps_joined)
		notes_add(to, "%llu gaps were joined with their neighbours: there are too many",
			N(s->gaps_joined));
}

void input_notes(const struct input *in, struct notes *to)
{
	note_lines(in, to);
	note_captures(in, to);
	note_series(in->series, to);
	if (in->twice)
		notes_add(to, "'%s' was read before, by this or another name: not read again",
			in->twice);
}
