/*
 * labdir.h - the folder of a lab, and what lies beside it.
 *
 *   DIR            the data directory; reprod.manifest.json and reprod.mark in it
 *   DIR.frozen     the state that reset goes back to
 *   DIR.lock       held (flock) by the one process that uses the lab
 *   DIR.log        the server's output
 *   DIR.building   stands while a build is under way: what it left is no lab
 *
 * DIR/reprod.resetting stands while files are put back, likewise. Only folders
 * with one of our files are ever removed.
 */
#ifndef REPROD_LABDIR_H
#define REPROD_LABDIR_H

#include "core/base/err.h"
#include "core/base/json.h"
#include "core/base/run.h"

#define LABDIR_MANIFEST "reprod.manifest.json"
#define LABDIR_MARK "reprod.mark"
#define LABDIR_RESETTING "reprod.resetting"
#define LABDIR_FROZEN_NOTE "reprod.frozen.json"

struct labdir {
	char dir[900]; /* absolute */
	char frozen[920], lock[920], log[920], building[920];
};

/* The folder itself need not exist, its parent must. */
bool labdir_of(struct labdir *d, const char *path, struct err *e) MUST_USE;
/* A lab, or what a build left behind. */
bool labdir_is_ours(const struct labdir *d);
/* Refuses (ERR_INPUT) what is not a finished lab. */
bool labdir_check(const struct labdir *d, struct err *e) MUST_USE;
/* ERR_ENV when another process holds it; what a process that was killed has left
 * copying is waited for. */
bool labdir_lock(const struct labdir *d, int *ret_fd, const struct run *r, struct err *e) MUST_USE;
void labdir_unlock(int *fd);
/* Takes the lock's file along when there is no lab (any more). */
void labdir_unlock_removed(const struct labdir *d, int *fd);
/* Waits for a server whose owner just died; ERR_ENV when one stays. */
bool labdir_wait_for_quiet(const char *dir, const struct run *r, struct err *e) MUST_USE;
/* The id in postmaster.pid when that process lives, else 0. */
int labdir_postmaster(const char *dir);
/* NAME in DIR, given to the server's user. */
bool labdir_write(const char *dir, const char *name, struct slice bytes, struct err *e) MUST_USE;
bool labdir_write_json(
	const char *dir, const char *name, const struct json *j, struct err *e) MUST_USE;
struct json *labdir_read_json(const char *dir, const char *name, struct err *e);
void labdir_path(const char *dir, const char *name, char path[1100]);

#endif
