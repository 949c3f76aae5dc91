/* First, because json.h gives five of jansson's names to our own functions. */
#include <jansson.h>

static json_t *new_map(void)
{
	return json_object();
}

static json_t *new_list(void)
{
	return json_array();
}

#undef json_is_true

#include "core/base/json.h"

#include <math.h>
#include <stdlib.h>

#include "core/base/clock.h"
#include "core/base/file.h"
#include "core/base/utf8.h"

/* A struct json is a json_t under another name: nobody outside sees jansson. */
static json_t *in(const struct json *j)
{
	union {
		const struct json *ours;
		json_t *theirs;
	} u = { .ours = j };

	return u.theirs;
}

static struct json *out(json_t *j)
{
	return (struct json *)j;
}

/* ---- read */

struct json *json_parse(struct slice text, const char *name, struct err *e)
{
	json_error_t why;
	json_t *j = json_loadb(
		text.n ? text.p : "", text.n, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, &why);

	if (j)
		return out(j);
	/* Jansson quotes what stood near the fault; it may be a secret. */
	err_set(e, ERR_INPUT, "not valid JSON: %.*s", (int)strcspn(why.text, "\""), why.text);
	size_t n = strlen(e->what);
	if (n > 6 && strcmp(e->what + n - 6, " near ") == 0)
		e->what[n - 6] = '\0';
	err_in(e, "%s: line %d, column %d", name, why.line < 1 ? 1 : why.line,
		why.column < 0 ? 0 : why.column);
	return NULL;
}

static void free_buf(struct buf *b)
{
	buf_free(b);
}

struct json *json_load(const char *path, size_t max_bytes, struct err *e)
{
	CLEANUP(free_buf) struct buf text;

	/* file_read() asks for room in steps of 64 KiB before it knows the end. */
	buf_init(&text, max_bytes + 128 * 1024);
	if (!file_read(path, max_bytes, &text, e))
		return NULL;
	return json_parse(buf_slice(&text), path, e);
}

void json_free(struct json *j)
{
	json_decref(in(j));
}

void json_cleanup(struct json **j)
{
	json_free(*j);
	*j = NULL;
}

enum json_type json_type(const struct json *j)
{
	if (!j)
		return JSON_MISSING;
	switch (json_typeof(in(j))) {
	case JSON_OBJECT:
		return JSON_MAP;
	case JSON_ARRAY:
		return JSON_LIST;
	case JSON_STRING:
		return JSON_TEXT;
	case JSON_INTEGER:
	case JSON_REAL:
		return JSON_NUMBER;
	case JSON_TRUE:
	case JSON_FALSE:
		return JSON_BOOL;
	default:
		return JSON_NULL_VALUE;
	}
}

struct json *json_get(const struct json *map, const char *key)
{
	return map ? out(json_object_get(in(map), key)) : NULL;
}

static struct json *get_slice(const struct json *map, struct slice key)
{
	char name[256];

	if (!map || key.n >= sizeof(name))
		return NULL;
	memcpy(name, key.p, key.n);
	name[key.n] = '\0';
	return json_get(map, name);
}

struct json *json_path(const struct json *map, const char *dotted)
{
	const struct json *at = map;

	for (;;) {
		size_t n = strcspn(dotted, ".");

		at = get_slice(at, (struct slice){ dotted, n });
		if (!at || dotted[n] == '\0')
			return out(in(at));
		dotted += n + 1;
	}
}

size_t json_count(const struct json *list_or_map)
{
	json_t *j = in(list_or_map);

	return json_is_array(j) ? json_array_size(j) : json_object_size(j);
}

struct json *json_at(const struct json *list, size_t i)
{
	return list ? out(json_array_get(in(list), i)) : NULL;
}

const char *json_key_at(const struct json *map, size_t i, struct json **ret_value)
{
	void *at = json_type(map) == JSON_MAP ? json_object_iter(in(map)) : NULL;

	for (; at && i > 0; i--)
		at = json_object_iter_next(in(map), at);
	if (ret_value)
		*ret_value = at ? out(json_object_iter_value(at)) : NULL;
	return at ? json_object_iter_key(at) : NULL;
}

