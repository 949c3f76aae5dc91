#include "capture/canary.h"

#include <ctype.h>
#include <stdlib.h>

#include "core/base/clock.h"
#include "core/base/file.h"
#include "core/base/hex.h"
#include "core/base/utf8.h"

enum { SHORTEST = 3, BUCKETS = 1 << 16, PATTERNS_MAX = 4 << 20 };

static const size_t canary_file_max = (size_t)16 << 20;

enum pattern_use { IN_FOLDED, IN_RAW, IN_VALUE, WHOLE_VALUE };

struct pattern {
	struct slice bytes;
	const char *form;
	uint32_t line;
	uint32_t next; /* in its bucket: number + 1 */
	uint8_t use;
};

struct canary_set {
	struct buf text; /* of all patterns; slices are set when it stands still */
	size_t *offsets;
	struct pattern *patterns;
	size_t count, room;
	uint32_t *buckets[2]; /* IN_FOLDED, IN_RAW: first pattern + 1 by first 3 bytes */
	size_t canaries, too_short;
	bool is_failed;
};

static uint32_t bucket_of(const char *p)
{
	uint32_t three = (uint32_t)(unsigned char)p[0] | (uint32_t)(unsigned char)p[1] << 8 |
			 (uint32_t)(unsigned char)p[2] << 16;

	return three * UINT32_C(2654435761) >> 16;
}

/* ---- making the forms */

static void add(struct canary_set *s, uint32_t line, const char *form, enum pattern_use use,
	struct slice bytes)
{
	if ((use == IN_FOLDED || use == IN_RAW) && bytes.n < SHORTEST)
		return;
	if (s->count == s->room) {
		size_t room = s->room ? 2 * s->room : 256;
		struct pattern *patterns =
			room > PATTERNS_MAX ? NULL : realloc(s->patterns, room * sizeof(*patterns));

		if (patterns)
			s->patterns = patterns;
		size_t *offsets = patterns ? realloc(s->offsets, room * sizeof(*offsets)) : NULL;
		if (!offsets) {
			s->is_failed = true;
			return;
		}
		s->offsets = offsets;
		s->room = room;
	}
	s->offsets[s->count] = s->text.n;
	buf_add_slice(&s->text, bytes);
	s->patterns[s->count++] = (struct pattern){
		.bytes = { NULL, bytes.n }, .form = form, .line = line, .use = (uint8_t)use
	};
}

static void add_folded(struct canary_set *s, uint32_t line, const char *form, struct buf *b)
{
	for (size_t i = 0; i < b->n; i++)
		if ((unsigned char)b->p[i] < 0x80)
			b->p[i] = (char)tolower(b->p[i]);
	add(s, line, form, IN_FOLDED, buf_slice(b));
	buf_reset(b);
}

static const char base64_letters[] =
	"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/* The letters that depend on the canary alone when `before` bytes stand before it
 * in the encoded stream. */
static void add_base64(struct canary_set *s, uint32_t line, struct slice c, unsigned before)
{
	struct buf out = { 0 };
	uint32_t bits = 0;
	unsigned have = before * 8 % 6, skip = have ? 1 : 0;
	bool has_special = false;

	for (size_t i = 0; i < c.n; i++) {
		bits = bits << 8 | (unsigned char)c.p[i];
		have += 8;
		while (have >= 6) {
			have -= 6;
			char letter = base64_letters[bits >> have & 63];

			if (skip) {
				skip = 0;
				continue;
			}
			has_special |= letter == '+' || letter == '/';
			buf_add_byte(&out, (unsigned char)letter);
		}
	}
	/* Two or three letters would be found by chance. */
	if (out.n >= 4)
		add(s, line, "base64", IN_RAW, buf_slice(&out));
	for (size_t i = 0; has_special && i < out.n; i++)
		out.p[i] = out.p[i] == '+' ? '-' : out.p[i] == '/' ? '_' : out.p[i];
	if (has_special && out.n >= 4)
		add(s, line, "base64url", IN_RAW, buf_slice(&out));
	buf_free(&out);
}

static void add_unit(struct buf *little, struct buf *big, uint32_t unit)
{
	buf_add_byte(little, (unsigned char)unit);
	buf_add_byte(little, (unsigned char)(unit >> 8));
	buf_add_byte(big, (unsigned char)(unit >> 8));
	buf_add_byte(big, (unsigned char)unit);
}

