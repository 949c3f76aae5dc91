/*
 * job.h - a recurring job played beside the replayed traffic.
 *
 * Each job has a runner process, so that nothing it does can hold up the replay's
 * loop: job_tick() only writes and reads a few bytes. An .sql file is split and its
 * statements run one by one over the runner's own connection, which checks the mark
 * first; an .sh file is run confined (confine.h). A start that falls due while the
 * previous one still runs is made as soon as that ends, and counted: a cell packs
 * occurrences closer than production had them. The runner dies with us.
 */
#ifndef REPROD_JOB_H
#define REPROD_JOB_H

#include <sys/types.h>

#include "core/base/run.h"
#include "core/model/recipe.h"
#include "recipes/confine.h"
#include "recipes/inside.h"

struct job {
	const struct recipe_condition *condition;
	pid_t pid; /* 0: none */
	int to_fd, from_fd;
	size_t due; /* offsets passed */
	bool is_busy;
	int64_t busy_since_ns; /* elapsed */
	struct span runs[RECIPE_OFFSETS_MAX]; /* by offset, elapsed; to_ns -1: not ended */
	uint64_t started, finished, failed, delayed;
	char error[256]; /* of the first failure */
};

struct job_spec {
	const struct recipe_condition *condition;
	const char *path; /* of the file */
	const char *dsn; /* for .sql */
	struct confine confine; /* for .sh; file is set from path */
	const char *log_path; /* appended to */
};

/* Returns when the runner is connected and waits for its first start. */
bool job_open(
	struct job *j, const struct job_spec *spec, const struct run *r, struct err *e) MUST_USE;
/* Starts what is due and collects what ended. */
void job_tick(struct job *j, int64_t elapsed_ns);
/* Whether starts were made and none failed. */
bool job_was_sound(const struct job *j);
/* Ends a running command and the runner; zeroed is fine. */
void job_close(struct job *j);

#endif
