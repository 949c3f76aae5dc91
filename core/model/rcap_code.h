/*
 * rcap_code.h - one record to bytes and back (docs/formats/rcap.md, "Records").
 *
 * Each block of records stands alone: the coder's state is reset at its start.
 * What is decoded borrows the payload; values and edges live in the decoder until
 * its next call.
 */
#ifndef REPROD_RCAP_CODE_H
#define REPROD_RCAP_CODE_H

#include "core/base/buf.h"
#include "core/base/cursor.h"
#include "core/model/record.h"

/* What differences are taken against. */
struct rcap_state {
	int64_t end_ns;
	uint64_t seq;
};

struct rcap_decoder {
	struct rcap_state state;
	struct value *values;
	struct edge *edges;
	size_t value_room, edge_room;
	bool is_out_of_memory; /* why the last record did not decode */
};

/* Append a framed record; buf.is_full tells failure. A request with more than
 * 65,535 values or edges, or larger than RCAP_RECORD_MAX, goes without its values,
 * edges and rows and gets REQUEST_VALUE_LOST. */
void rcap_code_session(const struct session_record *s, struct buf *to);
void rcap_code_request(struct rcap_state *state, const struct request_record *q, struct buf *to);

/* The next framed record: kind and payload. END when there is none, FAIL when the
 * frame does not fit. */
enum step rcap_next_record(struct cursor *c, uint8_t *ret_kind, struct slice *ret_payload);

/* From a payload; false when damaged. Bytes behind the known fields are ignored. */
bool rcap_decode_session(struct slice payload, struct session_record *ret) MUST_USE;
bool rcap_decode_request(
	struct rcap_decoder *d, struct slice payload, struct request_record *ret) MUST_USE;
/* What the counts of a route count as an error, and its service time in
 * microseconds; -1 when it has none: skipped by the server, or REQUEST_GAP and no
 * length at all. */
bool rcap_is_error(const struct request_record *q);
int64_t rcap_latency_us(const struct request_record *q);
void rcap_decoder_free(struct rcap_decoder *d);

#endif
