#include "replay/priority.h"

#include <errno.h>
#include <sched.h>

enum { RAISED_NICE = -15 };
/* Processor time without one sleep; the loop sleeps thousands of times a second. */
static const rlim_t SPIN_MAX_US = 5000000;

static bool is_ordinary(int policy)
{
	return policy >= 0 && (policy & ~SCHED_RESET_ON_FORK) == SCHED_OTHER;
}

static void lose_real_time(int signal_number)
{
	const struct sched_param none = { 0 };
	int kept = errno;

	(void)signal_number;
	(void)sched_setscheduler(0, SCHED_OTHER | SCHED_RESET_ON_FORK, &none);
	errno = kept;
}

static bool limit_spinning(struct priority *p)
{
	struct sigaction lose = { .sa_handler = lose_real_time, .sa_flags = SA_RESTART };
	struct rlimit limit;

	if (getrlimit(RLIMIT_RTTIME, &p->limit) != 0)
		return false;
	limit = p->limit;
	if (limit.rlim_cur > SPIN_MAX_US)
		limit.rlim_cur = SPIN_MAX_US;
	if (sigaction(SIGXCPU, &lose, &p->on_limit) != 0)
		return false;
	p->has_limit = setrlimit(RLIMIT_RTTIME, &limit) == 0;
	if (!p->has_limit)
		sigaction(SIGXCPU, &p->on_limit, NULL);
	return p->has_limit;
}

/* Real time first: with autogroups a nice value counts only within one's own
 * terminal session. Both with the flag that spares children. */
void priority_raise(struct priority *p)
{
	const struct sched_param none = { 0 };
	const struct sched_param lowest = { .sched_priority = sched_get_priority_min(SCHED_RR) };

	*p = (struct priority){ 0 };
	errno = 0;
	p->before = getpriority(PRIO_PROCESS, 0);
	p->policy = sched_getscheduler(0);
	if (errno || !is_ordinary(p->policy))
		return;
	p->is_raised = limit_spinning(p) &&
		       sched_setscheduler(0, SCHED_RR | SCHED_RESET_ON_FORK, &lowest) == 0;
	if (p->is_raised || sched_setscheduler(0, SCHED_OTHER | SCHED_RESET_ON_FORK, &none) != 0)
		return;
	p->is_raised = true;
	if (setpriority(PRIO_PROCESS, 0, RAISED_NICE) != 0)
		priority_restore(p);
}

void priority_restore(struct priority *p)
{
	const struct sched_param none = { 0 };

	if (p->has_limit) {
		(void)setrlimit(RLIMIT_RTTIME, &p->limit);
		sigaction(SIGXCPU, &p->on_limit, NULL);
		p->has_limit = false;
	}
	if (!p->is_raised)
		return;
	/* Lowering always succeeds; only the flag may need a right, and does no harm. */
	if (sched_setscheduler(0, p->policy, &none) != 0)
		(void)sched_setscheduler(0, SCHED_OTHER | SCHED_RESET_ON_FORK, &none);
	(void)setpriority(PRIO_PROCESS, 0, p->before);
	p->is_raised = false;
}