/* Of what is UTF-8; returns its bytes. */
static size_t utf8_code(const char *p, size_t left, uint32_t *ret)
{
	size_t n = utf8_length(p, left);

	*ret = n == 1 ? (unsigned char)*p : (unsigned char)*p & (0x7fu >> n);
	for (size_t i = 1; i < n; i++)
		*ret = *ret << 6 | ((unsigned char)p[i] & 0x3f);
	return n;
}

/* Both byte orders, any case; what is no UTF-8 has none. */
static void add_utf16(struct canary_set *s, uint32_t line, struct slice c)
{
	struct buf little = { 0 }, big = { 0 };
	const char *end = c.p + c.n;
	uint32_t code;

	if (!utf8_is(c))
		return;
	for (const char *p = c.p; p < end;) {
		p += utf8_code(p, (size_t)(end - p), &code);
		if (code > 0xffff) {
			add_unit(&little, &big, 0xd800 + ((code - 0x10000) >> 10));
			add_unit(&little, &big, 0xdc00 + ((code - 0x10000) & 0x3ff));
		} else {
			add_unit(&little, &big, code);
		}
	}
	add_folded(s, line, "UTF-16", &little);
	add_folded(s, line, "UTF-16", &big);
	buf_free(&little);
	buf_free(&big);
}

/* The 16 bytes of a uuid (RFC 9562), with hyphens, braces or without. */
static void add_uuid(struct canary_set *s, uint32_t line, struct slice c)
{
	char bytes[16] = { 0 };
	size_t digits = 0;

	for (size_t i = 0; i < c.n; i++) {
		int v = hex_value(c.p[i]);

		if (v < 0 && !strchr("-{}", c.p[i]))
			return;
		if (v < 0)
			continue;
		if (digits == 32)
			return;
		bytes[digits / 2] = (char)((unsigned char)bytes[digits / 2] << 4 | v);
		digits++;
	}
	if (digits == 32)
		add(s, line, "binary uuid", IN_RAW, (struct slice){ bytes, sizeof bytes });
}

/* Digits of base 10,000, as numeric_send() has them after its header: trailing zeros are
 * left out, and where the first group begins depends on the decimal point alone. */
static void add_numeric(struct canary_set *s, uint32_t line, struct slice c)
{
	char digits[64] = "", bytes[2 * (sizeof digits / 4)];
	size_t n = 0, point, at = c.n && (c.p[0] == '-' || c.p[0] == '+'), whole = 0;
	size_t groups = 0, last = 0, first;

	while (at + whole < c.n && isdigit((unsigned char)c.p[at + whole]))
		whole++;
	point = at + whole;
	if (!whole || c.n > 40 || (point < c.n && c.p[point] != '.'))
		return;
	for (size_t i = 0; i < (4 - whole % 4) % 4; i++)
		digits[n++] = '0';
	for (size_t i = at; i < c.n; i++)
		if (isdigit((unsigned char)c.p[i]))
			digits[n++] = c.p[i];
		else if (i != point)
			return;
	while (n % 4)
		digits[n++] = '0';
	for (first = 0; first < n && !memcmp(digits + first, "0000", 4);)
		first += 4;
	for (size_t i = first; i < n; i += 4, groups++) {
		unsigned v = 0;

		for (size_t k = 0; k < 4; k++)
			v = v * 10 + (unsigned)(digits[i + k] - '0');
		bytes[2 * groups] = (char)(v >> 8);
		bytes[2 * groups + 1] = (char)v;
		if (v)
			last = groups + 1;
	}
	/* One group alone would be found in any value. */
	if (last >= 2)
		add(s, line, "binary numeric", last >= 4 ? IN_RAW : IN_VALUE,
			(struct slice){ bytes, 2 * last });
}

