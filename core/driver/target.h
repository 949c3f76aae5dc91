/*
 * target.h - is this database a permitted target?
 *
 * One query, SELECT reprod.proof(), and a comparison with the live server. Anything
 * else than a valid mark is ERR_REFUSED and nothing more is sent. The captured
 * server's identity (address, port, identifier from the capture's head) is
 * compared before a connection is made and after.
 */
#ifndef REPROD_TARGET_H
#define REPROD_TARGET_H

#include "core/base/json.h"
#include "core/driver/pg.h"
#include "core/model/mark.h"

/* The one statement of the check, for drivers that send it themselves. */
extern const char *const target_proof_sql;
/* Judges the proof's row: (proof json, system_identifier, data_directory, database
 * oid, is_in_recovery) as text; fills mark. */
bool target_judge(const char *const cells[5], struct mark *ret_mark, struct err *e) MUST_USE;
bool target_check(struct pg *c, struct mark *ret_mark, struct err *e) MUST_USE;
/* Refuses a DSN that points at the captured address and port (head.server), before
 * anything is connected. */
bool target_is_not_source(const char *dsn, const struct json *head, struct err *e) MUST_USE;
/* Refuses by the captured server's identity (unless a neutralised clone's mark),
 * plan twins, and keys and policies that do not fit (head.policy, head.key_id). */
bool target_fits_capture(const struct mark *m, const struct json *head, struct err *e) MUST_USE;

#endif
