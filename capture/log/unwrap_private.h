/*
 * unwrap_private.h - between the files of unwrap: a shell each.
 */
#ifndef REPROD_UNWRAP_PRIVATE_H
#define REPROD_UNWRAP_PRIVATE_H

#include "capture/log/unwrap.h"
#include "core/format/jsonline.h"

/* Reads a time in front, RFC 3339 with zone, up to the blank behind it, which goes too. */
bool unwrap_eat_iso(struct slice *s, int64_t *ret_ns);

/* JSON shells. why is "not of Postgres" for what another program wrote. */
struct unwrap_json {
	struct jsonline json;
	struct buf bytes; /* of a message given as numbers */
};
bool unwrap_journal(
	struct unwrap_json *j, struct slice line, struct unwrapped *ret, const char **ret_why);
bool unwrap_cloud(
	struct unwrap_json *j, struct slice line, struct unwrapped *ret, const char **ret_why);
/* ret->text still has its newline when the line was whole; ret_is_error: stderr. */
bool unwrap_docker(struct unwrap_json *j, struct slice line, struct unwrapped *ret,
	bool *ret_is_error, const char **ret_why);

/* Headers: *ret->text is what stands behind "postgres[123]: ". */
bool unwrap_syslog_header(struct slice line, struct unwrapped *ret, const char **ret_why);
bool unwrap_logplex_header(struct slice line, struct unwrapped *ret, const char **ret_why);

/* Messages that come in parts "[n-m] ...". */
struct unwrap_parts;
struct unwrap_parts *unwrap_parts_new(void);
void unwrap_parts_free(struct unwrap_parts *p);
/* ITEM: *ret is a whole message, perhaps an earlier one. MORE; FAIL. */
enum step unwrap_parts_put(struct unwrap_parts *p, const struct unwrapped *line,
	struct unwrapped *ret, const char **ret_why);
enum step unwrap_parts_end(struct unwrap_parts *p, struct unwrapped *ret);

#endif