static void add_texts(struct canary_set *s, uint32_t line, struct slice c)
{
	struct buf b = { 0 };
	bool is_changed = false;

	buf_add_slice(&b, c);
	add_folded(s, line, "plain", &b);
	for (size_t i = 0; i < c.n; i++)
		buf_addf(&b, "%02x", (unsigned char)c.p[i]);
	add_folded(s, line, "hex", &b);
	for (size_t i = 0; i < c.n; i++) {
		unsigned char byte = (unsigned char)c.p[i];

		if (isalnum(byte) || strchr("-._~", byte)) {
			buf_add_byte(&b, byte);
		} else {
			buf_addf(&b, "%%%02x", byte);
			is_changed = true;
		}
	}
	if (is_changed) {
		add_folded(s, line, "URL-encoded", &b);
		/* Forms write a blank as + (application/x-www-form-urlencoded). */
		for (size_t i = 0; i < c.n; i++)
			if (c.p[i] == ' ')
				buf_add_byte(&b, '+');
			else if (isalnum((unsigned char)c.p[i]) || strchr("-._~", c.p[i]))
				buf_add_byte(&b, (unsigned char)c.p[i]);
			else
				buf_addf(&b, "%%%02x", (unsigned char)c.p[i]);
		add_folded(s, line, "form-encoded", &b);
	}
	for (unsigned before = 0; before < 3; before++)
		add_base64(s, line, c, before);
	buf_free(&b);
}

static void add_binary(
	struct canary_set *s, uint32_t line, const char *form, uint64_t v, size_t bytes)
{
	char big[8], little[8];
	enum pattern_use use = bytes == 8 ? IN_RAW : bytes == 4 ? IN_VALUE : WHOLE_VALUE;

	for (size_t i = 0; i < bytes; i++)
		little[i] = big[bytes - 1 - i] = (char)(v >> (8 * i));
	add(s, line, form, use, (struct slice){ big, bytes });
	add(s, line, form, use, (struct slice){ little, bytes });
}

static void add_integer(struct canary_set *s, uint32_t line, struct slice c)
{
	char text[32], *end;

	if (c.n >= sizeof(text))
		return;
	memcpy(text, c.p, c.n);
	text[c.n] = '\0';
	if (!isdigit((unsigned char)text[text[0] == '-']))
		return;
	long long v = strtoll(text, &end, 10);
	if (*end)
		return;
	add_binary(s, line, "8-byte integer", (uint64_t)v, 8);
	if (v >= INT32_MIN && v <= (long long)UINT32_MAX)
		add_binary(s, line, "4-byte integer", (uint64_t)v, 4);
	if (v >= INT16_MIN && v <= UINT16_MAX)
		add_binary(s, line, "2-byte integer", (uint64_t)v, 2);
}

/* Postgres counts days and microseconds from 2000-01-01. */
static void add_date(struct canary_set *s, uint32_t line, struct slice c)
{
	char text[64];
	int64_t ns;
	int64_t epoch = clock_days(2000, 1, 1);

	if (c.n < 10 || c.n > 40 || c.p[4] != '-' || c.p[7] != '-')
		return;
	snprintf(text, sizeof(text), "%.10sT00:00:00Z", c.p);
	if (!clock_parse(slice_of(text), &ns))
		return;
	add_binary(s, line, "binary date", (uint64_t)(ns / NS_PER_S / 86400 - epoch), 4);
	if (c.n > 10) {
		snprintf(text, sizeof(text), "%.*s", (int)c.n, c.p);
		if (!clock_parse(slice_of(text), &ns)) {
			snprintf(text, sizeof(text), "%.*sZ", (int)c.n, c.p);
			if (!clock_parse(slice_of(text), &ns))
				return;
		}
	}
	add_binary(s, line, "binary timestamp",
		(uint64_t)(ns / NS_PER_US - epoch * 86400 * 1000000), 8);
}

static bool index_patterns(struct canary_set *s)
{
	s->buckets[IN_FOLDED] = calloc(BUCKETS, sizeof(uint32_t));
	s->buckets[IN_RAW] = calloc(BUCKETS, sizeof(uint32_t));
	if (!s->buckets[0] || !s->buckets[1] || s->is_failed || s->text.is_full)
		return false;
	for (size_t i = 0; i < s->count; i++) {
		struct pattern *p = &s->patterns[i];

		p->bytes.p = s->text.p + s->offsets[i];
		if (p->use != IN_FOLDED && p->use != IN_RAW)
			continue;
		uint32_t *bucket = &s->buckets[p->use][bucket_of(p->bytes.p)];
		p->next = *bucket;
		*bucket = (uint32_t)i + 1;
	}
	return true;
}

