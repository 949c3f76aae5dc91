/*
 * merge.h - several captures as one, on the clock of the first.
 *
 * Each capture's clock is set right by requests that another one saw too, else by what
 * the caller gives, else not at all, which is said. A session captured twice stays once,
 * the fuller of both. Sessions get new numbers, dictionaries are joined, exact counts are
 * added up less those of what was left out. Memory: marks and digests of sessions
 * (capture/mergemarks.h), MERGE_SESSIONS_MAX of these over all; those beyond are not
 * compared, and counted.
 */
#ifndef REPROD_MERGE_H
#define REPROD_MERGE_H

#include "capture/mergemarks.h"
#include "capture/mergeskew.h"
#include "core/base/json.h"

#define MERGE_FILES_MAX 16
#define MERGE_SESSIONS_MAX 2000000

enum merge_how { MERGE_REFERENCE, MERGE_BY_CONTENT, MERGE_GIVEN, MERGE_ASSUMED };

struct merge_input {
	const char *path;
	struct rcap *rcap;
	struct mergemarks marks;
	enum merge_how how;
	bool is_given;
	int64_t given_ns;
	int64_t skew_ns;
	struct mergeskew found; /* against input `against` */
	size_t against;
	/* Sessions left out since another input has them: one bit for each number */
	unsigned char *dropped;
	size_t dropped_bytes;
	uint64_t dropped_sessions, dropped_requests, dropped_prepares;
	struct rcap_route *dropped_counts; /* by route of this input */
};

struct merge {
	struct merge_input inputs[MERGE_FILES_MAX];
	size_t count;
	const struct run *run;
	uint64_t sessions, requests; /* counted in the output */
};

/* Opens all; refuses (ERR_REFUSED) when keys or policies differ. */
bool merge_open(struct merge *m, struct err *e) MUST_USE;
/* Finds skews and sessions captured twice. */
bool merge_align(struct merge *m, struct err *e) MUST_USE;
bool merge_write(struct merge *m, const char *path, struct err *e) MUST_USE;
void merge_free(struct merge *m);

bool merge_is_dropped(const struct merge_input *in, uint64_t session);
/* mergedup.c: marks what another input has too. False when memory ran out. */
bool merge_find_doubles(struct merge *m) MUST_USE;
/* mergehead.c: the head of the merged capture, and {files, dropped} of it. */
struct json *merge_head(const struct merge *m);
struct json *merge_report(const struct merge *m);

#endif
