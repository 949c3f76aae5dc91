#include "core/model/httproutes.h"

#include <stdlib.h>

#include "core/base/file.h"
#include "core/model/httpwords.h"
#include "core/model/wordset.h"

enum {
	FILE_BYTES_MAX = 4 << 20,
	PATTERNS_MAX = 10000,
	LINE_MAX_BYTES = 2048,
	WORD_MAX_BYTES = 48,
};

struct pattern {
	struct slice method; /* empty: any */
	struct slice path;
	size_t slashes;
};

struct httproutes {
	struct wordset words, types;
	struct buf text; /* of the file */
	struct pattern *patterns;
	size_t count, room;
	char digest[65];
};

static size_t count_slashes(struct slice s)
{
	size_t n = 0;

	for (size_t i = 0; i < s.n; i++)
		n += s.p[i] == '/';
	return n;
}

/* ---- the file */

static struct slice trim(struct slice s)
{
	while (s.n && (s.p[s.n - 1] == ' ' || s.p[s.n - 1] == '\t' || s.p[s.n - 1] == '\r'))
		s.n--;
	while (s.n && (s.p[0] == ' ' || s.p[0] == '\t'))
		s = (struct slice){ s.p + 1, s.n - 1 };
	return s;
}

static bool is_method(struct slice s)
{
	for (size_t i = 0; i < s.n; i++)
		if ((s.p[i] < 'A' || s.p[i] > 'Z') && s.p[i] != '-')
			return false;
	return s.n > 0;
}

/* Braces stand around a whole segment; nothing that a path could not have. */
static bool is_path(struct slice s)
{
	for (size_t i = 0; i < s.n; i++) {
		bool is_first = i && s.p[i - 1] == '/', is_last = i + 1 == s.n || s.p[i + 1] == '/';

		if ((unsigned char)s.p[i] <= ' ' || s.p[i] == 0x7f || strchr("?#", s.p[i]))
			return false;
		if ((s.p[i] == '{' && !is_first) || (s.p[i] == '}' && !is_last))
			return false;
		if (s.p[i] != '{')
			continue;
		const char *slash = memchr(s.p + i, '/', s.n - i);
		if ((slash ? slash : s.p + s.n)[-1] != '}')
			return false;
	}
	return s.n > 0 && s.p[0] == '/';
}

static bool read_line(struct httproutes *r, struct slice line, struct err *e)
{
	const char *blank = memchr(line.p, ' ', line.n);
	struct pattern p = { .path = line };

	if (blank) {
		p.method = (struct slice){ line.p, (size_t)(blank - line.p) };
		p.path = trim((struct slice){ blank, line.n - p.method.n });
	}
	if (line.n > LINE_MAX_BYTES || (blank && !is_method(p.method)) || !is_path(p.path)) {
		err_set(e, ERR_INPUT, "'%.*s' is not a route", (int)(line.n < 80 ? line.n : 80),
			line.p);
		return err_hint(e, "write GET /shop/{id}/label, or a path alone for any method");
	}
	if (r->count == PATTERNS_MAX)
		return err_set(e, ERR_INPUT, "more than %d routes", PATTERNS_MAX);
	if (r->count == r->room) {
		size_t room = r->room ? 2 * r->room : 64;
		struct pattern *more = realloc(r->patterns, room * sizeof(*more));

		if (!more)
			return err_set(e, ERR_ENV, "out of memory");
		r->patterns = more;
		r->room = room;
	}
	p.slashes = count_slashes(p.path);
	r->patterns[r->count++] = p;
	return true;
}

static bool read_file(struct httproutes *r, const char *path, struct err *e)
{
	if (!file_read(path, FILE_BYTES_MAX, &r->text, e))
		return false;
	const char *at = buf_text(&r->text), *end = at + r->text.n;
	for (unsigned number = 1; at < end; number++) {
		const char *stop = memchr(at, '\n', (size_t)(end - at));
		struct slice line = { at, (size_t)((stop ? stop : end) - at) };
		const char *comment = memchr(line.p, '#', line.n);

		if (comment)
			line.n = (size_t)(comment - line.p);
		line = trim(line);
		if (line.n && !read_line(r, line, e))
			return err_in(e, "%s: line %u", path, number);
		at = stop ? stop + 1 : end;
	}
	return true;
}

static void seal(struct httproutes *r)
{
	struct buf canonical = { 0 };

	for (size_t i = 0; i < r->count; i++) {
		buf_add_slice(&canonical, r->patterns[i].method);
		buf_add_byte(&canonical, ' ');
		buf_add_slice(&canonical, r->patterns[i].path);
		buf_add_byte(&canonical, '\n');
	}
	file_sha256_bytes(buf_slice(&canonical), r->digest);
	buf_free(&canonical);
}

