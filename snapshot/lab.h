/*
 * lab.h - the inside of snapshot.h: a lab's server and its databases, for the
 * commands that make, freeze, reset and check labs.
 */
#ifndef REPROD_LAB_H
#define REPROD_LAB_H

#include "core/base/json.h"
#include "core/driver/pg.h"
#include "snapshot/labdir.h"
#include "snapshot/snapshot.h"

/* Names, lock and manifest; no server yet. lab_close() undoes it. */
bool lab_take(struct lab *lab, const char *dir, const struct run *r, struct err *e) MUST_USE;
/* ERR_REFUSED unless the files keep it from acting on the outside world and the
 * mark is there. */
bool lab_check_files(const struct lab *lab, struct err *e) MUST_USE;
/* The server, with what neutralises it on the command line, then extra. */
bool lab_start(
	struct lab *lab, const char *const *extra, const struct run *r, struct err *e) MUST_USE;
/* As superuser, with nothing of the source's own in the way. */
struct pg *lab_admin(const struct lab *lab, const char *database, struct err *e);
/* Databases that can be connected to, templates left out: a JSON list of names. */
struct json *lab_databases(const struct lab *lab, struct err *e);
/* A new nonce (and the mark's frozen id) into every database and the mark's file. */
bool lab_renew(struct lab *lab, struct err *e) MUST_USE;
/* Reads the proof of the main database as the replay role does. */
bool lab_check_mark(struct lab *lab, struct err *e) MUST_USE;

#endif
