#include "recipes/paths.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>

static bool real_dir_of(const char *file, char dir[PATH_MAX], struct err *e)
{
	const char *slash = strrchr(file, '/');
	char given[PATH_MAX];

	snprintf(given, sizeof(given), "%.*s", slash ? (int)(slash - file + (slash == file)) : 1,
		slash ? file : ".");
	if (!realpath(given, dir))
		return err_os(e, ERR_INPUT, errno, "the folder '%s' could not be used", given);
	return true;
}

bool path_relative(const char *from_file, const char *to, char relative[4096], struct err *e)
{
	char from[PATH_MAX], real[PATH_MAX];
	size_t shared = 0, n = 0;

	if (!real_dir_of(from_file, from, e))
		return false;
	if (!realpath(to, real))
		return err_os(e, ERR_INPUT, errno, "'%s' could not be used", to);
	/* The last separator up to which both agree. */
	for (size_t i = 0;; i++) {
		bool from_ends = from[i] == '\0' || from[i] == '/';

		if (from_ends && real[i] == '/')
			shared = i + 1;
		if (from[i] == '\0' || from[i] != real[i])
			break;
	}
	relative[0] = '\0';
	if (shared <= strlen(from)) {
		for (const char *at = from + shared; *at && n + 4 < 4096;
			at += strcspn(at, "/"), at += *at == '/')
			n += (size_t)snprintf(relative + n, 4096 - n, "../");
	}
	if (n + strlen(real + shared) + 1 > 4096)
		return err_set(e, ERR_INPUT, "the path from '%s' to '%s' is too long", from, real);
	snprintf(relative + n, 4096 - n, "%s", real + shared);
	return true;
}
