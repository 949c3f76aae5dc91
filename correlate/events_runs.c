/*
 * What cron, anacron and systemd say of the jobs they run.
 *
 * "(root) CMD (command)" starts job:NAME, by the rule of crontabs
 * (crontab_job_name()); further users or commands of one name are its twins "#2", ... in
 * order of appearance. Cronie's CMDEND and Debian's END tell the end; systemd's units
 * start with Starting or Started and end with Deactivated, Failed, Stopped or Finished.
 * Commands are compared by their bytes here and not kept.
 */
#include <ctype.h>
#include <math.h>
#include <stdio.h>

#include "core/format/crontab.h"
#include "correlate/events_parts.h"

enum { JOBS_MAX = 20000, TWINS_MAX = 64 };

static bool starts(struct slice s, const char *text)
{
	size_t n = strlen(text);

	return s.n >= n && memcmp(s.p, text, n) == 0;
}

static bool eat(struct slice *s, const char *text)
{
	size_t n = strlen(text);

	if (!starts(*s, text))
		return false;
	s->p += n;
	s->n -= n;
	return true;
}

/* ---- jobs by key, runs by job */

/* The next free name: "report", "report#2", ...; from the 64th on they share one. */
static const char *twin_name(struct events *ev, const char *name)
{
	struct arena *arena = event_arena(ev->o.list);
	const char *result = name;

	for (int twin = 2; result && table_get(&ev->names, slice_of(result)); twin++) {
		if (twin > TWINS_MAX)
			return result;
		result = arena_printf(arena, "%s#%d", name, twin);
	}
	return result && table_put(&ev->names, slice_of(result), ev) ? result : NULL;
}

static struct events_job *job_of(struct events *ev, struct slice key, const char *name)
{
	struct events_job *job = table_get(&ev->jobs, key);
	struct arena *arena = event_arena(ev->o.list);

	if (job || !name)
		return job;
	struct slice kept = arena_copy(arena, key);
	job = kept.p ? arena_take(arena, sizeof(*job)) : NULL;
	const char *unique = job ? twin_name(ev, name) : NULL;
	if (!unique || !table_put(&ev->jobs, kept, job)) {
		ev->jobs_refused++;
		return NULL;
	}
	job->name = unique;
	job->ended_ns = INT64_MIN;
	return job;
}

static bool begin(
	struct events *ev, struct events_job *job, uint64_t pid, int64_t t_ns, struct err *e)
{
	uint64_t refused = ev->o.list->refused;

	if (!events_add(ev, "job", job->name, t_ns, INT64_MIN, NAN, e))
		return false;
	if (ev->o.list->refused != refused)
		return true;
	/* Those whose end was never told make room. */
	if (job->count == EVENTS_OPEN_MAX) {
		memmove(job->open, job->open + 1, (EVENTS_OPEN_MAX - 1) * sizeof(*job->open));
		job->count--;
	}
	job->open[job->count++] = (struct events_open){ ev->o.list->count, pid, t_ns, INT64_MIN };
	return true;
}

/* Cronie logs the end as the parent of the process that logged the start: its number is
 * a little lower. Else the oldest that is open. */
static void finish(struct events *ev, struct events_job *job, uint64_t pid, int64_t t_ns)
{
	size_t best = 0;
	uint64_t nearest = UINT64_MAX;

	for (size_t i = 0; i < job->count; i++)
		if (job->open[i].pid >= pid && job->open[i].pid - pid < nearest) {
			nearest = job->open[i].pid - pid;
			best = i;
		}
	job->ended_ns = t_ns;
	if (!job->count)
		return;
	events_end(ev, job->open[best].event, t_ns);
	memmove(job->open + best, job->open + best + 1,
		(job->count - best - 1) * sizeof(*job->open));
	job->count--;
}

/* ---- cron */

/* FNV-1a twice: 128 bits tell commands apart, which are not kept: they may hold secrets. */
static uint64_t digest(uint64_t h, struct slice s)
{
	for (size_t i = 0; i < s.n; i++)
		h = (h ^ (unsigned char)s.p[i]) * UINT64_C(0x100000001b3);
	return h;
}

static struct events_job *command_job(
	struct events *ev, struct slice user, struct slice command, struct err *e)
{
	char key[64];
	struct arena *arena = event_arena(ev->o.list);
	const char *name;
	uint64_t low = digest(digest(UINT64_C(0xcbf29ce484222325), user), SLICE("\n"));
	uint64_t high = digest(digest(UINT64_C(0x84222325cbf29ce4), SLICE("\n")), user);

