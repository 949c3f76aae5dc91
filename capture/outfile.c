#include "capture/outfile.h"

#include <errno.h>
#include <unistd.h>

#include "core/base/file.h"

bool outfile_refuse(const char *path, int os_errno, struct err *e)
{
	err_os(e, ERR_ENV, os_errno, "could not create '%s'", path);
	if (os_errno == ENOENT || os_errno == ENOTDIR)
		return err_hint(e, "make its folder first, or name another with -o");
	if (os_errno == EACCES || os_errno == EPERM || os_errno == EROFS)
		return err_hint(e, "name a place that you may write to with -o");
	return false;
}

bool outfile_open(struct outfile *o, struct run *run, const char *path, struct err *e)
{
	*o = (struct outfile){ .run = run, .before = run->out };
	if (!path || strcmp(path, "-") == 0)
		return true;
	if (!file_may_write(path, run->is_forced, e))
		return false;
	int fd = file_open_beside(path, o->draft);
	FILE *to = fd < 0 ? NULL : fdopen(fd, "w");
	if (!to) {
		outfile_refuse(path, errno, e);
		file_close_fd(&fd);
		return false;
	}
	o->path = path;
	run->out = to;
	return true;
}

bool outfile_close(struct outfile *o, bool ok, struct err *e)
{
	FILE *to = o->run->out;

	if (!o->path)
		return ok;
	o->run->out = o->before;
	errno = 0;
	bool is_written = fflush(to) == 0 && !ferror(to);
	int os_errno = errno ? errno : EIO;
	if (fclose(to) != 0 && is_written) {
		is_written = false;
		os_errno = errno;
	}
	if (is_written && ok && o->draft[0] && rename(o->draft, o->path) != 0) {
		is_written = false;
		os_errno = errno;
	}
	if (ok && !is_written)
		ok = err_os(e, ERR_ENV, os_errno, "could not write '%s'", o->path);
	if (!ok && o->draft[0])
		unlink(o->draft);
	return ok;
}
