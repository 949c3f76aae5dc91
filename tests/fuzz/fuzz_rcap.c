/*
 * fuzz_rcap.c - laws: any bytes open or are refused with a message; a record that
 * was read is written as bytes that read back as the same record.
 *
 * Checksums would stop nearly every input at the door. So when the first byte is
 * odd, the rest is taken as pieces {kind, length (2 bytes), payload} and a file is
 * built around them that is right but for its contents.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/model/rcap.h"
#include "core/model/rcap_block.h"
#include "core/model/rcap_code.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static void must(bool holds, const char *law)
{
	if (holds)
		return;
	fprintf(stderr, "broken: %s\n", law);
	abort();
}

static void build(struct cursor c, struct buf *file)
{
	unsigned char header[RCAP_FILE_HEADER], block[RCAP_BLOCK_HEADER];
	uint32_t number = 0;

	rcap_write_file_header(header);
	buf_add(file, header, sizeof(header));
	while (cursor_left(&c) > 3) {
		struct rcap_block_header h = {
			.kind = cursor_u8(&c), .codec = RCAP_RAW, .number = number++
		};
		size_t n = cursor_u16le(&c);

		if (n > cursor_left(&c))
			n = cursor_left(&c);
		struct slice payload = cursor_bytes(&c, n);
		h.stored_bytes = h.raw_bytes = (uint32_t)n;
		h.payload_crc = rcap_crc(payload.p, n);
		rcap_write_block_header(&h, block);
		buf_add(file, block, sizeof(block));
		buf_add_slice(file, payload);
	}
}

static void check_again(const struct request_record *q)
{
	struct buf bytes = { 0 };
	struct rcap_state state = { 0 };
	struct rcap_decoder decoder = { 0 };
	struct request_record again;
	struct slice payload;
	uint8_t kind;

	rcap_code_request(&state, q, &bytes);
	struct cursor c = cursor_of(bytes.p, bytes.n);
	must(rcap_next_record(&c, &kind, &payload) == STEP_ITEM, "what we write has a frame");
	must(rcap_decode_request(&decoder, payload, &again), "and decodes");
	must(again.start_ns == q->start_ns && again.end_ns == q->end_ns && again.seq == q->seq &&
			again.think_ns == q->think_ns && again.first_byte_ns == q->first_byte_ns,
		"with the same times");
	must(again.value_count == q->value_count && again.edge_count == q->edge_count &&
			slice_same(again.copy_data, q->copy_data) && again.rows == q->rows,
		"and the same contents");
	for (size_t i = 0; i < q->value_count; i++)
		must(slice_same(again.values[i].bytes, q->values[i].bytes) &&
				again.values[i].place == q->values[i].place,
			"value by value");
	rcap_decoder_free(&decoder);
	buf_free(&bytes);
}

static void read_all(struct rcap *r)
{
	struct rcap_item item;
	struct rcap_block block;
	struct err e = { 0 };
	uint64_t at = 0;
	enum step step;

	while ((step = rcap_next(r, &item, &e)) == STEP_ITEM) {
		if (item.kind != RCAP_REQUEST)
			continue;
		must(rcap_route(r, item.request.route) != NULL, "a request has a route");
		must(item.request.end_ns >= item.request.start_ns, "ends after it starts");
		check_again(&item.request);
	}
	must(step == STEP_END || e.what[0], "a failure has a message");
	while (rcap_next_block(r, &at, &block, &e) == STEP_ITEM)
		must(block.is_damaged == (block.payload.p == NULL), "a whole block has bytes");
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct buf file = { 0 };
	struct err e = { 0 };
	char path[64];

	if (size && bytes[0] & 1)
		build(cursor_of(bytes + 1, size - 1), &file);
	else if (size)
		buf_add(&file, bytes + 1, size - 1);
	int fd = memfd_create("rcap", MFD_CLOEXEC);
	must(fd >= 0 && write(fd, buf_text(&file), file.n) == (ssize_t)file.n, "memory");
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	struct rcap *r = rcap_open(path, &e);
	must(r || e.what[0], "a refusal has a message");
	if (r)
		read_all(r);
	rcap_close(r);
	close(fd);
	buf_free(&file);
	return 0;
}
