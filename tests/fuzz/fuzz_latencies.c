/*
 * fuzz_latencies.c - laws of CSV and JSON lines: whatever comes is read to its end; what
 * is not read has a message; every request that counts as read is in the series, within
 * its times; the same bytes give the same series.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "correlate/input.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static void must(bool holds, const char *law)
{
	if (holds)
		return;
	fprintf(stderr, "broken: %s\n", law);
	abort();
}

static void look(const struct series *s, const struct input *in)
{
	uint64_t cells = 0;

	must(s->requests == in->read, "what was read is in the series");
	for (size_t i = 0; i < s->route_count; i++)
		for (size_t k = 0; k < s->routes[i]->count; k++) {
			struct series_cell c = s->routes[i]->cells[k];
			int64_t tick = series_cell_tick(c);

			must(tick >= series_tick(s, s->first_ns) &&
					tick <= series_tick(s, s->last_ns),
				"a request is within the series");
			must(series_cell_bin(c) < SERIES_BINS, "a latency has a bin");
			must(k == 0 || s->routes[i]->cells[k - 1].word < c.word,
				"cells are sorted");
			cells += series_cell_count(c);
		}
	must(cells == s->requests, "each request is counted once");
}

static uint64_t read_all(int fd, const struct zone *zone)
{
	struct run run = { .is_quiet = true, .log = stderr };
	struct err e = { 0 };
	struct series s;
	struct input in = { .series = &s, .zone = zone };
	char path[64];

	series_init(&s, 1000);
	must(lseek(fd, 0, SEEK_SET) == 0, "a file goes back");
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	bool ok = input_read(&in, path, &run, &e);
	must(ok || (e.kind && e.what[0]), "a failure has a message");
	must(!in.bad || in.first_bad.what[0] || in.has_packets, "a bad line has a message");
	series_finish(&s);
	if (ok && !in.has_packets)
		look(&s, &in);
	uint64_t all = in.read << 32 ^ in.bad << 16 ^ s.route_count;
	series_free(&s);
	return all;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct zone zone = { 0 };
	struct err e;
	int fd = memfd_create("lines", 0);

	must(fd >= 0 && write(fd, bytes, size) == (ssize_t)size, "a file is made");
	must(zone_open(&zone, "+01:00", &e), "an offset is a zone");
	uint64_t first = read_all(fd, &zone);
	must(first == read_all(fd, &zone), "the same bytes give the same series");
	read_all(fd, NULL);
	zone_close(&zone);
	close(fd);
	return 0;
}
