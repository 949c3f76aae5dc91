/*
 * statement.h - a planned request as the driver sends it: text and parameters, with
 * generated keys of this run in the place of the captured ones.
 *
 * Everything it points to lives until the next statement_build() or the item's
 * release. One statement is reused for all sends, so that a send allocates nothing.
 */
#ifndef REPROD_REPLAY_STATEMENT_H
#define REPROD_REPLAY_STATEMENT_H

#include "core/base/buf.h"
#include "replay/cells.h"
#include "replay/plan.h"

#define STATEMENT_PARAMS_MAX 65535

struct statement {
	struct buf text; /* NUL-terminated */
	int param_count;
	const char **params; /* NULL: null */
	int *lengths, *formats;
	uint32_t *types;
	int param_room;
	struct value *values; /* scratch: with keys substituted */
	size_t value_room;
	struct buf keys; /* bytes of the substituted ones */
	uint32_t substituted; /* in the last build */
};

/* False: a value is missing, so there is no text (or memory ran out). The text is
 * made only when wanted: an execution of a prepared statement needs none. */
bool statement_build(struct statement *s, const struct plan_item *item, struct slice template_text,
	const struct cells *known, bool wants_text) MUST_USE;
void statement_free(struct statement *s);

#endif
