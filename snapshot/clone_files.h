/*
 * clone_files.h - copying a running server's files between the SQL functions that
 * start and stop a backup (PostgreSQL manual, 26.3.3), and bringing tablespaces
 * into the copy.
 */
#ifndef REPROD_CLONE_FILES_H
#define REPROD_CLONE_FILES_H

#include "core/driver/pg.h"

/* The folder in the copy that holds tablespaces. */
#define CLONE_TABLESPACES "reprod.tblspc"

/* Whether the server's data directory is readable on this machine. */
bool clone_files_are_here(struct pg *c, const char *system_identifier, char data_dir[1024]);
bool clone_files(struct pg *c, const char *from, const char *into, bool is_fast,
	bool *ret_is_reflink, struct err *e) MUST_USE;
/* The links in FROM/pg_tblspc are copied into INTO and linked there. */
bool clone_take_tablespaces(const char *from, const char *into, struct err *e) MUST_USE;
/* No link may be left in a copy, outside pg_tblspc: pg_wal's is followed and copied,
 * others on top are removed, deeper ones are refused. */
bool clone_take_links(const char *into, struct err *e) MUST_USE;

#endif