	snprintf(key, sizeof(key), "cmd %016llx%016llx", (unsigned long long)digest(low, command),
		(unsigned long long)digest(high, command));
	struct events_job *job = job_of(ev, slice_of(key), NULL);
	if (job)
		return job;
	name = crontab_job_name(command, arena);
	if (name && !event_name_is_plain(slice_of(name))) {
		err_set(e, ERR_INPUT, "a command's name holds control characters");
		return NULL;
	}
	job = name ? job_of(ev, slice_of(key), name) : NULL;
	if (!job)
		err_set(e, ERR_INPUT, "a job beyond the first %d, or out of memory", JOBS_MAX);
	return job;
}

/* Debian's cron with -L 8 puts the number of the process before the command. */
static void drop_pid(struct slice *command, uint64_t *pid)
{
	struct slice s = *command;
	uint64_t n = 0;

	if (!eat(&s, "["))
		return;
	for (; s.n && isdigit((unsigned char)*s.p) && n < UINT32_MAX; s.p++, s.n--)
		n = n * 10 + (uint64_t)(*s.p - '0');
	if (!eat(&s, "] "))
		return;
	*pid = n;
	*command = s;
}

static struct slice trimmed(struct slice s)
{
	while (s.n && (*s.p == ' ' || *s.p == '\t')) {
		s.p++;
		s.n--;
	}
	while (s.n && (s.p[s.n - 1] == ' ' || s.p[s.n - 1] == '\t'))
		s.n--;
	return s;
}

/* "(user) CMD (command)"; syslog may have cut the last bracket off. */
static bool take_cron(struct events *ev, int64_t t_ns, uint64_t pid, struct slice s, struct err *e)
{
	const char *close = s.n && *s.p == '(' ? memchr(s.p, ')', s.n) : NULL;

	if (!close)
		return true;
	struct slice user = { s.p + 1, (size_t)(close - s.p) - 1 };
	s = (struct slice){ close + 1, s.n - user.n - 2 };
	bool is_start = eat(&s, " CMD (");
	if (!is_start && !eat(&s, " CMDEND (") && !eat(&s, " END ("))
		return true;
	if (s.n && s.p[s.n - 1] == ')')
		s.n--;
	drop_pid(&s, &pid);
	struct events_job *job = command_job(ev, user, trimmed(s), e);
	if (!job)
		return false;
	if (is_start)
		return begin(ev, job, pid, t_ns, e);
	finish(ev, job, pid, t_ns);
	return true;
}

/* busybox: "USER root pid  25 cmd /opt/tidy.sh" */
static bool take_busybox(struct events *ev, int64_t t_ns, struct slice s, struct err *e)
{
	const char *pid = memmem(s.p, s.n, " pid ", 5), *cmd = memmem(s.p, s.n, " cmd ", 5);

	if (!starts(s, "USER ") || !pid || !cmd || cmd < pid)
		return true;
	struct slice user = { s.p + 5, (size_t)(pid - s.p) - 5 };
	struct slice command = { cmd + 5, s.n - (size_t)(cmd + 5 - s.p) };
	struct events_job *job = command_job(ev, user, trimmed(command), e);
	return job && begin(ev, job, 0, t_ns, e);
}

/* "Job `cron.daily' started", "... terminated" */
static bool take_anacron(struct events *ev, int64_t t_ns, struct slice s, struct err *e)
{
	char key[128], name[100];

	if (!eat(&s, "Job `"))
		return true;
	const char *end = memchr(s.p, '\'', s.n);
	if (!end || end - s.p >= (ptrdiff_t)sizeof(name))
		return true;
	snprintf(name, sizeof(name), "%.*s", (int)(end - s.p), s.p);
	snprintf(key, sizeof(key), "anacron %s", name);
	s = (struct slice){ end + 1, s.n - (size_t)(end - s.p) - 1 };
	bool is_start = starts(s, " started"), is_end = starts(s, " terminated");
	if (!is_start && !is_end)
		return true;
	if (!event_name_is_plain(slice_of(name)))
		return err_set(e, ERR_INPUT, "a job's name holds control characters");
	const char *kept = arena_copy(event_arena(ev->o.list), slice_of(name)).p;
	struct events_job *job = kept ? job_of(ev, slice_of(key), kept) : NULL;
	if (!job)
		return err_set(
			e, ERR_INPUT, "a job beyond the first %d, or out of memory", JOBS_MAX);
	if (is_start)
		return begin(ev, job, 0, t_ns, e);
	finish(ev, job, 0, t_ns);
	return true;
}

