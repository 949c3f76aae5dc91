/*
 * http.h - one HTTP server asked questions: GET with a deadline, a cap and no surprises.
 *
 * libcurl behind a wall. An answer is handed on in pieces or kept whole; both end at
 * their cap. TLS is verified (SSL_CERT_FILE names another authority). Redirects are
 * followed within the same scheme, host and port only. Proxies of the environment are
 * not used for loopback. Credentials come from the URL, a header file or ~/.netrc, go
 * to that server only and are in no text that comes out of here. One thread.
 */
#ifndef REPROD_HTTP_H
#define REPROD_HTTP_H

#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/base/run.h"

#define HTTP_TIMEOUT_NS (60 * NS_PER_S)
#define HTTP_ANSWER_MAX ((size_t)32 << 20)

struct http;

struct http_options {
	/* Lines "Name: value", sent with every question; lines after "[HOST]" or
	 * "[HOST:PORT]" go to that server only. NULL: none. */
	const char *header_file;
	int64_t timeout_ns; /* of one question as a whole; 0: HTTP_TIMEOUT_NS */
	size_t max_bytes; /* of one answer, unpacked; 0: HTTP_ANSWER_MAX */
	const struct run *run; /* whose stop flag ends it; may be NULL */
};

/* Bytes of a good answer as they come; false ends it, with *e set. */
struct http_sink {
	bool (*feed)(void *data, struct slice bytes, struct err *e);
	void *data;
};

/* url: http:// or https://, a host, perhaps a path in front of all questions; its own
 * query is not used. */
struct http *http_open(const char *url, const struct http_options *options, struct err *e);
void http_close(struct http *h);
void http_cleanup(struct http **h);
/* "http://host:9090", for messages: without user, password, path and query. */
const char *http_server(const struct http *h);

/* path starts with '/', its query is percent-encoded. True for status 200, with the
 * body fed to the sink. Otherwise *ret_status is the status, or 0 when there was none,
 * and *e says it: ERR_ENV, or ERR_INPUT for an answer past the cap. The body of
 * a refusal (its first 4 kB) is in http_refusal(), for those who know its form. */
bool http_get(struct http *h, const char *path, const struct http_sink *sink, long *ret_status,
	struct err *e) MUST_USE;
/* As http_get(), the answer added to into. */
bool http_get_whole(struct http *h, const char *path, struct buf *into, long *ret_status,
	struct err *e) MUST_USE;
/* Did the last question end at the cap? Then a smaller one may not. */
bool http_was_too_large(const struct http *h);
/* A feed that adds to the struct buf that data is. */
bool http_keep(void *data, struct slice bytes, struct err *e);
struct slice http_refusal(const struct http *h);
/* text percent-encoded as one value of a query. */
void http_add_encoded(struct buf *to, struct slice text);

#endif
