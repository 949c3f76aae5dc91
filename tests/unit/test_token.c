#include "tests/lib/unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/model/sqldate.h"
#include "core/model/token.h"

static struct token_key *key_of(const char *text)
{
	unsigned char bytes[32] = { 0 };
	struct err e = { 0 };

	memcpy(bytes, text, strlen(text));
	struct token_key *k = token_key_of(bytes, &e);
	assert_non_null(k);
	return k;
}

static struct slice token(const struct token_key *k, const char *value, struct buf *out)
{
	buf_reset(out);
	token_of(k, slice_of(value), out);
	assert_false(out->is_full);
	return buf_slice(out);
}

/* Made once by this code; a change of any of them breaks the match of captures and
 * snapshots scrubbed by different versions. */
static void vectors_never_change(void **state)
{
	static const struct {
		const char *value, *token;
	} vectors[] = {
		{ "5", "5" },
		{ "12345678", "71281033" },
		{ "123456789", "535557049" },
		{ "2147483647", "1512406763" },
		{ "2147483648", "3249421120" },
		{ "12345678901234567890", "96509519812223767928" },
		{ "-1234567890.50", "-1233427886.83" },
		{ "+4915735998765", "+6659216488349" },
		{ "007", "008" },
		{ "a", "y" },
		{ "bob", "ibu" },
		{ "Hello, World 42!", "Llglv, Rhwuo 83!" },
		{ "bob@example.com", "mow@hfvrofm.xyi" },
		{ "550e8400-e29b-41d4-a716-446655440000", "d65e3fa3-9570-4bae-a04e-e717028f703d" },
		{ "192.168.17.3", "126.157.47.2" },
		{ "10.0.0.0/8", "57.0.0.0/8" },
		{ "2001:db8::ff00:42:8329", "abc5:842::90ae:a6:e580" },
		{ "08:00:2b:01:02:03", "63:96:5b:49:c1:53" },
		{ "2024-02-29", "1956-05-04" },
		{ "2024-01-01 12:00:00.5+01", "1900-06-17 22:33:51.6+01" },
		{ "\\xdeadbeef", "\\xdff39af6" },
		{ "d41d8cd98f00b204e9800998ecf8427e", "659650358458c28c1b7cfdd71e6d95a2" },
		{ "Grüße", "Kzýâg" },
		{ "customer-00000042-of-the-shop", "saiitytu-00447807-pn-qus-plrd" },
	};
	struct token_key *k = key_of("known answers");
	struct buf out = { 0 };
	(void)state;

	assert_string_equal(token_key_id(k), "f2f6b4d7d749aae6");
	for (size_t i = 0; i < LENGTH(vectors); i++) {
		token(k, vectors[i].value, &out);
		assert_string_equal(buf_text(&out), vectors[i].token);
	}
	buf_free(&out);
	token_key_free(k);
}

