/*
 * request.h - a request as a protocol or a log reader saw it: raw, in memory only.
 *
 * Readers hand these to the sink; the scrubber behind it makes records of them.
 * Nothing in here may be written anywhere. Slices are borrowed for the call.
 * Field meanings and units are those of record.h.
 */
#ifndef REPROD_REQUEST_H
#define REPROD_REQUEST_H

#include "core/base/err.h"
#include "core/model/record.h"

struct raw_session {
	uint64_t id;
	enum protocol protocol;
	int64_t open_ns, close_ns;
	uint32_t flags;
	struct slice client, server, user, database, application;
};

struct raw_value {
	struct slice bytes;
	uint32_t type_oid;
	uint8_t format;
	bool is_null;
	bool is_cut;
};

struct raw_field {
	struct slice name, value;
};

/* What an HTTP exchange says beyond what all requests have. */
struct raw_http {
	struct slice method, target; /* as sent; absolute URIs too */
	struct slice authority; /* Host or :authority */
	uint8_t version; /* 10, 11, 20 */
	const struct raw_field *fields; /* of the request in order, pseudo-headers not among them */
	size_t field_count;
	struct slice body; /* without its chunked framing; at most HTTP_BODY_MAX */
	uint64_t body_n; /* its whole size */
	bool is_chunked, is_body_cut;
	uint16_t status; /* 0: not answered */
	uint8_t grpc; /* gRPC status + 1; 0: none */
	struct slice answer_type; /* Content-Type of the answer */
};

#define HTTP_BODY_MAX (1 << 20)

struct raw_request {
	uint64_t session, seq;
	int64_t start_ns, first_byte_ns, end_ns, think_ns;
	uint8_t form;
	uint32_t statement, portal, row_limit;
	char state_before, state_after;
	uint32_t in_flight;
	uint32_t flags;
	struct slice text; /* empty with REQUEST_TEXT_UNKNOWN */
	bool is_backslash_escape; /* standard_conforming_strings is off in the session */
	const struct raw_value *binds;
	size_t bind_count;
	uint64_t rows, bytes_in, bytes_out;
	char sqlstate[6];
	struct slice copy_data;
	const struct edge *edges;
	size_t edge_count;
	const struct raw_http *http; /* FORM_HTTP, else NULL */
};

/* Where finished requests go. False stops the reader with *e. */
struct request_sink {
	bool (*session)(void *data, const struct raw_session *s, struct err *e);
	bool (*request)(void *data, const struct raw_request *q, struct err *e);
	void *data;
};

#endif
