#include "replay/priority.h"

#include <errno.h>
#include <sched.h>
#include <sys/resource.h>

enum { RAISED_NICE = -15 };

static bool is_ordinary(int policy)
{
	return policy >= 0 && (policy & ~SCHED_RESET_ON_FORK) == SCHED_OTHER;
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
	p->is_raised = sched_setscheduler(0, SCHED_RR | SCHED_RESET_ON_FORK, &lowest) == 0;
	if (p->is_raised || sched_setscheduler(0, SCHED_OTHER | SCHED_RESET_ON_FORK, &none) != 0)
		return;
	p->is_raised = true;
	if (setpriority(PRIO_PROCESS, 0, RAISED_NICE) != 0)
		priority_restore(p);
}

void priority_restore(struct priority *p)
{
	const struct sched_param none = { 0 };

	if (!p->is_raised)
		return;
	/* Lowering always succeeds; only the flag may need a right, and does no harm. */
	if (sched_setscheduler(0, p->policy, &none) != 0)
		(void)sched_setscheduler(0, SCHED_OTHER | SCHED_RESET_ON_FORK, &none);
	(void)setpriority(PRIO_PROCESS, 0, p->before);
	p->is_raised = false;
}