struct json_walk json_walk_of(const struct json *map)
{
	bool is_map = json_type(map) == JSON_MAP;

	return (struct json_walk){ map, is_map ? json_object_iter(in(map)) : NULL };
}

const char *json_walk_next(struct json_walk *w, struct json **ret_value)
{
	void *at = w->at;

	if (ret_value)
		*ret_value = at ? out(json_object_iter_value(at)) : NULL;
	if (!at)
		return NULL;
	w->at = json_object_iter_next(in(w->map), at);
	return json_object_iter_key(at);
}

bool json_is_whole(const struct json *j)
{
	return j && json_is_integer(in(j));
}

const char *json_text(const struct json *j, const char *fallback)
{
	const char *text = j ? json_string_value(in(j)) : NULL;

	return text ? text : fallback;
}

double json_number(const struct json *j, double fallback)
{
	return j && json_is_number(in(j)) ? json_number_value(in(j)) : fallback;
}

int64_t json_int(const struct json *j, int64_t fallback)
{
	if (j && json_is_integer(in(j)))
		return json_integer_value(in(j));
	double v = json_number(j, NAN);
	/* 2^63 itself does not fit; the test also keeps NAN out. */
	return v >= -0x1p63 && v < 0x1p63 ? (int64_t)v : fallback;
}

bool json_is_true(const struct json *j, bool fallback)
{
	return json_type(j) == JSON_BOOL ? json_typeof(in(j)) == JSON_TRUE : fallback;
}

/* ---- make */

struct json *json_object(void)
{
	return out(new_map());
}

struct json *json_array(void)
{
	return out(new_list());
}

/* The slice as a buffer that is UTF-8 whatever came in. */
static void repair(struct slice s, struct buf *into)
{
	buf_init(into, 3 * s.n + 1);
	for (size_t i = 0; i < s.n;) {
		size_t length = s.p[i] ? utf8_length(s.p + i, s.n - i) : 0;

		if (length)
			buf_add(into, s.p + i, length);
		else
			buf_add_text(into, "\xef\xbf\xbd");
		i += length ? length : 1;
	}
}

static json_t *new_text(struct slice s)
{
	CLEANUP(free_buf) struct buf text;

	repair(s, &text);
	return json_stringn_nocheck(buf_text(&text), text.n);
}

static json_t *new_number(double v)
{
	char text[40];

	if (!isfinite(v))
		return json_null();
	snprintf(text, sizeof(text), "%.9g", v);
	return json_real(strtod(text, NULL));
}

void json_set(struct json *map, const char *key, struct json *value)
{
	CLEANUP(free_buf) struct buf name;

	repair(slice_of(key), &name);
	json_object_set_new_nocheck(in(map), buf_text(&name), in(value));
}

void json_set_text(struct json *map, const char *key, const char *text)
{
	json_set(map, key, out(text ? new_text(slice_of(text)) : json_null()));
}

void json_set_slice(struct json *map, const char *key, struct slice text)
{
	json_set(map, key, out(new_text(text)));
}

void json_set_int(struct json *map, const char *key, int64_t v)
{
	json_set(map, key, out(json_integer(v)));
}

void json_set_number(struct json *map, const char *key, double v)
{
	json_set(map, key, out(new_number(v)));
}

void json_set_bool(struct json *map, const char *key, bool v)
{
	json_set(map, key, out(json_boolean(v)));
}

void json_set_null(struct json *map, const char *key)
{
	json_set(map, key, out(json_null()));
}

void json_set_time(struct json *map, const char *key, int64_t wall_ns)
{
	char text[CLOCK_TEXT_MAX];

	json_set_text(map, key, clock_text(wall_ns, text));
}

void json_append(struct json *list, struct json *value)
{
	json_array_append_new(in(list), in(value));
}

void json_append_text(struct json *list, const char *text)
{
	json_append(list, out(text ? new_text(slice_of(text)) : json_null()));
}

void json_append_int(struct json *list, int64_t v)
{
	json_append(list, out(json_integer(v)));
}

void json_append_number(struct json *list, double v)
{
	json_append(list, out(new_number(v)));
}

struct json *json_copy(const struct json *j)
{
	return out(json_deep_copy(in(j)));
}
