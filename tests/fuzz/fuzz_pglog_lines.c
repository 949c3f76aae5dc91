/*
 * fuzz_pglog_lines.c - laws of what reads a log line by line: shells, prefixes, stderr
 * messages and JSON. The first byte chooses a frame and a shell. No line is both taken
 * and refused without a reason; slices can be read to their ends; a learned prefix
 * compiles from its own text and matches as much again.
 */
#include <stdio.h>
#include <stdlib.h>

#include "capture/log/log_shape.h"
#include "core/format/pglog_json.h"
#include "core/format/pglog_stderr.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static void must(bool holds, const char *law)
{
	if (holds)
		return;
	fprintf(stderr, "broken: %s\n", law);
	abort();
}

static unsigned touch(struct slice s)
{
	unsigned sum = 0;

	for (size_t i = 0; i < s.n; i++)
		sum += (unsigned char)s.p[i];
	return sum;
}

static void check_line(const struct pglog_line *line)
{
	struct pglog_meaning m = pglog_mean(line);
	struct slice rest = pglog_context_parameters(line->context), value;
	struct buf scratch = { 0 };
	bool is_null;
	volatile unsigned sink = 0;

	sink += touch(line->message) + touch(line->detail) + touch(line->query) +
		touch(line->user) + touch(line->database) + touch(line->client) +
		touch(line->port) + touch(line->session_id) + touch(line->sqlstate) +
		touch(line->context) + touch(m.text) + touch(m.statement) + touch(m.portal) +
		touch(line->time.zone);
	(void)pglog_is_localised(line);
	(void)pglog_sqlstate_of(line->message);
	if (pglog_has_parameters(rest, &rest) && buf_room(&scratch, rest.n))
		while (pglog_next_parameter(&rest, &scratch, &value, &is_null) == STEP_ITEM)
			sink += touch(value);
	buf_free(&scratch);
	(void)sink;
}

static void read_stderr(const struct pglog_prefix *prefix, struct slice text, bool is_inside)
{
	struct pglog_stderr r;
	struct pglog_line line;
	struct pglog_around around = { .is_inside = is_inside, .pid = SLICE("7") };
	const char *why = NULL;

	pglog_stderr_init(&r, prefix);
	while (text.n) {
		const char *end = memchr(text.p, '\n', text.n);
		size_t n = end ? (size_t)(end - text.p) : text.n;

		why = NULL;
		switch (pglog_stderr_line(&r, (struct slice){ text.p, n }, &around, &line, &why)) {
		case STEP_ITEM:
			check_line(&line);
			break;
		case STEP_FAIL:
			must(why != NULL, "what is refused has a reason");
			break;
		default:
			break;
		}
		text.p += n + (end != NULL);
		text.n -= n + (end != NULL);
	}
	if (pglog_stderr_end(&r, &line) == STEP_ITEM)
		check_line(&line);
	must(pglog_stderr_end(&r, &line) == STEP_END, "there is one last message");
	pglog_stderr_free(&r);
}

static void read_json(struct slice text)
{
	struct pglog_json j = { 0 };
	struct pglog_line line;
	const char *why = NULL;

	if (pglog_json_line(&j, text, &line, &why))
		check_line(&line);
	else
		must(why != NULL, "what is refused has a reason");
	pglog_json_free(&j);
}

static void read_shell(enum unwrap_kind frame, enum unwrap_kind shell, struct slice text)
{
	struct unwrap *u = unwrap_new(frame, shell);
	struct unwrapped out;
	const char *why;
	size_t items = 0;

	while (u && text.n) {
		const char *end = memchr(text.p, '\n', text.n);
		size_t n = end ? (size_t)(end - text.p) : text.n;

		why = NULL;
		enum step step = unwrap_line(u, (struct slice){ text.p, n }, &out, &why);
		must(step != STEP_FAIL || why, "what is refused has a reason");
		if (step == STEP_ITEM) {
			volatile unsigned sink = touch(out.text) + touch(out.pid);
			(void)sink;
			read_json(out.text);
		}
		text.p += n + (end != NULL);
		text.n -= n + (end != NULL);
	}
	while (u && unwrap_end(u, &out) == STEP_ITEM)
		must(items++ < 1000, "the end is reached");
	unwrap_free(u);
}

static void check_shape(struct slice text)
{
	struct log_shape shape;
	struct pglog_prefix again;
	struct err e = { 0 };
	char first[20];

	if (!log_shape_of(text, NULL, &shape, &e))
		return;
	log_shape_first_time(text, first);
	if (shape.has_prefix) {
		must(pglog_prefix_compile(&again, shape.learned.prefix.source, &e),
			"a learned prefix compiles");
		must(again.count == shape.learned.prefix.count, "to itself");
		read_stderr(&again, text, false);
		read_stderr(&again, text, true);
	}
	must(!shape.has_prefix || shape.learned.matched > 0, "a learned prefix matches lines");
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	if (size == 0)
		return 0;
	char *copy = malloc(size);
	if (!copy)
		return 0;
	/* On the heap by itself, so that a read past its end is seen. */
	memcpy(copy, bytes + 1, size - 1);
	struct slice text = { copy, size - 1 };
	read_json(text);
	read_shell(bytes[0] % 4, bytes[0] / 4 % 5 ? (bytes[0] / 4 % 5) + 3 : UNWRAP_NONE, text);
	check_shape(text);
	free(copy);
	return 0;
}
