#include "core/model/token.h"

#include <stdlib.h>

#include "core/base/utf8.h"
#include "core/model/sqldate.h"
#include "core/model/token_class.h"
#include "core/model/token_key.h"
#include "core/model/token_permute.h"

enum { ON_STACK = 256, DIGITS_OF_A_NUMBER = 19 };

/* One byte of a value that changes, and to what. */
enum spot_kind {
	SPOT_KEPT,
	SPOT_LOWER,
	SPOT_UPPER,
	SPOT_DIGIT,
	SPOT_HEX,
	SPOT_HEX_UPPER,
	SPOT_UTF8_TAIL, /* the last byte of a sequence: the code point moves within its 64 */
	SPOT_HIGH, /* 0xa0 to 0xff outside UTF-8: the letters of Latin-1 */
	SPOT_C1, /* 0x80 to 0x9f outside UTF-8 */
	SPOT_FIRST_DIGIT, /* 1 to 9 */
	SPOT_FIRST_HEX, /* 1 to f */
	SPOT_VARIANT, /* of a uuid: two bits of the nibble are the variant's */
};

static const struct {
	uint8_t radix, base;
} spots[] = {
	[SPOT_LOWER] = { 26, 'a' },
	[SPOT_UPPER] = { 26, 'A' },
	[SPOT_DIGIT] = { 10, '0' },
	[SPOT_HEX] = { 16, 0 },
	[SPOT_HEX_UPPER] = { 16, 0 },
	[SPOT_UTF8_TAIL] = { 64, 0x80 },
	[SPOT_HIGH] = { 96, 0xa0 },
	[SPOT_C1] = { 32, 0x80 },
	[SPOT_FIRST_DIGIT] = { 9, '1' },
	[SPOT_FIRST_HEX] = { 15, 1 },
	[SPOT_VARIANT] = { 4, 0 },
};

/* A value being made into its token: kinds[i] says what byte i is. */
struct work {
	unsigned char *bytes;
	uint8_t *kinds;
	size_t n;
};

static unsigned hex_of(unsigned char c)
{
	return c <= '9' ? c - 0u - '0' : (c | 0x20u) - 'a' + 10;
}

static uint8_t spot_get(uint8_t kind, unsigned char c)
{
	switch (kind) {
	case SPOT_HEX:
	case SPOT_HEX_UPPER:
		return (uint8_t)hex_of(c);
	case SPOT_FIRST_HEX:
		return (uint8_t)(hex_of(c) - 1);
	case SPOT_VARIANT:
		return hex_of(c) & 3;
	default:
		return (uint8_t)(c - spots[kind].base);
	}
}

static unsigned char spot_put(uint8_t kind, uint8_t v, unsigned char was)
{
	switch (kind) {
	case SPOT_HEX:
		return (unsigned char)"0123456789abcdef"[v];
	case SPOT_HEX_UPPER:
		return (unsigned char)"0123456789ABCDEF"[v];
	case SPOT_FIRST_HEX:
		return (unsigned char)"123456789abcdef"[v];
	case SPOT_VARIANT:
		return (unsigned char)"0123456789abcdef"[(hex_of(was) & 12u) | v];
	default:
		return (unsigned char)(spots[kind].base + v);
	}
}

/* What does not change is the tweak: equal shapes share a permutation, other
 * shapes have unrelated ones. scratch has room for 2 n bytes. */
