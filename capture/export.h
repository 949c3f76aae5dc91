/*
 * export.h - a capture in the words of another tool.
 *
 * A format reads the capture's items in file order and writes one file (or, pgbench,
 * a folder). What it cannot say is counted and told: in the file where the format has
 * comments, and at the end on run.log. The files hold what the capture holds: scrubbed.
 */
#ifndef REPROD_EXPORT_H
#define REPROD_EXPORT_H

#include "core/base/run.h"
#include "core/model/rcap.h"

#define EXPORT_REQUESTS_MAX 100000 /* of formats that must hold them in memory */

struct export
{
	struct run *run;
	struct rcap *rcap;
	const char *name; /* of the capture */
	const char *output;
	const char *base; /* "http://127.0.0.1:8080", for formats that hold URLs */
	int64_t routes; /* how many pgbench gets */
	int64_t samples; /* statements a route, or requests in all for k6 */
	FILE *to; /* the output, of formats that are one file */
	struct buf text; /* of the request in hand */
	/* counted on the way */
	uint64_t written, other_protocol, no_text, over_cap;
	uint64_t dropped_values; /* in requests that were written */
	int64_t first_ns, last_ns;
};

struct export_format {
	const char *name;
	const char *leaves_out; /* one line */
	bool is_folder;
	bool (*write)(struct export *x, struct err *e);
};

extern const struct export_format export_formats[]; /* a NULL name ends them */
const struct export_format *export_find(const char *name);
/* Writes and tells. */
bool export_write(struct export *x, const struct export_format *f, struct err *e) MUST_USE;

/* For the formats. The next request of a protocol (0: any), sessions stepped over; those
 * of others are counted. */
enum step export_next(
	struct export *x, enum protocol protocol, struct request_record *ret, struct err *e);
/* The request as sent, in x->text: false when it cannot be told (counted). */
bool export_http_text(struct export *x, const struct request_record *q) MUST_USE;
bool export_put(struct export *x, const struct buf *bytes, struct err *e) MUST_USE;
void export_base64(struct buf *to, struct slice bytes);
/* "requests of other protocols 3, ..." what was left out in numbers; "" when nothing. */
void export_describe_left(const struct export *x, struct buf *to);

/* An HTTP request in parts, cut out of x->text. */
struct export_http {
	struct slice method, target, host, body;
	struct slice head; /* the header lines */
};
bool export_http_parts(const struct export *x, struct export_http *ret) MUST_USE;
/* The next header line that a client is to be told: not those that frame the message or
 * speak of the connection. */
bool export_next_header(struct slice *head, struct slice *ret_name, struct slice *ret_value);

/* export_pgbench.c, export_load.c (k6, vegeta), export_sessions.c (wsesslog) */
bool export_pgbench(struct export *x, struct err *e);
bool export_k6(struct export *x, struct err *e);
bool export_vegeta(struct export *x, struct err *e);
bool export_wsesslog(struct export *x, struct err *e);

#endif
