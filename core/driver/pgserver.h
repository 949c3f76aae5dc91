/*
 * pgserver.h - a private PostgreSQL server on this machine, as our own child.
 *
 * Root is dropped to an unprivileged user (postgres, else nobody) for the server
 * and its tools; the data directory and the path to it must be reachable by that
 * user, which is checked first. The server dies with the thread that started it
 * (PDEATHSIG, SIGQUIT: its children go too), listens on a Unix socket in a folder of
 * its own, closed to others, and, when asked, on a free TCP port of 127.0.0.1, where a
 * random password is needed (by the pg_hba.conf of pgserver_init()). Ports are found by
 * binding, never assumed. Its output goes to log_path, by default DATA_DIR.log.
 */
#ifndef REPROD_PGSERVER_H
#define REPROD_PGSERVER_H

#include <sys/types.h>

#include "core/base/err.h"
#include "core/base/proc.h"
#include "core/base/run.h"

struct pgserver {
	char bin_dir[1024]; /* of the installation used */
	char data_dir[1024];
	char socket_dir[108]; /* short: sun_path holds 107 bytes */
	char log_path[1024];
	int port;
	bool has_tcp;
	char tcp_password[33]; /* of the superuser, over TCP; made at every start */
	struct proc proc;
	uid_t uid;
	gid_t gid;
	bool has_user; /* root was dropped to uid */
};

/* The newest installation, or the one of a major version (0: any): looks at PATH,
 * pg_config --bindir and /usr/lib/postgresql. ERR_ENV with what to install. */
bool pgserver_find(int major, char bin_dir[1024], struct err *e) MUST_USE;
/* The unprivileged user that servers and jobs run as; has_user false when we are
 * not root. */
bool pgserver_user(uid_t *ret_uid, gid_t *ret_gid, bool *ret_has_user, struct err *e) MUST_USE;
/* Major version in data_dir/PG_VERSION. */
bool pgserver_dir_major(const char *data_dir, int *ret_major, struct err *e) MUST_USE;
/* Whether the unprivileged user can enter and read a folder; says which one bars it. */
bool pgserver_can_reach(const char *dir, const struct run *r, struct err *e) MUST_USE;
/* initdb with UTF-8, superuser "postgres": trust on the private socket, a password
 * over TCP. */
bool pgserver_init(const char *data_dir, const struct run *r, struct err *e) MUST_USE;

struct pgserver_options {
	bool wants_tcp;
	int tcp_port; /* 0: any free one */
	const char *const *settings; /* "name=value", NULL terminated, given by -c; may be NULL */
	int64_t start_timeout_ns; /* 0: 60 s */
};

bool pgserver_start(struct pgserver *s, const char *data_dir, const struct pgserver_options *o,
	const struct run *r, struct err *e) MUST_USE;
bool pgserver_is_up(struct pgserver *s);
/* Fast shutdown (clean checkpoint), then immediate, then kill. Zeroed is fine. */
bool pgserver_stop(struct pgserver *s, struct err *e);
/* Data may be lost: for clusters about to be thrown away or reset. */
void pgserver_kill(struct pgserver *s);
/* A DSN over the socket for a database, superuser "postgres"; over TCP with its password. */
void pgserver_dsn(const struct pgserver *s, const char *database, char *dsn, size_t size);
/* As another role. */
void pgserver_dsn_as(
	const struct pgserver *s, const char *role, const char *database, char *dsn, size_t size);
void pgserver_tcp_dsn(const struct pgserver *s, const char *database, char *dsn, size_t size);
/* The last lines of its log, for messages. */
void pgserver_log_tail(const struct pgserver *s, char *text, size_t size);

#endif
