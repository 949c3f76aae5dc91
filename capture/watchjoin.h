/*
 * watchjoin.h - several captures, one after the other, as one.
 *
 * Routes and templates are numbered anew; a session that several hold is opened once.
 * Every request is stored and counted. The head is the last one's, with the times and
 * counts of the whole. Memory is bounded by the dictionaries and the open sessions.
 */
#ifndef REPROD_WATCHJOIN_H
#define REPROD_WATCHJOIN_H

#include "core/model/rcap.h"

struct watch_join {
	const char *const *paths;
	size_t count;
	int64_t from_ns, until_ns; /* requests that end in it */
	size_t dictionary_max; /* bytes of the whole's texts and counts; 0: no cap */
	const char *why;
	int64_t at_ns; /* when it was noticed */
};

/* Written beside its place and renamed. *ret_requests 0: there was nothing, no file. */
bool watch_join(const struct watch_join *j, const char *output, uint64_t *ret_requests,
	struct err *e) MUST_USE;

#endif
