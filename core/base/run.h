/*
 * run.h - what one execution of the program carries instead of globals.
 *
 * main.c makes it; commands pass it down. The stop flag is set by SIGINT,
 * SIGTERM and SIGHUP; long loops look at it and end with what they have.
 */
#ifndef REPROD_RUN_H
#define REPROD_RUN_H

#include <signal.h>
#include <stdio.h>

#include "core/base/clock.h"

struct run {
	FILE *out; /* the answer: human text, or one JSON document */
	FILE *log; /* progress and notes (stderr) */
	struct clock clock;
	uint64_t seed;
	volatile sig_atomic_t *stop; /* number of the signal that came, or 0 */
	bool is_json;
	bool is_quiet;
	bool is_color; /* stdout is a terminal and NO_COLOR is unset */
	bool is_forced; /* --force: outputs may be overwritten */
	int verbose;
	const char *self; /* path of this executable, for child commands */
	const char *share_dir; /* installed incidents and schema */
};

static inline bool run_stopped(const struct run *r)
{
	return r->stop && *r->stop != 0;
}

/* One line on run.log unless quiet; verbose lines only with -v. */
void run_note(const struct run *r, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void run_detail(const struct run *r, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Progress for work over two seconds: call often, it prints at most twice a
 * second on a terminal and every ten seconds elsewhere, with rate and ETA. */
struct run_progress {
	const char *verb; /* "reading" */
	const char *unit; /* "packets" */
	int64_t started_ns, last_ns;
	double total; /* 0 when unknown */
	bool has_printed;
};

void run_progress_at(const struct run *r, struct run_progress *p, double done);
void run_progress_end(const struct run *r, struct run_progress *p);

#endif
