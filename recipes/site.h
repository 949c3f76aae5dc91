/*
 * site.h - a place to run cells on: a lab folder of ours, or a database by DSN.
 *
 * A folder's server is started, reset by files and stopped by the run. A DSN's
 * server is never stopped and its database is reset from its template only. Traffic
 * and jobs never connect as a superuser: in a lab as its replay role; by DSN as the
 * role given, or, when that is a superuser, as reprod_replay, which is made there and
 * given the superusers' relations of the database, as it is in a lab.
 */
#ifndef REPROD_SITE_H
#define REPROD_SITE_H

#include "core/driver/pg.h"
#include "recipes/confine.h"
#include "snapshot/snapshot.h"

struct site {
	const char *given; /* as on the command line; never stored */
	const char *name; /* "target", "test target": for messages */
	bool is_open, is_dir, is_superuser;
	struct lab lab;
	char admin_dsn[1500]; /* may change the database */
	char traffic_dsn[1500];
	struct mark mark;
	char database[64];
	uint64_t resets;
	int64_t reset_ns; /* the last one */
};

/* capture_head: a target that does not fit it is refused before anything is changed. */
bool site_open(struct site *s, const char *given, const char *name, const struct json *capture_head,
	const struct run *r, struct err *e) MUST_USE;
/* Back to the frozen state; settings: "name=value", NULL terminated, or NULL. On a DSN
 * they are set on the database. */
bool site_reset(
	struct site *s, const char *const *settings, const struct run *r, struct err *e) MUST_USE;
struct pg *site_admin(const struct site *s, struct err *e);
/* Lets the traffic's role become another one ("": nothing to do). A superuser, and a
 * role that may reach the server's files or programs, is refused. */
bool site_admit_role(const struct site *s, const char *role, struct err *e) MUST_USE;
/* Fills in how a confined command reaches it. */
void site_confine(const struct site *s, struct confine *c);
/* CPU time of the server and its backends so far; false where it cannot be seen. */
bool site_cpu_ns(const struct site *s, int64_t *ret_ns);
void site_close(struct site *s);

#endif