static void classes_are_told_by_spelling(void **state)
{
	static const struct {
		const char *value;
		enum token_class class;
	} cases[] = {
		{ "", TOKEN_TEXT },
		{ "0", TOKEN_DIGITS },
		{ "007", TOKEN_DIGITS },
		{ "123456789012345678901234567890", TOKEN_DIGITS },
		{ "-5", TOKEN_NUMBER },
		{ "+4915735998765", TOKEN_NUMBER },
		{ "1.5", TOKEN_NUMBER },
		{ ".5", TOKEN_NUMBER },
		{ "1e5", TOKEN_NUMBER },
		{ "1e", TOKEN_TEXT },
		{ "-", TOKEN_TEXT },
		{ "550e8400-e29b-41d4-a716-446655440000", TOKEN_UUID },
		{ "550E8400-E29B-41D4-A716-446655440000", TOKEN_UUID },
		{ "550e8400-e29b-41d4-a716-44665544000", TOKEN_TEXT },
		{ "10.0.0.1", TOKEN_INET },
		{ "10.0.0.0/8", TOKEN_INET },
		{ "10.0.0.256", TOKEN_TEXT },
		{ "10.0.0.1/33", TOKEN_TEXT },
		{ "010.0.0.1", TOKEN_TEXT },
		{ "::1", TOKEN_INET },
		{ "2001:db8::ff00:42:8329", TOKEN_INET },
		{ "2001:db8::1::2", TOKEN_TEXT },
		{ "08:00:2b:01:02:03", TOKEN_MAC },
		{ "bob@example.com", TOKEN_EMAIL },
		{ "bob@host", TOKEN_TEXT },
		{ "2024-02-29", TOKEN_DATE },
		{ "2023-02-29", TOKEN_TEXT },
		{ "2024-01-01 12:00:00.5+01", TOKEN_DATE },
		{ "12:30", TOKEN_DATE },
		{ "25:30", TOKEN_TEXT },
		{ "2024-01-01T12:00:00Z", TOKEN_DATE },
		{ "\\xdeadbeef", TOKEN_HEX },
		{ "d41d8cd98f00b204e9800998ecf8427e", TOKEN_HEX },
		{ "deadbeefdeadbeef", TOKEN_TEXT },
		{ "1.2.3", TOKEN_TEXT },
	};
	(void)state;

	for (size_t i = 0; i < LENGTH(cases); i++)
		if (token_class_of(slice_of(cases[i].value)) != cases[i].class)
			fail_msg("class %d of '%s'", token_class_of(slice_of(cases[i].value)),
				cases[i].value);
}

static void all_words_of_three_letters_have_their_own_token(void **state)
{
	enum { ALL = 26 * 26 * 26 };
	bool *seen = calloc(ALL, 1);
	struct token_key *k = key_of("three letters");
	struct buf out = { 0 };
	size_t same = 0;
	(void)state;

	for (size_t i = 0; i < ALL; i++) {
		char word[4] = { (char)('a' + i / 676), (char)('a' + i / 26 % 26),
			(char)('a' + i % 26), 0 };
		struct slice t = token(k, word, &out);

		assert_int_equal(t.n, 3);
		size_t at = 0;
		for (size_t c = 0; c < 3; c++) {
			assert_in_range(t.p[c], 'a', 'z');
			at = 26 * at + (size_t)(t.p[c] - 'a');
		}
		assert_false(seen[at]);
		seen[at] = true;
		same += at == i;
	}
	/* A random permutation has one fixed point on average. */
	assert_true(same < 10);
	free(seen);
	buf_free(&out);
	token_key_free(k);
}

static void all_strings_of_up_to_five_digits_have_their_own_token(void **state)
{
	struct token_key *k = key_of("digits");
	struct buf out = { 0 };
	unsigned size = 1;
	(void)state;

	for (int digits = 1; digits <= 5; digits++) {
		size *= 10;
		bool *seen = calloc(size, 1);
		for (unsigned i = 0; i < size; i++) {
			char text[16];

			snprintf(text, sizeof(text), "%0*u", digits, i);
			struct slice t = token(k, text, &out);
			assert_int_equal(t.n, digits);
			unsigned v = (unsigned)strtoul(t.p, NULL, 10);
			assert_false(seen[v]);
			seen[v] = true;
			/* The number of leading zeros stays, and with it the number of digits. */
			assert_int_equal(strspn(text, "0"), strspn(t.p, "0"));
			assert_int_equal(i <= INT16_MAX, v <= INT16_MAX);
		}
		free(seen);
	}
	buf_free(&out);
	token_key_free(k);
}

static void one_letter_words_keep_the_booleans(void **state)
{
	struct token_key *k = key_of("booleans");
	struct buf out = { 0 };
	bool seen[128] = { false };
	(void)state;

	for (char c = 'a'; c <= 'z'; c++) {
		char word[2] = { c, 0 };
		unsigned char t = (unsigned char)token(k, word, &out).p[0];

		assert_false(seen[t]);
		seen[t] = true;
		if (c == 't' || c == 'f')
			assert_int_equal(t, c);
	}
	assert_true(slice_is(token(k, "true", &out), "true"));
	assert_true(slice_is(token(k, "false", &out), "false"));
	buf_free(&out);
	token_key_free(k);
}

