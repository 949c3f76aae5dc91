/*
 * stats_files.h - the rounds of a recording in order of time: a file, or a folder of
 * segments.
 *
 * Files whose time lies outside of [from, to] are not opened, if their names tell it.
 * A file of a folder that cannot be read is counted, its failure kept; the others are
 * read.
 */
#ifndef REPROD_CORRELATE_STATS_FILES_H
#define REPROD_CORRELATE_STATS_FILES_H

#include "correlate/stats_scan.h"
#include "correlate/watch_dir.h"

struct stats_files {
	const char *path;
	int64_t from_ns, to_ns;
	struct watch_segment *segments;
	size_t count, at;
	bool is_folder;
	struct stats_scan *scan;
	double every_s; /* of the file that is read; 0: not told */
	uint64_t read, torn, damaged, bad; /* files, files, blocks, files */
	struct err first_bad;
};

bool stats_files_open(struct stats_files *f, const char *path, int64_t from_ns, int64_t to_ns,
	struct err *e) MUST_USE;
/* The next round, and the table as it is then. */
enum step stats_files_next(struct stats_files *f, struct stats_round *ret,
	const struct stats_table **ret_table, struct err *e);
void stats_files_rewind(struct stats_files *f);
void stats_files_close(struct stats_files *f);

#endif
