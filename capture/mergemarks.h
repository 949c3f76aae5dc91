/*
 * mergemarks.h - what a capture's requests and sessions can be recognised by in another.
 *
 * A mark is a request's content (route and values, and the same with the three requests
 * before it in its session) with its times. Marks are sampled by value, the same ones in
 * every capture, so that at most MERGEMARKS_MAX are kept; one seen twice is no mark.
 * Each session leaves a digest of all its content. One pass; owns its memory.
 */
#ifndef REPROD_MERGEMARKS_H
#define REPROD_MERGEMARKS_H

#include "core/base/run.h"
#include "core/base/table.h"
#include "core/model/rcap.h"

enum { MERGEMARKS_MAX = 1 << 16 };

struct mergemark {
	uint64_t content; /* 0: free */
	uint64_t session;
	uint64_t client;
	int64_t start_ns, end_ns;
	bool is_repeated;
};

struct mergesession {
	uint64_t id, client, server; /* hashes of the scrubbed address, and of the server's */
	uint64_t content, requests;
	int64_t first_ns, last_ns;
};

struct mergemarks {
	struct mergemark *marks; /* open addressing */
	size_t room, count;
	uint64_t sample; /* kept: content & sample == 0 */
	struct mergesession *sessions;
	size_t session_count, session_room, session_cap;
	uint64_t unchecked; /* sessions past the cap */
	struct table open;
	bool is_short; /* of memory */
};

bool mergemarks_read(struct mergemarks *m, struct rcap *r, size_t session_cap,
	const struct run *run, struct err *e) MUST_USE;
/* A mark that was seen once, or NULL. */
const struct mergemark *mergemarks_find(const struct mergemarks *m, uint64_t content);
void mergemarks_free(struct mergemarks *m);

#endif
