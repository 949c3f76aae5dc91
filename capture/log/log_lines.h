/*
 * log_lines.h - the lines of a file, which may be gzip, zstd or bzip2.
 *
 * A line is borrowed until the next call. One over LOG_LINES_MAX is stepped over and
 * given as an empty slice without bytes (p is NULL). The last needs no newline.
 */
#ifndef REPROD_LOG_LINES_H
#define REPROD_LOG_LINES_H

#include "core/base/buf.h"
#include "core/base/err.h"

#define LOG_LINES_MAX (1 << 20)

struct log_lines;

/* path "-" is standard input. NULL: ERR_INPUT with its name in *e. */
struct log_lines *log_lines_open(const char *path, struct err *e);
/* What is there before the first line was taken: up to 64 KiB. */
struct slice log_lines_first(const struct log_lines *l);
const char *log_lines_name(const struct log_lines *l);
/* ITEM, END, FAIL; without the newline. */
enum step log_lines_next(struct log_lines *l, struct slice *ret, struct err *e);
uint64_t log_lines_bytes(const struct log_lines *l);
/* A compressed file ended inside of its stream. */
bool log_lines_was_cut(const struct log_lines *l);
void log_lines_close(struct log_lines *l);

#endif
