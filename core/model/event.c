#include "core/model/event.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/base/clock.h"
#include "core/base/json.h"

enum { EVENTS_MAX = 1000000, LINE_MAX_BYTES = 1 << 20, NAMES_BYTES = 64 << 20 };

/* A local time with "zone": "+02:00" or "UTC" beside it. */
static bool parse_zoned(struct slice text, const char *zone, int64_t *ret_ns)
{
	char joined[80];
	const char *offset = strcmp(zone, "UTC") == 0 ? "Z" : zone;

	if (text.n + strlen(offset) >= sizeof(joined))
		return false;
	snprintf(joined, sizeof(joined), "%.*s%s", (int)text.n, text.p, offset);
	return clock_parse(slice_of(joined), ret_ns);
}

static bool is_zoneless(struct slice s)
{
	int64_t ns;
	char joined[80];

	if (s.n + 2 > sizeof(joined) || s.n < 11 || s.p[4] != '-')
		return false;
	snprintf(joined, sizeof(joined), "%.*sZ", (int)s.n, s.p);
	return clock_parse(slice_of(joined), &ns);
}

static bool read_time(
	const struct json *line, const char *key, const char *zone, int64_t *ret_ns, struct err *e)
{
	const struct json *v = json_get(line, key);

	if (json_type(v) == JSON_NUMBER) {
		double s = json_number(v, NAN);

		if (!(s > -9e9 && s < 9e9))
			return err_set(e, ERR_INPUT, "'%s' is not a time: %g", key, s);
		/* A double holds today's epoch to 0.24 us; the file's decimals are rounded to 1 us. */
		*ret_ns = (int64_t)llround(s * 1e6) * NS_PER_US;
		return true;
	}
	const char *text = json_text(v, NULL);
	if (!text)
		return err_set(e, ERR_INPUT, "no '%s'", key);
	struct slice s = slice_of(text);
	if (clock_parse(s, ret_ns) || (zone && parse_zoned(s, zone, ret_ns)))
		return true;
	if (is_zoneless(s)) {
		err_set(e, ERR_INPUT, "the time '%s' has no zone", text);
		return err_hint(e,
			"write it as RFC 3339 with Z or +hh:mm, add \"zone\": \"+02:00\", or use epoch seconds");
	}
	return err_set(e, ERR_INPUT, "'%s' is not a time: '%.60s'", key, text);
}

bool event_name_is_plain(struct slice name)
{
	for (size_t i = 0; i < name.n; i++) {
		unsigned char c = (unsigned char)name.p[i];

		if (c < ' ' || c == 0x7f)
			return false;
		if (c == 0xc2 && i + 1 < name.n && (unsigned char)name.p[i + 1] < 0xa0)
			return false;
	}
	return true;
}

static bool read_name(const struct json *line, const char *key, const char **ret, struct err *e)
{
	*ret = json_text(json_get(line, key), NULL);
	if (!*ret || !**ret)
		return err_set(e, ERR_INPUT, "no '%s'", key);
	if (!event_name_is_plain(slice_of(*ret)))
		return err_set(e, ERR_INPUT, "'%s' holds control characters", key);
	return true;
}

/* Appends the event of one line. */
static bool read_event(struct event_list *list, struct slice text, struct event *ret, struct err *e)
{
	struct json *line CLEANUP(json_cleanup) = json_parse(text, "event", e);
	const char *kind, *name;

	if (!line) {
		e->where[0] = '\0';
		return false;
	}
	const char *zone = json_text(json_get(line, "zone"), NULL);
	if (!read_time(line, "t", zone, &ret->start_ns, e) || !read_name(line, "kind", &kind, e) ||
		!read_name(line, "name", &name, e))
		return false;
	enum json_type end = json_type(json_get(line, "t_end"));
	ret->has_end = end != JSON_MISSING && end != JSON_NULL_VALUE;
	ret->end_ns = ret->start_ns;
	if (ret->has_end && !read_time(line, "t_end", zone, &ret->end_ns, e))
		return false;
	if (ret->end_ns < ret->start_ns)
		return err_set(e, ERR_INPUT, "'t_end' is before 't'");
	ret->dose = json_number(json_get(line, "dose"), NAN);
	ret->kind = kind;
	ret->name = name;
	if (event_append(list, ret))
		return true;
	return err_set(e, ERR_INPUT, "out of memory, or names hold more than %zu bytes",
		list->arena.cap_bytes);
}

