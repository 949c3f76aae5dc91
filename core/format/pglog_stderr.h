/*
 * pglog_stderr.h - messages of a stderr log (also of syslog and the like once they
 * are unwrapped) out of its lines.
 *
 * A message is a line with a severity, its continuations (they begin with a tab, which
 * goes), and lines labelled DETAIL, CONTEXT, QUERY or STATEMENT behind it. It is known
 * to be whole when the next one begins. Without %c its session is named by pid and
 * client. Slices are borrowed until the call after the next.
 */
#ifndef REPROD_PGLOG_STDERR_H
#define REPROD_PGLOG_STDERR_H

#include "core/format/pglog_prefix.h"

/* What the wrapping knows of a line beside it. */
struct pglog_around {
	bool has_utc;
	int64_t utc_ns;
	struct slice pid;
	bool is_inside; /* one entry of the wrapping holds more lines than this, and not the
			 * first: what fits no prefix continues the line before */
};

struct pglog_message {
	struct buf bytes; /* prefix, session key, then the parts as they came */
	struct pglog_line line; /* its slices lie in bytes */
	struct slice pid;
	bool is_set;
};

struct pglog_stderr {
	struct pglog_prefix prefix;
	struct pglog_message now, before;
	bool is_anonymous; /* neither %u nor %d */
	struct slice *part; /* of now.line: where a continuation goes; NULL: nowhere */
};

void pglog_stderr_init(struct pglog_stderr *r, const struct pglog_prefix *prefix);
/* One line without its newline. ITEM: a message before it is whole; the line is
 * taken. MORE: taken. FAIL: not taken, ret_why says why (a static text). */
enum step pglog_stderr_line(struct pglog_stderr *r, struct slice line,
	const struct pglog_around *around, struct pglog_line *ret, const char **ret_why);
/* The last message: ITEM, or END when there is none. */
enum step pglog_stderr_end(struct pglog_stderr *r, struct pglog_line *ret);
void pglog_stderr_free(struct pglog_stderr *r);

#endif
