/*
 * input.h - latency in: capture files, CSV, JSON lines and servers, into one series.
 *
 * What a file is, is told by its first bytes, gzip, zstd and bzip2 around it too.
 * docs/formats/latencies.md says what lines may look like. Lines that cannot be read are
 * counted, the first is kept for the report; a file without any readable line fails.
 * Packet captures are refused, logs are captured on the way. A file given twice, or
 * copied, is read once. What was odd about the inputs is counted here, and said by
 * input_notes().
 */
#ifndef REPROD_CORRELATE_INPUT_H
#define REPROD_CORRELATE_INPUT_H

#include "core/base/run.h"
#include "core/base/err.h"
#include "core/format/zone.h"
#include "core/model/series.h"
#include "correlate/notes.h"

#define INPUT_FILES_MAX 256 /* more are read, but not looked for twice */

struct input_file {
	uint64_t device, inode, size, digest; /* of its first and last bytes */
};

struct input {
	struct series *series;
	struct notes *notes; /* for what servers say; may be NULL */
	const char *header_file; /* for servers; NULL: none */
	const struct zone *zone; /* of local times in CSV and JSON; NULL: they are refused */
	const char *zone_name; /* the same, for logs */
	const char *program; /* ours, whose capture reads logs; NULL: they are refused */
	uint64_t read, bad; /* requests, and lines that are none */
	uint64_t gap; /* requests with packets missing inside: their latency is doubtful */
	uint64_t untimed; /* their log told only when they were */
	uint64_t dropped; /* packets that captures did not get; when is not known */
	int64_t found_floor_ns; /* of a log whose requests are all slow; 0: none */
	uint64_t shed; /* times in which a capture kept some sessions only */
	uint64_t disordered; /* lines a minute or more behind one above them */
	uint64_t scaled; /* epoch times in milli-, micro- or nanoseconds */
	uint64_t local; /* times read in .zone */
	bool is_torn; /* a capture file without its end */
	bool is_cut; /* the last line is none, and has no line break */
	bool has_packets; /* some input is a capture file */
	struct err first_bad;
	const char *cut_path, *cut_why; /* a compressed file that ends early */
	const char *twice; /* the first path whose file was read before */
	struct input_file files[INPUT_FILES_MAX];
	size_t file_count;
};

/* "-" is stdin. */
bool input_read(struct input *in, const char *path, const struct run *run, struct err *e) MUST_USE;
/* Faster requests were not written into any of them. */
void input_set_floor(struct input *in, int64_t floor_ns);
void input_notes(const struct input *in, struct notes *to);

#endif