static void permute_spots(
	const struct token_key *k, enum token_class class, struct work *w, uint8_t *scratch)
{
	uint8_t *radix = scratch, *v = scratch + w->n;
	size_t n = 0;

	for (size_t i = 0; i < w->n; i++) {
		unsigned char c = w->bytes[i];

		scratch[i] = w->kinds[i];
		if (w->kinds[i] == SPOT_KEPT)
			scratch[i] = c;
		else if (w->kinds[i] == SPOT_VARIANT)
			scratch[i] = c & 0xfc;
	}
	uint64_t tweak = token_prf64(k, scratch, w->n) ^ (uint64_t) class << 56 ^ w->n;
	for (size_t i = 0; i < w->n; i++) {
		if (w->kinds[i] == SPOT_KEPT)
			continue;
		radix[n] = spots[w->kinds[i]].radix;
		v[n++] = spot_get(w->kinds[i], w->bytes[i]);
	}
	token_permute_vector(k, tweak, radix, v, n);
	n = 0;
	for (size_t i = 0; i < w->n; i++)
		if (w->kinds[i] != SPOT_KEPT)
			w->bytes[i] = spot_put(w->kinds[i], v[n++], w->bytes[i]);
}

static uint8_t ascii_kind(unsigned char c)
{
	if (c >= 'a' && c <= 'z')
		return SPOT_LOWER;
	if (c >= 'A' && c <= 'Z')
		return SPOT_UPPER;
	return c >= '0' && c <= '9' ? SPOT_DIGIT : SPOT_KEPT;
}

static void mark_text(struct work *w)
{
	bool is_valid = utf8_is((struct slice){ (const char *)w->bytes, w->n });

	for (size_t i = 0; i < w->n; i++) {
		unsigned char c = w->bytes[i];

		if (c < 0x80) {
			w->kinds[i] = ascii_kind(c);
		} else if (is_valid) {
			size_t n = utf8_length((const char *)w->bytes + i, w->n - i);

			memset(w->kinds + i, SPOT_KEPT, n);
			i += n - 1;
			w->kinds[i] = SPOT_UTF8_TAIL;
		} else {
			w->kinds[i] = c < 0xa0 ? SPOT_C1 : SPOT_HIGH;
		}
	}
}

static void mark_hex(struct work *w, size_t from)
{
	bool is_upper = false;

	for (size_t i = from; i < w->n; i++)
		is_upper |= w->bytes[i] >= 'A' && w->bytes[i] <= 'F';
	/* bytea is one value in either case, and PostgreSQL prints it in lower. */
	if (from)
		is_upper = false;
	memset(w->kinds, SPOT_KEPT, from);
	memset(w->kinds + from, is_upper ? SPOT_HEX_UPPER : SPOT_HEX, w->n - from);
}

static void mark_uuid(struct work *w)
{
	for (size_t i = 0; i < w->n; i++) {
		if (w->bytes[i] >= 'A' && w->bytes[i] <= 'F')
			w->bytes[i] |= 0x20;
		w->kinds[i] = w->bytes[i] == '-' || i == 14 ? SPOT_KEPT
			      : i == 19                     ? SPOT_VARIANT
							    : SPOT_HEX;
	}
}

static void mark_mac(struct work *w)
{
	for (size_t i = 0; i < w->n; i++) {
		if (w->bytes[i] >= 'A' && w->bytes[i] <= 'F')
			w->bytes[i] |= 0x20;
		w->kinds[i] = w->bytes[i] == ':' || w->bytes[i] == '-' ? SPOT_KEPT : SPOT_HEX;
	}
}

/* Groups keep their number of digits, so "::" stays where it is. */
static void mark_inet6(struct work *w)
{
	bool is_tail = false;

	for (size_t i = 0; i < w->n; i++) {
		unsigned char c = w->bytes[i];
		bool is_first = i == 0 || w->bytes[i - 1] == ':';

		is_tail |= c == '/';
		w->kinds[i] = SPOT_KEPT;
		if (is_tail || c == ':' || (is_first && c == '0'))
			continue;
		if (c >= 'A' && c <= 'F')
			w->bytes[i] |= 0x20;
		w->kinds[i] = is_first ? SPOT_FIRST_HEX : SPOT_HEX;
	}
}

/* First and last number of an octet written with so many digits. */
static const struct {
	uint8_t from, size;
} octets[4] = { { 0, 0 }, { 0, 10 }, { 10, 90 }, { 100, 156 } };

/* Octets keep their number of digits; zero octets behind a prefix length stay, so
 * that a cidr remains one. */
