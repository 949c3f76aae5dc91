/*
 * outfile.h - an answer that goes to a file instead of standard output (-o FILE).
 *
 * Opening sets run->out, closing puts it back. Written beside its place and renamed: a
 * reader sees the old file or the whole new one, and a command that failed leaves none.
 */
#ifndef REPROD_OUTFILE_H
#define REPROD_OUTFILE_H

#include "core/base/err.h"
#include "core/base/run.h"

struct outfile {
	struct run *run;
	const char *path; /* NULL: standard output */
	FILE *before;
	char draft[4096];
};

/* path NULL or "-" is standard output. Refuses an existing file unless run->is_forced; a
 * device or pipe is written as it is. */
bool outfile_open(struct outfile *o, struct run *run, const char *path, struct err *e) MUST_USE;
/* With ok false the file is thrown away and *e stays. Returns ok, or false and *e. */
bool outfile_close(struct outfile *o, bool ok, struct err *e) MUST_USE;

/* Why a file could not be created there, with what to do. Returns false. */
bool outfile_refuse(const char *path, int os_errno, struct err *e);

#endif