static void integers_stay_in_their_type(void **state)
{
	struct token_key *k = key_of("types");
	struct buf out = { 0 };
	char text[32];
	(void)state;

	for (unsigned i = 0; i < 3000; i++) {
		uint64_t low = 1000000000 + (uint64_t)i * 382494,
			 high = 2147483648 + (uint64_t)i * 2617505;

		snprintf(text, sizeof(text), "%llu", (unsigned long long)low);
		uint64_t t = strtoull(token(k, text, &out).p, NULL, 10);
		assert_in_range(t, 1000000000, 2147483647);
		snprintf(text, sizeof(text), "%llu", (unsigned long long)high);
		t = strtoull(token(k, text, &out).p, NULL, 10);
		assert_in_range(t, 2147483648, 9999999999);
		snprintf(text, sizeof(text), "%llu", 9223372036854775807ULL - i);
		t = strtoull(token(k, text, &out).p, NULL, 10);
		assert_in_range(t, 1000000000000000000, 9223372036854775807);
		assert_int_equal(out.n, 19);
	}
	assert_in_range(
		-strtoll(token(k, "-2147483648", &out).p, NULL, 10), 1000000000, 2147483648);
	assert_in_range(0 - (uint64_t)strtoll(token(k, "-9223372036854775808", &out).p, NULL, 10),
		1000000000000000000, 9223372036854775808ULL);
	token(k, "9999999999999999999", &out);
	assert_int_equal(out.n, 19);
	assert_true(strtoull(out.p, NULL, 10) > 9223372036854775807ULL);
	buf_free(&out);
	token_key_free(k);
}

/* Class and length of byte 'a' are those of byte 'b'. */
static bool same_shape(struct slice a, struct slice b)
{
	if (a.n != b.n)
		return false;
	for (size_t i = 0; i < a.n; i++) {
		unsigned char x = (unsigned char)a.p[i], y = (unsigned char)b.p[i];
		bool is_lower = x >= 'a' && x <= 'z', is_upper = x >= 'A' && x <= 'Z';
		bool is_digit = x >= '0' && x <= '9';

		if (is_lower != (y >= 'a' && y <= 'z') || is_upper != (y >= 'A' && y <= 'Z') ||
			is_digit != (y >= '0' && y <= '9') || (x >= 0x80) != (y >= 0x80))
			return false;
		if (x < 0x80 && !is_lower && !is_upper && !is_digit && x != y)
			return false;
	}
	return true;
}

static void text_keeps_its_shape(void **state)
{
	static const char *const texts[] = {
		"a",
		"Hello, World 42!",
		"bob.smith+news@example.co.uk",
		"Grüße aus Köln",
		"日本語テキスト",
		"smile 😀 and 𝒳",
		"'quoted' \"x\" \\",
		"tab\tand\nline",
		"x-y_z/Q%5",
		("a very long text that goes on and on, past every number of bits one could want, and then "
		 "some more of it, with Digits 0123456789 and UPPER CASE too, until it is really long enough"),
	};
	struct token_key *k = key_of("shape");
	struct buf out = { 0 };
	(void)state;

	for (size_t i = 0; i < LENGTH(texts); i++) {
		struct slice t = token(k, texts[i], &out);

		if (!same_shape(slice_of(texts[i]), t))
			fail_msg("'%s' became '%s'", texts[i], t.p);
	}
	assert_int_equal(token(k, "", &out).n, 0);
	buf_free(&out);
	token_key_free(k);
}

