#include "capture/watchdir.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/clock.h"

enum { FILES_MAX = 65536 };

struct entry {
	char name[WATCH_NAME_MAX];
	int64_t time_ns, bytes;
	bool is_ring;
};

void watchdir_name(const char *kind, int64_t time_ns, char name[WATCH_NAME_MAX])
{
	char text[CLOCK_TEXT_MAX], stamp[20];
	size_t n = 0;

	clock_text(time_ns / NS_PER_S * NS_PER_S, text);
	for (const char *p = text; *p && n < sizeof stamp - 1; p++)
		if (*p != '-' && *p != ':')
			stamp[n++] = *p;
	stamp[n] = '\0';
	snprintf(name, WATCH_NAME_MAX, "%s-%s.rcap", kind, stamp);
	for (int i = 2; access(name, F_OK) == 0 && i < 100; i++)
		snprintf(name, WATCH_NAME_MAX, "%s-%s-%d.rcap", kind, stamp, i);
}

/* The time in a name of ours; false for any other file. */
static bool read_name(const char *name, int64_t *ret_ns, bool *ret_is_ring)
{
	static const char *const kinds[] = { "counts-", "ring-", "incident-" };
	int y, mo, d, h, mi, s, end = 0;
	size_t n = strlen(name);

	if (n < 10 || n >= WATCH_NAME_MAX || strcmp(name + n - 5, ".rcap") != 0)
		return false;
	for (size_t i = 0; i < LENGTH(kinds); i++) {
		size_t k = strlen(kinds[i]);

		if (strncmp(name, kinds[i], k) != 0 ||
			sscanf(name + k, "%4d%2d%2dT%2d%2d%2dZ%n", &y, &mo, &d, &h, &mi, &s,
				&end) != 6 ||
			!end)
			continue;
		*ret_is_ring = i == 1;
		*ret_ns =
			((clock_days(y, mo, d) * 24 + h) * 60 + mi) * 60 * NS_PER_S + s * NS_PER_S;
		return true;
	}
	return false;
}

static int older_first(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;

	if (x->time_ns != y->time_ns)
		return x->time_ns < y->time_ns ? -1 : 1;
	return strcmp(x->name, y->name);
}

static size_t list(struct entry **ret)
{
	struct entry *all = NULL;
	size_t n = 0, room = 0;
	DIR *dir = opendir(".");
	struct dirent *d;

	while (dir && n < FILES_MAX && (d = readdir(dir))) {
		struct entry e = { 0 };
		struct stat st;

		if (!read_name(d->d_name, &e.time_ns, &e.is_ring) || lstat(d->d_name, &st) != 0 ||
			!S_ISREG(st.st_mode))
			continue;
		snprintf(e.name, sizeof e.name, "%.63s", d->d_name);
		e.bytes = st.st_size;
		if (n == room) {
			struct entry *more = realloc(all, (room = room ? 2 * room : 64) * sizeof e);

			if (!more)
				break;
			all = more;
		}
		all[n++] = e;
	}
	if (dir)
		closedir(dir);
	if (n)
		qsort(all, n, sizeof *all, older_first);
	*ret = all;
	return n;
}

unsigned watchdir_prune(
	int64_t before_ns, int64_t ring_before_ns, int64_t max_bytes, const char *spared)
{
	struct entry *all;
	size_t n = list(&all);
	int64_t bytes = 0;
	unsigned gone = 0;

	for (size_t i = 0; i < n; i++)
		bytes += all[i].bytes;
	for (size_t i = 0; i < n; i++) {
		bool is_old = all[i].time_ns < (all[i].is_ring ? ring_before_ns : before_ns);
		bool is_too_much = max_bytes && bytes > max_bytes && !all[i].is_ring;

		if ((!is_old && !is_too_much) || strcmp(all[i].name, spared) == 0 ||
			unlink(all[i].name) != 0)
			continue;
		bytes -= all[i].bytes;
		gone++;
	}
	free(all);
	return gone;
}
