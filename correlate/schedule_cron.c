#include <stdio.h>

#include "core/format/cronrun.h"
#include "core/format/crontab.h"
#include "correlate/schedule_load.h"

enum { LINE_MAX_BYTES = 1 << 16 };

struct reading {
	struct schedule_loader *l;
	struct zone host;
	bool has_user, is_cronie; /* something that only cronie heeds was there */
};

static struct cron_span span_of(struct schedule_loader *l, const struct crontab_env *env)
{
	return (struct cron_span){
		.first_s = l->to->first_ns / NS_PER_S,
		.last_s = l->to->last_ns / NS_PER_S,
		.delay_min = env->random_delay_min ? env->random_delay_min - 1 : 0,
		.emit = schedule_emit,
		.data = l,
	};
}

static bool run_line(struct reading *r, const struct crontab_line *line, struct err *bad)
{
	struct cron_span span = span_of(r->l, &line->env);
	struct zone own;

	r->l->is_utc_assumed |= !r->l->to->zone && (!line->env.zone || !*line->env.zone);
	if (!line->env.zone) {
		cron_run(&line->fields, &r->host, &span);
		return true;
	}
	if (!*line->env.zone) {
		cron_run_zoned(&line->fields, &r->host, &r->host, &span);
		return true;
	}
	if (!zone_open(&own, line->env.zone, bad))
		return err_in(bad, "CRON_TZ");
	cron_run_zoned(&line->fields, &own, &r->host, &span);
	zone_close(&own);
	return true;
}

static bool add_line(
	struct reading *r, const struct crontab_line *line, const char *place, struct err *e)
{
	struct err bad = { 0 };

	if (!schedule_entry(r->l, line->name, e))
		return err_in(e, "%s: %s", r->l->path, place);
	r->is_cronie |= line->env.zone || line->env.random_delay_min;
	if (line->is_reboot)
		schedule_silent(r->l, SILENT_REBOOT);
	else if (line->fields.is_random_day)
		schedule_silent(r->l, SILENT_RANDOM_DAY);
	else if (!run_line(r, line, &bad)) {
		schedule_bad(r->l, &bad, place);
		schedule_drop(r->l);
	}
	return true;
}

/* /etc/crontab and /etc/cron.d have a user column; so has a copy in which a line's first
 * word is root. */
static bool is_system(const char *path, struct slice text)
{
	const char *base = strrchr(path, '/');
	struct slice line;

	if (strstr(path, "/cron.d/") || strncmp(path, "cron.d/", 7) == 0 ||
		strcmp(base ? base + 1 : path, "crontab") == 0)
		return true;
	while (schedule_line(&text, &line))
		if (slice_is(crontab_user_word(line), "root"))
			return true;
	return false;
}

static bool read_lines(struct reading *r, struct slice text, struct err *e)
{
	struct crontab_env env = { 0 };
	struct slice line;

	for (unsigned number = 1; schedule_line(&text, &line); number++) {
		struct crontab_line parsed;
		struct err bad = { 0 };
		char place[32];
		enum step step = STEP_FAIL;

		snprintf(place, sizeof(place), "line %u", number);
		if (line.n > LINE_MAX_BYTES)
			err_set(&bad, ERR_INPUT, "longer than %d bytes", LINE_MAX_BYTES);
		else
			step = crontab_parse(
				line, r->has_user, &r->l->to->list->arena, &env, &parsed, &bad);
		if (step == STEP_ITEM && !add_line(r, &parsed, place, e))
			return false;
		if (step == STEP_FAIL)
			schedule_bad(r->l, &bad, place);
	}
	return true;
}

bool schedule_read_cron(struct schedule_loader *l, struct slice text, struct err *e)
{
	struct reading r = { .l = l, .has_user = is_system(l->path, text) };

	if (!zone_open(&r.host, l->to->zone, e))
		return false;
	bool ok = read_lines(&r, text, e);
	zone_close(&r.host);
	l->is_cronie = r.is_cronie;
	l->is_unended = text.n && text.p[text.n - 1] != '\n';
	return ok;
}
