#include "tests/lib/unit.h"

#include <unistd.h>

#include "capture/canary.h"

static struct canary_set *load(const char *text, struct err *e)
{
	char path[] = "/tmp/test_canary.XXXXXX";
	int fd = mkstemp(path);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	close(fd);
	struct canary_set *s = canary_load(path, e);
	unlink(path);
	return s;
}

struct found {
	size_t count;
	const char *wanted;
	bool is_wanted_seen;
	uint32_t line;
};

static void on_hit(void *data, struct canary_hit h)
{
	struct found *f = data;

	f->count++;
	f->is_wanted_seen |= f->wanted && strcmp(f->wanted, h.form) == 0;
	f->line = h.line;
}

static void every_form_is_found(void **state)
{
	static const struct {
		const char *canary;
		const char *bytes;
		size_t n;
		const char *form; /* NULL: not there */
	} cases[] = {
		{ "Geheimnis", "xxGeheimnisyy", 13, "plain" },
		{ "Geheimnis", "xxGEHEIMNISyy", 13, "plain" },
		{ "Geheimnis", "xxGeheimniyyy", 13, NULL },
		{ "Geheimnis", "..R2VoZWltbmlz..", 16, "base64" }, /* alignment 0 */
		{ "Geheimnis", "eEdlaGVpbW5pc3g=", 16, "base64" }, /* x before and behind */
		{ "Geheimnis", "eHhHZWhlaW1uaXN4", 16, "base64" }, /* xx before */
		{ "Geheimnis", "47656865696d6e6973", 18, "hex" },
		{ "Geheimnis", "\\x47656865696D6E6973", 20, "hex" },
		{ "a b&c", "q=a%20b%26c", 11, "URL-encoded" },
		{ "a b&c", "q=a+b%26c", 9, "form-encoded" },
		{ "\xc3\xbc\xc3\xbf?", "w7zDvz8", 7, "base64" },
		{ "\xfb\xff\xfe", "-__-", 4, "base64url" },
		{ "1234567890123", "\x00\x00\x01\x1f\x71\xfb\x04\xcb", 8, "8-byte integer" },
		{ "1234567890123", "\xcb\x04\xfb\x71\x1f\x01\x00\x00", 8, "8-byte integer" },
		{ "-2", "\xff\xff\xff\xff\xff\xff\xff\xfe", 8, NULL }, /* too short a line */
		{ "-22", "\xff\xff\xff\xff\xff\xff\xff\xea", 8, "8-byte integer" },
		{ "305419896", "\x12\x34\x56\x78", 4, "4-byte integer" },
		{ "305419896", "aa\x78\x56\x34\x12", 6, "4-byte integer" },
		{ "4660", "\x12\x34", 2, "2-byte integer" },
		{ "4660", "a\x12\x34", 3, NULL }, /* not the whole value */
		{ "Geheimnis", "G\0e\0H\0e\0i\0m\0n\0i\0s", 18, "UTF-16" },
		{ "Geheimnis", "\0G\0e\0h\0e\0i\0m\0n\0i\0s", 18, "UTF-16" },
		{ "Geheimnis", "\0G\0e\0h\0e\0i\0m\0n\0i", 16, NULL },
		{ "Gr\xc3\xbc\xc3\x9f", "G\0r\0\xfc\0\xdf\0", 8, "UTF-16" },
		{ "a\xf0\x9f\x98\x80", "\0a\xd8\x3d\xde\x00", 6, "UTF-16" },
		{ "\xd1\x81\xd1\x82", "\x41\x04\x42\x04", 4, "UTF-16" },
		{ "00112233-4455-6677-8899-aabbccddeeff",
			"\x00\x11\x22\x33\x44\x55\x66\x77\x88\x99\xaa\xbb\xcc\xdd\xee\xff", 16,
			"binary uuid" },
		{ "{00112233-4455-6677-8899-AABBCCDDEEFF}",
			"\x00\x11\x22\x33\x44\x55\x66\x77\x88\x99\xaa\xbb\xcc\xdd\xee\xff", 16,
			"binary uuid" },
		{ "00112233-4455-6677-8899-aabbccddeef",
			"\x00\x11\x22\x33\x44\x55\x66\x77\x88\x99\xaa\xbb\xcc\xdd\xee\xff", 16,
			NULL },
		/* As numeric_send() has it: groups, weight, sign, scale, then the groups. */
		{ "123456.78", "\x00\x03\x00\x01\x00\x00\x00\x02\x00\x0c\x0d\x80\x1e\x78", 14,
			"binary numeric" },
		{ "-123456.780", "\x00\x03\x00\x01\x40\x00\x00\x02\x00\x0c\x0d\x80\x1e\x78", 14,
			"binary numeric" },
		{ "1234567890123456", "\x04\xd2\x16\x2e\x23\x34\x0d\x80", 8, "binary numeric" },
		{ "123456.78", "\x00\x0c\x0d\x80\x1e\x79", 6, NULL },
		{ "2000-01-02", "\x01\x00\x00\x00", 4, "binary date" },
		{ "1999-12-31", "\xff\xff\xff\xff", 4, "binary date" },
		{ "2000-01-02", "\x00\x00\x00\x01", 4, "binary date" },
		{ "2000-01-01 00:00:01", "\x00\x00\x00\x00\x00\x0f\x42\x40", 8,
			"binary timestamp" },
	};

	(void)state;
	for (size_t i = 0; i < LENGTH(cases); i++) {
		struct err e = { 0 };
		struct found found = { .wanted = cases[i].form };
		struct slice bytes = { cases[i].bytes, cases[i].n };
		struct canary_set *s = load(cases[i].canary, &e);

		assert_non_null(s);
		canary_search(s, bytes, on_hit, &found);
		canary_search_value(s, bytes, on_hit, &found);
		if (cases[i].form ? !found.is_wanted_seen : found.count > 0)
			fail_msg("case %zu: %zu hits", i, found.count);
		canary_free(s);
	}
}

static void canaries_are_named_by_their_line(void **state)
{
	struct err e = { 0 };
	struct found found = { 0 };
	struct canary_set *s = load("first\r\n\nab\nfourth", &e);

	(void)state;
	assert_int_equal(canary_count(s), 2);
	assert_int_equal(canary_too_short(s), 1);
	canary_search(s, SLICE("the fourth one"), on_hit, &found);
	assert_int_equal(found.count, 1);
	assert_int_equal(found.line, 4);
	canary_search(s, SLICE("the first one"), on_hit, &found);
	assert_int_equal(found.line, 1);
	canary_free(s);
	assert_null(canary_load("/nonexistent/canaries", &e));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_form_is_found),
		cmocka_unit_test(canaries_are_named_by_their_line),
	};

	return cmocka_run_group_tests_name("canary", tests, NULL, NULL);
}
