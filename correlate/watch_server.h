/*
 * watch_server.h - looks at a server's statistics through one connection.
 *
 * One prepared statement a section, one at a time, under a statement and a lock timeout.
 * A section that takes long is asked less often: it may use a fiftieth of the time; one
 * that runs into a timeout is left out for 1, 2, 4, ... 64 rounds. One that the server
 * refuses is left out for good and told once. Names of relations, settings and waits
 * reach the recording, values of settings only as "changed".
 */
#ifndef REPROD_CORRELATE_WATCH_SERVER_H
#define REPROD_CORRELATE_WATCH_SERVER_H

#include "core/base/run.h"
#include "correlate/stats_file.h"

struct watch_server_options {
	const struct run *run;
	const char *dsn;
	int64_t timeout_ns; /* of a statement */
	int64_t budget_ns; /* of a round: what is not asked by then is left out */
};

struct watch_server_cost {
	uint64_t skipped; /* sections of rounds that were left out */
	uint64_t failed; /* timeouts among them */
	int64_t server_ns; /* waited for answers: an upper bound of what the server did */
	int64_t server_cpu_ns; /* of the backend, where its process can be seen; else 0 */
};

struct watch_server;

/* Not connected yet; NULL when out of memory. The strings must live as long. */
struct watch_server *watch_server_new(const struct watch_server_options *o);
bool watch_server_connect(struct watch_server *s, struct err *e) MUST_USE;
bool watch_server_is_connected(const struct watch_server *s);
/* Since the connection was made; "15.20" and the like. */
int watch_server_version(const struct watch_server *s);
/* Its processes are on this machine. */
bool watch_server_is_local(const struct watch_server *s);
/* Puts what is due, section i being watch_queries[i]. False when the connection is lost
 * (then it is closed): what was put before is good. */
bool watch_server_round(
	struct watch_server *s, struct stats_writer *w, int64_t mono_ns, struct err *e) MUST_USE;
/* A new writer needs all sections. */
void watch_server_anew(struct watch_server *s);
const struct watch_server_cost *watch_server_cost(const struct watch_server *s);
void watch_server_free(struct watch_server *s);

#endif
