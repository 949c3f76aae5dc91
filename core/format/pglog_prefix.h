/*
 * pglog_prefix.h - log_line_prefix: compiled, and matched against lines.
 *
 * Every escape of PostgreSQL 10 to 18 ("Error Reporting and Logging", log_line_prefix)
 * with its padding, and %? for a word that is not used. Escapes with free text
 * (%u %d %a %i %b) match as little as makes the rest fit, up to the label ("LOG:  "):
 * a separator may occur in a name, unless two names beside each other could share
 * it either way; then the first takes the shorter part. Pure; slices are borrowed
 * from the line.
 */
#ifndef REPROD_PGLOG_PREFIX_H
#define REPROD_PGLOG_PREFIX_H

#include "core/base/err.h"
#include "core/format/pglog.h"

#define PGLOG_PREFIX_ITEMS_MAX 64
#define PGLOG_PREFIX_BYTES_MAX 256

struct pglog_prefix_item {
	char escape; /* 0: text that stands there; 'q': the end for what has no session */
	uint8_t at, n; /* of the text, in pglog_prefix.text */
};

/* No pointers: it can be copied. */
struct pglog_prefix {
	char source[PGLOG_PREFIX_BYTES_MAX];
	char text[PGLOG_PREFIX_BYTES_MAX];
	struct pglog_prefix_item items[PGLOG_PREFIX_ITEMS_MAX];
	size_t count;
};

/* Empty where the prefix has no such escape or %q ended it; "[unknown]" is empty, too. */
struct pglog_prefix_head {
	struct slice time, time_ms, epoch; /* %t, %m, %n */
	struct slice session_start, session_id, pid; /* %s, %c, %p */
	struct slice user, database, application, client; /* %u, %d, %a, %r or %h */
	struct slice sqlstate, command_tag, backend_type; /* %e, %i, %b */
	enum pglog_label label;
	struct slice severity;
	struct slice text; /* behind the label */
};

/* ERR_USAGE for an escape that no version knows. */
bool pglog_prefix_compile(struct pglog_prefix *p, const char *source, struct err *e) MUST_USE;
/* False: the line does not begin so, or no label follows. */
bool pglog_prefix_match(
	const struct pglog_prefix *p, struct slice line, struct pglog_prefix_head *ret);
bool pglog_prefix_has(const struct pglog_prefix *p, char escape);

#endif
