/*
 * switch.h - conditions put on or off after a reset, and read back.
 *
 * A reading is a short text that says in which state the condition is; it must be
 * the one expected before a run and still the same after it, else the run drifted
 * and does not count.
 */
#ifndef REPROD_SWITCH_H
#define REPROD_SWITCH_H

#include "core/model/recipe.h"
#include "recipes/site.h"

#define SWITCH_TEXT_MAX 128

struct switch_reading {
	char text[SWITCH_TEXT_MAX]; /* "" where there is nothing to read on the server */
};

/* "name=value" for the reset, into text; false when the condition is no setting or
 * has no value for that state. */
bool switch_setting(const struct recipe_condition *c, bool is_on, char *text, size_t size);
/* After the reset: what it takes to put it on or off. */
bool switch_apply(
	const struct recipe_condition *c, bool is_on, struct pg *admin, struct err *e) MUST_USE;
bool switch_read(const struct recipe_condition *c, struct pg *admin, const struct site *s,
	struct switch_reading *ret, struct err *e) MUST_USE;

#endif
