/*
 * http1_head.h - a whole head of HTTP/1.x: start line, fields, and the framing that they
 * ask for. Private to http1.h, which says what is tolerated and what is refused.
 */
#ifndef REPROD_HTTP1_HEAD_H
#define REPROD_HTTP1_HEAD_H

#include "core/format/http1.h"

/* Reads a head that begins at b.p into p->head, and sets the phase behind it. *ret_n: its
 * bytes. HTTP1_MORE: it is not whole; HTTP1_LOSING: it does not begin as one. */
enum http1_event http1_read_head(struct http1 *p, struct slice b, size_t *ret_n);

#endif
