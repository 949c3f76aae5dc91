#include "capture/log/log_advice.h"

#include <inttypes.h>
#include <stdio.h>

#include "core/base/clock.h"

#define ADVICE "set log_min_duration_statement = 0, then reload and log again"

static bool advise(uint64_t lines, struct err *e, const char *seen, const char *hint)
{
	err_set(e, ERR_INPUT, "0 of %" PRIu64 " lines tell of a request with its duration%s", lines,
		seen);
	return err_hint(e, "%s", hint);
}

static bool advise_prefix(uint64_t lines, const char *prefix, struct err *e)
{
	err_set(e, ERR_INPUT, "0 of %" PRIu64 " lines begin as '%s'", lines, prefix);
	return err_hint(e, "give the server's prefix with --log-prefix (SHOW log_line_prefix)");
}

static bool advise_foreign(uint64_t lines, const struct log_shape *shape, struct err *e)
{
	bool has_label = shape->learned.foreign > 0;

	err_set(e, ERR_INPUT,
		"0 of %" PRIu64 " lines are understood: its messages are not in English%s%s%s",
		lines, has_label ? " ('" : "", has_label ? shape->learned.example : "",
		has_label ? "')" : "");
	return err_hint(e, "set lc_messages = 'C', then reload and log again");
}

bool log_advise(
	const struct log_match *m, const struct log_shape *shape, const char *prefix, struct err *e)
{
	struct log_seen seen = log_match_seen(m);
	uint64_t lines = log_match_lines(m);

	if (seen.foreign || shape->learned.foreign > shape->learned.lines)
		return advise_foreign(lines, shape, e);
	if (seen.statements && !seen.durations)
		return advise(lines, e, ": statements are there, durations are not",
			"set log_duration = on (or log_min_duration_statement = 0), then reload and "
			"log again");
	if (seen.durations && !seen.statements)
		return advise(lines, e, ": durations are there, statements are not",
			"set log_min_duration_statement = 0 (or log_statement = 'all' beside "
			"log_duration = on), then reload and log again");
	if (shape->format == PGLOG_STDERR && log_match_unread_all(m) == lines && lines)
		return advise_prefix(lines, prefix, e);
	return advise(lines, e, "",
		ADVICE " (or log_statement = 'all' with log_duration = on; lc_messages = 'C')");
}

const char *log_lacks(const struct log_match *m, char text[256])
{
	struct log_seen seen = log_match_seen(m);
	char duration[CLOCK_TEXT_MAX];

	if (seen.timed == 0 && seen.statements)
		snprintf(text, 256,
			"statements have no durations, only those that failed are in it: " ADVICE);
	else if (seen.timed == 0 && seen.errors)
		snprintf(text, 256, "only errors are in it, no durations: " ADVICE);
	else if (seen.timed >= 20 && seen.shortest_ns >= 5 * NS_PER_MS)
		snprintf(text, 256,
			"no statement in it is faster than %s: log_min_duration_statement left out the "
			"faster ones, so rates and percentiles are of the slow ones only",
			clock_duration_text(seen.shortest_ns, duration));
	else
		return NULL;
	return text;
}
