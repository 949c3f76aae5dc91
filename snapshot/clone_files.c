#include "snapshot/clone_files.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/file.h"
#include "snapshot/clone.h"
#include "snapshot/labdir.h"

bool clone_files_are_here(struct pg *c, const char *system_identifier, char data_dir[1024])
{
	struct err ignored = { 0 };
	char path[1100], found[24];

	if (!pg_one(c, &ignored, "SELECT current_setting('data_directory')", data_dir, 1024) ||
		!data_dir[0] || strlen(data_dir) > 800)
		return false;
	/* Another machine or container may have a server at the same path. */
	labdir_path(data_dir, "postmaster.pid", path);
	return file_exists(path) && clone_system_identifier(data_dir, found, &ignored) &&
	       strcmp(found, system_identifier) == 0;
}

/* ---- tablespaces */

static bool take_tablespace(const char *link, const char *oid, const char *into, struct err *e)
{
	char target[PATH_MAX], folder[1100], place[1200], new_link[1200];

	if (!realpath(link, target))
		return err_os(e, ERR_ENV, errno, "could not follow '%s'", link);
	labdir_path(into, CLONE_TABLESPACES, folder);
	snprintf(place, sizeof(place), "%.1000s/%.20s", folder, oid);
	snprintf(new_link, sizeof(new_link), "%.1000s/pg_tblspc/%.20s", into, oid);
	/* A copied lab brings its folder along. */
	if (!file_make_dirs(folder, 0700, e))
		return false;
	if (strncmp(target, place, strlen(place)) != 0 &&
		(!file_remove_tree(place, e) || !file_copy_tree(target, place, NULL, e)))
		return false;
	if ((unlink(new_link) != 0 && errno != ENOENT) || symlink(place, new_link) != 0)
		return err_os(e, ERR_ENV, errno, "could not make the link '%s'", new_link);
	return true;
}

bool clone_take_tablespaces(const char *from, const char *into, struct err *e)
{
	char folder[1100];
	struct dirent *entry;
	bool ok = true;

	labdir_path(from, "pg_tblspc", folder);
	DIR *dir = opendir(folder);
	if (!dir)
		return true;
	while (ok && (entry = readdir(dir))) {
		char link[1400];
		struct stat st;

		snprintf(link, sizeof(link), "%s/%s", folder, entry->d_name);
		if (entry->d_name[0] != '.' && lstat(link, &st) == 0 && S_ISLNK(st.st_mode))
			ok = take_tablespace(link, entry->d_name, into, e);
	}
	closedir(dir);
	return ok;
}

/* ---- links: what they lead to belongs to the source, and a lab writes */

/* pg_wal is often a link to another disk; other links go. */
static bool take_link(const char *path, bool is_wal, struct err *e)
{
	char target[PATH_MAX];

	if (!realpath(path, target))
		target[0] = '\0';
	if (unlink(path) != 0)
		return err_os(e, ERR_ENV, errno, "could not remove the link '%s'", path);
	return !is_wal || file_copy_tree(target, path, NULL, e);
}

static bool take_links_in(const char *folder, bool is_top, int depth, struct err *e)
{
	struct dirent *entry;
	bool ok = true;
	DIR *dir = depth > 16 ? NULL : opendir(folder);

	if (!dir)
		return err_os(e, ERR_ENV, errno, "could not read '%s'", folder);
	while (ok && (entry = readdir(dir))) {
		char path[PATH_MAX];
		struct stat st;

		snprintf(path, sizeof(path), "%.3000s/%s", folder, entry->d_name);
		if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0 ||
			(is_top && strcmp(entry->d_name, "pg_tblspc") == 0) ||
			lstat(path, &st) != 0)
			continue;
		if (S_ISLNK(st.st_mode) && !is_top)
			ok = err_set(e, ERR_REFUSED,
				"'%s' is a link: the copy would write what it leads to", path);
		else if (S_ISLNK(st.st_mode))
			ok = take_link(path, strcmp(entry->d_name, "pg_wal") == 0, e);
		else if (S_ISDIR(st.st_mode))
			ok = take_links_in(path, false, depth + 1, e);
	}
	closedir(dir);
	return ok;
}

bool clone_take_links(const char *into, struct err *e)
{
	return take_links_in(into, true, 0, e);
}

/* ---- a backup by SQL */

static bool start_backup(struct pg *c, bool is_fast, struct err *e)
{
	const char *fast = is_fast ? "true" : "false";

	if (pg_version(c) >= 150000)
		return pg_execf(c, e, "SELECT pg_backup_start('reprod snapshot build', %s)", fast);
	return pg_execf(c, e, "SELECT pg_start_backup('reprod snapshot build', %s, false)", fast);
}

/* The label names the WAL the copy needs; without it recovery would start from the
 * wrong place and end in a corrupt cluster. */
static bool stop_backup(struct pg *c, const char *into, char stop_file[64], struct err *e)
{
	const char *sql =
		pg_version(c) >= 150000
			? "SELECT pg_walfile_name(lsn), labelfile, spcmapfile FROM pg_backup_stop(false)"
			: "SELECT pg_walfile_name(lsn), labelfile, spcmapfile FROM pg_stop_backup(false, false)";
	CLEANUP(pg_rows_cleanup) struct pg_rows *rows = pg_query(c, e, sql, NULL);
	const char *label;

	if (!rows)
		return false;
	label = pg_cell(rows, 0, 1);
	snprintf(stop_file, 64, "%s", pg_cell(rows, 0, 0) ? pg_cell(rows, 0, 0) : "");
	return labdir_write(into, "backup_label", slice_of(label ? label : ""), e);
}

