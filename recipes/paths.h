/*
 * paths.h - paths as a recipe writes them: relative to its own folder.
 */
#ifndef REPROD_PATHS_H
#define REPROD_PATHS_H

#include "core/base/err.h"

/* The path of an existing file as seen from the folder of another (which need not
 * exist itself, its folder must). */
bool path_relative(
	const char *from_file, const char *to, char relative[4096], struct err *e) MUST_USE;

#endif
