/*
 * unwrap.h - Postgres log lines out of what clouds and log collectors put around them.
 *
 * Two shells at most: one that carries lines (Kubernetes CRI, docker's json-file,
 * CloudWatch), and one that knows Postgres (syslog, Heroku's logplex, journald's JSON,
 * JSON of Cloud SQL and other collectors). Parts of one message (syslog [n-m], CRI P,
 * docker without a newline) are put together again; of syslog's, 64 messages may be
 * open at a time. CloudNativePG's JSON is not a shell: pglog_json reads it. Pure;
 * what a call gives is borrowed until the next one.
 */
#ifndef REPROD_UNWRAP_H
#define REPROD_UNWRAP_H

#include "core/base/buf.h"

enum unwrap_kind {
	UNWRAP_NONE,
	UNWRAP_CRI,
	UNWRAP_DOCKER,
	UNWRAP_CLOUDWATCH,
	UNWRAP_SYSLOG, /* RFC 3164, RFC 5424, and files of rsyslog */
	UNWRAP_LOGPLEX,
	UNWRAP_JOURNAL,
	UNWRAP_CLOUD, /* textPayload, jsonPayload.message, message, @message */
};

struct unwrapped {
	struct slice text; /* without its newline; may hold newlines */
	struct slice pid;
	bool has_utc;
	int64_t utc_ns;
	bool has_local; /* RFC 3164: no year, no zone */
	int64_t local_ns; /* as if it were 1972, a leap year, in UTC */
};

struct unwrap;

/* The shells of a file by its first line; NONE, NONE when there is none. */
void unwrap_detect(
	struct slice first_bytes, enum unwrap_kind *ret_frame, enum unwrap_kind *ret_shell);
const char *unwrap_name(enum unwrap_kind kind);

/* NULL when out of memory. */
struct unwrap *unwrap_new(enum unwrap_kind frame, enum unwrap_kind shell);
/* ITEM; MORE: taken, nothing whole yet; FAIL: no line of that kind, or not of
 * Postgres: ret_why says which (a static text). */
enum step unwrap_line(
	struct unwrap *u, struct slice line, struct unwrapped *ret, const char **ret_why);
/* What is left at the end of the input: ITEM until END. */
enum step unwrap_end(struct unwrap *u, struct unwrapped *ret);
void unwrap_free(struct unwrap *u);

#endif
