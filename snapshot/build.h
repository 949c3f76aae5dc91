/*
 * build.h - making a lab: copy, neutralise, mark.
 *
 * DIR.building stands until the lab is whole, so that what an interrupted build
 * left is neither used nor mistaken for somebody else's folder.
 */
#ifndef REPROD_BUILD_H
#define REPROD_BUILD_H

#include "core/base/json.h"
#include "core/base/run.h"

struct build_options {
	const char *source; /* a data directory, or a connection string */
	const char *into;
	const char *tier; /* NULL: "clone" */
	const char *database; /* the main database; NULL: the source's, or the largest */
	const char *as_role; /* the role traffic acts as, or NULL */
	const char *const
		*settings; /* "name=value" over the kept ones; NULL terminated, may be NULL */
	bool is_fast; /* ask the source for a checkpoint now */
	bool is_forced;
};

/* The manifest, which is also in DIR. */
struct json *snapshot_build(const struct build_options *o, const struct run *r, struct err *e);

#endif