struct canary_set *canary_load(const char *path, struct err *e)
{
	struct buf file = { 0 };
	struct canary_set *s = calloc(1, sizeof(*s));
	uint32_t line = 0;

	if (!s) {
		err_set(e, ERR_ENV, "out of memory");
		return NULL;
	}
	buf_init(&s->text, (size_t)1 << 30);
	if (!file_read(path, canary_file_max, &file, e)) {
		canary_free(s);
		buf_free(&file);
		return NULL;
	}
	for (char *p = file.p, *end = p + file.n; p && p < end;) {
		char *stop = memchr(p, '\n', (size_t)(end - p));
		struct slice c = { p, (size_t)((stop ? stop : end) - p) };

		p = stop ? stop + 1 : end;
		line++;
		while (c.n && (c.p[c.n - 1] == '\r' || c.p[c.n - 1] == ' '))
			c.n--;
		if (c.n == 0)
			continue;
		s->canaries += c.n >= SHORTEST;
		s->too_short += c.n < SHORTEST;
		if (c.n < SHORTEST)
			continue;
		add_texts(s, line, c);
		add_utf16(s, line, c);
		add_uuid(s, line, c);
		add_integer(s, line, c);
		add_numeric(s, line, c);
		add_date(s, line, c);
	}
	buf_free(&file);
	if (index_patterns(s))
		return s;
	err_set(e, ERR_ENV, "out of memory, or too many canaries");
	err_in(e, "%s", path);
	canary_free(s);
	return NULL;
}

void canary_free(struct canary_set *s)
{
	if (!s)
		return;
	/* The strings are what must not be seen. */
	if (s->text.p)
		explicit_bzero(s->text.p, s->text.n);
	buf_free(&s->text);
	free(s->offsets);
	free(s->patterns);
	free(s->buckets[0]);
	free(s->buckets[1]);
	free(s);
}

size_t canary_count(const struct canary_set *s)
{
	return s->canaries;
}

size_t canary_too_short(const struct canary_set *s)
{
	return s->too_short;
}

/* ---- looking */

typedef void hit_function(void *data, struct canary_hit h);

static bool same_folded(const char *pattern, const char *p, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		unsigned char c = (unsigned char)p[i];

		if ((char)(c < 0x80 ? tolower(c) : c) != pattern[i])
			return false;
	}
	return true;
}

static void report(const struct pattern *p, hit_function *hit, void *data)
{
	hit(data, (struct canary_hit){ p->line, p->form });
}

static void try_at(const struct canary_set *s, enum pattern_use use, const char *first,
	const char *p, size_t left, hit_function *hit, void *data)
{
	for (uint32_t i = s->buckets[use][bucket_of(first)]; i; i = s->patterns[i - 1].next) {
		const struct pattern *pattern = &s->patterns[i - 1];

		if (pattern->bytes.n > left)
			continue;
		bool is_same = use == IN_RAW ? memcmp(pattern->bytes.p, p, pattern->bytes.n) == 0
					     : same_folded(pattern->bytes.p, p, pattern->bytes.n);
		if (is_same)
			report(pattern, hit, data);
	}
}

void canary_search(const struct canary_set *s, struct slice bytes, hit_function *hit, void *data)
{
	for (size_t i = 0; i + SHORTEST <= bytes.n; i++) {
		const char *p = bytes.p + i;
		char folded[SHORTEST];

		for (size_t k = 0; k < SHORTEST; k++)
			folded[k] = (char)((unsigned char)p[k] < 0x80 ? tolower(p[k]) : p[k]);
		try_at(s, IN_FOLDED, folded, p, bytes.n - i, hit, data);
		try_at(s, IN_RAW, p, p, bytes.n - i, hit, data);
	}
}

void canary_search_value(
	const struct canary_set *s, struct slice value, hit_function *hit, void *data)
{
	for (size_t i = 0; value.n && i < s->count; i++) {
		const struct pattern *p = &s->patterns[i];

		if (p->use == WHOLE_VALUE && slice_same(p->bytes, value))
			report(p, hit, data);
		if (p->use == IN_VALUE && memmem(value.p, value.n, p->bytes.p, p->bytes.n))
			report(p, hit, data);
	}
}
