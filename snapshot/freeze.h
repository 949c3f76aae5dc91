/*
 * freeze.h - keeping a lab's state, and going back to it.
 *
 * The frozen state is a copy (reflink where possible) of the cleanly stopped
 * cluster, so it has the cumulative statistics too; it is verified after it was
 * made, and its control file before each reset.
 */
#ifndef REPROD_FREEZE_H
#define REPROD_FREEZE_H

#include "core/base/json.h"
#include "core/base/run.h"
#include "snapshot/lab.h"

struct freeze_result {
	char frozen_id[33];
	int64_t files, bytes, took_ns;
	bool is_reflink;
};

/* An existing frozen state needs is_forced. */
bool freeze_dir(const char *dir, bool is_forced, const struct run *r, struct freeze_result *ret,
	struct err *e) MUST_USE;
/* Takes the lock, puts the files back, renews the mark and stops again. */
bool reset_dir(
	const char *dir, const struct run *r, struct lab *ret_figures, struct err *e) MUST_USE;
/* Checks DIR.frozen; its note, or NULL. */
struct json *freeze_note(const struct labdir *d, struct err *e);

#endif
