/*
 * describe.h - the profile of a database: its numbers without its rows.
 *
 * Value-free by construction: every query reduces what it reads to frequencies,
 * counts and relative gaps inside the server, so that no column value ever reaches
 * this process, and the writer takes catalog names and numbers only. Read only, one
 * connection, lock_timeout 100 ms and a time budget per section; a relation that
 * somebody holds exclusively is skipped and said, a section that fails says why and
 * with which grant it would not.
 */
#ifndef REPROD_DESCRIBE_H
#define REPROD_DESCRIBE_H

#include "core/base/cli.h"
#include "core/base/json.h"

#define PROFILE_FORMAT "reprod-profile"
#define PROFILE_VERSION 1

struct describe_options {
	int64_t section_budget_ns; /* 0: 10 s */
};

/* The document of docs/formats/profile.md; NULL when no connection was made. */
struct json *snapshot_describe(
	const char *dsn, const struct describe_options *o, const struct run *r, struct err *e);

extern const struct cli_command snapshot_describe_command;

#endif
