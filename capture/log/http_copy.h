/*
 * http_copy.h - a raw HTTP request in one piece of memory of the caller's.
 */
#ifndef REPROD_HTTP_COPY_H
#define REPROD_HTTP_COPY_H

#include "core/model/request.h"

/* Bytes that http_copy() needs. */
size_t http_copy_size(const struct raw_http *h);
/* to is aligned for pointers; the copy lies there and points only there. */
struct raw_http *http_copy(const struct raw_http *h, void *to);

#endif