static void token_inet4(const struct token_key *k, struct slice value, struct buf *out)
{
	uint8_t radix[4], v[4], width[4];
	size_t at = 0, n = 0;
	uint64_t shape = 0;
	size_t slash = 0;
	bool is_kept[4] = { false };

	for (size_t i = 0; i < 4; i++, at++) {
		unsigned octet = 0;

		for (width[i] = 0; at < value.n && value.p[at] >= '0' && value.p[at] <= '9';
			at++, width[i]++)
			octet = 10 * octet + (unsigned)(value.p[at] - '0');
		radix[i] = octets[width[i]].size;
		v[i] = (uint8_t)(octet - octets[width[i]].from);
		shape = 4 * shape + width[i];
	}
	slash = at - 1;
	if (slash < value.n) {
		unsigned prefix = 0;

		for (size_t i = slash + 1; i < value.n; i++)
			prefix = 10 * prefix + (unsigned)(value.p[i] - '0');
		shape = shape << 8 | prefix | 0x80;
		for (size_t i = 0; i < 4; i++)
			is_kept[i] = 8 * (i + 1) > prefix && width[i] == 1 && v[i] == 0;
		/* The octet that the prefix cuts: its low bits may have to stay zero. */
		if (prefix % 8 && prefix < 32)
			is_kept[prefix / 8] = true;
	}
	uint8_t moving[4], moving_radix[4];
	for (size_t i = 0; i < 4; i++) {
		if (is_kept[i]) {
			shape = shape << 8 | v[i];
			continue;
		}
		moving_radix[n] = radix[i];
		moving[n++] = v[i];
	}
	token_permute_vector(k, shape ^ (uint64_t)TOKEN_INET << 56, moving_radix, moving, n);
	n = 0;
	for (size_t i = 0; i < 4; i++) {
		uint8_t part = is_kept[i] ? v[i] : moving[n++];

		buf_addf(out, "%s%u", i ? "." : "", octets[width[i]].from + part);
	}
	buf_add(out, value.p + slash, value.n - slash);
}

/* 16, 32 and 64 bit integers stay what they are: 5, 10 and 19 digits are two
 * domains each. A negative one reaches one further. */
static uint64_t bound_of(size_t digits, bool is_negative)
{
	switch (digits) {
	case 5:
		return INT16_MAX + UINT64_C(1) + is_negative;
	case 10:
		return INT32_MAX + UINT64_C(1) + is_negative;
	case 19:
		return INT64_MAX + UINT64_C(1) + is_negative;
	default:
		return 0;
	}
}

static uint64_t permute_whole(
	const struct token_key *k, size_t digits, uint64_t v, bool is_negative)
{
	uint64_t low = 1, high, bound = bound_of(digits, is_negative);

	for (size_t i = 1; i < digits; i++)
		low *= 10;
	/* One past the last; 10^19 itself fits 64 bits. */
	high = digits == DIGITS_OF_A_NUMBER ? UINT64_C(10000000000000000000) : 10 * low;
	if (bound && v < bound)
		high = bound;
	else if (bound)
		low = bound;
	uint64_t tweak = (uint64_t)TOKEN_DIGITS << 56 | low >> 8 << 8 | digits;
	return low + token_permute_number(k, tweak ^ high, high - low, v - low);
}

/* Leading zeros stay; the rest stays without one. */
static void token_digits(
	const struct token_key *k, struct slice value, bool is_negative, struct buf *out)
{
	size_t zeros = 0;

	while (zeros < value.n && value.p[zeros] == '0')
		zeros++;
	buf_add(out, value.p, zeros);
	size_t digits = value.n - zeros;
	if (digits == 0 || out->is_full)
		return;
	uint64_t v = 0;
	for (size_t i = zeros; i < value.n; i++)
		v = 10 * v + (uint64_t)(value.p[i] - '0');
	char text[24];
	v = permute_whole(k, digits, v, is_negative);
	for (size_t i = digits; i > 0; i--, v /= 10)
		text[i - 1] = (char)('0' + v % 10);
	buf_add(out, text, digits);
}

