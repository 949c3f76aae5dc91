/*
 * fuzz_json.c - laws: what is refused has a place and a message; what is read can
 * be written and read again, and is then written the same.
 */
#include <stdio.h>
#include <stdlib.h>

#include "core/base/json.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static void must(bool holds, const char *law)
{
	if (holds)
		return;
	fprintf(stderr, "broken: %s\n", law);
	abort();
}

static void write_both(const struct json *j, struct buf *lines, struct buf *line)
{
	json_write(j, true, lines);
	json_write(j, false, line);
	must(!lines->is_full && !line->is_full, "a document that was read can be written");
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct err e = { 0 };
	struct buf a = { 0 }, b = { 0 }, again_a = { 0 }, again_b = { 0 };
	struct json *j = json_parse((struct slice){ (const char *)bytes, size }, "input", &e);

	if (!j) {
		must(e.kind == ERR_INPUT && e.what[0] && e.where[0],
			"a refusal says where and why");
		return 0;
	}
	write_both(j, &a, &b);
	struct json *again = json_parse(buf_slice(&a), "again", &e);
	must(again != NULL, "what we write is JSON");
	write_both(again, &again_a, &again_b);
	must(slice_same(buf_slice(&a), buf_slice(&again_a)), "it is written the same again");
	must(slice_same(buf_slice(&b), buf_slice(&again_b)), "on one line too");
	json_free(j);
	json_free(again);
	buf_free(&a);
	buf_free(&b);
	buf_free(&again_a);
	buf_free(&again_b);
	return 0;
}
