/*
 * yaml.h - YAML documents as JSON values (libyaml behind a wall).
 *
 * Each document of a stream becomes one struct json: maps, lists and texts; of plain
 * scalars true, false, null and whole numbers have their types (YAML 1.2, core schema).
 * Aliases are copied. A document of more than YAML_NODES_MAX values, aliases counted
 * out, or deeper than YAML_DEPTH_MAX is refused, and so is a text with more than
 * YAML_OPEN_MAX brackets open at once: libyaml takes a square of their number.
 */
#ifndef REPROD_YAML_H
#define REPROD_YAML_H

#include "core/base/json.h"

#define YAML_NODES_MAX 1000000
#define YAML_DEPTH_MAX 64
#define YAML_OPEN_MAX 1000

struct yaml_stream;

/* The text must stay until yaml_close(). NULL when out of memory. */
struct yaml_stream *yaml_open(struct slice text);
void yaml_close(struct yaml_stream *y);
/* STEP_ITEM: *ret is a document, freed by the caller with json_free(). STEP_FAIL: *e tells
 * the line; nothing behind it can be read. */
enum step yaml_next(struct yaml_stream *y, struct json **ret, struct err *e);

#endif
