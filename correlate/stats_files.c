#include "correlate/stats_files.h"

#include <stdlib.h>

#include "core/base/file.h"

bool stats_files_open(
	struct stats_files *f, const char *path, int64_t from_ns, int64_t to_ns, struct err *e)
{
	*f = (struct stats_files){ .path = path, .from_ns = from_ns, .to_ns = to_ns, .count = 1 };
	f->is_folder = file_is_dir(path);
	if (!f->is_folder)
		return true;
	if (!watch_dir_list(path, &f->segments, &f->count, e))
		return false;
	if (f->count)
		return true;
	err_set(e, ERR_INPUT, "no recording (stats-*.rstat) in the folder '%s'", path);
	return err_hint(e, "'reprod correlate watch DSN -o %s' makes them", path);
}

/* A segment ends where the next one begins. */
static bool is_wanted(const struct stats_files *f, size_t i)
{
	bool is_before = i + 1 < f->count && f->segments[i + 1].start_ns < f->from_ns;

	return !f->is_folder || (!is_before && f->segments[i].start_ns <= f->to_ns);
}

static bool open_next(struct stats_files *f, struct err *e)
{
	char path[4096];
	size_t i = f->at++;

	if (!is_wanted(f, i))
		return true;
	if (f->is_folder)
		snprintf(path, sizeof(path), "%s/%s", f->path, f->segments[i].name);
	else
		snprintf(path, sizeof(path), "%s", f->path);
	f->scan = stats_scan_open(path, e);
	if (f->scan) {
		f->read++;
		f->every_s = json_number(json_get(stats_scan_head(f->scan), "every_s"), 0);
		return true;
	}
	if (!f->is_folder || e->kind != ERR_INPUT)
		return false;
	if (!f->bad++)
		f->first_bad = *e;
	*e = (struct err){ 0 };
	return true;
}

static void close_scan(struct stats_files *f)
{
	f->torn += f->scan && !stats_scan_is_finished(f->scan);
	f->damaged += f->scan ? stats_scan_damaged(f->scan) : 0;
	stats_scan_close(f->scan);
	f->scan = NULL;
}

enum step stats_files_next(struct stats_files *f, struct stats_round *ret,
	const struct stats_table **ret_table, struct err *e)
{
	for (;;) {
		enum step step = STEP_END;

		if (f->scan)
			step = stats_scan_next(f->scan, ret, e);
		if (step == STEP_ITEM)
			*ret_table = stats_scan_table(f->scan);
		if (step != STEP_END)
			return step;
		close_scan(f);
		if (f->at == f->count)
			return STEP_END;
		if (!open_next(f, e))
			return STEP_FAIL;
	}
}

void stats_files_rewind(struct stats_files *f)
{
	close_scan(f);
	f->at = 0;
	f->read = f->torn = f->damaged = f->bad = 0;
}

void stats_files_close(struct stats_files *f)
{
	close_scan(f);
	free(f->segments);
	f->segments = NULL;
	f->count = f->at = 0;
}
