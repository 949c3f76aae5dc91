/*
 * proto_pg.h - the bytes of one connection cut into PostgreSQL messages.
 *
 * Protocol 3.0 to 3.2 (PostgreSQL manual, chapter 55). Begins
 * with the startup packet or, when the start was not seen, at the first message
 * boundary. After a gap it waits for the next one. Bodies nobody needs (passwords,
 * large rows) are skipped by their length and never kept. What is
 * kept of an unfinished message is at most PG_BODY_MAX bytes. Message bodies are
 * borrowed for the call.
 */
#ifndef REPROD_PROTO_PG_H
#define REPROD_PROTO_PG_H

#include "core/base/buf.h"

#define PG_BODY_MAX (1 << 20) /* of a statement or its binds; longer ones are cut */
#define PG_ROW_MAX 4096 /* data rows above come without a body */
#define PG_COPY_MAX 65536 /* CopyData messages above come without a body */

enum pg_phase {
	PG_UNDECIDED,
	PG_RUNNING,
	PG_TLS, /* an SSLRequest was granted: what is fed next is the plain text inside */
	PG_ENCRYPTED, /* nothing more to be read */
	PG_CANCEL, /* a cancel request: no session */
	PG_OTHER, /* not Postgres */
};

struct pg_message {
	char type;
	bool from_client;
	bool is_whole; /* body is all of it */
	uint32_t wire_n; /* with type and length */
	struct slice body;
	int64_t start_ns, end_ns; /* when the first and the last byte came */
};

struct pg_sink {
	/* Parameters of the startup packet: name NUL value NUL ... */
	void (*startup)(void *data, struct slice parameters, int64_t time_ns);
	void (*message)(void *data, const struct pg_message *m);
	/* Bytes of one side are missing or unreadable; messages go on at a boundary. */
	void (*lost)(void *data, bool from_client, int64_t time_ns);
	/* Process id and key of a CancelRequest, as BackendKeyData (K) gave them; not to
	 * be kept. */
	void (*cancel)(void *data, struct slice pid_and_key);
	void *data;
};

struct pg_side {
	struct buf partial; /* an unfinished message */
	int64_t partial_ns;
	uint64_t skip_n; /* of a body nobody needs */
	bool is_startup; /* the next message has no type byte */
	bool is_lost; /* waits for a boundary */
};

struct pg_proto {
	struct pg_side side[2]; /* 0 client, 1 server */
	struct pg_sink sink;
	enum pg_phase phase;
	bool awaits_bare_byte; /* the answer to SSLRequest or GSSENCRequest */
	bool is_joined_late;
	bool is_out_of_memory; /* the startup was lost for want of it */
	uint64_t resyncs;
	uint32_t asks; /* SSLRequest, GSSENCRequest, CancelRequest */
};

void pg_proto_init(struct pg_proto *p, const struct pg_sink *sink, bool is_joined_late);
void pg_proto_free(struct pg_proto *p);
/* False: there is nothing more to learn from this connection (see phase). */
bool pg_proto_feed(
	struct pg_proto *p, bool from_client, struct slice bytes, int64_t time_ns, int64_t now_ns);
void pg_proto_gap(struct pg_proto *p, bool from_client, uint64_t missing_n, int64_t now_ns);

#endif
