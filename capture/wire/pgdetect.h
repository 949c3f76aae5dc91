/*
 * pgdetect.h - what bytes look like: PostgreSQL message headers, startup packets,
 * message boundaries in the middle of a stream, and a few other protocols by name.
 *
 * Pure functions over borrowed bytes.
 */
#ifndef REPROD_PGDETECT_H
#define REPROD_PGDETECT_H

#include "capture/wire/bigendian.h"

enum pg_startup {
	PG_STARTUP_SHORT, /* more bytes are needed */
	PG_STARTUP_SESSION, /* StartupMessage, protocol 3.x */
	PG_STARTUP_ASKS, /* SSLRequest or GSSENCRequest: one byte answers it */
	PG_STARTUP_CANCEL,
	PG_STARTUP_TLS, /* a TLS record: direct TLS, or not Postgres */
	PG_STARTUP_NONE,
};

/* The first bytes a client sends. With PG_STARTUP_NONE *ret_other names what it is:
 * "http" or "other". */
enum pg_startup pg_startup_kind(struct slice bytes, const char **ret_other);

/* Smallest and largest length word of each message type; max 0: no such message. */
struct pg_rule {
	uint32_t min, max;
	uint32_t wanted; /* bytes of the body that the matcher wants */
	bool is_prefix_enough; /* a longer body comes cut instead of not at all */
};

extern const struct pg_rule pg_rules[2][256]; /* server, client */

/* Five bytes: type and length, possible for that sender? */
static inline bool pg_header_is_valid(const char *header, bool from_client)
{
	const struct pg_rule *r = &pg_rules[from_client][(unsigned char)header[0]];
	uint32_t length = be32_at(header + 1);

	return r->max && length >= r->min && length <= r->max;
}

/* How much of a body is wanted; less than body_n when it is to be skipped. */
static inline uint32_t pg_body_wanted(char type, bool from_client, uint32_t body_n)
{
	const struct pg_rule *r = &pg_rules[from_client][(unsigned char)type];

	if (body_n <= r->wanted)
		return body_n;
	return r->is_prefix_enough ? r->wanted : 0;
}

/* The offset of a message boundary in a chunk of a stream whose boundaries are not
 * known, SIZE_MAX when there is no evidence. A chunk's start counts when a chain of
 * valid headers leads from it; from a server, ReadyForQuery counts anywhere. */
size_t pg_boundary(struct slice chunk, bool from_client);
/* Who sent this chunk: 0 a client, 1 a server, -1 no evidence; then *ret_other may
 * name another protocol. */
int pg_guess_sender(struct slice chunk, const char **ret_other);

#endif
