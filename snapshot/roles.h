/*
 * roles.h - the roles of a lab.
 *
 * reprod_admin is superuser, for reprod itself. reprod_replay is what traffic and
 * jobs connect as: no superuser, but able to do what production's roles do. It is a
 * member of every role that owns something and is no superuser; relations of
 * superusers go to the role reprod_owner, of which it is a member as well, so that
 * a job can refresh a view or alter a table. Row security is therefore not applied
 * to it, which the manifest says; with as_role it acts as that role and it is.
 */
#ifndef REPROD_ROLES_H
#define REPROD_ROLES_H

#include "core/driver/pg.h"

#define ROLES_ADMIN "reprod_admin"
#define ROLES_REPLAY "reprod_replay"
#define ROLES_OWNER "reprod_owner"

/* Once per cluster; as_role may be NULL. */
bool roles_make(struct pg *c, const char *as_role, struct err *e) MUST_USE;
/* In each database. */
bool roles_grant(struct pg *c, struct err *e) MUST_USE;

#endif
