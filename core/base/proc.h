/*
 * proc.h - a child process with limits.
 *
 * Each child leads its own process group and dies when we die (PDEATHSIG, set
 * before exec and checked against the parent's id; the kernel means the parent
 * *thread*, so children are opened from the main thread). When it ends, what is
 * left of its group is killed; proc_close() ends the group: SIGTERM, grace,
 * SIGKILL, reaped. Output goes to a file, to /dev/null, or into a capped buffer.
 * Nothing is run through a shell unless argv says so.
 *
 * PDEATHSIG reaches one generation: what the child has started itself is ended by a
 * guard (procguard.h), unless the child gets a death_signal and cleans up after itself.
 * A locked file (held_fd) tells the next one of us when the last of them has ended.
 */
#ifndef REPROD_PROC_H
#define REPROD_PROC_H

#include <sys/types.h>

#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/base/procguard.h"
#include "core/base/run.h"

struct proc_spec {
	const char *const *argv; /* NULL terminated; argv[0] by PATH */
	const char *const *env; /* NULL: inherit; else the whole environment */
	const char *cwd; /* or NULL */
	const char *stdin_path; /* or NULL: /dev/null */
	const char *out_path; /* append stdout and stderr here, or NULL */
	bool wants_output; /* collect stdout (and stderr when out_path is NULL) */
	size_t output_max; /* 0: 1 MiB; more is dropped and counted */
	uid_t uid; /* with has_user: drop to this user */
	gid_t gid;
	bool has_user;
	int64_t timeout_ns; /* 0: none */
	int death_signal; /* what it gets when we die; 0: SIGKILL */
	int held_fd; /* kept open by the child and all that it starts; 0: none */
	/* Runs in the child just before exec, already as the other user: async-signal-safe
	 * calls only. False fails proc_open() with errno's text. */
	bool (*before_exec)(void *data);
	void *before_exec_data;
};

struct proc {
	pid_t pid; /* 0: nothing runs */
	struct procguard guard;
	int out_fd; /* read end, or -1 */
	struct buf output;
	uint64_t output_dropped;
	int64_t deadline_ns; /* monotonic, 0: none */
	bool has_ended;
	bool timed_out;
	int status; /* wait status */
	int64_t started_ns, ended_ns; /* monotonic */
	int64_t cpu_ns; /* user + system, once ended */
	size_t output_max;
};

bool proc_open(struct proc *p, const struct proc_spec *spec, struct err *e) MUST_USE;
/* Collects output, reaps when ended, kills at the deadline; never waits. */
void proc_poll(struct proc *p);
/* Waits for the end (or deadline, or the run's stop flag, which ends it). */
bool proc_wait(struct proc *p, const struct run *r, struct err *e) MUST_USE;
/* Ends what runs (SIGTERM, grace_ms, SIGKILL) and frees. Zeroed is fine. */
void proc_close(struct proc *p, int grace_ms);
/* 0-255, or 128 + signal. */
int proc_exit_code(const struct proc *p);
/* open, wait, and fail with ERR_ENV and the cause unless exit 0. */
bool proc_run(const struct proc_spec *spec, const struct run *r, struct buf *output,
	struct err *e) MUST_USE;
/* The first executable of that name in PATH; false when there is none. */
bool proc_find(const char *name, char path[4096]);
/* An argv as a shell line that can be pasted: quoted only where needed. */
void proc_quote(const char *const *argv, struct buf *into);

#endif