/* Not copied: what a base backup leaves out as well (manual, 26.3.4). */
static bool is_left_out(const char *name)
{
	static const char *const names[] = { "pg_wal", "postmaster.pid", "postmaster.opts",
		"pg_replslot", "pg_dynshmem", "pg_notify", "pg_serial", "pg_snapshots",
		"pg_stat_tmp", "pg_subtrans", "pg_tblspc", "log", "pg_log", "backup_label",
		"tablespace_map", "backup_manifest", CLONE_TABLESPACES };

	for (size_t i = 0; i < LENGTH(names); i++)
		if (strcmp(names[i], name) == 0)
			return true;
	return false;
}

/* One file or folder; the tree copier does folders. */
static bool copy_one(const char *from, const char *to, bool *is_reflink, struct err *e)
{
	struct stat st;
	bool one = true;

	if (stat(from, &st) != 0)
		return errno == ENOENT || err_os(e, ERR_ENV, errno, "could not read '%s'", from);
	if (S_ISDIR(st.st_mode)) {
		if (!file_copy_tree(from, to, &one, e))
			return false;
		*is_reflink = *is_reflink && one;
		return true;
	}
	if (!S_ISREG(st.st_mode))
		return true;
	struct buf bytes = { 0 };
	bool ok =
		file_read(from, 64 << 20, &bytes, e) && file_write(to, buf_slice(&bytes), true, e);
	buf_free(&bytes);
	return ok;
}

static bool copy_entries(const char *from, const char *into, bool *is_reflink, struct err *e)
{
	struct dirent *entry;
	bool ok = true;
	DIR *dir = opendir(from);

	if (!dir)
		return err_os(e, ERR_ENV, errno, "could not read '%s'", from);
	while (ok && (entry = readdir(dir))) {
		char a[1400], b[1400];

		if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0 ||
			is_left_out(entry->d_name))
			continue;
		snprintf(a, sizeof(a), "%s/%s", from, entry->d_name);
		snprintf(b, sizeof(b), "%s/%s", into, entry->d_name);
		ok = copy_one(a, b, is_reflink, e);
	}
	closedir(dir);
	return ok;
}

static bool make_folders(const char *into, struct err *e)
{
	static const char *const names[] = { "pg_wal/archive_status", "pg_replslot", "pg_dynshmem",
		"pg_notify", "pg_serial", "pg_snapshots", "pg_stat_tmp", "pg_subtrans",
		"pg_tblspc" };

	for (size_t i = 0; i < LENGTH(names); i++) {
		char path[1100];

		labdir_path(into, names[i], path);
		if (!file_make_dirs(path, 0700, e))
			return false;
	}
	return true;
}

/* The WAL segment that the label says recovery starts in. */
static bool first_wal(const char *into, char name[64], struct err *e)
{
	char path[1100];
	struct buf text = { 0 };
	const char *at;
	bool ok;

	labdir_path(into, "backup_label", path);
	ok = file_read(path, 64 << 10, &text, e);
	at = ok ? strstr(buf_text(&text), "(file ") : NULL;
	if (ok && !at)
		ok = err_set(e, ERR_ENV, "the server's backup label names no WAL file");
	if (ok)
		snprintf(name, 64, "%.24s", at + 6);
	buf_free(&text);
	return ok;
}

/* Names of one timeline compare as text. */
static bool copy_wal(const char *from, const char *into, const char *last, struct err *e)
{
	char folder[1100], first[64];
	bool has_first = false, has_last = false, ok, ignored = true;
	struct dirent *entry;

	labdir_path(from, "pg_wal", folder);
	if (!first_wal(into, first, e))
		return false;
	DIR *dir = opendir(folder);
	if (!dir)
		return err_os(e, ERR_ENV, errno, "could not read '%s'", folder);
	ok = true;
	while (ok && (entry = readdir(dir))) {
		char a[1400], b[1400];
		bool is_wal = strlen(entry->d_name) == 24 && strcmp(entry->d_name, first) >= 0 &&
			      strcmp(entry->d_name, last) <= 0;

		if (!is_wal && !strstr(entry->d_name, ".history"))
			continue;
		has_first = has_first || strcmp(entry->d_name, first) == 0;
		has_last = has_last || strcmp(entry->d_name, last) == 0;
		snprintf(a, sizeof(a), "%s/%s", folder, entry->d_name);
		snprintf(b, sizeof(b), "%s/pg_wal/%s", into, entry->d_name);
		ok = copy_one(a, b, &ignored, e);
	}
	closedir(dir);
	if (ok && (!has_first || !has_last)) {
		err_set(e, ERR_ENV, "the WAL of the copy was recycled before it could be read");
		ok = err_hint(e, "raise wal_keep_size on the source, or let the role replicate");
	}
	return ok;
}

bool clone_files(struct pg *c, const char *from, const char *into, bool is_fast,
	bool *ret_is_reflink, struct err *e)
{
	char last[64];

	*ret_is_reflink = true;
	/* The session must stay open between start and stop. */
	return file_make_dirs(into, 0700, e) && start_backup(c, is_fast, e) &&
	       copy_entries(from, into, ret_is_reflink, e) && make_folders(into, e) &&
	       clone_take_tablespaces(from, into, e) && stop_backup(c, into, last, e) &&
	       copy_wal(from, into, last, e);
}
