/* What a report says of time that was not observed, of thin data and of other people's
 * histograms, and how it writes names. */
#include "tests/lib/unit.h"

#include <math.h>

#include "correlate/report.h"
#include "correlate/svg.h"
#include "correlate/words.h"

#define T0 (INT64_C(1796040000) * NS_PER_S)

struct scene {
	struct series series;
	struct causes causes;
	struct notes notes;
	struct analysis analysis;
	struct run run;
	struct json *doc;
	struct buf svg, text;
};

/* Ten minutes of buckets of a minute; counted: as an histogram's of (50, 100] ms. */
static void scene_make(struct scene *s, bool is_counted, const char *route)
{
	struct err e = { 0 };
	const char *const inputs[] = { "in.csv" };
	struct series_route *r;
	char *text = NULL;
	size_t n = 0;

	*s = (struct scene){ 0 };
	series_init(&s->series, 0);
	notes_init(&s->notes);
	causes_init(&s->causes, &s->notes, &s->run);
	r = series_route(&s->series, slice_of(route), 0);
	for (int64_t i = 0; i < 10; i++) {
		int64_t at = T0 + i * 60 * NS_PER_S, count = i == 3 ? 20 : i == 5 ? 0 : 600;

		if (is_counted && count)
			assert_true(series_add_counted(
				&s->series, r, at, 60 * NS_PER_S, 50000, 100000, (uint64_t)count));
		for (int64_t k = 0; !is_counted && k < count; k++)
			assert_true(series_add(&s->series, r, at + k * 100 * NS_PER_MS,
				(5 + k % 7) * NS_PER_MS, false));
	}
	assert_true(series_add_gap(
		&s->series, T0 + 7 * 60 * NS_PER_S, T0 + 7 * 60 * NS_PER_S + 30 * NS_PER_S));
	assert_true(series_finish(&s->series));
	assert_true(analysis_make(&s->analysis, &s->series, &s->causes.conditions, NULL, NULL,
		60 * NS_PER_S, &s->run, &e));
	struct report report = { &s->analysis, &s->causes, &s->notes, inputs, 1, NULL,
		"an answer" };
	s->doc = report_json(&report);
	svg_draw(&report, &s->svg);
	FILE *to = open_memstream(&text, &n);
	report_print(&report, to);
	fclose(to);
	buf_add(&s->text, text, n);
	free(text);
}

static void scene_free(struct scene *s)
{
	buf_free(&s->svg);
	buf_free(&s->text);
	json_free(s->doc);
	analysis_free(&s->analysis);
	causes_free(&s->causes);
	notes_free(&s->notes);
	series_free(&s->series);
}

static const struct json *point(const struct scene *s, size_t i)
{
	return json_at(json_get(json_at(json_get(s->doc, "series"), 0), "points"), i);
}

static const char *state(const struct scene *s, size_t i)
{
	return json_text(json_get(point(s, i), "state"), "");
}

static void states_are_told(void **unused)
{
	struct scene s;

	(void)unused;
	scene_make(&s, false, "a");
	assert_string_equal(state(&s, 0), "ok");
	assert_string_equal(state(&s, 3), "low");
	assert_string_equal(state(&s, 5), "empty");
	assert_string_equal(state(&s, 7), "gap");
	assert_int_equal(json_type(json_get(point(&s, 3), "p99_ms")), JSON_NULL_VALUE);
	assert_int_equal(json_type(json_get(point(&s, 0), "p99_ms")), JSON_NUMBER);
	assert_non_null(strstr(buf_text(&s.text), "data                 . o ? "));
	scene_free(&s);
}

static void others_histograms_give_a_range_and_no_number(void **unused)
{
	struct scene s;

	(void)unused;
	scene_make(&s, true, "a");
	assert_int_equal(json_type(json_get(point(&s, 0), "p99_ms")), JSON_NULL_VALUE);
	assert_true(json_number(json_get(point(&s, 0), "p99_low_ms"), 0) == 50);
	assert_true(json_number(json_get(point(&s, 0), "p99_high_ms"), 0) == 100);
	assert_true(json_is_true(json_get(point(&s, 0), "is_interval"), false));
	scene_free(&s);
}

static void names_are_markup_nowhere(void **unused)
{
	struct scene s;

	(void)unused;
	scene_make(&s, false, "a<b>&\x01\x1b[31m\"q\"\\ \xff end");
	assert_non_null(
		strstr(buf_text(&s.svg), "a&lt;b&gt;&amp;  [31m&quot;q&quot;\\ \xef\xbf\xbd end"));
	assert_null(strchr(buf_text(&s.text), 0x1b));
	assert_null(strstr(buf_text(&s.svg), "nan"));
	scene_free(&s);
}

static void lines_are_wrapped_between_words(void **unused)
{
	char *text = NULL, number[WORDS_NUMBER_MAX], range[WORDS_RANGE_MAX];
	size_t n = 0, longest = 0;
	struct buf words = { 0 };

	(void)unused;
	for (int i = 0; i < 60; i++)
		buf_add_text(&words, "wörd ");
	FILE *to = open_memstream(&text, &n);
	words_wrap(buf_text(&words), 4, 6, to);
	fclose(to);
	assert_memory_equal(text, "    wörd", 9);
	for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n"))
		longest = strlen(line) > longest ? strlen(line) : longest;
	/* A byte more than characters in each word. */
	assert_in_range(longest, WORDS_WIDTH, WORDS_WIDTH + 20);
	free(text);
	buf_free(&words);
	assert_string_equal(words_number(NAN, number), "-");
	assert_string_equal(words_range(2, NAN, NAN, range), "2");
	assert_string_equal(words_range(2, 1, 3.25, range), "2 [1, 3.25]");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(states_are_told),
		cmocka_unit_test(others_histograms_give_a_range_and_no_number),
		cmocka_unit_test(names_are_markup_nowhere),
		cmocka_unit_test(lines_are_wrapped_between_words),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