static bool is_boolean(struct slice s)
{
	return slice_is(s, "t") || slice_is(s, "f") || slice_is(s, "true") || slice_is(s, "false");
}

static void mark(enum token_class class, struct work *w)
{
	switch (class) {
	case TOKEN_UUID:
		mark_uuid(w);
		break;
	case TOKEN_MAC:
		mark_mac(w);
		break;
	case TOKEN_INET:
		mark_inet6(w);
		break;
	case TOKEN_HEX:
		mark_hex(w, w->n > 1 && w->bytes[1] == 'x' ? 2 : 0);
		break;
	case TOKEN_DIGITS: {
		size_t i = 0;

		for (; i < w->n && w->bytes[i] == '0'; i++)
			w->kinds[i] = SPOT_KEPT;
		memset(w->kinds + i, SPOT_DIGIT, w->n - i);
		if (i < w->n)
			w->kinds[i] = SPOT_FIRST_DIGIT;
		break;
	}
	default:
		mark_text(w);
	}
}

/* In place on the appended copy. Three bytes of scratch a byte of value. */
static void token_spots(
	const struct token_key *k, enum token_class class, struct slice value, struct buf *out)
{
	uint8_t on_stack[3 * ON_STACK];
	uint8_t *scratch = value.n <= ON_STACK ? on_stack : malloc(3 * value.n);
	size_t at = out->n;

	/* A copy without its permutation would be the value itself: reserve first. */
	if (!scratch || !buf_room(out, value.n)) {
		(void)buf_room(out, SIZE_MAX);
	} else {
		buf_add_slice(out, value);
		struct work w = { (unsigned char *)out->p + at, scratch, value.n };

		mark(class, &w);
		do
			permute_spots(k, class, &w, scratch + value.n);
		while (class == TOKEN_TEXT && is_boolean((struct slice){ out->p + at, value.n }));
	}
	if (scratch != on_stack)
		free(scratch);
}

static void token_number(const struct token_key *k, struct slice value, struct buf *out)
{
	size_t at = 0;
	bool is_negative = value.p[0] == '-';

	if (value.p[0] == '-' || value.p[0] == '+')
		buf_add(out, value.p + at++, 1);
	for (bool is_fraction = false; at < value.n;) {
		size_t from = at;

		if (value.p[at] == 'e' || value.p[at] == 'E') {
			buf_add(out, value.p + at, value.n - at);
			return;
		}
		while (at < value.n && value.p[at] >= '0' && value.p[at] <= '9')
			at++;
		struct slice run = { value.p + from, at - from };
		if (run.n && !is_fraction && run.n <= DIGITS_OF_A_NUMBER)
			token_digits(k, run, is_negative, out);
		else if (run.n)
			token_spots(k, is_fraction ? TOKEN_TEXT : TOKEN_DIGITS, run, out);
		if (at < value.n && value.p[at] == '.') {
			buf_add_byte(out, '.');
			is_fraction = true;
			at++;
		}
	}
}

void token_of(const struct token_key *k, struct slice value, struct buf *out)
{
	enum token_class class = token_class_of(value);

	if (value.n == 0)
		return;
	switch (class) {
	case TOKEN_DIGITS:
		if (value.n <= DIGITS_OF_A_NUMBER)
			token_digits(k, value, false, out);
		else
			token_spots(k, class, value, out);
		return;
	case TOKEN_NUMBER:
		token_number(k, value, out);
		return;
	case TOKEN_DATE:
		sqldate_token(k, value, out);
		return;
	case TOKEN_INET:
		if (token_is_inet4(value)) {
			token_inet4(k, value, out);
			return;
		}
		break;
	case TOKEN_TEXT:
		if (is_boolean(value)) {
			buf_add_slice(out, value);
			return;
		}
		break;
	default:
		break;
	}
	token_spots(k, class, value, out);
}
