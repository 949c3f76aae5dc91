/*
 * accesslog_private.h - what the files of accesslog share: fields and elements.
 *
 * A text format is a list of elements, each a field and the literal that ends it. A
 * JSON format is the same list with a path in place of the literal.
 */
#ifndef REPROD_ACCESSLOG_PRIVATE_H
#define REPROD_ACCESSLOG_PRIVATE_H

#include "core/format/accesslog.h"

enum accesslog_field {
	FIELD_IGNORED,
	FIELD_UPSTREAM, /* ignored; may be a list with blanks: "0.1, 0.2 : 0.3" */
	FIELD_REQUEST, /* "GET /x HTTP/1.1" */
	FIELD_METHOD,
	FIELD_TARGET,
	FIELD_PATH, /* without query */
	FIELD_QUERY,
	FIELD_PROTOCOL,
	FIELD_STATUS,
	FIELD_BYTES_IN,
	FIELD_BYTES_OUT,
	FIELD_HOST,
	FIELD_SERVER_NAME, /* the host, when no better one is there */
	FIELD_USER,
	FIELD_ADDRESS, /* "10.0.0.1", "10.0.0.1:4711", "[::1]:4711" */
	FIELD_PORT,
	FIELD_AGENT,
	FIELD_CONNECTION,
	FIELD_CONNECTION_REQUESTS,
	FIELD_TIME, /* the unit says start or end */
	FIELD_DURATION,
	FIELD_DURATION_PART, /* one of several that add up */
};

/* What a FIELD_TIME marks. NEEDS_POINT: of a duration in text; nginx writes "1.000", and
 * a whole number in that place is somebody else's, in another unit. */
enum accesslog_mark { MARK_START = 1, MARK_END = 2, NEEDS_POINT = 3 };

struct accesslog_element {
	uint8_t field; /* enum accesslog_field */
	uint8_t mark; /* enum accesslog_mark */
	int64_t unit_ns; /* of a duration or an epoch; 0: the text says ("12ms") or seconds */
	struct slice after; /* text: the literal that ends it; JSON: its path, ".a.b" */
};

#define ACCESSLOG_ELEMENTS_MAX 96

enum accesslog_escape { ESCAPE_BACKSLASH, ESCAPE_NONE };

struct accesslog {
	char name[32];
	bool is_json;
	uint8_t escape; /* enum accesslog_escape */
	struct slice before; /* text: the literal in front; searched when is_loose */
	bool is_loose; /* something (a syslog head) may stand before it */
	bool has_rest; /* something may follow the last field */
	struct accesslog_element elements[ACCESSLOG_ELEMENTS_MAX];
	size_t count;
	struct buf literals; /* all literals and paths point in here */
	struct buf scratch; /* of the line in hand */
	struct buf path;
};

/* Gives a value to the line. False: *ret_why says what is wrong. */
bool accesslog_set(struct accesslog *a, const struct accesslog_element *el, struct slice value,
	struct accesslog_line *ret, const char **ret_why);

/* Compiles a format string of a server. */
bool accesslog_compile(struct accesslog *a, const char *spec, struct err *e) MUST_USE;
/* Compiles "name=.path,name=.path". */
bool accesslog_compile_fields(struct accesslog *a, const char *fields, struct err *e) MUST_USE;
/* Walks one line of JSON and sets what the paths name. */
bool accesslog_read_json(struct accesslog *a, struct slice line, struct accesslog_line *ret,
	const char **ret_why) MUST_USE;
/* Adds an element; false at the cap. Its text is copied. */
bool accesslog_add(struct accesslog *a, struct accesslog_element el, struct slice after) MUST_USE;
/* nginx's name of a variable; FIELD_IGNORED for those of no use here. */
struct accesslog_element accesslog_nginx_variable(struct slice name);
/* Fills in a preset; false when there is none of that name. */
bool accesslog_load_preset(struct accesslog *a, const char *name, struct err *e) MUST_USE;

/* Times. The ret_fineness_ns is that of the text. */
bool accesslog_parse_time(struct slice text, int64_t unit_ns, int64_t *ret_ns,
	int64_t *ret_fineness_ns, bool *ret_is_zoneless) MUST_USE;
bool accesslog_parse_duration(struct slice text, int64_t unit_ns, int64_t *ret_ns) MUST_USE;

#endif
