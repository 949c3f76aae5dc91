/*
 * fuzz_tls.c - laws of TLS reading: whatever the key log and the two sides hold, however it
 * is cut and whatever is missing, plain text comes out only of a connection that is read,
 * what it said last is final, its times do not run backwards on a side, and nothing stays.
 *
 * The first byte: bit 0 the key log grows (it comes at the end). Two bytes, the key log's
 * length, and the key log. Then each stretch has a header byte: bit 0 the side, bit 1 a gap
 * before it, the rest its length (63: the next byte times 16).
 */
#include <stdio.h>
#include <stdlib.h>

#include "capture/wire/tls.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static void must(bool holds, const char *law)
{
	if (holds)
		return;
	fprintf(stderr, "broken: %s\n", law);
	abort();
}

struct world {
	struct tls *tls;
	uint64_t checksum, heard_n, fed_n;
	int64_t time_ns[2];
};

static bool on_bytes(void *data, int side, struct slice plain, int64_t time_ns)
{
	struct world *w = data;

	must(plain.n > 0, "plain text is not empty");
	must(time_ns >= w->time_ns[side], "times do not run backwards");
	w->time_ns[side] = time_ns;
	w->heard_n += plain.n;
	must(w->heard_n <= w->fed_n, "no more comes out than went in");
	for (size_t i = 0; i < plain.n; i++)
		w->checksum += (unsigned char)plain.p[i];
	return true;
}

static bool on_gap(void *data, int side, uint64_t missing_n, int64_t time_ns)
{
	(void)data, (void)side, (void)time_ns;
	must(missing_n > 0, "a gap has a length");
	return true;
}

static bool feed(struct world *w, const uint8_t *bytes, size_t size)
{
	int64_t now_ns = 1000;
	bool is_going_on = true;

	while (size && is_going_on) {
		uint8_t head = *bytes++;
		size_t n = head >> 2;

		size--;
		if (n == 63 && size) {
			n = (size_t)*bytes++ * 16;
			size--;
		}
		if (n > size)
			n = size;
		now_ns += 10;
		if (head & 2)
			is_going_on = tls_gap(w->tls, head & 1, 7, now_ns);
		w->fed_n += n;
		if (n && is_going_on)
			is_going_on = tls_feed(
				w->tls, head & 1, (struct slice){ (const char *)bytes, n }, now_ns);
		must(is_going_on || tls_state(w->tls) > TLS_READING, "an end has a reason");
		bytes += n;
		size -= n;
	}
	return is_going_on;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct world world = { 0 };
	struct tls_sink sink = { on_bytes, on_gap, &world };
	struct err e = { 0 };
	struct slice log;
	struct tls_keys *keys;
	bool is_late;

	if (size < 3)
		return 0;
	is_late = bytes[0] & 1;
	log = (struct slice){ (const char *)bytes + 3, (size_t)bytes[1] << 8 | bytes[2] };
	if (log.n > size - 3)
		log.n = size - 3;
	keys = tls_keys_of(is_late ? SLICE("") : log, &e);
	must(keys || e.what[0], "a key log that is refused has a message");
	if (!keys)
		return 0;
	if (is_late)
		tls_keys_follow(keys);
	world.tls = tls_new(keys, 0, &sink);
	if (feed(&world, bytes + 3 + log.n, size - 3 - log.n)) {
		if (is_late)
			(void)!tls_keys_add(keys, log, &e);
		must(tls_end(world.tls, 1 << 20) || tls_state(world.tls) > TLS_READING,
			"an end has a reason");
	}
	tls_free(world.tls);
	tls_keys_free(keys);
	return 0;
}
