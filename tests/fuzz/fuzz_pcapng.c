/*
 * fuzz_pcapng.c - laws: a packet's bytes lie inside the window, it has no more bytes than
 * a packet may, damage has a message, and the end comes.
 */
#include <stdio.h>
#include <stdlib.h>

#include "capture/wire/pcapng_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static void must(bool holds, const char *law)
{
	if (holds)
		return;
	fprintf(stderr, "broken: %s\n", law);
	abort();
}

static void check(const struct file_window *w, const struct pcapng_packet *p)
{
	unsigned sum = 0;

	must(p->bytes >= w->bytes && p->bytes + p->n <= w->bytes + w->end, "a packet lies in it");
	for (uint32_t i = 0; i < p->n; i++)
		sum += p->bytes[i];
	must(p->n || !sum, "its bytes can be read");
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct file_window w;
	struct pcapng_file f = { .in = &w };
	struct pcapng_packet p;
	struct err e = { 0 };
	uint64_t kernel, interface, n = 0;
	enum step step;

	if (!file_window_open(&w, -1, size, &e))
		return 0;
	if (size)
		memcpy(w.bytes, bytes, size);
	w.end = size;
	while ((step = pcapng_file_next(&f, &p, &e)) == STEP_ITEM) {
		check(&w, &p);
		must(++n <= size / 16, "each packet takes bytes");
	}
	must(step == STEP_END || e.what[0], "damage has a message");
	pcapng_file_drops(&f, &kernel, &interface);
	pcapng_file_close(&f);
	file_window_close(&w);
	return 0;
}
