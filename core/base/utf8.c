#include "core/base/utf8.h"

size_t utf8_length(const char *text, size_t n)
{
	const unsigned char *p = (const unsigned char *)text;
	size_t want = p[0] < 0x80 ? 1 : p[0] < 0xc2 ? 0 : p[0] < 0xe0 ? 2 : p[0] < 0xf0 ? 3 : 4;

	if (p[0] > 0xf4 || want > n)
		return 0;
	for (size_t i = 1; i < want; i++)
		if ((p[i] & 0xc0) != 0x80)
			return 0;
	if ((p[0] == 0xe0 && p[1] < 0xa0) || (p[0] == 0xed && p[1] > 0x9f) ||
		(p[0] == 0xf0 && p[1] < 0x90) || (p[0] == 0xf4 && p[1] > 0x8f))
		return 0;
	return want;
}

bool utf8_is(struct slice text)
{
	size_t n;

	for (size_t i = 0; i < text.n; i += n) {
		n = (unsigned char)text.p[i] < 0x80 ? 1 : utf8_length(text.p + i, text.n - i);
		if (n == 0)
			return false;
	}
	return true;
}

char *utf8_put(char *to, uint32_t code)
{
	code &= 0x1fffff;
	if (code < 0x80) {
		*to++ = (char)code;
		return to;
	}
	if (code < 0x800) {
		*to++ = (char)(0xc0 | code >> 6);
	} else {
		if (code < 0x10000) {
			*to++ = (char)(0xe0 | code >> 12);
		} else {
			*to++ = (char)(0xf0 | code >> 18);
			*to++ = (char)(0x80 | (code >> 12 & 0x3f));
		}
		*to++ = (char)(0x80 | (code >> 6 & 0x3f));
	}
	*to++ = (char)(0x80 | (code & 0x3f));
	return to;
}
