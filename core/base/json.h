/*
 * json.h - ordered JSON documents, read strictly and written stably.
 *
 * Jansson behind a wall: a struct json is one value, owned by its document; only
 * what json_parse(), json_object() and json_array() return and nobody has adopted
 * must be freed, with json_free(). Setters adopt the value given to them (also on
 * failure). Getters accept NULL and a value of another type: they return the
 * fallback, so a chain needs no checks. Unknown fields survive read and write.
 */
#ifndef REPROD_JSON_H
#define REPROD_JSON_H

#include "core/base/buf.h"
#include "core/base/err.h"

/* Jansson exports these names itself; ours need other symbols. */
#define json_type reprod_json_type
#define json_object reprod_json_object
#define json_array reprod_json_array
#define json_copy reprod_json_copy
#define json_is_true reprod_json_is_true

struct json;

enum json_type {
	JSON_MISSING,
	JSON_NULL_VALUE,
	JSON_BOOL,
	JSON_NUMBER,
	JSON_TEXT,
	JSON_LIST,
	JSON_MAP
};

/* Strict RFC 8259: no duplicate keys, no trailing text. err.where gets
 * "NAME: line L, column C". */
struct json *json_parse(struct slice text, const char *name, struct err *e);
struct json *json_load(const char *path, size_t max_bytes, struct err *e);
void json_free(struct json *j);
void json_cleanup(struct json **j); /* for CLEANUP */

enum json_type json_type(const struct json *j);
struct json *json_get(const struct json *map, const char *key);
/* "a.b.c" through maps. */
struct json *json_path(const struct json *map, const char *dotted);
size_t json_count(const struct json *list_or_map);
struct json *json_at(const struct json *list, size_t i);
/* The i-th member of a map in order. */
const char *json_key_at(const struct json *map, size_t i, struct json **ret_value);
/* The members of a map in order, in one pass:
 * struct json_walk w = json_walk_of(map); while ((key = json_walk_next(&w, &value))) ... */
struct json_walk {
	const struct json *map;
	void *at;
};

struct json_walk json_walk_of(const struct json *map);
/* The next key, or NULL; ret_value may be NULL. The map must not change meanwhile. */
const char *json_walk_next(struct json_walk *w, struct json **ret_value);
const char *json_text(const struct json *j, const char *fallback);
double json_number(const struct json *j, double fallback);
/* True for a number written without point or exponent. */
bool json_is_whole(const struct json *j);
int64_t json_int(const struct json *j, int64_t fallback);
bool json_is_true(const struct json *j, bool fallback);

struct json *json_object(void);
struct json *json_array(void);
void json_set(struct json *map, const char *key, struct json *value);
/* NULL is null; bytes that are no UTF-8, and NUL, become U+FFFD. */
void json_set_text(struct json *map, const char *key, const char *text);
void json_set_slice(struct json *map, const char *key, struct slice text);
void json_set_int(struct json *map, const char *key, int64_t v);
/* NAN and infinities become null; the number is rounded to 9 significant digits,
 * more than any measurement has. */
void json_set_number(struct json *map, const char *key, double v);
void json_set_bool(struct json *map, const char *key, bool v);
void json_set_null(struct json *map, const char *key);
void json_set_time(struct json *map, const char *key, int64_t wall_ns); /* RFC 3339 */
void json_append(struct json *list, struct json *value);
void json_append_text(struct json *list, const char *text);
void json_append_int(struct json *list, int64_t v);
void json_append_number(struct json *list, double v);
struct json *json_copy(const struct json *j);

/* Indented by two for people, or one line. Ends with a newline. */
void json_write(const struct json *j, bool is_indented, struct buf *to);
/* A string alone, between quotes; bytes that are no UTF-8 become U+FFFD. */
void json_write_string(struct slice text, struct buf *to);
bool json_save(const struct json *j, const char *path, bool is_forced, struct err *e) MUST_USE;
void json_print(const struct json *j, FILE *to); /* indented */

#endif
