/*
 * fuzz_pglog.c - laws: every byte is part of a record or stepped over with a reason;
 * where the bytes are cut makes no difference to what the records say; slices stay
 * within what was given.
 */
#include <stdio.h>
#include <stdlib.h>

#include "core/format/pglog_csv.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static void must(bool holds, const char *law)
{
	if (holds)
		return;
	fprintf(stderr, "broken: %s\n", law);
	abort();
}

static void check_parameters(struct slice detail)
{
	struct buf scratch = { 0 };
	struct slice rest, value;
	bool is_null;
	size_t n = 0;

	if (!pglog_has_parameters(detail, &rest) || !buf_room(&scratch, rest.n))
		return;
	const char *before = scratch.p;
	while (pglog_next_parameter(&rest, &scratch, &value, &is_null) == STEP_ITEM) {
		must(n++ <= detail.n, "parameters end");
		must(value.n <= detail.n, "a value is no longer than the list");
	}
	must(scratch.p == before, "values do not move");
	buf_free(&scratch);
}

static uint64_t digest(uint64_t h, struct slice s)
{
	for (size_t i = 0; i < s.n; i++)
		h = (h ^ (unsigned char)s.p[i]) * UINT64_C(0x100000001b3);
	return h + s.n;
}

static uint64_t check_line(uint64_t h, const struct pglog_line *line)
{
	struct pglog_meaning m = pglog_mean(line);

	must(m.text.n <= line->message.n || m.kind == PGLOG_ERROR, "a text lies in its message");
	must(!m.has_duration || m.duration_ns >= 0, "a duration is not negative");
	check_parameters(line->detail);
	h = digest(h, line->message);
	h = digest(h, line->detail);
	h = digest(h, line->session_id);
	return h + m.kind + (uint64_t)line->time.local_ns;
}

/* The records of all bytes, which arrive in two parts. */
static uint64_t read_records(const char *p, size_t size, size_t cut, size_t *ret_records)
{
	struct pglog_csv csv = { 0 };
	struct pglog_line line;
	const char *why;
	size_t used = 0;
	uint64_t h = 0;
	enum step step;

	*ret_records = 0;
	for (int part = 0; part < 2; part++) {
		struct slice rest = { p + used, (part ? size : cut) - used };

		while ((step = pglog_csv_next(&csv, &rest, part == 1, &line, &why)) != STEP_END &&
			step != STEP_MORE) {
			if (step == STEP_FAIL) {
				must(why != NULL, "what is stepped over has a reason");
				continue;
			}
			h = check_line(h, &line);
			++*ret_records;
		}
		used = (part ? size : cut) - rest.n;
	}
	must(step == STEP_END && used == size, "every byte is read or stepped over");
	pglog_csv_free(&csv);
	return h;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	char *copy = malloc(size + 1);
	size_t whole, parts;

	if (!copy)
		return 0;
	/* On the heap by itself, so that a read past its end is seen. */
	if (size)
		memcpy(copy, bytes, size);
	uint64_t a = read_records(copy, size, 0, &whole);
	uint64_t b = read_records(copy, size, size / 2, &parts);
	must(whole >= parts ? whole - parts <= 1 : parts - whole <= 1,
		"a cut costs no record but the broken one around it");
	if (whole == parts && size && memchr(copy, '\n', size) == NULL)
		must(a == b, "and does not change the others");
	(void)pglog_detect((struct slice){ copy, size });
	free(copy);
	return 0;
}
