/*
 * talk.h - a Postgres conversation for tests: one connection, what each side sends
 * in one segment, and the requests that come out.
 *
 *	client(x, "P s1|select $1", "B |s1|5", "E |0", "S");
 *	server(x, "1", "2", "D 5", "C SELECT 1", "Z I");
 *
 * A message is its letter, a blank and its fields between bars:
 *	client	Q text   P name|text   B portal|statement|value...   E portal|limit
 *		D what|name   C what|name   d data   c   f why   S   H   X   F oid
 *	server	Z state   C tag   D value|...   E sqlstate|message   T name|oid|...
 *		t oid|...   S name|value   G format   H format   d data   N   A   1 2 3 n s I c V W
 * Time goes on by 1 us with each segment.
 */
#ifndef REPROD_TEST_TALK_H
#define REPROD_TEST_TALK_H

#include "tests/lib/unit.h"

#include "capture/wire/match.h"
#include "tests/lib/wire.h"

enum { SEEN_MAX = 64 };

/* A request as the sink got it, with its borrowed parts copied. */
struct seen {
	struct raw_request raw;
	char text[256];
	char binds[256]; /* joined by '|' */
	char copy[256];
	struct edge edges[8];
};

/* Several may share one match: give talk_begin_beside() the first. */
struct talk {
	struct talk *first; /* who owns what is shared; maybe itself */
	struct ledger ledger;
	struct match *match;
	struct flow_sink flow;
	void *owner;
	struct seen seen[SEEN_MAX];
	size_t count;
	struct raw_session last_session;
	char user[64], client[64], server[64];
	unsigned sessions; /* calls, two for a session that closed */
	struct buf c, s; /* what the next flush sends before anything else */
	int64_t now_ns;
};

/* syn: the side that sent it (0 is the client's), or -1; server_port: 5432 is known. */
struct talk *talk_new(int syn, uint16_t server_port, const struct match_options *o);
struct talk *talk_late(int syn);
/* The same with a startup and its answer. */
struct talk *talk_begin(void);
struct talk *talk_begin_beside(struct talk *first);
struct talk *talk_late_beside(struct talk *first, int syn);

void talk_send(struct talk *x, int side, const char *const *messages);
#define client(x, ...) talk_send(x, 0, (const char *const[]){ __VA_ARGS__, NULL })
#define server(x, ...) talk_send(x, 1, (const char *const[]){ __VA_ARGS__, NULL })
void talk_bytes(struct talk *x, int side, const char *bytes, size_t n);
void talk_flush(struct talk *x, int side); /* what x->c or x->s holds */
void talk_gap(struct talk *x, int side, uint64_t missing_n);
/* A simple statement and its answer. */
void talk_simple(struct talk *x, const char *text);
void talk_close(struct talk *x, enum flow_end why);
/* Closes, checks that the ledger balances and nothing is in flight, and frees. Of
 * several the first comes last. */
void talk_end(struct talk *x);

#endif
