/*
 * input.h - latency in: capture files, CSV and JSON lines, into one series.
 *
 * What a file is, is told by its first bytes. CSV has the columns t, route, ms,
 * status (by header, else in that order); t is the arrival, with zone, or epoch
 * seconds. Lines that cannot be read are counted, the first is kept for the
 * report; a file without any readable line fails. Packet captures are refused.
 */
#ifndef REPROD_CORRELATE_INPUT_H
#define REPROD_CORRELATE_INPUT_H

#include "core/base/run.h"
#include "core/base/err.h"
#include "core/model/series.h"

struct input {
	struct series *series;
	uint64_t read, bad; /* requests, and lines that are none */
	uint64_t gap; /* requests with packets missing inside: their latency is doubtful */
	uint64_t untimed; /* their log told only when they were */
	bool is_torn; /* a capture file without its end */
	bool has_packets; /* some input is a capture file */
	struct err first_bad;
};

bool input_read(struct input *in, const char *path, const struct run *run, struct err *e) MUST_USE;

#endif