static void tokens_are_of_the_same_type(void **state)
{
	static const char *const values[] = {
		"550e8400-e29b-41d4-a716-446655440000",
		"00000000-0000-0000-0000-000000000000",
		"192.168.17.3",
		"10.0.0.0/8",
		"172.16.0.0/12",
		"2001:db8::ff00:42:8329",
		"::1",
		"08:00:2b:01:02:03",
		"2024-02-29",
		"2024-01-01 12:00:00.5+01",
		"23:59",
		"1812-06-24",
		"\\xdeadbeef",
		"someone@example.com",
		"123456789012345678901234567890",
		"-1234567890.25",
	};
	struct token_key *k = key_of("types again");
	struct buf out = { 0 };
	(void)state;

	for (size_t i = 0; i < LENGTH(values); i++)
		for (unsigned seed = 0; seed < 20; seed++) {
			char name[16];

			snprintf(name, sizeof(name), "key %u", seed);
			struct token_key *other = key_of(name);
			struct slice t = token(other, values[i], &out);
			assert_int_equal(t.n, strlen(values[i]));
			if (token_class_of(t) != token_class_of(slice_of(values[i])))
				fail_msg("'%s' became '%s'", values[i], t.p);
			token_key_free(other);
		}
	/* The version and the variant of a uuid stay. */
	struct slice t = token(k, "550e8400-e29b-41d4-a716-446655440000", &out);
	assert_int_equal(t.p[14], '4');
	assert_non_null(strchr("89ab", t.p[19]));
	/* A network keeps its zero part. */
	t = token(k, "10.0.0.0/8", &out);
	assert_non_null(strstr(t.p, ".0.0.0/8"));
	buf_free(&out);
	token_key_free(k);
}

static int compare_texts(const void *a, const void *b)
{
	return strcmp(a, b);
}

static void make_value(int form, int i, char *to, size_t size)
{
	switch (form) {
	case 0:
		snprintf(to, size, "customer-%08d-of-the-shop", i);
		break;
	case 1:
		snprintf(to, size, "%08d-e29b-41d4-a716-446655440000", i);
		break;
	case 2:
		snprintf(to, size, "user%d@mail.example.org", i);
		break;
	case 3:
		snprintf(to, size, "10.%d.7.9", i);
		break;
	default:
		snprintf(to, size, "1234567890123456%05d", i);
	}
}

static void many_long_values_stay_apart(void **state)
{
	enum { MANY = 20000, WIDTH = 40 };
	struct token_key *k = key_of("many");
	struct buf out = { 0 };
	char(*tokens)[WIDTH] = calloc(MANY, WIDTH);
	(void)state;

	for (int f = 0; f < 5; f++) {
		int many = f == 3 ? 256 : MANY;

		for (int i = 0; i < many; i++) {
			char text[64];
			make_value(f, i, text, sizeof(text));
			snprintf(tokens[i], WIDTH, "%s", token(k, text, &out).p);
		}
		qsort(tokens, (size_t)many, WIDTH, compare_texts);
		for (int i = 1; i < many; i++)
			assert_string_not_equal(tokens[i - 1], tokens[i]);
	}
	free(tokens);
	buf_free(&out);
	token_key_free(k);
}

static void bytes_that_are_no_utf8_stay_so_many(void **state)
{
	struct token_key *k = key_of("latin");
	struct buf out = { 0 };
	(void)state;

	struct slice t = token(k, "Andr\xe9 \x85", &out);
	assert_int_equal(t.n, 7);
	assert_true((unsigned char)t.p[4] >= 0xa0);
	assert_in_range((unsigned char)t.p[6], 0x80, 0x9f);
	assert_memory_not_equal(t.p, "Andr\xe9", 5);
	buf_free(&out);
	token_key_free(k);
}

static void another_key_gives_other_tokens(void **state)
{
	struct token_key *a = key_of("a"), *b = key_of("b");
	struct buf x = { 0 }, y = { 0 };
	(void)state;

	assert_string_not_equal(token_key_id(a), token_key_id(b));
	assert_int_equal(strlen(token_key_id(a)), 16);
	token(a, "the same long sentence", &x);
	token(b, "the same long sentence", &y);
	assert_string_not_equal(x.p, y.p);
	assert_true(token_hash(a, SLICE("x")) != token_hash(b, SLICE("x")));
	assert_true(token_hash(a, SLICE("x")) == token_hash(a, SLICE("x")));
	buf_free(&x);
	buf_free(&y);
	token_key_free(a);
	token_key_free(b);
}

static void fresh_keys_differ_and_say_so(void **state)
{
	struct err e = { 0 };
	struct token_key *a = token_key_fresh(&e), *b = token_key_fresh(&e);
	(void)state;

	assert_non_null(a);
	assert_string_not_equal(token_key_id(a), token_key_id(b));
	assert_true(token_key_is_fresh(a));
	token_key_free(a);
	token_key_free(b);
	token_key_free(NULL);
}

