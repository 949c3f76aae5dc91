/*
 * source_lines.h - the lines of a file, which may be gzip, zstd or bzip2.
 *
 * A line is borrowed until the next call. One over SOURCE_LINES_MAX is stepped over and
 * given as an empty slice without bytes (p is NULL). The last needs no newline.
 */
#ifndef REPROD_SOURCE_LINES_H
#define REPROD_SOURCE_LINES_H

#include "core/base/buf.h"
#include "core/base/err.h"

#define SOURCE_LINES_MAX (1 << 20)

struct source_lines;

/* path "-" is standard input. NULL: ERR_INPUT with its name in *e. */
struct source_lines *source_lines_open(const char *path, struct err *e);
/* What is there before the first line was taken: up to 64 KiB. */
struct slice source_lines_first(const struct source_lines *l);
const char *source_lines_name(const struct source_lines *l);
/* ITEM, END, FAIL; without the newline. */
enum step source_lines_next(struct source_lines *l, struct slice *ret, struct err *e);
uint64_t source_lines_bytes(const struct source_lines *l);
/* A compressed file ended inside of its stream. */
bool source_lines_was_cut(const struct source_lines *l);
void source_lines_close(struct source_lines *l);

#endif