/* ---- systemd */

static bool is_job_unit(struct slice unit)
{
	return unit.n > 8 && unit.n < EVENT_NAME_MAX &&
	       memcmp(unit.p + unit.n - 8, ".service", 8) == 0 && !starts(unit, "user@") &&
	       !starts(unit, "user-runtime-dir@") && event_name_is_plain(unit) &&
	       !memchr(unit.p, ' ', unit.n);
}

/* A run of type oneshot says Starting, Deactivated, Finished: the last comes when it has
 * ended already. */
bool events_take_unit(struct events *ev, int64_t t_ns, struct slice unit,
	enum events_unit_step step, struct err *e)
{
	char key[EVENT_NAME_MAX + 16];

	if (!is_job_unit(unit))
		return true;
	snprintf(key, sizeof(key), "unit %.*s", (int)unit.n, unit.p);
	struct slice bare = { unit.p, unit.n - 8 };
	struct events_job *job = job_of(ev, slice_of(key), NULL);
	const char *name = job ? job->name : arena_copy(event_arena(ev->o.list), bare).p;
	if (!job && !(job = name ? job_of(ev, slice_of(key), name) : NULL))
		return err_set(
			e, ERR_INPUT, "a unit beyond the first %d, or out of memory", JOBS_MAX);
	if (step == UNIT_ENDED) {
		finish(ev, job, 0, t_ns);
		return true;
	}
	bool is_late = step == UNIT_STARTED &&
		       (job->count || (job->ended_ns != INT64_MIN && t_ns >= job->ended_ns &&
					      t_ns - job->ended_ns < 2 * NS_PER_S));
	return is_late || begin(ev, job, 0, t_ns, e);
}

/* The unit in "Starting backup.service - Nightly backup..." or "Starting backup.service...";
 * before systemd 250 the description stood alone: then it is not known. */
static struct slice unit_in(struct slice s)
{
	size_t n = 0;

	while (n < s.n && s.p[n] != ' ')
		n++;
	while (n && s.p[n - 1] == '.')
		n--;
	return (struct slice){ s.p, n };
}

static bool take_systemd(struct events *ev, int64_t t_ns, struct slice s, struct err *e)
{
	static const struct {
		const char *word;
		enum events_unit_step step;
	} words[] = { { "Starting ", UNIT_STARTING }, { "Started ", UNIT_STARTED },
		{ "Finished ", UNIT_ENDED }, { "Stopped ", UNIT_ENDED } };
	static const char *const ends[] = { ": Deactivated successfully", ": Succeeded",
		": Failed with result" };

	for (size_t i = 0; i < LENGTH(words); i++)
		if (eat(&s, words[i].word))
			return events_take_unit(ev, t_ns, unit_in(s), words[i].step, e);
	for (size_t i = 0; i < LENGTH(ends); i++) {
		const char *at = memmem(s.p, s.n, ends[i], strlen(ends[i]));

		if (at)
			return events_take_unit(
				ev, t_ns, (struct slice){ s.p, (size_t)(at - s.p) }, UNIT_ENDED, e);
	}
	return true;
}

/* ---- whose message it is */

bool events_take_message(struct events *ev, int64_t t_ns, struct slice ident, uint64_t pid,
	struct slice message, struct err *e)
{
	const char *slash = ident.n ? memrchr(ident.p, '/', ident.n) : NULL;

	if (slash)
		ident = (struct slice){ slash + 1, ident.n - (size_t)(slash + 1 - ident.p) };
	message = trimmed(message);
	if (slice_is(ident, "anacron"))
		return take_anacron(ev, t_ns, message, e);
	if (slice_is(ident, "systemd"))
		return take_systemd(ev, t_ns, message, e);
	if (slice_is(ident, "crond") && starts(message, "USER "))
		return take_busybox(ev, t_ns, message, e);
	if (slice_is(ident, "CRON") || slice_is(ident, "cron") || slice_is(ident, "crond") ||
		slice_is(ident, "CROND"))
		return take_cron(ev, t_ns, pid, message, e);
	return true;
}
