#include "core/format/jsonline.h"

#include "core/base/hex.h"
#include "core/base/utf8.h"

static void skip_blanks(struct jsonline *j)
{
	const char *p = j->p;

	/* Nearly always there is none. */
	while (p < j->end && (unsigned char)*p <= ' ' &&
		(*p == ' ' || *p == '\t' || *p == '\r' || *p == '\n'))
		p++;
	j->p = p;
}

static bool eat(struct jsonline *j, char c)
{
	if (j->p >= j->end || *j->p != c)
		return false;
	j->p++;
	return true;
}

/* ---- strings */

static uint64_t eight(const char *p)
{
	uint64_t w;

	memcpy(&w, p, sizeof(w));
	return w;
}

/* Bytes of w that are c, as their high bits; a false one may follow a true one, never
 * precede it (Warren 2013, Hacker's Delight, 6-1). */
static uint64_t bytes_that_are(uint64_t w, char c)
{
	const uint64_t ones = UINT64_C(0x0101010101010101);
	uint64_t x = w ^ (ones * (unsigned char)c);

	return (x - ones) & ~x & (ones << 7);
}

/* The first quote or backslash, or the end. Most strings of a log are a word or two:
 * eight bytes a step cost less there than two calls of memchr(). */
static const char *string_stop(const char *p, const char *end)
{
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
	for (; end - p >= 8; p += 8) {
		uint64_t w = eight(p), hits = bytes_that_are(w, '"') | bytes_that_are(w, '\\');
		if (hits)
			return p + __builtin_ctzll(hits) / 8;
	}
#endif
	while (p < end && *p != '"' && *p != '\\')
		p++;
	return p;
}

static bool eat_hex4(struct jsonline *j, uint32_t *ret)
{
	if (j->end - j->p < 4 || !hex_value4(j->p, ret))
		return false;
	j->p += 4;
	return true;
}

/* Behind "\u". */
static bool eat_unicode(struct jsonline *j, char **to)
{
	uint32_t c, low;

	if (!eat_hex4(j, &c))
		return false;
	if (c >= 0xd800 && c < 0xdc00) {
		const char *back = j->p;

		if (eat(j, '\\') && eat(j, 'u') && eat_hex4(j, &low) && low >= 0xdc00 &&
			low < 0xe000) {
			c = 0x10000 + ((c - 0xd800) << 10) + (low - 0xdc00);
		} else {
			j->p = back;
			c = 0xfffd;
		}
	} else if (c >= 0xdc00 && c < 0xe000) {
		c = 0xfffd;
	}
	*to = utf8_put(*to, c);
	return true;
}

/* Behind the backslash. */
static bool eat_escape(struct jsonline *j, char **to)
{
	static const char from[] = "\"\\/bfnrt", into[] = "\"\\/\b\f\n\r\t";
	char c = j->p < j->end ? *j->p++ : '\0';
	const char *at = c ? strchr(from, c) : NULL;

	if (c == 'u')
		return eat_unicode(j, to);
	if (!at)
		return false;
	*(*to)++ = into[at - from];
	return true;
}

/* The strings' buffer has room for the whole line, and no escape grows. */
static bool eat_escaped(struct jsonline *j, const char *from, struct slice *ret)
{
	char *start = j->strings.p + j->strings.n, *to = start;

	memcpy(to, from, (size_t)(j->p - from));
	to += j->p - from;
	while (j->p < j->end && *j->p != '"') {
		const char *stop = string_stop(j->p, j->end);

		memcpy(to, j->p, (size_t)(stop - j->p));
		to += stop - j->p;
		j->p = stop;
		if (stop < j->end && *stop == '\\') {
			j->p++;
			if (!eat_escape(j, &to))
				return false;
		}
	}
	*ret = (struct slice){ start, (size_t)(to - start) };
	j->strings.n += ret->n;
	return eat(j, '"');
}

/* Behind the opening quote. */
static bool eat_string(struct jsonline *j, struct slice *ret)
{
	const char *from = j->p, *stop = string_stop(from, j->end);

	if (stop == j->end)
		return false;
	if (*stop == '\\') {
		j->p = stop;
		return eat_escaped(j, from, ret);
	}
	*ret = (struct slice){ from, (size_t)(stop - from) };
	j->p = stop + 1;
	return true;
}

/* ---- other values */

static bool is_bare(char c)
{
	return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || c == '-' || c == '+' ||
	       c == '.' || c == 'E';
}

static bool is_literal(struct slice s)
{
	return slice_is(s, "true") || slice_is(s, "false") || slice_is(s, "null");
}

static size_t digits(struct slice s, size_t at)
{
	size_t from = at;

	while (at < s.n && s.p[at] >= '0' && s.p[at] <= '9')
		at++;
	return at - from;
}

/* RFC 8259, 6; leading zeros are let pass. */
static bool is_number(struct slice s)
{
	size_t at = s.n && s.p[0] == '-', n = digits(s, at);

	if (!n)
		return false;
	at += n;
	if (at < s.n && s.p[at] == '.') {
		if (!(n = digits(s, ++at)))
			return false;
		at += n;
	}
	if (at < s.n && (s.p[at] | 0x20) == 'e') {
		at++;
		at += at < s.n && (s.p[at] == '+' || s.p[at] == '-');
		if (!(n = digits(s, at)))
			return false;
		at += n;
	}
	return at == s.n;
}

