/*
 * pginstall.h - which PostgreSQL installations this machine has.
 *
 * Looks at PATH, pg_config --bindir and the folders packages use. A place counts
 * when it has a postgres that tells its version. (pgserver_find() is implemented
 * beside this.)
 */
#ifndef REPROD_PGINSTALL_H
#define REPROD_PGINSTALL_H

#include <stdbool.h>

#include "core/base/err.h"

/* Whether the C library knows a locale. */
bool pginstall_has_locale(const char *name);
/* A program of an installation: "BIN_DIR/name"; false when it isn't there. */
bool pginstall_tool(const char *bin_dir, const char *name, char path[1100]);

#endif
