#include "core/model/token_class.h"

#include "core/model/sqldate.h"

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool is_hex(char c)
{
	return is_digit(c) || ((c | 0x20) >= 'a' && (c | 0x20) <= 'f');
}

static size_t digits_at(struct slice s, size_t at)
{
	size_t n = 0;

	while (at + n < s.n && is_digit(s.p[at + n]))
		n++;
	return n;
}

static bool is_uuid(struct slice s)
{
	if (s.n != 36)
		return false;
	for (size_t i = 0; i < s.n; i++) {
		bool is_dash = i == 8 || i == 13 || i == 18 || i == 23;

		if (is_dash ? s.p[i] != '-' : !is_hex(s.p[i]))
			return false;
	}
	return true;
}

/* [+-]digits[.digits][e[+-]digits], or .digits */
static bool is_number(struct slice s)
{
	size_t at = s.p[0] == '-' || s.p[0] == '+';
	size_t whole = digits_at(s, at), fraction = 0;

	at += whole;
	if (at < s.n && s.p[at] == '.') {
		fraction = digits_at(s, at + 1);
		at += 1 + fraction;
	}
	if (whole + fraction == 0)
		return false;
	if (at < s.n && (s.p[at] == 'e' || s.p[at] == 'E')) {
		at++;
		if (at < s.n && (s.p[at] == '+' || s.p[at] == '-'))
			at++;
		size_t n = digits_at(s, at);
		if (n == 0 || n > 4)
			return false;
		at += n;
	}
	return at == s.n;
}

/* "" or "/" and a number up to max. */
static bool is_prefix_length(struct slice s, size_t at, unsigned max)
{
	unsigned v = 0;

	if (at == s.n)
		return true;
	size_t n = digits_at(s, at + 1);
	if (s.p[at] != '/' || n == 0 || n > 3 || at + 1 + n != s.n || (s.p[at + 1] == '0' && n > 1))
		return false;
	for (size_t i = at + 1; i < s.n; i++)
		v = 10 * v + (unsigned)(s.p[i] - '0');
	return v <= max;
}

bool token_is_inet4(struct slice s)
{
	size_t at = 0;

	for (unsigned octet = 0; octet < 4; octet++) {
		size_t n = digits_at(s, at);
		unsigned v = 0;

		if (n == 0 || n > 3 || (n > 1 && s.p[at] == '0'))
			return false;
		for (size_t i = 0; i < n; i++)
			v = 10 * v + (unsigned)(s.p[at + i] - '0');
		at += n;
		if (v > 255 || (octet < 3 && (at >= s.n || s.p[at] != '.')))
			return false;
		at += octet < 3;
	}
	return is_prefix_length(s, at, 32);
}

/* Eight groups, or fewer with one "::". The form with a dotted tail is text. */
static bool is_inet6(struct slice s)
{
	size_t at = 0, groups = 0;
	bool has_hole = false;

	while (at < s.n && s.p[at] != '/') {
		size_t n = 0;

		while (at + n < s.n && is_hex(s.p[at + n]))
			n++;
		if (n > 4)
			return false;
		groups += n > 0;
		at += n;
		if (at == s.n || s.p[at] == '/')
			break;
		if (s.p[at] != ':')
			return false;
		bool is_double = at + 1 < s.n && s.p[at + 1] == ':';
		if ((n == 0 && !(at == 0 && is_double)) || (is_double && has_hole))
			return false;
		has_hole |= is_double;
		at += is_double ? 2 : 1;
		/* A single colon needs a group behind it. */
		if (!is_double && (at == s.n || s.p[at] == '/'))
			return false;
	}
	return (has_hole ? groups < 8 : groups == 8) && is_prefix_length(s, at, 128);
}

static bool is_mac(struct slice s)
{
	if (s.n != 17 && s.n != 23)
		return false;
	for (size_t i = 0; i < s.n; i++)
		if (i % 3 == 2 ? (s.p[i] != s.p[2] || (s.p[i] != ':' && s.p[i] != '-'))
			       : !is_hex(s.p[i]))
			return false;
	return true;
}

/* "\x" and pairs (bytea), or a digest: 16 or more, an even number, in one case,
 * digits and letters both. */
static bool is_hex_string(struct slice s)
{
	bool is_bytea = s.n >= 2 && s.p[0] == '\\' && s.p[1] == 'x';
	bool has_lower = false, has_upper = false, has_digit = false;
	size_t i = is_bytea ? 2 : 0;

	if (s.n % 2 || (!is_bytea && s.n < 16))
		return false;
	for (; i < s.n; i++) {
		if (!is_hex(s.p[i]))
			return false;
		has_digit |= is_digit(s.p[i]);
		has_lower |= s.p[i] >= 'a';
		has_upper |= s.p[i] >= 'A' && s.p[i] <= 'F';
	}
	return is_bytea || (has_digit && has_lower != has_upper);
}

static bool is_email(struct slice s)
{
	const char *sign = memchr(s.p, '@', s.n);

	if (!sign || sign == s.p)
		return false;
	struct slice domain = { sign + 1, s.n - (size_t)(sign + 1 - s.p) };
	return domain.n > 2 && !memchr(domain.p, '@', domain.n) &&
	       memchr(domain.p, '.', domain.n) && !memchr(s.p, ' ', s.n);
}

enum token_class token_class_of(struct slice s)
{
	struct sqldate date;

	if (s.n == 0)
		return TOKEN_TEXT;
	char c = s.p[0];
	if (is_digit(c) && digits_at(s, 0) == s.n)
		return TOKEN_DIGITS;
	if ((is_digit(c) || c == '-' || c == '+' || c == '.') && is_number(s))
		return TOKEN_NUMBER;
	if (is_hex(c)) {
		if (is_uuid(s))
			return TOKEN_UUID;
		if (is_digit(c) && sqldate_read(s, &date))
			return TOKEN_DATE;
		if (is_mac(s))
			return TOKEN_MAC;
		if (token_is_inet4(s))
			return TOKEN_INET;
	}
	if ((is_hex(c) || c == ':') && is_inet6(s))
		return TOKEN_INET;
	if (is_hex_string(s))
		return TOKEN_HEX;
	return is_email(s) ? TOKEN_EMAIL : TOKEN_TEXT;
}
