/*
 * confine.h - a command shut in with nothing but the target's socket.
 *
 * The command gets new network, mount, process, IPC and host-name namespaces and a
 * root of its own in memory: the system's programs and libraries, an empty /tmp and
 * HOME, its own file, and the one socket. No TCP, no other Unix socket, no abstract
 * socket, no other process can be reached. Its environment holds the target's PG*
 * and a PATH, nothing inherited. As root it becomes an unprivileged user first; as
 * another user it stays who it is, in a user namespace. Needs Linux 5.12.
 */
#ifndef REPROD_CONFINE_H
#define REPROD_CONFINE_H

#include <sys/types.h>

#include "core/base/err.h"

struct confine {
	char socket[256]; /* the target's socket file; "" when it is reached by TCP */
	int port;
	char database[64], user[64];
	char role[64]; /* SET ROLE of its connections; "" for none */
	char bin_dir[1024]; /* Postgres programs, put first into PATH; or "" */
	char file[4096]; /* the command, put at /job/NAME */
	bool is_open; /* --allow-commands: no namespaces, unprivileged only */
	char host[256]; /* for is_open: PGHOST */
	uid_t uid; /* with has_user: become this user (we are root) */
	gid_t gid;
	bool has_user;
};

/* Which unprivileged user commands run as: nobody, so not the server's user. */
bool confine_user(struct confine *c, struct err *e) MUST_USE;
/* Whether all of it can be had here; ERR_REFUSED with what is missing, else. */
bool confine_check(const struct confine *c, struct err *e) MUST_USE;
/* Runs "sh FILE" shut in, its output appended to log_fd; returns the child's pid, its
 * own process group, or -1. It dies with the calling process; with is_open its own
 * children do not: then the caller kills the group. */
pid_t confine_spawn(const struct confine *c, int log_fd, struct err *e);

#endif