static void write_key(const char *path, const char *text, size_t n, mode_t mode)
{
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	assert_int_equal(fwrite(text, 1, n, f), n);
	fclose(f);
	assert_int_equal(chmod(path, mode), 0);
}

static void key_files_are_private_and_long_enough(void **state)
{
	static const char hex[] =
		"00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff\n";
	char path[] = "/tmp/reprod-key-XXXXXX";
	struct err e = { 0 };
	(void)state;

	close(mkstemp(path));
	write_key(path, hex, sizeof(hex) - 1, 0600);
	struct token_key *k = token_key_load(path, &e);
	assert_non_null(k);
	assert_false(token_key_is_fresh(k));
	char id[17];
	memcpy(id, token_key_id(k), sizeof(id));
	token_key_free(k);
	/* The end of the line is no part of the key. */
	write_key(path, hex, sizeof(hex) - 2, 0400);
	k = token_key_load(path, &e);
	assert_non_null(k);
	assert_string_equal(token_key_id(k), id);
	token_key_free(k);

	write_key(path, hex, sizeof(hex) - 1, 0640);
	assert_null(token_key_load(path, &e));
	assert_int_equal(e.kind, ERR_REFUSED);
	assert_non_null(strstr(e.hint, "chmod 600"));
	write_key(path, hex, 31, 0600);
	assert_null(token_key_load(path, &e));
	assert_int_equal(e.kind, ERR_INPUT);
	unlink(path);
	assert_null(token_key_load(path, &e));
	assert_int_equal(e.kind, ERR_ENV);
	assert_null(token_key_load("/tmp", &e));
	assert_int_equal(e.kind, ERR_INPUT);
}

static void days_go_to_dates_and_back(void **state)
{
	(void)state;
	assert_int_equal(sqldate_day(2000, 1, 1), 0);
	assert_int_equal(sqldate_day(1970, 1, 1), -10957);
	assert_int_equal(sqldate_day(2024, 2, 29), 8825);
	for (int64_t day = -730119; day < 2921940; day += 37) {
		int64_t year;
		unsigned month, of_month;

		sqldate_civil(day, &year, &month, &of_month);
		assert_int_equal(sqldate_day(year, month, of_month), day);
	}
}

static void dates_shift_by_days_in_their_own_spelling(void **state)
{
	static const struct {
		const char *value, *shifted;
	} cases[] = {
		{ "2024-02-29", "2024-03-07" },
		{ "2023-12-31 23:59:59.5+02", "2024-01-07 23:59:59.5+02" },
		{ "12:00", "12:00" },
		{ "9999-12-31", "9999-12-31" },
		{ "no date", "no date" },
	};
	struct buf out = { 0 };
	(void)state;

	for (size_t i = 0; i < LENGTH(cases); i++) {
		buf_reset(&out);
		sqldate_shift(slice_of(cases[i].value), 7, &out);
		assert_string_equal(out.p, cases[i].shifted);
	}
	buf_free(&out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(vectors_never_change),
		cmocka_unit_test(classes_are_told_by_spelling),
		cmocka_unit_test(all_words_of_three_letters_have_their_own_token),
		cmocka_unit_test(all_strings_of_up_to_five_digits_have_their_own_token),
		cmocka_unit_test(one_letter_words_keep_the_booleans),
		cmocka_unit_test(integers_stay_in_their_type),
		cmocka_unit_test(text_keeps_its_shape),
		cmocka_unit_test(tokens_are_of_the_same_type),
		cmocka_unit_test(many_long_values_stay_apart),
		cmocka_unit_test(bytes_that_are_no_utf8_stay_so_many),
		cmocka_unit_test(another_key_gives_other_tokens),
		cmocka_unit_test(fresh_keys_differ_and_say_so),
		cmocka_unit_test(key_files_are_private_and_long_enough),
		cmocka_unit_test(days_go_to_dates_and_back),
		cmocka_unit_test(dates_shift_by_days_in_their_own_spelling),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
