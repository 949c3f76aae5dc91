#include "correlate/words.h"

#include <math.h>
#include <string.h>

#include "core/base/clock.h"

static bool is_inside(char c)
{
	return ((unsigned char)c & 0xc0) == 0x80;
}

const char *words_number(double v, char text[WORDS_NUMBER_MAX])
{
	if (isnan(v))
		snprintf(text, WORDS_NUMBER_MAX, "-");
	else if (v != 0 && fabs(v) < 1e-4)
		snprintf(text, WORDS_NUMBER_MAX, "%.1e", v);
	else if (fabs(v) >= 1000 && fabs(v) < 1e7)
		snprintf(text, WORDS_NUMBER_MAX, "%.0f", v);
	else
		snprintf(text, WORDS_NUMBER_MAX, "%.3g", v);
	return text;
}

const char *words_range(double v, double low, double high, char text[WORDS_RANGE_MAX])
{
	char a[WORDS_NUMBER_MAX], b[WORDS_NUMBER_MAX], c[WORDS_NUMBER_MAX];

	if (isnan(low) || isnan(high))
		return words_number(v, text);
	snprintf(text, WORDS_RANGE_MAX, "%s [%s, %s]", words_number(v, a), words_number(low, b),
		words_number(high, c));
	return text;
}

/* U+0080 to U+009f: terminals obey them as they obey ESC. */
static bool is_c1(const char *p, size_t n)
{
	return n > 1 && (unsigned char)p[0] == 0xc2 && (unsigned char)p[1] < 0xa0 &&
	       is_inside(p[1]);
}

void words_route(struct slice route, size_t max, FILE *to)
{
	size_t n = route.n < max ? route.n : max;

	while (n && n < route.n && is_inside(route.p[n]))
		n--;
	for (size_t i = 0; i < n; i++) {
		unsigned char c = (unsigned char)route.p[i];

		if (is_c1(route.p + i, n - i))
			c = (unsigned char)route.p[++i] & 0x1f;
		fputc(c < ' ' || c == 0x7f ? ' ' : c, to);
	}
	if (n < route.n)
		fputs("...", to);
}

void words_pad(const char *text, size_t width, FILE *to)
{
	size_t n = 0;

	for (; *text && (n < width || is_inside(*text)); text++) {
		n += !is_inside(*text);
		fputc(*text, to);
	}
	fprintf(to, "%*s", (int)(width - n), "");
}

void words_wrap(const char *text, size_t indent, size_t hang, FILE *to)
{
	size_t column = indent;
	bool is_first = true; /* on its line */

	fprintf(to, "%*s", (int)indent, "");
	while (*text) {
		size_t bytes = strcspn(text, " "), length = 0;

		for (size_t i = 0; i < bytes; i++)
			length += !is_inside(text[i]);
		if (!is_first && column + 1 + length > WORDS_WIDTH) {
			fprintf(to, "\n%*s", (int)hang, "");
			column = hang;
			is_first = true;
		} else if (!is_first) {
			fputc(' ', to);
			column++;
		}
		fwrite(text, 1, bytes, to);
		column += length;
		is_first = false;
		text += bytes;
		while (*text == ' ')
			text++;
	}
	fputc('\n', to);
}

const char *words_clock(int64_t wall_ns, int64_t span_ns, char text[WORDS_NUMBER_MAX])
{
	const int64_t day = 86400;
	int64_t second = wall_ns / NS_PER_S - (wall_ns % NS_PER_S < 0);
	int64_t days = second / day - (second % day < 0), of_day = second - days * day;
	int hour = (int)(of_day / 3600), minute = (int)(of_day / 60 % 60), year, month, at;

	clock_civil(days, &year, &month, &at);
	if (span_ns > day * NS_PER_S)
		snprintf(text, WORDS_NUMBER_MAX, "%02d-%02d %02d:%02d", month, at, hour, minute);
	else if (span_ns > 1800 * NS_PER_S)
		snprintf(text, WORDS_NUMBER_MAX, "%02d:%02d", hour, minute);
	else
		snprintf(
			text, WORDS_NUMBER_MAX, "%02d:%02d:%02d", hour, minute, (int)(of_day % 60));
	return text;
}
