#include "snapshot/freeze.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "core/base/file.h"
#include "snapshot/marker.h"
#include "snapshot/sync.h"

static const char *const kept_apart[] = { LABDIR_FROZEN_NOTE, LABDIR_RESETTING, "reprod.socket",
	NULL };

static bool control_sha(const char *dir, char hex[65], struct err *e)
{
	char path[1100];

	labdir_path(dir, "global/pg_control", path);
	return file_sha256(path, hex, e);
}

/* ---- the frozen state */

struct json *freeze_note(const struct labdir *d, struct err *e)
{
	struct json *note;
	char hex[65];

	if (!file_is_dir(d->frozen)) {
		err_set(e, ERR_INPUT, "'%s' has no frozen state", d->dir);
		err_hint(e, "make one: reprod snapshot freeze '%s'", d->dir);
		return NULL;
	}
	note = labdir_read_json(d->frozen, LABDIR_FROZEN_NOTE, e);
	if (!note)
		return NULL;
	if (control_sha(d->frozen, hex, e)) {
		if (strcmp(hex, json_text(json_get(note, "control_sha256"), "")) == 0)
			return note;
		err_set(e, ERR_INPUT,
			"the frozen state '%s' is damaged: its control file has changed",
			d->frozen);
		err_hint(e, "build the lab again");
	}
	json_free(note);
	return NULL;
}

static bool write_note(
	const char *frozen, const struct freeze_result *f, const struct run *r, struct err *e)
{
	CLEANUP(json_cleanup) struct json *note = json_object();
	char hex[65];

	if (!control_sha(frozen, hex, e))
		return false;
	json_set_text(note, "format", "reprod.frozen");
	json_set_int(note, "version", 1);
	json_set_text(note, "frozen_id", f->frozen_id);
	json_set_time(note, "frozen_at", clock_wall_ns(&r->clock));
	json_set_int(note, "files", f->files);
	json_set_int(note, "bytes", f->bytes);
	json_set_text(note, "control_sha256", hex);
	return labdir_write_json(frozen, LABDIR_FROZEN_NOTE, note, e);
}

/* The cluster is stopped. Copies beside, verifies, then takes the place of an older
 * state: at no instant is there neither. */
static bool copy_state(
	const struct labdir *d, struct freeze_result *f, const struct run *r, struct err *e)
{
	struct sync_counts counts;
	char fresh[1100];

	snprintf(fresh, sizeof(fresh), "%s.new", d->frozen);
	if (!file_remove_tree(fresh, e) || !file_copy_tree(d->dir, fresh, &f->is_reflink, e) ||
		!sync_compare(d->dir, fresh, kept_apart, &counts, e))
		return false;
	if (counts.changed || counts.removed)
		return err_set(e, ERR_ENV, "the copy in '%s' differs from '%s': %zu files", fresh,
			d->dir, counts.changed + counts.removed);
	f->files = (int64_t)counts.files;
	f->bytes = counts.bytes;
	if (!write_note(fresh, f, r, e) || !file_remove_tree(d->frozen, e))
		return false;
	return rename(fresh, d->frozen) == 0 ||
	       err_os(e, ERR_ENV, errno, "could not rename '%s'", fresh);
}

static bool freeze_lab(struct lab *lab, const struct labdir *d, struct freeze_result *f,
	const struct run *r, struct err *e)
{
	if (!lab_check_files(lab, e) || !lab_start(lab, NULL, r, e) || !lab_check_mark(lab, e))
		return false;
	if (!marker_nonce(f->frozen_id, e))
		return false;
	snprintf(lab->mark.frozen_id, sizeof(lab->mark.frozen_id), "%s", f->frozen_id);
	return lab_renew(lab, e) && pgserver_stop(&lab->server, e) && copy_state(d, f, r, e);
}

bool freeze_dir(const char *dir, bool is_forced, const struct run *r, struct freeze_result *ret,
	struct err *e)
{
	int64_t started_ns = clock_mono_ns(&r->clock);
	struct labdir d;
	struct lab lab;
	bool ok;

	*ret = (struct freeze_result){ 0 };
	if (!labdir_of(&d, dir, e) || !lab_take(&lab, dir, r, e))
		return false;
	if (file_exists(d.frozen) && !is_forced) {
		err_set(e, ERR_USAGE, "'%s' has a frozen state already", d.dir);
		ok = err_hint(e, "--force replaces it by the present state");
	} else {
		ok = freeze_lab(&lab, &d, ret, r, e);
	}
	lab_close(&lab);
	ret->took_ns = clock_mono_ns(&r->clock) - started_ns;
	return ok;
}

/* ---- reset */

static bool put_back(struct lab *lab, const struct labdir *d, const struct run *r, struct err *e)
{
	CLEANUP(json_cleanup) struct json *note = freeze_note(d, e);
	struct sync_counts counts;
	char path[1100];

	/* A server whose owner was killed may be on its way out. */
	if (!note || !labdir_wait_for_quiet(d->dir, r, e) ||
		!labdir_write(d->dir, LABDIR_RESETTING, SLICE(""), e) ||
		!sync_tree(d->frozen, d->dir, kept_apart, &counts, e))
		return false;
	labdir_path(d->dir, LABDIR_RESETTING, path);
	if (unlink(path) != 0)
		return err_os(e, ERR_ENV, errno, "could not remove '%s'", path);
	lab->is_reflink = counts.is_reflink;
	lab->reset_files = counts.changed + counts.removed;
	lab->reset_bytes = counts.written_bytes;
	return true;
}

static bool read_mark(struct lab *lab, struct err *e)
{
	CLEANUP(json_cleanup) struct json *document = labdir_read_json(lab->dir, LABDIR_MARK, e);

	return document && mark_read(&lab->mark, document, e);
}

bool lab_reset(
	struct lab *lab, const char *const *extra_settings, const struct run *r, struct err *e)
{
	int64_t started_ns = clock_mono_ns(&r->clock);
	struct labdir d;

	pgserver_kill(&lab->server);
	if (!labdir_of(&d, lab->dir, e) || !put_back(lab, &d, r, e) || !lab_check_files(lab, e) ||
		!read_mark(lab, e) || !lab_start(lab, extra_settings, r, e) || !lab_renew(lab, e))
		return false;
	lab->reset_ns = clock_mono_ns(&r->clock) - started_ns;
	run_detail(r, "reset '%s' in %lld ms: %zu files, %lld kB written", lab->dir,
		(long long)(lab->reset_ns / NS_PER_MS), lab->reset_files,
		(long long)(lab->reset_bytes / 1024));
	return true;
}

bool reset_dir(const char *dir, const struct run *r, struct lab *ret_figures, struct err *e)
{
	struct lab lab;
	bool ok;

	if (!lab_take(&lab, dir, r, e))
		return false;
	ok = lab_reset(&lab, NULL, r, e) && pgserver_stop(&lab.server, e);
	*ret_figures = lab;
	ret_figures->server = (struct pgserver){ 0 };
	ret_figures->lock_fd = -1;
	lab_close(&lab);
	return ok;
}
