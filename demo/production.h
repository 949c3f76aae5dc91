/*
 * production.h - plays a production that has a known slowdown.
 *
 * Two private servers (production and the team's small test database), pgbench as
 * the traffic, jobs at their times through psql or sh, and the capture command as
 * a user would run it. Everything is our own child and dies with us. The events
 * that happened (job runs with start and end, one-off events) go to events.jsonl,
 * as a job log would.
 */
#ifndef REPROD_PRODUCTION_H
#define REPROD_PRODUCTION_H

#include "core/base/err.h"
#include "core/base/run.h"
#include "core/driver/pgserver.h"
#include "demo/incident.h"

#define PRODUCTION_DATABASE "shop"
#define PRODUCTION_TEST_DATABASE "shop_test"

struct production {
	const struct incident *incident;
	char dir[1024]; /* the incident's output folder */
	char capture_path[1100];
	char events_path[1100];
	char policy_path[1100]; /* keeps every value: the lab's data is made up */
	char dsn[1400], test_dsn[1400];
	struct pgserver server;
	struct pgserver test_server;
	bool is_wire; /* captured off the loopback, else from the server log */
	uint64_t job_runs, job_failures;
};

/* Servers, schema and rows, before.sql, the test database. */
bool production_open(struct production *p, const struct incident *in, const char *dir,
	bool wants_wire, const struct run *r, struct err *e) MUST_USE;
/* Traffic, jobs and events for the incident's seconds; leaves capture and events. */
bool production_play(struct production *p, const struct run *r, struct err *e) MUST_USE;
/* Production goes away; the test database stays. */
bool production_stop(struct production *p, struct err *e);
void production_close(struct production *p);
/* True when this process may open a packet socket. */
bool production_may_sniff(void);

#endif
