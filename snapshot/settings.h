/*
 * settings.h - server settings of the source that a lab keeps.
 *
 * An allow list by name: what changes plans, memory, vacuum, WAL and waits is kept;
 * what names files, hosts, commands or libraries is not, nor is anything unknown.
 * Settings travel as a JSON map from name to text.
 */
#ifndef REPROD_SETTINGS_H
#define REPROD_SETTINGS_H

#include "core/base/json.h"
#include "core/driver/pg.h"

bool settings_is_kept(const char *name);
/* From a live server: kept ones that differ from the built-in default, and
 * shared_preload_libraries (under that name) for neutralise to judge. */
struct json *settings_of_server(struct pg *c, struct err *e);
/* From postgresql.conf and postgresql.auto.conf in a folder; a file that isn't there
 * says nothing. Includes are not followed. */
struct json *settings_of_dir(const char *dir, struct err *e);
/* Every "name = value" of one file of that syntax, the last one wins. */
bool settings_read_file(const char *path, struct json *into, struct err *e) MUST_USE;
/* name = 'value' lines. */
void settings_write(const struct json *settings, struct buf *to);

#endif
