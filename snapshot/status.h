/*
 * status.h - proof that a lab, or a marked database, is what it says.
 *
 * The document: {target, kind, tier, database, mark, frozen, items[{item, ok, found,
 * database?}], is_neutralised, is_marked, ok}. A lab whose files would let it act on
 * the outside world is judged by its files alone: its server isn't started.
 */
#ifndef REPROD_STATUS_H
#define REPROD_STATUS_H

#include "core/base/json.h"
#include "core/base/run.h"

struct json *status_dir(const char *dir, const struct run *r, struct err *e);
struct json *status_dsn(const char *dsn, const struct run *r, struct err *e);

#endif
