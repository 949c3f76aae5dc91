/*
 * file.h - whole files in and out, and folders.
 *
 * Reads have a cap. An output that exists needs is_forced, is written beside its
 * place and renamed, so a reader sees the old or the new file, never half of one.
 */
#ifndef REPROD_FILE_H
#define REPROD_FILE_H

#include <sys/types.h>

#include "core/base/buf.h"
#include "core/base/err.h"

bool file_read(const char *path, size_t max_bytes, struct buf *into, struct err *e) MUST_USE;
bool file_write(const char *path, struct slice bytes, bool is_forced, struct err *e) MUST_USE;
/* Refuses (ERR_USAGE, hint --force) when the path exists and is not forced. */
bool file_may_write(const char *path, bool is_forced, struct err *e) MUST_USE;
/* Refuses (ERR_USAGE) when the output is the same file as one of the inputs, of which some may
 * be NULL: --force overwrites what was written before, not what is about to be read. */
bool file_is_apart(
	const char *output, const char *const *inputs, size_t count, struct err *e) MUST_USE;
/* Opens a new file beside path, to be renamed to it; its name comes in beside. A device or
 * pipe cannot be renamed over: it is opened itself, and beside is "". -1 and errno. */
int file_open_beside(const char *path, char beside[4096]) MUST_USE;
bool file_exists(const char *path);
bool file_is_dir(const char *path);
bool file_make_dirs(const char *path, mode_t mode, struct err *e) MUST_USE;
/* Removes a tree; refuses "/" and paths of one component under it. */
bool file_remove_tree(const char *path, struct err *e) MUST_USE;
/* Copies a tree keeping modes, times, owners, links; by reflink where the file
 * system can (ret_is_reflink says so), else by copy_file_range keeping holes. */
bool file_copy_tree(const char *from, const char *to, bool *ret_is_reflink, struct err *e) MUST_USE;
/* Gives a tree to a user (no-op when not root). */
bool file_own_tree(const char *path, uid_t uid, gid_t gid, struct err *e) MUST_USE;
/* Lower-case hex SHA-256 of a file's bytes. */
bool file_sha256(const char *path, char hex[65], struct err *e) MUST_USE;
void file_sha256_bytes(struct slice bytes, char hex[65]);
/* A closing helper for CLEANUP. */
void file_close_fd(int *fd);

#endif
