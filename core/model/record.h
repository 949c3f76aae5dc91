/*
 * record.h - what may reach a disk: scrubbed sessions and requests.
 *
 * Only the scrubber (capture/scrub.c) makes them: record_seal() there says that
 * every text in the record went through the policy, and the capture file refuses
 * an unsealed one. Readers get records from core/model/rcap.h. All slices are
 * borrowed: from the scrubber until its next call, from a reader until its next
 * pull. Times are UTC nanoseconds.
 */
#ifndef REPROD_RECORD_H
#define REPROD_RECORD_H

#include "core/base/base.h"
#include "core/model/policy.h"

enum protocol { PROTOCOL_PG = 1, PROTOCOL_HTTP = 2 };

enum value_role { ROLE_UNKNOWN, ROLE_PREDICATE, ROLE_PAYLOAD, ROLE_STRUCTURAL };

enum value_flag {
	VALUE_IS_NULL = 1,
	VALUE_IS_PATTERN = 2, /* LIKE: only the wildcards are kept */
	VALUE_IS_CUT = 4, /* the source cut it */
	VALUE_IS_UNKNOWN = 8, /* dropped: binary of unknown type, or not readable */
};

/* A literal cut out of a statement text, or a bind value. */
struct value {
	uint16_t place; /* literal: slot in the template, from 0; bind: $(place + 1) */
	bool is_bind;
	uint8_t role; /* enum value_role */
	uint8_t format; /* 0 text, 1 binary (binds) */
	uint8_t action; /* enum value_action */
	uint8_t flags; /* enum value_flag */
	uint32_t type_oid; /* 0 when unknown; of a dropped value of HTTP: its length */
	struct slice bytes; /* literal: as SQL spells it, quotes included; bind: the payload */
};

/* A value of an earlier answer in the session that came back as value n. */
struct edge {
	uint64_t from_seq; /* request.seq of the answer */
	uint32_t row;
	uint16_t column;
	uint16_t value; /* index in values[] of this request */
	bool is_strong; /* from RETURNING, nextval, lastval, currval: substituted in replay */
};

enum form {
	FORM_SIMPLE = 1, /* Query */
	FORM_UNNAMED, /* Parse "", Bind, Execute */
	FORM_NAMED, /* Bind and Execute of a named statement */
	FORM_PREPARE, /* Parse of a named statement alone: no request of its own, not counted in routes */
	FORM_FETCH, /* a further Execute on an open portal */
	FORM_COPY_IN,
	FORM_COPY_OUT,
	FORM_FUNCTION, /* FunctionCall */
	FORM_HTTP,
};

enum request_flag {
	REQUEST_DERIVED = 1, /* times derived from a log's end stamp */
	REQUEST_TEXT_UNKNOWN = 2, /* statement prepared before the capture began */
	REQUEST_VALUE_LOST = 4, /* some value cut or unknown: not replayable as it was */
	REQUEST_GAP = 8, /* packets were missing inside it */
	REQUEST_SHED = 16,
	REQUEST_USES_NOW = 32, /* now(), CURRENT_*: rows do not gate under a shift */
	REQUEST_UNANSWERED = 64, /* end_ns is when we stopped looking */
	REQUEST_SKIPPED = 128, /* discarded by the server up to Sync after an error */
	REQUEST_CANCELLED = 256,
	REQUEST_SYNC = 512, /* a Sync followed: the pipeline ends here */
	REQUEST_EXTERNAL = 1024, /* has effects outside the database: never replayed */
	REQUEST_WRITES = 2048,
	REQUEST_UNLEXABLE = 4096, /* text dropped; route is "(unreadable statement)" */
	REQUEST_SECRET = 8192, /* the statement carries a secret: text and values dropped */
	REQUEST_TIMED = 16384, /* with REQUEST_GAP: what was missing leaves its times exact */
};

enum session_flag {
	SESSION_JOINED_LATE = 1, /* its start was not seen */
	SESSION_ENCRYPTED = 2,
	SESSION_WALSENDER = 4,
	SESSION_UNCLOSED = 8, /* its end was not seen */
	SESSION_POOLER_CLIENT =
		16, /* tapped between a client and pgbouncer, as far as it can be told */
	SESSION_POOLER_SERVER = 32, /* tapped between pgbouncer and the server */
};

struct session_record {
	uint64_t id; /* from 1, in order of opening */
	enum protocol protocol;
	int64_t open_ns;
	int64_t close_ns; /* 0 while open: written a second time when it closes */
	uint32_t flags;
	struct slice client; /* scrubbed address */
	struct slice server; /* address:port, in clear: replay must refuse it */
	struct slice user, database, application; /* scrubbed */
	uint8_t is_sealed;
};

struct request_record {
	uint64_t session;
	uint64_t seq; /* from 0 within the session, prepares included */
	int64_t start_ns; /* first byte of the request */
	int64_t first_byte_ns; /* of the answer; 0 when there was none */
	int64_t end_ns; /* end of its answer (ReadyForQuery where one belongs to it) */
	int64_t think_ns; /* start minus the end of the previous answer; -1 for the first */
	uint32_t route; /* index in the route dictionary */
	uint32_t template_id; /* index in the template dictionary; 0: no text */
	uint32_t statement; /* named statement number in this session, from 1; 0: unnamed */
	uint32_t portal; /* likewise for named portals */
	uint32_t row_limit; /* Execute's row count; 0: all */
	uint8_t form; /* enum form */
	char state_before; /* 'I', 'T', 'E', or '?' */
	char state_after;
	uint32_t in_flight; /* at arrival, this one included */
	uint32_t flags; /* enum request_flag */
	uint64_t rows;
	uint64_t bytes_in, bytes_out;
	char sqlstate[6]; /* "" when it went well */
	uint16_t status; /* HTTP; 0 when it was not answered */
	uint8_t grpc; /* gRPC status + 1; 0: none */
	const struct value *values;
	size_t value_count;
	const struct edge *edges;
	size_t edge_count;
	/* COPY in: scrubbed rows as CopyData text, or empty with counts only */
	struct slice copy_data;
	uint8_t is_sealed;
};

/* For the scrubber alone; the layer check looks for other callers. */
void record_seal_session(struct session_record *s);
void record_seal_request(struct request_record *q);

/* Template text: SQL with comments dropped and each literal replaced by this
 * byte; slot n is the n-th of them. A text that holds it outside a literal does
 * not lex. */
#define TEMPLATE_SLOT '\x01'

/* Puts the literals back. False when a needed value is missing or unknown. */
struct buf;
bool record_statement_text(struct slice template_text, const struct value *values, size_t count,
	struct buf *out) MUST_USE;
/* An HTTP request as it can be sent: the values put back; header lines that miss one
 * are left out (replay adds its own credentials), what a body misses is as many 'x'. False
 * when the request line misses one. */
bool record_http_text(struct slice template_text, const struct value *values, size_t count,
	struct buf *out) MUST_USE;

#endif
