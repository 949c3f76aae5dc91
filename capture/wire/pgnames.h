/*
 * pgnames.h - the prepared statements and portals of PostgreSQL sessions.
 *
 * Statement texts are shared between sessions (a pool of a thousand connections
 * prepares the same two hundred): struct pg_texts owns one copy of each and must
 * outlive the names. Statements are counted references, since requests in flight
 * need them after their name is gone. At a cap the text is unknown, and counted.
 */
#ifndef REPROD_PGNAMES_H
#define REPROD_PGNAMES_H

#include "core/base/table.h"

#define PG_NAMES_MAX 20000 /* statements, and portals, of one session */
#define PG_PARAMS_MAX 65535

struct pg_text {
	uint32_t refs;
	struct slice text;
};

struct pg_texts {
	struct table table;
	size_t used_n, max_n;
	uint64_t refused;
};

void pg_texts_init(struct pg_texts *t, size_t max_bytes);
struct pg_text *pg_text_take(struct pg_texts *t, struct slice text);
void pg_text_drop(struct pg_texts *t, struct pg_text *text);
void pg_texts_free(struct pg_texts *t);

struct pg_learned;

struct pg_statement {
	uint32_t refs;
	uint32_t number; /* of named ones in the session, from 1; 0: unnamed */
	struct pg_text *text; /* NULL: unknown */
	uint32_t *types; /* parameter type OIDs, 0 unknown */
	uint32_t type_count;
	uint32_t result_types[16]; /* of the first columns, 0 unknown */
	int32_t param_count; /* as bound or described; -1 unknown */
	uint64_t columns; /* digest of the result's description; 0 unknown */
	const struct pg_learned *learned; /* where the text came from, when not from here */
	bool is_generating; /* its results hold generated values */
	struct slice name; /* owned */
};

struct pg_portal {
	struct pg_statement *statement;
	uint32_t number; /* of named ones, from 1; 0: unnamed */
	bool is_started; /* an Execute ran: the next one is a fetch */
	struct slice name;
};

struct pg_names {
	struct pg_texts *texts;
	struct table statements, portals;
	struct pg_statement *unnamed; /* may be NULL */
	struct pg_portal unnamed_portal;
	uint32_t next_statement, next_portal;
	/* By the last byte of the name: spares most look-ups. Never holds a removed one. */
	struct pg_statement *recent[16];
};

void pg_names_init(struct pg_names *n, struct pg_texts *texts);
void pg_names_free(struct pg_names *n);
struct pg_statement *pg_statement_hold(struct pg_statement *s);
void pg_statement_drop(struct pg_names *n, struct pg_statement *s);

/* A new statement under that name; the one it replaces is the caller's to drop (or
 * to put back with pg_names_put_back() when the server refuses). NULL: out of memory. */
struct pg_statement *pg_names_prepare(struct pg_names *n, struct slice name, struct slice text,
	bool is_text_known, struct pg_statement **ret_replaced);
void pg_names_put_back(struct pg_names *n, struct pg_statement *refused, struct pg_statement *old);
/* The statement of that name; one nobody saw being prepared gets an entry without
 * text. NULL: out of memory or past the cap. */
struct pg_statement *pg_names_statement(struct pg_names *n, struct slice name);
void pg_statement_set_types(struct pg_statement *s, const uint32_t *types, uint32_t count);

/* Bind: overwrites. NULL past the cap. */
struct pg_portal *pg_names_bind(struct pg_names *n, struct slice name, struct pg_statement *s);
struct pg_portal *pg_names_portal(struct pg_names *n, struct slice name);
/* What was closed, for the caller to drop or to put back. */
struct pg_statement *pg_names_close_statement(struct pg_names *n, struct slice name);
/* The server refused to close it. */
void pg_names_reopen(struct pg_names *n, struct pg_statement *s);
/* Only what was prepared before: a number that is less than next. */
void pg_names_drop_older(struct pg_names *n, struct slice name, uint32_t next);
void pg_names_drop_all_older(struct pg_names *n, uint32_t next);
void pg_names_close_portal(struct pg_names *n, struct slice name);
void pg_names_close_portals(struct pg_names *n);
/* After missing bytes of the client nobody knows what the unnamed ones are. */
void pg_names_forget_unnamed(struct pg_names *n);

#endif
