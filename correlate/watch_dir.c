#include "correlate/watch_dir.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/clock.h"

void watch_dir_name(const char *dir, int64_t start_ns, char path[4096])
{
	char text[CLOCK_TEXT_MAX], stamp[20];
	size_t n = 0;

	clock_text(start_ns / NS_PER_S * NS_PER_S, text);
	for (const char *p = text; *p && n < sizeof(stamp) - 1; p++)
		if (*p != '-' && *p != ':')
			stamp[n++] = *p;
	stamp[n] = '\0';
	snprintf(path, 4096, "%s/stats-%s.rstat", dir, stamp);
	for (int i = 2; access(path, F_OK) == 0 && i < 100; i++)
		snprintf(path, 4096, "%s/stats-%s-%d.rstat", dir, stamp, i);
}

static bool read_name(const char *name, int64_t *ret_ns)
{
	int y, mo, d, h, mi, s, end = 0;
	size_t n = strlen(name);

	if (n < 12 || strcmp(name + n - 6, ".rstat") != 0 ||
		sscanf(name, "stats-%4d%2d%2dT%2d%2d%2dZ%n", &y, &mo, &d, &h, &mi, &s, &end) != 6 ||
		!end)
		return false;
	*ret_ns = ((clock_days(y, mo, d) * 24 + h) * 60 + mi) * 60 * NS_PER_S + s * NS_PER_S;
	return true;
}

static int by_time(const void *a, const void *b)
{
	const struct watch_segment *x = a, *y = b;

	if (x->start_ns != y->start_ns)
		return x->start_ns < y->start_ns ? -1 : 1;
	/* "...Z.rstat" is before "...Z-2.rstat": shorter first. */
	size_t n = strlen(x->name), m = strlen(y->name);
	return n != m ? (n < m ? -1 : 1) : strcmp(x->name, y->name);
}

static bool add(struct watch_segment **all, size_t *count, const struct watch_segment *new)
{
	if ((*count & (*count - 1)) == 0) {
		size_t room = *count ? 2 * *count : 1;
		struct watch_segment *grown = realloc(*all, room * sizeof(*grown));

		if (!grown)
			return false;
		*all = grown;
	}
	(*all)[(*count)++] = *new;
	return true;
}

bool watch_dir_list(const char *dir, struct watch_segment **ret, size_t *ret_count, struct err *e)
{
	DIR *d = opendir(dir);
	struct dirent *entry;
	bool ok = true;

	*ret = NULL;
	*ret_count = 0;
	if (!d)
		return err_os(e, ERR_ENV, errno, "could not open the folder '%s'", dir);
	while (ok && *ret_count < WATCH_SEGMENTS_MAX && (entry = readdir(d))) {
		struct watch_segment s = { 0 };
		struct stat st;

		if (strlen(entry->d_name) >= sizeof(s.name) ||
			!read_name(entry->d_name, &s.start_ns) ||
			fstatat(dirfd(d), entry->d_name, &st, AT_SYMLINK_NOFOLLOW) != 0 ||
			!S_ISREG(st.st_mode))
			continue;
		snprintf(s.name, sizeof(s.name), "%.63s", entry->d_name);
		s.bytes = st.st_size;
		ok = add(ret, ret_count, &s) || err_set(e, ERR_ENV, "out of memory");
	}
	closedir(d);
	if (*ret_count)
		qsort(*ret, *ret_count, sizeof(**ret), by_time);
	return ok;
}

size_t watch_dir_prune(const char *dir, int64_t before_ns, int64_t max_bytes, const char *spared)
{
	struct watch_segment *all;
	size_t count, gone = 0;
	int64_t bytes = 0;
	struct err e = { 0 };

	if (!watch_dir_list(dir, &all, &count, &e)) {
		free(all);
		return 0;
	}
	for (size_t i = 0; i < count; i++)
		bytes += all[i].bytes;
	for (size_t i = 0; i < count; i++) {
		bool is_old = i + 1 < count && all[i + 1].start_ns < before_ns;
		bool is_too_much = max_bytes && bytes > max_bytes;
		char path[4096];

		snprintf(path, sizeof(path), "%s/%s", dir, all[i].name);
		if ((!is_old && !is_too_much) || strcmp(path, spared) == 0 || unlink(path) != 0)
			continue;
		bytes -= all[i].bytes;
		gone++;
	}
	free(all);
	return gone;
}
