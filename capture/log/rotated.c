#include "capture/log/rotated.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>

#include "capture/log/log_shape.h"
#include "core/base/file.h"
#include "core/base/unzip.h"

struct file {
	const char *path;
	size_t place;
	char first[20];
};

static bool look(struct file *r, struct err *e)
{
	CLEANUP(file_close_fd) int fd = open(r->path, O_RDONLY | O_CLOEXEC);
	char bytes[4096];
	size_t n = 0, more;

	if (fd < 0)
		return err_os(e, ERR_INPUT, errno, "could not open");
	struct unzip *u = unzip_open(fd, e);
	if (!u)
		return false;
	enum step step = STEP_ITEM;
	while (n < sizeof(bytes) && step == STEP_ITEM) {
		step = unzip_read(u, bytes + n, sizeof(bytes) - n, &more, e);
		n += more;
	}
	unzip_close(u);
	log_shape_first_time((struct slice){ bytes, n }, r->first);
	return step != STEP_FAIL;
}

static int compare_rotated(const void *a, const void *b)
{
	const struct file *x = a, *y = b;
	bool is_known = *x->first && *y->first;
	int order =
		is_known ? strcmp(x->first, y->first) : (*y->first != '\0') - (*x->first != '\0');

	return order ? order : x->place < y->place ? -1 : 1;
}

/* False: a file cannot be read. */
static bool look_at_all(struct file *files, const char *const *paths, size_t count, struct err *e)
{
	for (size_t i = 0; i < count; i++) {
		files[i] = (struct file){ .path = paths[i], .place = i };
		if (strcmp(paths[i], "-") != 0 && !look(&files[i], e))
			return err_in(e, "%s", paths[i]);
	}
	return true;
}

bool rotated_sort(struct rotated *r, const char *const *paths, size_t count, struct err *e)
{
	struct file *files = calloc(count + 1, sizeof(*files));

	r->paths = calloc(count + 1, sizeof(*r->paths));
	bool ok = (files && r->paths) || err_set(e, ERR_ENV, "out of memory");
	if (ok && look_at_all(files, paths, count, e)) {
		qsort(files, count, sizeof(*files), compare_rotated);
		for (size_t i = 0; i < count; i++)
			r->paths[i] = files[i].path;
	} else {
		ok = false;
	}
	free(files);
	return ok;
}

void rotated_free(struct rotated *r)
{
	free(r->paths);
	*r = (struct rotated){ 0 };
}
