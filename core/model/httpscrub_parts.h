/*
 * httpscrub_parts.h - what the files of the HTTP scrubber share; private to them.
 */
#ifndef REPROD_HTTPSCRUB_PARTS_H
#define REPROD_HTTPSCRUB_PARTS_H

#include "core/model/httpcache.h"
#include "core/model/httpname.h"
#include "core/model/httproutes.h"
#include "core/model/httpscrub.h"
#include "core/model/sqlvalue.h"
#include "core/model/wordset.h"

enum {
	HTTP_PIECES_MAX = 4096,
	HTTP_SEGMENTS_MAX = 64,
	HTTP_FIELDS_MAX = 256,
	HTTP_PARTS_MAX = 64, /* of a multipart body */
	HTTP_JSON_DEPTH_MAX = 4, /* documents within strings of documents */
};

/* What httpname.h says of a key, remembered: a key is asked about with each request. */
struct http_key {
	char name[30];
	uint8_t n; /* 0: free */
	bool is_key : 1, is_secret : 1;
};

enum { HTTP_KEYS = 512 };

/* Template text in the making, with the pieces of its slots. */
struct sheet {
	struct buf text;
	struct http_piece *pieces;
	size_t count, room;
	bool is_full; /* memory is out, or HTTP_PIECES_MAX: no template */
};

struct httpscrub {
	const struct policy *policy;
	const struct httproutes *routes;
	struct httproutes *own_routes; /* when none were given */
	struct sqlvalue value;
	struct wordset headers, agents, methods;
	struct places *places; /* or NULL */
	struct httpcache cache, targets;
	struct http_key keys[HTTP_KEYS];
	struct sheet head, body;
	struct buf bytes; /* of all pieces */
	struct buf plain, out; /* one value decoded, and scrubbed */
	struct buf route, prefix; /* prefix: the route with {} for all slots */
	struct value *values;
	size_t value_room;
	enum policy_rule route_rule; /* goes before all others */
	uint32_t flags;
	bool is_grpc;
	unsigned json_depth;
	uint32_t literal_place; /* of the last header that stayed text, for its cache entry */
};

/* Where a value stands, for its rule and for the report. */
struct http_place {
	enum policy_scope scope;
	struct slice name; /* for the rule; "{}" in the report when is_unnamed */
	bool is_unnamed;
	bool is_secret;
	uint8_t role;
};

/* ---- httpscrub.c */

/* Text that is a fixed word or was checked: it never holds TEMPLATE_SLOT. */
void http_text(struct sheet *to, struct slice text);
/* A slot and its piece. Empty bytes that are not dropped leave no slot. */
void http_put(struct httpscrub *s, struct sheet *to, const struct http_place *place,
	enum value_action action, struct slice bytes);
/* A value of size bytes that is not kept; loses says that replay misses it. */
void http_drop(struct httpscrub *s, struct sheet *to, const struct http_place *place, size_t size,
	bool loses);
enum policy_rule http_rule(const struct httpscrub *s, const struct http_place *place);
/* What becomes of one plain value. VALUE_DROPPED appends nothing. */
enum value_action http_value(
	struct httpscrub *s, const struct http_place *place, struct slice plain, struct buf *out);
/* Of a query, form or JSON key. */
struct http_key http_key(struct httpscrub *s, struct slice name);
/* For the report alone: the number of the place. */
uint32_t http_count(struct httpscrub *s, const struct http_place *place, enum value_action action);
/* A header or target scrubbed before. */
void http_recall(struct httpscrub *s, struct sheet *to, const struct httpcache_entry *entry);

/* ---- httptarget.c */

/* The target of a request; makes s->route and s->prefix (behind the method). */
void http_target(struct httpscrub *s, struct slice method, struct slice target);
/* An address in a header or a value: scheme, host, path and query. */
void http_url(
	struct httpscrub *s, struct sheet *to, const struct http_place *place, struct slice url);
void http_authority(
	struct httpscrub *s, struct sheet *to, const struct http_place *place, struct slice text);
/* a=1&b=2 of a query (scope POLICY_QUERY) or a form (POLICY_FORM). */
void http_pairs(struct httpscrub *s, struct sheet *to, enum policy_scope scope, struct slice text);

/* ---- httpheader.c */

void http_header(struct httpscrub *s, struct sheet *to, const struct raw_field *field);
/* The value of a header without its name, and place. */
void http_header_value(struct httpscrub *s, struct sheet *to, enum header_kind kind,
	const struct http_place *place, struct slice value);

/* ---- httpbody.c */

/* Into s->body; type and coding are Content-Type and Content-Encoding. */
void http_body(
	struct httpscrub *s, const struct raw_http *raw, struct slice type, struct slice coding);
/* The boundary parameter of a Content-Type, empty when there is none. */
struct slice http_boundary(struct slice type);
/* JSON part by part; false when it is none. */
bool http_json(struct httpscrub *s, const struct http_place *place, struct slice text,
	struct buf *out, enum value_action *ret);

/* ---- small things */

static inline bool http_is_alnum(char c)
{
	return ((c | 0x20) >= 'a' && (c | 0x20) <= 'z') || (c >= '0' && c <= '9');
}

static inline struct slice http_cut(struct slice s, size_t from)
{
	return (struct slice){ s.p + from, s.n - from };
}

/* Without blanks at its ends. */
static inline struct slice http_trim(struct slice s)
{
	while (s.n && (s.p[s.n - 1] == ' ' || s.p[s.n - 1] == '\t'))
		s.n--;
	while (s.n && (s.p[0] == ' ' || s.p[0] == '\t'))
		s = http_cut(s, 1);
	return s;
}

static inline bool http_same_folded(struct slice a, const char *lower)
{
	for (size_t i = 0; i < a.n; i++, lower++)
		if (!*lower || (a.p[i] >= 'A' && a.p[i] <= 'Z' ? a.p[i] | 0x20 : a.p[i]) != *lower)
			return false;
	return !*lower;
}

#endif