struct httproutes *httproutes_load(const char *path, struct err *e)
{
	struct httproutes *r = calloc(1, sizeof(*r));

	if (!r || !wordset_init(&r->words, httpwords_api, httpwords_api_count) ||
		!wordset_init(&r->types, httpwords_types, httpwords_types_count)) {
		httproutes_free(r);
		err_set(e, ERR_ENV, "out of memory");
		return NULL;
	}
	if (path && !read_file(r, path, e)) {
		httproutes_free(r);
		return NULL;
	}
	if (path)
		seal(r);
	return r;
}

void httproutes_free(struct httproutes *r)
{
	if (!r)
		return;
	wordset_free(&r->words);
	wordset_free(&r->types);
	buf_free(&r->text);
	free(r->patterns);
	free(r);
}

const char *httproutes_digest(const struct httproutes *r)
{
	return r->digest;
}

/* ---- segments */

/* v1, v1.2, V20, v1beta1 */
static bool is_version(struct slice s)
{
	size_t at = 1, digits = 0;

	if (s.n < 2 || s.n > 8 || (s.p[0] | 0x20) != 'v')
		return false;
	for (; at < s.n && ((s.p[at] >= '0' && s.p[at] <= '9') || s.p[at] == '.'); at++)
		digits++;
	if (digits == 0 || digits > 4)
		return false;
	struct slice tail = { s.p + at, s.n - at };
	if (tail.n && tail.p[tail.n - 1] >= '0' && tail.p[tail.n - 1] <= '9')
		tail.n--;
	return tail.n == 0 || slice_is(tail, "beta") || slice_is(tail, "alpha");
}

static struct slice behind_last(struct slice s, char c)
{
	const char *p = s.n ? memrchr(s.p, c, s.n) : NULL;

	return p ? (struct slice){ p + 1, s.n - (size_t)(p + 1 - s.p) } : (struct slice){ NULL, 0 };
}

struct slice httproutes_file_type(const struct httproutes *r, struct slice segment)
{
	struct slice type = behind_last(segment, '.');

	return wordset_has(&r->types, type) ? type : (struct slice){ NULL, 0 };
}

static bool is_plain_word(const struct httproutes *r, struct slice s)
{
	return wordset_has_parts(&r->words, s) || is_version(s);
}

bool httproutes_is_word(const struct httproutes *r, struct slice s)
{
	if (s.n == 0 || s.n > WORD_MAX_BYTES)
		return false;
	/* A dot or an underscore in front is a convention: .well-known, _search. */
	if (s.n > 1 && (s.p[0] == '.' || s.p[0] == '_'))
		s = (struct slice){ s.p + 1, s.n - 1 };
	if (is_plain_word(r, s))
		return true;
	struct slice tail = httproutes_file_type(r, s);
	if (tail.n == 0)
		tail = behind_last(s, ':');
	if (tail.n == 0 || tail.n + 1 >= s.n)
		return false;
	bool is_verb = tail.p[-1] == ':';
	struct slice stem = { s.p, s.n - tail.n - 1 };
	/* jquery.min.js */
	if (!is_verb && slice_is(behind_last(stem, '.'), "min"))
		stem.n -= 4;
	return is_plain_word(r, stem) && (!is_verb || is_plain_word(r, tail));
}

static struct slice segment_at(struct slice path, size_t at)
{
	const char *slash = memchr(path.p + at, '/', path.n - at);

	return (struct slice){ path.p + at, slash ? (size_t)(slash - path.p) - at : path.n - at };
}

static bool fits(const struct pattern *p, struct slice path)
{
	size_t a = 1, b = 1;

	for (size_t i = 0; i < p->slashes; i++) {
		struct slice want = segment_at(p->path, a), have = segment_at(path, b);

		if (want.n && want.p[0] == '{' ? have.n == 0 : !slice_same(want, have))
			return false;
		a += want.n + 1;
		b += have.n + 1;
	}
	return true;
}

struct slice httproutes_match(const struct httproutes *r, struct slice method, struct slice path)
{
	if (r->count == 0 || path.n == 0 || path.p[0] != '/')
		return (struct slice){ NULL, 0 };
	size_t slashes = count_slashes(path);
	for (size_t i = 0; i < r->count; i++) {
		const struct pattern *p = &r->patterns[i];

		if (p->slashes == slashes && (p->method.n == 0 || slice_same(p->method, method)) &&
			fits(p, path))
			return p->path;
	}
	return (struct slice){ NULL, 0 };
}
