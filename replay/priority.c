#include "replay/priority.h"

#include <errno.h>
#include <sched.h>
#include <sys/resource.h>

enum { RAISED_NICE = -15 };

void priority_raise(struct priority *p)
{
	const struct sched_param none = { 0 };

	*p = (struct priority){ 0 };
	errno = 0;
	p->before = getpriority(PRIO_PROCESS, 0);
	p->policy = sched_getscheduler(0);
	if (errno || p->policy < 0 || (p->policy & ~SCHED_RESET_ON_FORK) != SCHED_OTHER)
		return;
	/* First the flag: a job forked in between would keep the priority. */
	if (sched_setscheduler(0, SCHED_OTHER | SCHED_RESET_ON_FORK, &none) != 0)
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
	/* Lowering always succeeds; without the right to drop the flag it does no harm. */
	(void)setpriority(PRIO_PROCESS, 0, p->before);
	(void)sched_setscheduler(0, p->policy, &none);
	p->is_raised = false;
}
