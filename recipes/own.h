/*
 * own.h - the statements that conditions themselves send.
 *
 * A capture of production holds the jobs' sessions beside the clients'. Their
 * statements are known from the conditions' files, by fingerprint, so that a run can
 * leave them out of the traffic and a draft does not judge them.
 */
#ifndef REPROD_OWN_H
#define REPROD_OWN_H

#include "core/base/err.h"

#define OWN_MAX 1024

struct own {
	uint64_t fingerprints[OWN_MAX];
	size_t count;
	uint64_t dropped; /* beyond the cap */
};

/* Adds the statements of a script of plain SQL; another kind of file adds nothing. */
bool own_add_file(struct own *own, const char *path, struct err *e) MUST_USE;
bool own_has(const struct own *own, uint64_t fingerprint);

#endif
