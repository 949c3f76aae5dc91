/*
 * httptalk.h - an HTTP connection in a test: say what the sides send, read what the
 * sink got as lines "GET /a 200 body=b", one for each request, with what is unusual.
 */
#ifndef REPROD_TEST_HTTPTALK_H
#define REPROD_TEST_HTTPTALK_H

#include "capture/wire/conn.h"

struct httptalk {
	struct ledger ledger;
	struct wire wire;
	void *state;
	bool is_over; /* the connection wanted no more */
	int64_t now_ns;
	struct buf lines;
	struct raw_request last; /* its numbers; the slices are gone */
	uint64_t requests;
	unsigned sessions;
	uint32_t session_flags;
	size_t held_max_seen;
};

struct httptalk *httptalk_new(bool is_late);
/* Time goes on by 1 us with each call. Side 0 is the client. */
void httptalk_say(struct httptalk *t, int side, const char *bytes, size_t n);
void httptalk_gap(struct httptalk *t, int side, uint64_t missing_n);
void httptalk_close(struct httptalk *t);
/* Did the books balance? NULL, or what did not. */
const char *httptalk_fault(const struct httptalk *t);
/* Closes first. */
void httptalk_free(struct httptalk *t);

#endif
