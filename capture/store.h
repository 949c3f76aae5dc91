/*
 * store.h - where sealed records go behind the scrubber.
 *
 * Without one they go straight to the capture file. The sampler stores some and
 * counts all; the watch keeps the latest and counts by the hour. Route and template
 * numbers are those of the writer that the scrubber was given. Records are borrowed
 * for the call. One thread.
 */
#ifndef REPROD_STORE_H
#define REPROD_STORE_H

#include "core/base/err.h"
#include "core/model/record.h"

struct store {
	bool (*session)(void *data, const struct session_record *s, struct err *e);
	bool (*request)(void *data, const struct request_record *q, struct err *e);
	void *data;
};

#endif
