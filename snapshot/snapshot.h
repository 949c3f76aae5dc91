/*
 * snapshot.h - the face of snapshot: lab clusters that go back to a known state.
 *
 * A lab is a data directory that `snapshot build --into DIR` made and owns, with
 * its frozen state in DIR.frozen. lab_open() starts its server as our child;
 * lab_reset() kills it, puts the frozen files back and starts it again, with a new
 * nonce in the mark. One process may hold a lab at a time (lock file).
 */
#ifndef REPROD_SNAPSHOT_H
#define REPROD_SNAPSHOT_H

#include "core/base/cli.h"
#include "core/base/err.h"
#include "core/base/run.h"
#include "core/driver/pgserver.h"
#include "core/model/mark.h"

struct lab {
	struct pgserver server;
	char dir[1024];
	char database[64]; /* the snapshot's main database */
	char dsn[1400]; /* as reprod_replay, no superuser: for traffic and jobs */
	struct mark mark;
	int lock_fd; /* -1 when not held; zeroed labs hold none because dir is empty */
	int64_t reset_ns; /* how long the last reset took, start included */
	bool is_reflink;
	char admin_dsn[1400]; /* as superuser: for conditions and read-back, never traffic */
	int major;
	size_t reset_files; /* how many files the last reset put back */
	int64_t reset_bytes;
};

extern const struct cli_command snapshot_command;

bool lab_open(struct lab *lab, const char *dir, const struct run *r, struct err *e) MUST_USE;
/* Only for a frozen lab. extra_settings: "name=value" for -c, may be NULL. */
bool lab_reset(struct lab *lab, const char *const *extra_settings, const struct run *r,
	struct err *e) MUST_USE;
void lab_close(struct lab *lab);
/* Resets the database behind a DSN from its template (freeze DSN made it). */
bool snapshot_reset_dsn(
	const char *dsn, const struct run *r, struct mark *ret_mark, struct err *e) MUST_USE;

#endif