static bool eat_bare(struct jsonline *j, struct slice *ret)
{
	const char *from = j->p, *p = from;
	bool is_digits = true;

	for (; p < j->end && is_bare(*p); p++)
		is_digits &= *p >= '0' && *p <= '9';
	j->p = p;
	*ret = (struct slice){ from, (size_t)(p - from) };
	return (is_digits && ret->n) || is_number(*ret) || is_literal(*ret);
}

/* Brackets outside of strings are balanced; what is between is not looked at. */
static bool eat_array(struct jsonline *j, struct slice *ret)
{
	const char *from = j->p;
	size_t open = 0;

	for (; j->p < j->end; j->p++) {
		if (*j->p == '"') {
			for (j->p++; j->p < j->end && *j->p != '"'; j->p++)
				if (*j->p == '\\')
					j->p++;
			if (j->p >= j->end)
				return false;
		} else if (*j->p == '[' || *j->p == '{') {
			open++;
		} else if ((*j->p == ']' || *j->p == '}') && --open == 0) {
			j->p++;
			*ret = (struct slice){ from, (size_t)(j->p - from) };
			return true;
		}
	}
	return false;
}

/* ---- members */

bool jsonline_open(struct jsonline *j, struct slice line)
{
	buf_reset(&j->strings);
	j->p = line.p;
	j->end = line.p + line.n;
	j->depth = 0;
	j->index = 0;
	j->wants_comma = false;
	skip_blanks(j);
	if (!eat(j, '{') || !buf_room(&j->strings, line.n))
		return false;
	j->parents[j->depth++] = (struct slice){ NULL, 0 };
	return true;
}

void jsonline_free(struct jsonline *j)
{
	buf_free(&j->strings);
}

/* Closing braces; true when the last one was it. */
static bool close_objects(struct jsonline *j)
{
	skip_blanks(j);
	while (j->depth && eat(j, '}')) {
		j->depth--;
		j->wants_comma = true;
		skip_blanks(j);
	}
	return j->depth == 0;
}

/* Only names without escapes, with the colon close by. */
static void remember(struct jsonline *j, const char *from)
{
	size_t n = (size_t)(j->p - from);

	if (j->index >= JSONLINE_PLACES_MAX)
		return;
	struct jsonline_place *place = &j->places[j->index];
	place->n = 0;
	if (n > sizeof(place->text) || memchr(from, '\\', n) || j->p[-2] != '"')
		return;
	memcpy(place->text, from, n);
	place->n = (uint8_t)n;
}

/* memcmp() of a name's length costs more in its call than in its work. */
static bool is_same(const char *a, const char *b, size_t n)
{
	if (n < 8)
		return memcmp(a, b, n) == 0;
	for (size_t i = 0; i + 8 < n; i += 8)
		if (eight(a + i) != eight(b + i))
			return false;
	return eight(a + n - 8) == eight(b + n - 8);
}

static bool eat_known_name(struct jsonline *j, struct slice *ret)
{
	const struct jsonline_place *place = &j->places[j->index];

	if (j->index >= JSONLINE_PLACES_MAX || !place->n || j->end - j->p < place->n ||
		!is_same(j->p, place->text, place->n))
		return false;
	*ret = (struct slice){ j->p + 1, place->n - 3u };
	j->p += place->n;
	return true;
}

static bool eat_name(struct jsonline *j, struct jsonline_member *ret)
{
	if (j->wants_comma && !eat(j, ','))
		return false;
	skip_blanks(j);
	ret->index = j->index;
	ret->is_repeat = eat_known_name(j, &ret->name);
	if (!ret->is_repeat) {
		const char *from = j->p;

		if (!eat(j, '"') || !eat_string(j, &ret->name))
			return false;
		skip_blanks(j);
		if (!eat(j, ':'))
			return false;
		remember(j, from);
	}
	j->index++;
	skip_blanks(j);
	return true;
}

static bool eat_value(struct jsonline *j, struct jsonline_member *ret)
{
	j->wants_comma = true;
	if (eat(j, '"')) {
		ret->kind = JSONLINE_STRING;
		return eat_string(j, &ret->value);
	}
	if (j->p < j->end && *j->p == '[') {
		ret->kind = JSONLINE_ARRAY;
		return eat_array(j, &ret->value);
	}
	ret->kind = JSONLINE_BARE;
	return eat_bare(j, &ret->value);
}

enum step jsonline_next(struct jsonline *j, struct jsonline_member *ret)
{
	for (;;) {
		if (close_objects(j))
			return j->p == j->end ? STEP_END : STEP_FAIL;
		if (!eat_name(j, ret))
			return STEP_FAIL;
		if (!eat(j, '{'))
			break;
		if (j->depth == JSONLINE_DEPTH_MAX)
			return STEP_FAIL;
		j->parents[j->depth++] = ret->name;
		j->wants_comma = false;
	}
	ret->depth = j->depth;
	ret->parent = j->parents[j->depth - 1];
	return eat_value(j, ret) ? STEP_ITEM : STEP_FAIL;
}