bool event_append(struct event_list *list, const struct event *event)
{
	if (!list->arena.cap_bytes)
		arena_init(&list->arena, NAMES_BYTES);
	if (list->count == EVENTS_MAX) {
		list->refused++;
		return true;
	}
	if (list->count == list->cap) {
		size_t cap = list->cap ? list->cap * 2 : 64;
		struct event *grown = realloc(list->items, cap * sizeof(*grown));

		if (!grown)
			return false;
		list->items = grown;
		list->cap = cap;
	}
	struct event kept = *event;
	kept.kind = arena_copy(&list->arena, slice_of(event->kind)).p;
	kept.name = arena_copy(&list->arena, slice_of(event->name)).p;
	if (!kept.kind || !kept.name)
		return false;
	list->items[list->count++] = kept;
	return true;
}

static int by_start(const void *a, const void *b)
{
	const struct event *x = a, *y = b;

	if (x->start_ns != y->start_ns)
		return x->start_ns < y->start_ns ? -1 : 1;
	int kind = strcmp(x->kind, y->kind);
	return kind ? kind : strcmp(x->name, y->name);
}

void event_sort(struct event_list *list)
{
	if (list->count)
		qsort(list->items, list->count, sizeof(*list->items), by_start);
}

static struct slice trim(const char *p, ssize_t n)
{
	struct slice s = { p, (size_t)n };

	while (s.n && strchr(" \t\r\n", s.p[s.n - 1]) && s.p[s.n - 1])
		s.n--;
	while (s.n && (*s.p == ' ' || *s.p == '\t')) {
		s.p++;
		s.n--;
	}
	return s;
}

static bool load_lines(struct event_list *list, FILE *from, const char *path, uint16_t source,
	uint64_t *ret_read, uint64_t *ret_bad, struct err *first)
{
	char *line = NULL;
	size_t room = 0;
	ssize_t n;
	uint64_t number = 0;

	while ((n = getline(&line, &room, from)) >= 0) {
		struct slice text = trim(line, n);
		struct event event = { .source = source };
		struct err bad = { 0 };

		number++;
		if (!text.n)
			continue;
		bool is_good =
			text.n <= LINE_MAX_BYTES
				? read_event(list, text, &event, &bad)
				: err_set(&bad, ERR_INPUT, "longer than %d bytes", LINE_MAX_BYTES);
		*ret_read += is_good;
		*ret_bad += !is_good;
		if (!is_good && first->kind == ERR_NONE) {
			*first = bad;
			err_in(first, "%s: line %llu", path, (unsigned long long)number);
		}
	}
	free(line);
	return *ret_read > 0;
}

bool event_load(struct event_list *list, const char *path, uint16_t source, uint64_t *ret_read,
	uint64_t *ret_bad, struct err *e)
{
	FILE *from = strcmp(path, "-") == 0 ? stdin : fopen(path, "re");
	struct err first = { 0 };

	*ret_read = 0;
	*ret_bad = 0;
	if (!from)
		return err_os(e, errno == ENOENT ? ERR_INPUT : ERR_ENV, errno,
			"could not open '%s'", path);
	bool has_any = load_lines(list, from, path, source, ret_read, ret_bad, &first);
	bool could_read = !ferror(from);
	if (from != stdin)
		fclose(from);
	event_sort(list);
	if (!could_read)
		return err_set(e, ERR_INPUT, "could not read '%s'", path);
	*e = first;
	/* An empty file says that nothing happened: that is an answer. */
	return has_any || *ret_bad == 0;
}

void event_free(struct event_list *list)
{
	free(list->items);
	arena_free(&list->arena);
	*list = (struct event_list){ 0 };
}
