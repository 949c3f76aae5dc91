/*
 * remote_range.h - a Prometheus range query, pulled piece by piece.
 *
 * GET api/v1/query_range in ranges that follow each other without overlap, at most 11,000
 * points a series (Prometheus' own limit) and about 8 MiB of answer each; one that is too
 * large is asked again in halves. Or one saved answer. Times are whole steps since 1970.
 */
#ifndef REPROD_CORRELATE_REMOTE_RANGE_H
#define REPROD_CORRELATE_REMOTE_RANGE_H

#include "core/base/json.h"
#include "correlate/remote.h"
#include "correlate/remote_url.h"

#define REMOTE_STEP_NS (60 * NS_PER_S)
#define REMOTE_POINTS_MAX 11000

struct http;

struct remote_range {
	const struct remote_url *url;
	const struct remote *remote;
	struct http *http; /* NULL: a file */
	const char *query; /* as it is sent; "" for a file */
	int64_t next_ns, to_ns, step_ns;
	int64_t points; /* of the next piece */
	const char *place; /* for messages: the server, or the file */
	/* The piece that was pulled last. */
	struct json *doc;
	const struct json *result; /* its list of series */
	int64_t start_ns; /* time of step 0 */
	int64_t steps;
};

/* query: what is sent instead of the url's own (it lives as long as the range). */
bool remote_range_open(struct remote_range *r, const struct remote_url *url,
	const struct remote *remote, const char *query, int64_t from_ns, int64_t to_ns,
	int64_t step_ns, struct err *e) MUST_USE;
enum step remote_range_next(struct remote_range *r, struct err *e) MUST_USE;
void remote_range_close(struct remote_range *r);

/* A point of "values": [t, "1.5"]; false when it is none. NaN and infinities are numbers. */
bool remote_range_point(const struct json *point, int64_t *ret_t_ns, double *ret_value) MUST_USE;
bool remote_range_time(const struct json *point, int64_t *ret_t_ns) MUST_USE;
/* A number that JSON holds as text. */
bool remote_range_number(const char *text, double *ret) MUST_USE;

#endif
