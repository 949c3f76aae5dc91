/*
 * incident.h - an incident of the lab: a folder with a known slowdown.
 *
 * docs/formats/incident.md describes the folder. All texts and lists live in the
 * incident's arena; file names are checked to stay inside the folder and to exist.
 */
#ifndef REPROD_INCIDENT_H
#define REPROD_INCIDENT_H

#include "core/base/arena.h"
#include "core/base/err.h"
#include "core/base/json.h"

#define INCIDENT_ITEMS_MAX 64

struct incident_traffic {
	const char *file; /* path, folder included */
	int64_t weight;
};

struct incident_job {
	const char *name;
	const char *file;
	double every_s; /* 0: once */
	double at_s;
	bool is_innocent;
};

struct incident_event {
	const char *name;
	const char *kind;
	double at_s;
};

struct incident {
	const char *name; /* of the folder */
	const char *dir;
	const char *title;
	double seconds;
	int64_t clients;
	double rate_per_s; /* 0: as fast as the clients can */
	const char *protocol; /* pgbench -M: simple, extended, prepared */
	struct incident_traffic traffic[INCIDENT_ITEMS_MAX];
	size_t traffic_count;
	struct incident_job jobs[INCIDENT_ITEMS_MAX];
	size_t job_count;
	struct incident_event events[INCIDENT_ITEMS_MAX];
	size_t event_count;
	const char *settings[INCIDENT_ITEMS_MAX + 1]; /* "name=value", NULL terminated */
	size_t setting_count;
	const char *ablate[INCIDENT_ITEMS_MAX]; /* condition ids, may be none */
	size_t ablate_count;
	const char *truth_condition;
	const char *truth_necessary[INCIDENT_ITEMS_MAX];
	size_t truth_necessary_count;
	const char *truth_route; /* fragment of the route's text */
	const char *schema, *before, *during, *test; /* paths; NULL when absent */
	struct arena arena;
};

/* dir is a folder with an incident.json. Free also after a failure. */
bool incident_load(struct incident *in, const char *dir, struct err *e) MUST_USE;
void incident_free(struct incident *in);

#endif
