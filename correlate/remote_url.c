#include "correlate/remote_url.h"

#include <stdlib.h>

#include "core/base/file.h"

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static const char *decode(struct remote_url *u, struct slice text, const char *name, struct err *e)
{
	char *to = arena_take(&u->arena, text.n + 1);
	size_t n = 0;

	if (!to) {
		err_set(e, ERR_USAGE, "the value of '%s' is too long", name);
		return NULL;
	}
	for (size_t i = 0; i < text.n; i++) {
		int high = -1, low = -1;

		if (text.p[i] != '%') {
			to[n++] = text.p[i];
			continue;
		}
		if (i + 2 < text.n) {
			high = hex_digit(text.p[i + 1]);
			low = hex_digit(text.p[i + 2]);
		}
		if (high < 0 || low < 0 || high + low == 0) {
			err_set(e, ERR_USAGE, "a '%%' in '%s' is not followed by two hex digits",
				name);
			err_hint(e, "write a per cent sign as %%25, '&' as %%26");
			return NULL;
		}
		to[n++] = (char)(high << 4 | low);
		i += 2;
	}
	return to;
}

/* "@FILE": long queries are easier kept in a file. */
static const char *from_file(struct remote_url *u, const char *path, struct err *e)
{
	struct buf text = { 0 };
	const char *value = NULL;

	if (file_read(path, REMOTE_TEXT_MAX / 2, &text, e)) {
		value = arena_copy(&u->arena, buf_slice(&text)).p;
		if (!value)
			err_set(e, ERR_USAGE, "'%s' is too long", path);
	}
	buf_free(&text);
	return value;
}

static bool is_known(const char *name, const char *const *known)
{
	for (; *known; known++)
		if (strcmp(*known, name) == 0)
			return true;
	return false;
}

static bool refuse_name(
	const struct remote_url *u, const char *name, const char *const *known, struct err *e)
{
	struct buf list = { 0 };

	for (; *known; known++)
		buf_addf(&list, "%s%s", list.n ? ", " : "", *known);
	err_set(e, ERR_USAGE, "%s: has no parameter '%.60s'", u->word, name);
	err_hint(e, "it has %s; a '&' inside of a value is written %%26", buf_text(&list));
	buf_free(&list);
	return false;
}

static bool is_postgres(const char *address)
{
	return strncmp(address, "postgres://", 11) == 0 ||
	       strncmp(address, "postgresql://", 13) == 0;
}

/* libpq's own parameters go back into its URL. */
static bool give_back(struct remote_url *u, struct slice pair)
{
	const char *mark = strchr(u->address, '?') ? "&" : "?";

	u->address = arena_printf(&u->arena, "%s%s%.*s", u->address, mark, (int)pair.n, pair.p);
	return u->address != NULL;
}

static bool take_param(
	struct remote_url *u, struct slice pair, const char *const *known, struct err *e)
{
	const char *equals = memchr(pair.p, '=', pair.n);
	size_t name_n = equals ? (size_t)(equals - pair.p) : pair.n;
	const char *name = arena_copy(&u->arena, (struct slice){ pair.p, name_n }).p;
	const char *value;

	if (!name || u->count == REMOTE_PARAMS_MAX)
		return err_set(e, ERR_USAGE, "%s: has too many parameters", u->word);
	if (!is_known(name, known)) {
		if (is_postgres(u->address) && give_back(u, pair))
			return true;
		return refuse_name(u, name, known, e);
	}
	if (!equals || remote_url_get(u, name))
		return err_set(e, ERR_USAGE, "%s: the parameter '%s' %s", u->word, name,
			equals ? "is given twice" : "has no '=value'");
	value = decode(u, (struct slice){ equals + 1, pair.n - name_n - 1 }, name, e);
	if (value && value[0] == '@')
		value = from_file(u, value + 1, e);
	if (!value)
		return false;
	u->params[u->count++] = (struct remote_param){ name, value };
	return true;
}

bool remote_url_parse(
	struct remote_url *u, const char *text, const char *const *known, struct err *e)
{
	const char *colon = strchr(text, ':');
	const char *mark;

	*u = (struct remote_url){ 0 };
	arena_init(&u->arena, 4 * REMOTE_TEXT_MAX);
	if (!colon || strlen(text) > REMOTE_TEXT_MAX)
		return err_set(e, ERR_USAGE, "no address of a server, or one that is too long");
	mark = strchrnul(colon, '?');
	u->word = arena_copy(&u->arena, (struct slice){ text, (size_t)(colon - text) }).p;
	u->address =
		arena_copy(&u->arena, (struct slice){ colon + 1, (size_t)(mark - colon - 1) }).p;
	if (!u->word || !u->address)
		return err_set(e, ERR_ENV, "out of memory");
	while (*mark) {
		const char *start = mark + 1;

		mark = strchrnul(start, '&');
		if (mark > start &&
			!take_param(u, (struct slice){ start, (size_t)(mark - start) }, known, e))
			return false;
	}
	return true;
}

void remote_url_free(struct remote_url *u)
{
	arena_free(&u->arena);
	*u = (struct remote_url){ 0 };
}

const char *remote_url_get(const struct remote_url *u, const char *name)
{
	for (size_t i = 0; i < u->count; i++)
		if (strcmp(u->params[i].name, name) == 0)
			return u->params[i].value;
	return NULL;
}

bool remote_url_is_web(const struct remote_url *u)
{
	return strncmp(u->address, "http://", 7) == 0 || strncmp(u->address, "https://", 8) == 0;
}

/* ---- times */

static bool parse_time(const char *text, const struct clock *clock, int64_t *ret)
{
	int64_t age_ns;

	if (strcmp(text, "now") == 0) {
		*ret = clock_wall_ns(clock);
		return true;
	}
	if (text[0] != '-')
		return clock_parse(slice_of(text), ret);
	if (!clock_parse_duration(slice_of(text + 1), &age_ns))
		return false;
	*ret = clock_wall_ns(clock) - age_ns;
	return true;
}

static bool take_time(const struct remote_url *u, const char *name, const struct clock *clock,
	int64_t *value, struct err *e)
{
	const char *text = remote_url_get(u, name);

	if (!text || parse_time(text, clock, value))
		return true;
	err_set(e, ERR_USAGE, "%s=%.60s is no time", name, text);
	return err_hint(e,
		"RFC 3339 with zone (2026-11-30T12:00:00Z), epoch seconds, 'now', or an age "
		"like -6h");
}

bool remote_url_range(const struct remote_url *u, const struct clock *clock, int64_t *from_ns,
	int64_t *to_ns, struct err *e)
{
	if (!take_time(u, "from", clock, from_ns, e) || !take_time(u, "to", clock, to_ns, e))
		return false;
	return *from_ns < *to_ns || err_set(e, ERR_USAGE, "from= is not before to=");
}

bool remote_url_duration(const struct remote_url *u, const char *name, int64_t least_ns,
	int64_t *value_ns, struct err *e)
{
	const char *text = remote_url_get(u, name);
	char least[CLOCK_TEXT_MAX];

	if (!text)
		return true;
	if (clock_parse_duration(slice_of(text), value_ns) && *value_ns >= least_ns &&
		*value_ns <= 86400 * NS_PER_S)
		return true;
	err_set(e, ERR_USAGE, "%s=%.60s is no duration", name, text);
	return err_hint(e, "like 15s or 1m; at least %s, at most a day",
		clock_duration_text(least_ns, least));
}
