/*
 * accesslog.h - lines of web servers' access logs: what a line says of a request.
 *
 * Pure: bytes in, slices out. A format is a preset (accesslog_presets.c), a server's
 * own format string (nginx log_format, Apache LogFormat, Envoy: accesslog_spec.c), or
 * a map of JSON paths (accesslog_json.c). Each field has its unit and each stamp its
 * meaning: nginx stamps the end of a request, Apache and Envoy its start. Times of
 * upstreams are stepped over. Slices live until the next line.
 */
#ifndef REPROD_ACCESSLOG_H
#define REPROD_ACCESSLOG_H

#include "core/base/buf.h"
#include "core/base/err.h"

#define ACCESSLOG_UNKNOWN INT64_MIN

struct accesslog_line {
	int64_t start_ns, end_ns; /* ACCESSLOG_UNKNOWN when the line does not say */
	int64_t duration_ns; /* -1 likewise */
	int64_t fineness_ns; /* of the stamp */
	bool is_zoneless; /* the stamps are local times, as if their zone were UTC */
	struct slice method, target, protocol; /* target with its query */
	struct slice host, user, address, port, agent;
	struct slice connection; /* the server's number of it; empty when not logged */
	uint64_t connection_requests; /* 1: the first on its connection; 0: not logged */
	uint64_t bytes_in, bytes_out;
	uint16_t status; /* 0: not answered */
};

struct accesslog;

/* How a format is asked for; all NULL: accesslog_detect() says it. */
struct accesslog_options {
	const char *preset; /* a name of accesslog_preset_names() */
	const char *spec; /* a format string; "escape=json " may stand before it */
	const char *fields; /* "method=.req.method,status=.status,..." */
};

/* ERR_USAGE says what in the text is not understood and what is. */
struct accesslog *accesslog_new(const struct accesslog_options *o, struct err *e);
const char *accesslog_name(const struct accesslog *a);
/* What the format cannot tell. */
bool accesslog_has_duration(const struct accesslog *a);
bool accesslog_has_connection(const struct accesslog *a);
bool accesslog_has_agent(const struct accesslog *a);
/* Takes one line, without its newline. ITEM; END: blank or a comment; FAIL: no request,
 * *ret_why is a static text. */
enum step accesslog_read(
	struct accesslog *a, struct slice line, struct accesslog_line *ret, const char **ret_why);
void accesslog_free(struct accesslog *a);

/* The preset that reads most of the first whole lines, and at least half; NULL: none. */
const char *accesslog_detect(struct slice first_bytes);
bool accesslog_is_preset(struct slice name);
/* "common, combined, ..." for messages. */
void accesslog_preset_names(struct buf *to);

#endif
