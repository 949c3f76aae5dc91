/*
 * pgsession.h - one Postgres session while it is being read; for pgconn.c,
 * pgrequest.c, pgclient.c and pganswer.c alone.
 *
 * A request is owned by the capture's pool and counted: by the session while it is
 * being built or waits for its Sync, and by each queue entry. When the last
 * reference goes it returns to the pool; one that was never executed and did not
 * fail was no request.
 */
#ifndef REPROD_PGSESSION_H
#define REPROD_PGSESSION_H

#include "capture/wire/conn.h"
#include "capture/wire/pgedges.h"
#include "capture/wire/pglearned.h"
#include "capture/wire/pgnames.h"
#include "capture/wire/proto_pg.h"

#define PG_QUEUE_MAX 16384 /* answers a session may owe */
#define PG_COPY_KEPT_MAX (1 << 20) /* COPY data of one request */
#define PG_REQUEST_EDGES_MAX 64

struct pg_request {
	struct pg_request *next; /* in the pool */
	uint32_t refs;
	struct raw_request raw;
	struct pg_statement *statement; /* of the extended protocol */
	struct buf body; /* the query's text, or the Bind message */
	struct buf copy;
	struct raw_value *values;
	size_t value_cap;
	struct edge edges[PG_REQUEST_EDGES_MAX];
	size_t held_n;
	uint32_t binary_columns; /* bit i: column i comes binary */
	uint32_t rows_seen; /* of the result that is being read */
	uint32_t next_statement; /* the session's when this was sent: what it drops is older */
	bool is_simple; /* body is the text */
	bool is_bound, is_executed;
	bool is_generating;
	bool is_copy_cut;
	bool is_copy_failed; /* by the client: CopyFail */
	bool is_complete, is_emitted;
};

enum pg_expected {
	EXPECT_PARSE,
	EXPECT_BIND,
	EXPECT_DESCRIBE,
	EXPECT_EXECUTE,
	EXPECT_CLOSE,
	EXPECT_SYNC,
	EXPECT_QUERY,
	EXPECT_FUNCTION
};

struct pg_entry {
	enum pg_expected kind;
	struct pg_request *request; /* or NULL */
	struct pg_statement *statement; /* PARSE, DESCRIBE */
	struct pg_statement *replaced; /* PARSE; CLOSE: the one closed */
};

struct pg_queue {
	struct pg_entry *entries; /* a ring */
	uint32_t size, head, count;
};

struct pg_session {
	struct wire *wire;
	struct conn_info info;
	struct pg_proto proto;
	uint64_t id; /* 0: not (yet) a session */
	uint32_t flags;
	int64_t open_ns;
	struct buf startup; /* user, database and application, NUL-terminated each */
	struct slice user, database, application;
	struct pg_names names;
	struct pg_queue queue;
	struct pg_request *building; /* Parse or Bind came, Execute did not */
	const struct pg_portal *building_portal; /* to compare with, never to look into */
	struct pg_request *waiting; /* answered; will a Sync follow? */
	struct pg_request *copying; /* COPY in */
	struct pg_edges *edges;
	uint32_t result_types[PG_EDGE_COLUMNS];
	uint64_t key; /* digest of its pid and cancel key; 0: none */
	int64_t cancelled_ns; /* a cancel request came and has not hit yet; or 0 */
	uint64_t next_seq;
	uint64_t gaps; /* stretches of bytes that are missing */
	int64_t previous_end_ns;
	char state, emitted_state;
	bool is_ready; /* a ReadyForQuery was seen */
	bool is_backslash_escape; /* standard_conforming_strings is off */
	bool is_skipping; /* an error: nothing is answered until Sync */
	bool is_blurry; /* the answers no longer fit the queue: until ReadyForQuery */
	bool has_stray; /* an answer without a request is going on */
	bool is_copy_ending; /* COPY data was all sent: syncs count again */
};

/* What all Postgres sessions of a capture share. */
struct pg_wire {
	struct pg_texts texts;
	struct table learned; /* struct pg_learned by name */
	struct table keys; /* sessions by the digest of their cancel key */
	struct pg_request *pool;
	size_t pool_count;
};

/* pgrequest.c */
struct pg_request *pg_request_open(struct pg_session *s, enum form form, int64_t start_ns);
void pg_request_release(struct pg_session *s, struct pg_request *r);
/* Its end is known. */
void pg_request_complete(struct pg_session *s, struct pg_request *r, int64_t end_ns);
void pg_request_emit(struct pg_session *s, struct pg_request *r);
void pg_request_set_text(struct pg_session *s, struct pg_request *r, struct slice text);
void pg_request_find_literals(struct pg_session *s, struct pg_request *r, struct slice text);
/* names_n: bytes of body that the two names take. */
void pg_request_bind(struct pg_session *s, struct pg_request *r, struct slice body, size_t names_n,
	bool is_whole);
bool pg_request_set_sqlstate(struct pg_request *r, const char *code);
/* Statements that this text drops, now that the server did. tag: what it answered. */
void pg_session_note_dropped(struct pg_session *s, const struct pg_request *r, struct slice tag);
void pg_request_free_pool(struct pg_wire *m);

bool pg_queue_push(struct pg_session *s, enum pg_expected kind, struct pg_request *r);
static inline struct pg_entry *pg_queue_head(const struct pg_session *s)
{
	return s->queue.count ? &s->queue.entries[s->queue.head] : NULL;
}
static inline struct pg_entry *pg_queue_last(const struct pg_session *s)
{
	const struct pg_queue *q = &s->queue;

	return q->count ? &q->entries[(q->head + q->count - 1) & (q->size - 1)] : NULL;
}
void pg_queue_pop(struct pg_session *s);
/* Ends everything that is owed. */
void pg_queue_give_up(struct pg_session *s, uint32_t flags, int64_t end_ns);

/* pgconn.c: the server at its address; NULL when there are too many. */
struct wire_server *pg_session_server(const struct pg_session *s);
/* pgconn.c: what a cancel request for this session will say. */
void pg_session_set_key(struct pg_session *s, struct slice pid_and_key);

/* pgclient.c, pganswer.c */
void pg_client_message(struct pg_session *s, const struct pg_message *m);
void pg_answer_message(struct pg_session *s, const struct pg_message *m);
/* Emits the answered request that waited to see whether a Sync follows. */
void pg_session_settle(struct pg_session *s, bool is_sync);

#endif
