/*
 * detect.h - which protocol the bytes of a connection show.
 *
 * Pure functions over borrowed bytes. A connection whose start was seen is judged
 * by the first bytes of each side; one joined late by each chunk on its own, where
 * only what cannot well be anything else counts.
 */
#ifndef REPROD_DETECT_H
#define REPROD_DETECT_H

#include "core/base/base.h"

enum detect {
	DETECT_MORE, /* too few bytes */
	DETECT_NONE, /* nothing known; of a chunk: no evidence */
	DETECT_PG,
	DETECT_HTTP,
	DETECT_TLS, /* a ClientHello */
	DETECT_TLS_LATE, /* records of a TLS connection that began before */
};

/* More than this is never needed to tell. */
#define DETECT_MAX 4096

enum detect detect_client(struct slice first_bytes);
/* Of a server that speaks first. */
enum detect detect_server(struct slice first_bytes);
/* In the middle of a stream. client: the side that is known to be the client's, or -1.
 * With evidence *ret_is_client tells whether a client sent the chunk. */
enum detect detect_chunk(struct slice chunk, int side, int client, bool *ret_is_client);
/* Does a ClientHello ask for Postgres (ALPN "postgresql", which direct TLS needs)? */
bool detect_hello_is_pg(struct slice hello);

#endif
