/*
 * watch_change.h - the number last seen under each key, to tell what changed.
 *
 * At most WATCH_CHANGES_MAX keys; further ones count as unchanged.
 */
#ifndef REPROD_CORRELATE_WATCH_CHANGE_H
#define REPROD_CORRELATE_WATCH_CHANGE_H

#include "core/base/arena.h"
#include "core/base/table.h"

#define WATCH_CHANGES_MAX 40000

struct watch_change {
	int64_t value, times; /* last seen; how often it was another one than before */
};

struct watch_changes {
	struct table by_key;
	struct arena arena;
};

void watch_changes_init(struct watch_changes *c);
/* Takes the value in; *ret_before is the one before, or the same when it is new. NULL
 * at the cap. */
const struct watch_change *watch_changes_see(
	struct watch_changes *c, struct slice key, int64_t value, int64_t *ret_before);
void watch_changes_free(struct watch_changes *c);

#endif
