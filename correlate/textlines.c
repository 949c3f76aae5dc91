#include "correlate/textlines.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "core/base/unzip.h"

enum { FIRST_BYTES = 256 << 10, READ_BYTES = 256 << 10 };

#define BYTES_MAX ((size_t)TEXTLINES_MAX * 4 + READ_BYTES)

struct textlines {
	int fd;
	struct unzip *unzip;
	const struct run *run; /* or NULL */
	struct buf bytes;
	size_t at, searched; /* taken; no newline up to here */
	uint64_t number;
	bool is_own_fd, is_end, is_skipping;
};

bool textlines_was_stopped(const struct textlines *t)
{
	return t->run && run_stopped(t->run);
}

static bool read_more(struct textlines *t, struct err *e)
{
	size_t n = 0;

	if (textlines_was_stopped(t)) {
		t->is_end = true;
		return true;
	}
	if (t->at) {
		buf_eat(&t->bytes, t->at);
		t->searched -= t->at;
		t->at = 0;
	}
	char *to = buf_room(&t->bytes, READ_BYTES);
	if (!to)
		return err_set(e, ERR_ENV, "out of memory");
	switch (unzip_read(t->unzip, to, READ_BYTES, &n, e)) {
	case STEP_ITEM:
		t->bytes.n += n;
		return true;
	case STEP_END:
		t->is_end = true;
		return true;
	default:
		return false;
	}
}

static bool is_wide(struct slice s)
{
	return s.n >= 2 && (memcmp(s.p, "\xff\xfe", 2) == 0 || memcmp(s.p, "\xfe\xff", 2) == 0);
}

static bool read_first(struct textlines *t, struct err *e)
{
	while (!t->is_end && t->bytes.n < FIRST_BYTES)
		if (!read_more(t, e))
			return false;
	if (is_wide(buf_slice(&t->bytes))) {
		err_set(e, ERR_INPUT, "the text is UTF-16");
		return err_hint(e, "iconv -f UTF-16 -t UTF-8 FILE >FILE.utf8");
	}
	if (t->bytes.n >= 3 && memcmp(t->bytes.p, "\xef\xbb\xbf", 3) == 0)
		t->at = t->searched = 3;
	return true;
}

struct textlines *textlines_open(const char *path, struct err *e)
{
	struct textlines *t = calloc(1, sizeof(*t));
	bool is_stdin = strcmp(path, "-") == 0;

	if (!t) {
		err_set(e, ERR_ENV, "out of memory");
		return NULL;
	}
	buf_init(&t->bytes, BYTES_MAX);
	t->is_own_fd = !is_stdin;
	t->fd = is_stdin ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
	if (t->fd < 0)
		err_os(e, errno == ENOENT ? ERR_INPUT : ERR_ENV, errno, "could not open '%s'",
			path);
	else if (!(t->unzip = unzip_open(t->fd, e)) || !read_first(t, e))
		err_in(e, "%s", is_stdin ? "standard input" : path);
	else
		return t;
	textlines_close(t);
	return NULL;
}

void textlines_close(struct textlines *t)
{
	if (!t)
		return;
	unzip_close(t->unzip);
	if (t->is_own_fd && t->fd >= 0)
		close(t->fd);
	buf_free(&t->bytes);
	free(t);
}

void textlines_obey(struct textlines *t, const struct run *run)
{
	t->run = run;
}

struct slice textlines_first(const struct textlines *t)
{
	return buf_since(&t->bytes, t->at);
}

uint64_t textlines_number(const struct textlines *t)
{
	return t->number;
}

bool textlines_was_cut(const struct textlines *t)
{
	const char *why;

	return unzip_was_cut(t->unzip, &why);
}

/* The line [at, stop), the newline at stop when there is one. */
static struct slice take(struct textlines *t, size_t stop, bool has_newline)
{
	struct slice line = { t->bytes.p + t->at, stop - t->at };

	t->at = t->searched = stop + has_newline;
	t->number++;
	if (t->is_skipping)
		line = (struct slice){ 0 };
	t->is_skipping = false;
	while (line.n && line.p[line.n - 1] == '\r')
		line.n--;
	return line;
}

enum step textlines_next(struct textlines *t, struct slice *ret, struct err *e)
{
	for (;;) {
		size_t left = t->bytes.n - t->searched;
		const char *end = left ? memchr(t->bytes.p + t->searched, '\n', left) : NULL;

		if (end) {
			*ret = take(t, (size_t)(end - t->bytes.p), true);
			return STEP_ITEM;
		}
		if (t->is_end && t->at == t->bytes.n && !t->is_skipping)
			return STEP_END;
		if (t->is_end) {
			*ret = take(t, t->bytes.n, false);
			return STEP_ITEM;
		}
		t->searched = t->bytes.n;
		if (t->bytes.n - t->at > TEXTLINES_MAX) {
			t->is_skipping = true;
			t->at = t->bytes.n;
		}
		if (!read_more(t, e))
			return STEP_FAIL;
	}
}

bool textlines_rest(struct textlines *t, struct slice *ret, struct err *e)
{
	while (!t->is_end) {
		if (t->bytes.n - t->at > BYTES_MAX - 2 * READ_BYTES) {
			err_set(e, ERR_INPUT, "one document of more than %zu MiB", BYTES_MAX >> 20);
			return err_hint(e, "give one object a line: jq -c '.[]'");
		}
		if (!read_more(t, e))
			return false;
	}
	*ret = buf_since(&t->bytes, t->at);
	t->at = t->searched = t->bytes.n;
	return true;
}
