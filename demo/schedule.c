#include "demo/schedule.h"

#include <errno.h>
#include <string.h>

#include "core/driver/pgserver.h"

static void add(struct schedule *s, const char *kind, const char *name, const char *file,
	double every_s, int64_t next_ns)
{
	s->items[s->count++] = (struct schedule_item){
		.kind = kind, .name = name, .file = file, .every_s = every_s, .next_ns = next_ns
	};
}

static int64_t after(int64_t start_ns, double seconds)
{
	return start_ns + (int64_t)(seconds * (double)NS_PER_S);
}

/* during.sql belongs to the first one-off event, else it runs at 40 % of the time. */
static void add_all(struct schedule *s, const struct incident *in, int64_t start_ns)
{
	for (size_t i = 0; i < in->job_count; i++) {
		const struct incident_job *job = &in->jobs[i];

		add(s, "job", job->name, job->file, job->every_s, after(start_ns, job->at_s));
	}
	for (size_t i = 0; i < in->event_count; i++)
		add(s, in->events[i].kind, in->events[i].name, i == 0 ? in->during : NULL, 0,
			after(start_ns, in->events[i].at_s));
	if (in->during && in->event_count == 0)
		add(s, "event", "during", in->during, 0, after(start_ns, 0.4 * in->seconds));
}

bool schedule_open(struct schedule *s, const struct incident *in, int64_t start_ns,
	const char *events_path, const char *log_dir, const char *const *env, struct err *e)
{
	*s = (struct schedule){ .env = env };
	snprintf(s->log_dir, sizeof(s->log_dir), "%s", log_dir);
	if (!pgserver_user(&s->uid, &s->gid, &s->has_user, e))
		return false;
	s->log = fopen(events_path, "we");
	if (!s->log)
		return err_os(e, ERR_ENV, errno, "could not write '%s'", events_path);
	add_all(s, in, start_ns);
	return true;
}

static void log_line(
	struct schedule *s, const struct schedule_item *item, int64_t start_ns, int64_t end_ns)
{
	char start[CLOCK_TEXT_MAX], end[CLOCK_TEXT_MAX];

	fprintf(s->log, "{\"t\": \"%s\"", clock_text(start_ns, start));
	if (end_ns)
		fprintf(s->log, ", \"t_end\": \"%s\"", clock_text(end_ns, end));
	fprintf(s->log, ", \"kind\": \"%s\", \"name\": \"%s\"}\n", item->kind, item->name);
	fflush(s->log);
}

static bool is_sql(const char *file)
{
	size_t n = strlen(file);

	return n > 4 && strcmp(file + n - 4, ".sql") == 0;
}

static void note_failure(struct schedule *s, const struct schedule_item *item, const char *what)
{
	if (s->failures++ == 0)
		snprintf(s->first_failure, sizeof(s->first_failure), "%s '%s': %s", item->kind,
			item->name, what);
}

static void start(struct schedule *s, struct schedule_item *item, const struct run *r)
{
	char out[1200];
	const char *psql[] = { "psql", "-X", "-q", "-v", "ON_ERROR_STOP=1", "-f", item->file,
		NULL };
	const char *sh[] = { "sh", item->file, NULL };
	struct err e = { 0 };

	snprintf(out, sizeof(out), "%s/%s.log", s->log_dir, item->name);
	item->started_wall_ns = clock_wall_ns(&r->clock);
	if (!item->file) {
		log_line(s, item, item->started_wall_ns, 0);
		return;
	}
	if (!proc_open(&item->proc,
		    &(struct proc_spec){ .argv = is_sql(item->file) ? psql : sh,
			    .env = s->env,
			    .out_path = out,
			    .uid = s->uid,
			    .gid = s->gid,
			    .has_user = s->has_user },
		    &e)) {
		note_failure(s, item, e.what);
		return;
	}
	item->is_running = true;
	s->runs++;
}

static void reap(struct schedule *s, struct schedule_item *item, const struct run *r)
{
	char what[64];

	proc_poll(&item->proc);
	if (!item->proc.has_ended)
		return;
	/* The end as the operating system saw it, on the wall clock. */
	log_line(s, item, item->started_wall_ns,
		clock_wall_ns(&r->clock) - (clock_mono_ns(&r->clock) - item->proc.ended_ns));
	if (proc_exit_code(&item->proc) != 0) {
		snprintf(what, sizeof(what), "exit code %d, see its log",
			proc_exit_code(&item->proc));
		note_failure(s, item, what);
	}
	proc_close(&item->proc, 0);
	item->is_running = false;
}

void schedule_poll(struct schedule *s, const struct run *r)
{
	for (size_t i = 0; i < s->count; i++) {
		struct schedule_item *item = &s->items[i];

		if (item->is_running)
			reap(s, item, r);
		if (item->next_ns == 0 || clock_mono_ns(&r->clock) < item->next_ns)
			continue;
		item->next_ns = item->every_s > 0 ? after(item->next_ns, item->every_s) : 0;
		if (item->is_running)
			s->overlaps++;
		else
			start(s, item, r);
	}
}

static bool any_running(const struct schedule *s)
{
	for (size_t i = 0; i < s->count; i++)
		if (s->items[i].is_running)
			return true;
	return false;
}

void schedule_close(struct schedule *s, const struct run *r, int64_t grace_ns)
{
	int64_t until_ns = clock_mono_ns(&r->clock) + grace_ns;
	struct clock clock = r->clock;

	for (size_t i = 0; i < s->count; i++)
		s->items[i].next_ns = 0;
	while (any_running(s) && clock_mono_ns(&r->clock) < until_ns && !run_stopped(r)) {
		(void)clock_sleep_until(&clock, clock_mono_ns(&clock) + 5 * NS_PER_MS);
		schedule_poll(s, r);
	}
	for (size_t i = 0; i < s->count; i++)
		if (s->items[i].is_running) {
			note_failure(s, &s->items[i], "did not end in time");
			proc_close(&s->items[i].proc, 500);
		}
	if (s->log)
		fclose(s->log);
	s->log = NULL;
}
