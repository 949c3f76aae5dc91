#include "correlate/input.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "correlate/input_private.h"
#include "correlate/remote.h"

enum { SNIFF = 4096, DIGEST_BYTES = 64 << 10 };

static bool is_pcap(const unsigned char *p, size_t n)
{
	static const unsigned char magics[][4] = { { 0xd4, 0xc3, 0xb2, 0xa1 },
		{ 0xa1, 0xb2, 0xc3, 0xd4 }, { 0x4d, 0x3c, 0xb2, 0xa1 }, { 0xa1, 0xb2, 0x3c, 0x4d },
		{ 0x0a, 0x0d, 0x0d, 0x0a } };

	for (size_t i = 0; i < LENGTH(magics) && n >= 4; i++)
		if (memcmp(p, magics[i], 4) == 0)
			return true;
	return false;
}

/* A server's answer instead of a file. */
static bool read_remote(struct input *in, const char *path, const struct run *run, struct err *e)
{
	const struct remote remote = {
		.run = run, .header_file = in->header_file, .notes = in->notes
	};
	struct remote_counts counts;

	if (!remote_read(in->series, path, &remote, &counts, e))
		return false;
	in->read += counts.read;
	in->bad += counts.bad;
	if (!in->first_bad.kind)
		in->first_bad = counts.first_bad;
	return true;
}

/* ---- files given twice */

/* FNV-1a. */
static uint64_t digest(uint64_t h, const unsigned char *p, ssize_t n)
{
	for (ssize_t i = 0; i < n; i++)
		h = (h ^ p[i]) * UINT64_C(0x100000001b3);
	return h;
}

static uint64_t digest_of(int fd, off_t size)
{
	unsigned char *bytes = malloc(DIGEST_BYTES);
	uint64_t h = UINT64_C(0xcbf29ce484222325);
	off_t tail = size > DIGEST_BYTES ? size - DIGEST_BYTES : 0;

	if (bytes) {
		h = digest(h, bytes, pread(fd, bytes, DIGEST_BYTES, 0));
		h = digest(h, bytes, pread(fd, bytes, DIGEST_BYTES, tail));
	}
	free(bytes);
	return h;
}

/* The same file, or one with the same size, beginning and end: dated requests do not
 * repeat by chance. Pipes and empty files are never the same. */
static bool was_read(struct input *in, int fd, const struct stat *st)
{
	if (!S_ISREG(st->st_mode) || !st->st_size)
		return false;
	struct input_file f = { st->st_dev, st->st_ino, (uint64_t)st->st_size,
		digest_of(fd, st->st_size) };
	for (size_t i = 0; i < in->file_count; i++) {
		const struct input_file *old = &in->files[i];

		if ((old->device == f.device && old->inode == f.inode) ||
			(old->size == f.size && old->digest == f.digest))
			return true;
	}
	if (in->file_count < INPUT_FILES_MAX)
		in->files[in->file_count++] = f;
	return false;
}

/* ---- which is it */

static bool read_binary(struct input *in, const char *path, const struct unzip *from, bool is_file,
	const struct run *run, struct err *e)
{
	if (unzip_name(from)) {
		err_set(e, ERR_INPUT, "'%s' has bytes that are no text, inside of %s", path,
			unzip_name(from));
		return err_hint(e, "a capture is read as it is, not compressed again");
	}
	if (is_file)
		return input_read_capture(in, path, run, e);
	err_set(e, ERR_INPUT, "'%s' is a pipe with bytes that are no text", path);
	return err_hint(e, "a capture is read from its file, not from a pipe");
}

static bool read_any(struct input *in, const char *path, struct unzip *from, struct lines *lines,
	bool is_file, const struct run *run, struct err *e)
{
	struct slice head = lines_peek(lines);

	if (is_pcap((const unsigned char *)head.p, head.n)) {
		err_set(e, ERR_INPUT, "'%s' is a packet capture: capture it first", path);
		return err_hint(e, "reprod capture %s -o FILE.rcap", path);
	}
	if (head.n >= 2 &&
		(memcmp(head.p, "\xff\xfe", 2) == 0 || memcmp(head.p, "\xfe\xff", 2) == 0)) {
		err_set(e, ERR_INPUT, "'%s' is UTF-16", path);
		return err_hint(e, "iconv -f UTF-16 -t UTF-8 makes it readable");
	}
	if (head.n && memchr(head.p, 0, head.n < SNIFF ? head.n : SNIFF))
		return read_binary(in, path, from, is_file, run, e);
	if (is_file && input_is_log(head))
		return input_read_log(in, path, run, e);
	return input_read_text(in, path, lines, run, e);
}

static bool read_from(struct input *in, const char *path, int fd, bool is_file,
	const struct run *run, struct err *e)
{
	struct unzip *from = unzip_open(fd, e);
	struct lines lines = { 0 };
	const char *why = NULL;

	if (!from)
		return e->kind == ERR_INPUT ? err_in(e, "%s", path) : false;
	bool ok = lines_init(&lines, from, e) && read_any(in, path, from, &lines, is_file, run, e);
	if (unzip_was_cut(from, &why)) {
		in->cut_path = path;
		in->cut_why = why;
	}
	lines_free(&lines);
	unzip_close(from);
	return ok;
}

bool input_read(struct input *in, const char *path, const struct run *run, struct err *e)
{
	bool is_stdin = strcmp(path, "-") == 0, ok;
	struct stat st;

	if (remote_is_series(path))
		return read_remote(in, path, run, e);
	int fd = is_stdin ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) != 0)
		return err_os(e, ERR_INPUT, errno, "could not open '%s'", path);
	if (was_read(in, fd, &st)) {
		in->twice = in->twice ? in->twice : path;
		ok = true;
	} else {
		ok = read_from(in, is_stdin ? "/dev/stdin" : path, fd, S_ISREG(st.st_mode), run, e);
	}
	if (!is_stdin)
		close(fd);
	return ok;
}

void input_set_floor(struct input *in, int64_t floor_ns)
{
	for (size_t i = 0; i < in->series->route_count; i++)
		series_set_floor(in->series->routes[i], floor_ns / NS_PER_US);
}
