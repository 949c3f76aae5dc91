/*
 * loaded.h - a series read from a text or file, for tests of inputs. The series is the
 * caller's to free; loaded_more() adds a further file to it.
 */
#ifndef REPROD_TEST_LOADED_H
#define REPROD_TEST_LOADED_H

#include "correlate/input.h"

struct loaded {
	struct series series;
	struct input in;
	struct err e;
	bool ok;
};

void loaded_path(struct loaded *l, const char *path);
void loaded_more(struct loaded *l, const char *path);
void loaded_text(struct loaded *l, const char *text);
void loaded_in_zone(struct loaded *l, struct slice text, const struct zone *zone);
/* Into a new file; path ends with XXXXXX, as mkstemp() wants it. */
void loaded_write(char path[], struct slice text);

#endif
