/*
 * clone.h - a physical copy of a cluster into a new data directory.
 *
 * From a running server by pg_basebackup when it may replicate, else by the SQL
 * backup functions and a copy of its files when they are readable here. From the
 * data directory of a stopped server by copying (reflink where the file system
 * can). Tablespaces come to lie inside the copy. The source is only read.
 */
#ifndef REPROD_CLONE_H
#define REPROD_CLONE_H

#include "core/base/json.h"
#include "core/base/run.h"

struct clone {
	char database[64]; /* the source's, "" when unknown (a data directory) */
	char system_identifier[24];
	int major;
	char version[64]; /* "15.14" */
	const char *method; /* "base backup", "file copy of a running server", ... */
	bool is_reflink;
	bool was_standby;
	struct json *settings; /* kept settings of the source; owned */
};

/* What copies holds lock_fd, also when it outlives us: pg_basebackup's own child
 * writes on for a moment after we were killed. */
bool clone_server(struct clone *c, const char *dsn, const char *into, bool is_fast, int lock_fd,
	const struct run *r, struct err *e) MUST_USE;
bool clone_dir(struct clone *c, const char *from, const char *into, const struct run *r,
	struct err *e) MUST_USE;
void clone_free(struct clone *c);
/* From DIR/global/pg_control: the first eight bytes are the identifier. */
bool clone_system_identifier(const char *dir, char text[24], struct err *e) MUST_USE;

#endif
