/*
 * gor.h - GoReplay's .gor file: records out of bytes, and into them.
 *
 * A record is a meta line ("TYPE ID TIME LENGTH", 3 or more fields), the raw HTTP
 * bytes, and a separator line. A separator inside a body is told by Content-Length,
 * or by what follows it: no meta line. The last record needs none. Pure; slices are
 * borrowed from the bytes given.
 */
#ifndef REPROD_GOR_H
#define REPROD_GOR_H

#include "core/base/buf.h"

#define GOR_RECORD_MAX ((size_t)16 << 20)
#define GOR_SEPARATOR "\n\xf0\x9f\x90\xb5\xf0\x9f\x99\x88\xf0\x9f\x99\x89\n"

enum gor_type { GOR_REQUEST = '1', GOR_RESPONSE = '2', GOR_REPLAYED = '3' };

struct gor_record {
	enum gor_type type;
	struct slice id; /* 24 hex digits, or 40 of older files: pairs by equality */
	int64_t time_ns; /* first packet of the message */
	int64_t length_ns; /* last minus first packet; -1 when not given */
	struct slice payload;
};

/* A file begins like this? */
bool gor_detect(struct slice first_bytes);
/* Takes a record off the front. MORE: no whole one yet (*rest untouched); FAIL: bytes up
 * to the next meta line were stepped over, *ret_why says why; END: only when is_last. */
enum step gor_next(struct slice *rest, bool is_last, struct gor_record *ret, const char **ret_why);
/* The connection's part of a current ID; the whole of an old one. */
struct slice gor_connection(struct slice id);
/* Appends a record with its separator. */
void gor_write(struct buf *to, const struct gor_record *r);

#endif
