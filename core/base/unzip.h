/*
 * unzip.h - bytes of a file as they were before gzip, zstd or bzip2.
 *
 * A pull reader over a file descriptor, which stays the caller's; the format is
 * known by its first bytes, and what is none of the three is handed on as it is.
 * Members and frames that follow each other are one stream. A file that ends or
 * breaks inside of one gives what came before, then END with unzip_was_cut().
 * Memory is fixed (a zstd window of up to 128 MiB), sizes are not capped: who reads
 * ends it when nothing useful comes. One thread.
 */
#ifndef REPROD_UNZIP_H
#define REPROD_UNZIP_H

#include "core/base/base.h"
#include "core/base/err.h"

struct unzip;

/* "gzip", "zstd", "bzip2", or NULL by the first bytes (4 suffice). */
const char *unzip_detect(struct slice first_bytes);

/* NULL: could not read (ERR_INPUT) or out of memory. */
struct unzip *unzip_open(int fd, struct err *e);
/* ITEM: *ret_n bytes, at least one, are at to. END; FAIL: the file cannot be read. */
enum step unzip_read(struct unzip *u, char *to, size_t room, size_t *ret_n, struct err *e);
/* The same, but a signal that ends the wait for a silent pipe is the END: what came
 * before it is kept. */
enum step unzip_read_or_stop(struct unzip *u, char *to, size_t room, size_t *ret_n, struct err *e);
/* The stream ended too early or is damaged; says where in words. */
bool unzip_was_cut(const struct unzip *u, const char **ret_why);
const char *unzip_name(const struct unzip *u); /* as unzip_detect() */
void unzip_close(struct unzip *u);

#endif
