#include "correlate/schedule.h"

#include "core/base/file.h"
#include "correlate/schedule_load.h"

enum { FILE_MAX_BYTES = 64 << 20 };

static const struct dialect {
	const char *name;
	const char *entries; /* what bad ones are called */
	schedule_reader *read;
} dialects[] = {
	{ "cron", "crontab lines", schedule_read_cron },
	{ "systemd", "timers", schedule_read_timers },
	{ "kubernetes", "CronJobs", schedule_read_kubernetes },
	{ "pg_cron", "jobs", schedule_read_pg_cron },
	{ "quartz", "lines", schedule_read_quartz },
};

static const char *const silences[SILENCES] = {
	[SILENT_REBOOT] = "run at the start of the host (@reboot)",
	[SILENT_RANDOM_DAY] = "run on a random day ('~')",
	[SILENT_INTERVAL] = "repeat after an interval from a start that is not known",
	[SILENT_MONOTONIC] = "count from a boot or from their last run (OnBootSec=, ...)",
	[SILENT_SUSPENDED] = "are suspended or not active",
};

static const struct dialect *by_name(struct slice name)
{
	for (size_t i = 0; i < LENGTH(dialects); i++)
		if (slice_is(name, dialects[i].name))
			return &dialects[i];
	return NULL;
}

/* "DIALECT:PATH"; another colon belongs to the path. */
static const struct dialect *named_in(const char **file)
{
	const char *colon = strchr(*file, ':');
	const struct dialect *d =
		colon ? by_name((struct slice){ *file, (size_t)(colon - *file) }) : NULL;

	if (d)
		*file = colon + 1;
	return d;
}

static bool contains(struct slice text, const char *word)
{
	return text.n && memmem(text.p, text.n, word, strlen(word)) != NULL;
}

static bool ends_with(const char *path, const char *end)
{
	size_t n = strlen(path), k = strlen(end);

	return n >= k && strcmp(path + n - k, end) == 0;
}

static const struct dialect *told_by(const char *path, struct slice text)
{
	const char *name = "cron";

	if (ends_with(path, ".timer") || contains(text, "[Timer]") ||
		contains(text, "TimersCalendar="))
		name = "systemd";
	else if (contains(text, "CronJob"))
		name = "kubernetes";
	else if (schedule_is_pg_cron(text))
		name = "pg_cron";
	else if (schedule_is_quartz(text))
		name = "quartz";
	return by_name(slice_of(name));
}

static void tell(const struct schedule_loader *l, const struct dialect *d)
{
	struct notes *notes = l->to->notes;

	notes_bad(notes, l->reach->bad, d->entries, &l->reach->first_bad);
	if (l->is_utc_assumed)
		notes_add(notes,
			"the schedules of '%s' are read in UTC; --zone NAME gives the host's zone",
			l->path);
	if (l->is_cronie)
		notes_add(notes,
			"'%s' sets CRON_TZ or RANDOM_DELAY, which cronie heeds and Debian's cron ignores",
			l->path);
	if (l->is_unended)
		notes_add(notes,
			"the last line of '%s' has no end: a cron daemon would ignore it, it is used here",
			l->path);
	for (int i = 0; i < SILENCES; i++)
		if (l->silent[i])
			notes_add(notes, "%zu of '%s' have no times of their own: they %s",
				l->silent[i], l->path, silences[i]);
	if (l->is_full)
		notes_lack(notes, "'%s' has more than %d times: the further ones were left out",
			l->path, SCHEDULE_TIMES_MAX);
	if (!l->reach->read && !l->reach->bad)
		notes_add(notes, "no schedule in '%s' (read as %s)", l->path, d->name);
}

static bool read_text(const struct schedule_target *to, const struct dialect *d, const char *path,
	struct slice text, struct err *e)
{
	struct schedule_loader l = { .to = to, .path = path };

	if (text.n >= 3 && memcmp(text.p, "\xef\xbb\xbf", 3) == 0)
		text = (struct slice){ text.p + 3, text.n - 3 };
	if (!d)
		d = told_by(path, text);
	l.dialect = d->name;
	l.reach = reach_add(to->reaches, path, d->name);
	if (!d->read(&l, text, e))
		return false;
	if (!l.reach->read && l.reach->bad) {
		*e = l.reach->first_bad;
		return false;
	}
	tell(&l, d);
	return true;
}

bool schedule_read(
	const struct schedule_target *to, const char *dialect, const char *file, struct err *e)
{
	const struct dialect *d = dialect ? by_name(slice_of(dialect)) : named_in(&file);
	struct buf text = { 0 };

	buf_init(&text, FILE_MAX_BYTES + (1 << 17));
	bool ok = file_read(file, FILE_MAX_BYTES, &text, e) &&
		  read_text(to, d, file, buf_slice(&text), e);
	buf_free(&text);
	return ok;
}
