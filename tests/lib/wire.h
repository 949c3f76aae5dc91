/*
 * wire.h - PostgreSQL messages and TCP frames for tests: each call appends one
 * message to a buffer, or makes one Ethernet frame.
 */
#ifndef REPROD_TEST_WIRE_H
#define REPROD_TEST_WIRE_H

#include "core/base/buf.h"

void wire_message(struct buf *b, char type, struct slice body);
/* The client's. */
void wire_startup(struct buf *b, uint32_t code, const char *user, const char *database);
void wire_code(struct buf *b, uint32_t code); /* SSLRequest and the like */
void wire_query(struct buf *b, const char *text);
void wire_parse(struct buf *b, const char *name, const char *text);
/* Text values; NULL ends them. */
void wire_bind(struct buf *b, const char *portal, const char *statement, ...);
void wire_execute(struct buf *b, const char *portal, uint32_t limit);
void wire_describe(struct buf *b, char what, const char *name);
void wire_close(struct buf *b, char what, const char *name);
void wire_sync(struct buf *b);
/* The server's. */
void wire_ready(struct buf *b, char state);
void wire_done(struct buf *b, const char *tag);
void wire_row(struct buf *b, const char *value); /* one text column */
void wire_columns(struct buf *b, const char *name, uint32_t type_oid);
void wire_error(struct buf *b, const char *sqlstate);
void wire_bare(struct buf *b, char type); /* '1', '2', 'n', 's', ... without a body */

struct wire_segment {
	unsigned char from_ip, to_ip; /* last byte of 10.0.0.x */
	uint16_t from_port, to_port;
	uint32_t seq, ack;
	uint8_t flags;
	struct slice payload;
	size_t padding; /* zero bytes behind, as Ethernet adds */
};

/* Ethernet, IPv4, TCP. Replaces b's contents. */
void wire_frame(struct buf *b, const struct wire_segment *s);

#endif
