#include "core/base/cursor.h"
#include "core/model/sqlbinary.h"

enum { DIGITS_MAX = 40000, SIGN_NEGATIVE = 0x4000, SIGN_POSITIVE = 0, BASE_DIGITS = 4 };

bool sqlnumeric_to_text(struct slice raw, struct buf *out)
{
	struct cursor c = cursor_of(raw.p, raw.n);
	unsigned count = cursor_u16be(&c);
	int weight = (int16_t)cursor_u16be(&c);
	unsigned sign = cursor_u16be(&c), scale = cursor_u16be(&c);
	struct slice digits = cursor_bytes(&c, 2 * (size_t)count);

	if (c.is_short || cursor_left(&c) || (sign != SIGN_POSITIVE && sign != SIGN_NEGATIVE) ||
		weight > DIGITS_MAX / BASE_DIGITS || scale > 16383)
		return false;
	if (sign == SIGN_NEGATIVE)
		buf_add_byte(out, '-');
	if (weight < 0)
		buf_add_byte(out, '0');
	int last = -((int)scale + BASE_DIGITS - 1) / BASE_DIGITS;
	size_t fraction_at = 0;
	for (int w = weight < 0 ? -1 : weight; w >= last; w--) {
		int i = weight - w;
		unsigned digit = 0;

		if (i >= 0 && i < (int)count)
			digit = (unsigned char)digits.p[2 * i] << 8 |
				(unsigned char)digits.p[2 * i + 1];
		if (digit > 9999)
			return false;
		if (w == -1) {
			buf_add_byte(out, '.');
			fraction_at = out->n;
		}
		buf_addf(out, w == weight && w >= 0 ? "%u" : "%04u", digit);
	}
	if (fraction_at && !out->is_full && out->n > fraction_at + scale) {
		out->n = fraction_at + scale;
		out->p[out->n] = '\0';
	}
	return true;
}

static void add_u16be(struct buf *out, unsigned v)
{
	buf_add_byte(out, (unsigned char)(v >> 8));
	buf_add_byte(out, (unsigned char)v);
}

/* Four decimal digits from position at, counted from the point; outside: zeros. */
static unsigned group_at(struct slice whole, struct slice fraction, int group)
{
	unsigned v = 0;

	for (int i = 0; i < BASE_DIGITS; i++) {
		/* Position from the point: >= 0 left of it. */
		int place = group * BASE_DIGITS + (BASE_DIGITS - 1 - i);
		char c = '0';

		if (place >= 0 && (size_t)place < whole.n)
			c = whole.p[whole.n - 1 - (size_t)place];
		else if (place < 0 && (size_t)(-place - 1) < fraction.n)
			c = fraction.p[-place - 1];
		v = 10 * v + (unsigned)(c - '0');
	}
	return v;
}

bool sqlnumeric_from_text(struct slice text, struct buf *out)
{
	bool is_negative = text.n && text.p[0] == '-';
	struct slice whole = { text.p + is_negative, text.n - is_negative };
	const char *point = whole.n ? memchr(whole.p, '.', whole.n) : NULL;
	struct slice fraction = { NULL, 0 };

	if (point) {
		fraction = (struct slice){ point + 1, (size_t)(whole.p + whole.n - point - 1) };
		whole.n = (size_t)(point - whole.p);
	}
	if (whole.n + fraction.n == 0 || whole.n > DIGITS_MAX || fraction.n > 16383)
		return false;
	for (size_t i = 0; i < whole.n + fraction.n; i++) {
		char c = i < whole.n ? whole.p[i] : fraction.p[i - whole.n];

		if (c < '0' || c > '9')
			return false;
	}
	int high = ((int)whole.n + BASE_DIGITS - 1) / BASE_DIGITS - 1;
	int low = -(((int)fraction.n + BASE_DIGITS - 1) / BASE_DIGITS);
	while (high >= low && group_at(whole, fraction, high) == 0)
		high--;
	while (low <= high && group_at(whole, fraction, low) == 0)
		low++;
	bool is_zero = high < low;
	add_u16be(out, is_zero ? 0 : (unsigned)(high - low + 1));
	add_u16be(out, is_zero ? 0 : (unsigned)high & 0xffff);
	add_u16be(out, is_negative && !is_zero ? SIGN_NEGATIVE : SIGN_POSITIVE);
	add_u16be(out, (unsigned)fraction.n);
	for (int group = high; group >= low; group--)
		add_u16be(out, group_at(whole, fraction, group));
	return true;
}
