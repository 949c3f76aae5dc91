/*
 * stats_file.h - writes a recording of statistics (docs/formats/stats.md).
 *
 * A round is one block, written at once: after kill -9 or a full disk the file is whole
 * up to its last round. Values are written as differences from the round before; at
 * least once an hour a round begins anew (a key round), so that damage in front of it is
 * no matter. begin, put and end_section for each section, commit; one thread.
 */
#ifndef REPROD_CORRELATE_STATS_FILE_H
#define REPROD_CORRELATE_STATS_FILE_H

#include "core/base/err.h"
#include "core/base/json.h"
#include "correlate/stats_table.h"

#define STATS_VERSION 1
#define STATS_FILE_HEADER 16
#define STATS_KEY_EVERY_NS (3600 * NS_PER_S)

enum stats_block {
	STATS_BLOCK_HEAD = 4,
	STATS_BLOCK_END = 5,
	STATS_BLOCK_KEY = 16,
	STATS_BLOCK_ROUND = 17
};

enum stats_record {
	STATS_RECORD_SECTION = 1,
	STATS_RECORD_NAME = 2,
	STATS_RECORD_ROUND = 3,
	STATS_RECORD_ROWS = 4,
	STATS_RECORD_GAP = 5,
};

/* Why the server was not looked at. */
enum stats_gap_reason { STATS_GAP_CONNECTION = 1, STATS_GAP_STOPPED = 2 };

struct stats_writer;

/* sections: what the table has in each key round. The head is one JSON document. */
struct stats_writer *stats_create(const char *path, bool is_forced,
	const struct stats_section *sections, size_t section_count, const struct json *head,
	struct err *e);
void stats_begin(struct stats_writer *w, int64_t t_ns);
/* One row; values for each column of the section. Rows beyond a cap are counted. All rows
 * of a section are put before it is ended, those of another one after. */
void stats_put(struct stats_writer *w, size_t section, struct slice key, const int64_t *values);
/* Rows not put since the last time are gone. A section that is not ended in a round is
 * unknown there. */
void stats_end_section(struct stats_writer *w, size_t section);
/* The server was out of sight in [from, to). */
void stats_add_gap(
	struct stats_writer *w, int64_t from_ns, int64_t to_ns, enum stats_gap_reason why);
bool stats_commit(struct stats_writer *w, struct err *e) MUST_USE;
/* What was put of a section so far, for who asks whether a row is known. */
const struct stats_table *stats_written(const struct stats_writer *w);
uint64_t stats_bytes(const struct stats_writer *w);
/* An end block, fsync, close; frees in every case. */
bool stats_finish(struct stats_writer *w, uint64_t *ret_bytes, struct err *e) MUST_USE;
void stats_abandon(struct stats_writer *w);

/* Shared with the reader. */
void stats_write_file_header(unsigned char to[STATS_FILE_HEADER]);
bool stats_check_file_header(struct slice first_bytes, struct err *e) MUST_USE;

#endif
