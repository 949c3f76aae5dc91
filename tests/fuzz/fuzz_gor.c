/*
 * fuzz_gor.c - laws: every byte is part of a record or stepped over with a reason; a
 * payload lies within what was given; what is written is read again.
 */
#include <stdio.h>
#include <stdlib.h>

#include "capture/log/gor_message.h"
#include "core/format/gor.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static void must(bool holds, const char *law)
{
	if (holds)
		return;
	fprintf(stderr, "broken: %s\n", law);
	abort();
}

static void check_message(struct gor_message *m, const struct gor_record *r)
{
	struct raw_http http;
	struct slice type;
	uint16_t status;
	const char *why;

	if (!gor_message_request(m, r->payload, &http, &why))
		must(why != NULL, "what is no request has a reason");
	else
		must(http.method.n && http.target.n, "a request has method and target");
	if (gor_message_response(m, r->payload, &status, &type))
		must(status <= 999, "a status has three digits");
}

static void check_written(const struct gor_record *r)
{
	struct buf b = { 0 };
	struct gor_record again;
	const char *why;

	gor_write(&b, r);
	struct slice rest = buf_slice(&b);
	/* A payload that tells another length than it has may take the separator with it. */
	if (gor_next(&rest, true, &again, &why) == STEP_ITEM && again.payload.n == r->payload.n) {
		must(slice_same(again.payload, r->payload), "a payload is read as written");
		must(again.time_ns == r->time_ns && again.type == r->type, "so is its meta line");
	}
	buf_free(&b);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	char *copy = malloc(size + 1);
	struct gor_message *m = calloc(1, sizeof *m);
	struct gor_record r;
	const char *why;
	enum step step;

	if (!copy || !m) {
		free(copy);
		free(m);
		return 0;
	}
	if (size)
		memcpy(copy, bytes, size);
	(void)gor_detect((struct slice){ copy, size });
	struct slice rest = { copy, size };
	while ((step = gor_next(&rest, false, &r, &why)) == STEP_ITEM || step == STEP_FAIL)
		must(rest.p >= copy && rest.p + rest.n == copy + size, "reading goes forward");
	while ((step = gor_next(&rest, true, &r, &why)) != STEP_END) {
		must(step != STEP_MORE, "the last bytes are no wait for more");
		must(rest.p + rest.n == copy + size, "reading goes forward");
		if (step == STEP_FAIL) {
			must(why != NULL, "what is stepped over has a reason");
			continue;
		}
		must(r.payload.n <= size, "a payload lies within");
		check_message(m, &r);
		check_written(&r);
	}
	must(rest.n == 0, "every byte is read or stepped over");
	gor_message_free(m);
	free(m);
	free(copy);
	return 0;
}
