#include "core/base/unzip.h"

#include <bzlib.h>
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

enum kind { KIND_PLAIN, KIND_GZIP, KIND_ZSTD, KIND_BZIP2 };
enum { IN_BYTES = 128 << 10, ZSTD_WINDOW_LOG = 27 };

static const char *const names[] = { NULL, "gzip", "zstd", "bzip2" };

struct unzip {
	int fd;
	enum kind kind;
	bool is_end; /* of the file */
	bool is_open; /* inside a member or frame */
	bool is_done;
	const char *cut; /* why it ended early, or NULL */
	size_t at, n; /* unused input */
	z_stream gz;
	bz_stream bz;
	ZSTD_DStream *zstd;
	char in[IN_BYTES];
};

static enum kind kind_of(struct slice s)
{
	if (s.n >= 2 && memcmp(s.p, "\x1f\x8b", 2) == 0)
		return KIND_GZIP;
	if (s.n >= 4 && memcmp(s.p, "\x28\xb5\x2f\xfd", 4) == 0)
		return KIND_ZSTD;
	if (s.n >= 4 && memcmp(s.p, "BZh", 3) == 0 && s.p[3] >= '1' && s.p[3] <= '9')
		return KIND_BZIP2;
	return KIND_PLAIN;
}

const char *unzip_detect(struct slice first_bytes)
{
	return names[kind_of(first_bytes)];
}

/* False with *e when the file cannot be read. */
static bool fill(struct unzip *u, struct err *e)
{
	if (u->at) {
		memmove(u->in, u->in + u->at, u->n - u->at);
		u->n -= u->at;
		u->at = 0;
	}
	while (!u->is_end && u->n < sizeof(u->in)) {
		ssize_t n = read(u->fd, u->in + u->n, sizeof(u->in) - u->n);

		/* Also when interrupted: signals ask to stop, and a pipe may never give more. */
		if (n < 0)
			return err_os(e, ERR_INPUT, errno, "could not read");
		u->is_end = n == 0;
		u->n += (size_t)n;
		if (n)
			break;
	}
	return true;
}

static bool start(struct unzip *u)
{
	u->is_open = true;
	switch (u->kind) {
	case KIND_GZIP:
		/* 16: gzip's header and its check sum (zlib.h, inflateInit2). */
		u->gz = (z_stream){ 0 };
		return inflateInit2(&u->gz, 16 + MAX_WBITS) == Z_OK;
	case KIND_BZIP2:
		u->bz = (bz_stream){ 0 };
		return BZ2_bzDecompressInit(&u->bz, 0, 0) == BZ_OK;
	case KIND_ZSTD:
		if (!u->zstd)
			u->zstd = ZSTD_createDStream();
		return u->zstd && !ZSTD_isError(ZSTD_initDStream(u->zstd)) &&
		       !ZSTD_isError(ZSTD_DCtx_setParameter(
			       u->zstd, ZSTD_d_windowLogMax, ZSTD_WINDOW_LOG));
	default:
		return true;
	}
}

static void stop(struct unzip *u)
{
	if (u->is_open && u->kind == KIND_GZIP)
		inflateEnd(&u->gz);
	if (u->is_open && u->kind == KIND_BZIP2)
		BZ2_bzDecompressEnd(&u->bz);
	u->is_open = false;
}

struct unzip *unzip_open(int fd, struct err *e)
{
	struct unzip *u = calloc(1, sizeof(*u));

	if (!u) {
		err_set(e, ERR_ENV, "out of memory");
		return NULL;
	}
	u->fd = fd;
	/* A pipe gives its first bytes in parts. */
	while (u->n < 4 && !u->is_end)
		if (!fill(u, e)) {
			free(u);
			return NULL;
		}
	u->kind = kind_of((struct slice){ u->in, u->n });
	return u;
}

void unzip_close(struct unzip *u)
{
	if (!u)
		return;
	stop(u);
	ZSTD_freeDStream(u->zstd);
	free(u);
}

const char *unzip_name(const struct unzip *u)
{
	return names[u->kind];
}

enum step unzip_read_or_stop(struct unzip *u, char *to, size_t room, size_t *ret_n, struct err *e)
{
	enum step step = unzip_read(u, to, room, ret_n, e);

	if (step != STEP_FAIL || e->kind != ERR_INTERRUPTED)
		return step;
	*e = (struct err){ 0 };
	return STEP_END;
}

bool unzip_was_cut(const struct unzip *u, const char **ret_why)
{
	*ret_why = u->cut;
	return u->cut != NULL;
}

/* One call of the library: *ret_n bytes came out. False: the stream is damaged. */
static bool turn_gzip(struct unzip *u, char *to, size_t room, size_t *ret_n, bool *ret_is_over)
{
	u->gz.next_in = (Bytef *)u->in + u->at;
	u->gz.avail_in = (uInt)(u->n - u->at);
	u->gz.next_out = (Bytef *)to;
	u->gz.avail_out = (uInt)room;
	int answer = inflate(&u->gz, Z_NO_FLUSH);
	u->at = u->n - u->gz.avail_in;
	*ret_n = room - u->gz.avail_out;
	*ret_is_over = answer == Z_STREAM_END;
	return answer == Z_OK || answer == Z_STREAM_END || answer == Z_BUF_ERROR;
}

static bool turn_bzip2(struct unzip *u, char *to, size_t room, size_t *ret_n, bool *ret_is_over)
{
	u->bz.next_in = u->in + u->at;
	u->bz.avail_in = (unsigned)(u->n - u->at);
	u->bz.next_out = to;
	u->bz.avail_out = (unsigned)room;
	int answer = BZ2_bzDecompress(&u->bz);
	u->at = u->n - u->bz.avail_in;
	*ret_n = room - u->bz.avail_out;
	*ret_is_over = answer == BZ_STREAM_END;
	return answer == BZ_OK || answer == BZ_STREAM_END;
}

static bool turn_zstd(struct unzip *u, char *to, size_t room, size_t *ret_n, bool *ret_is_over)
{
	ZSTD_inBuffer in = { u->in, u->n, u->at };
	ZSTD_outBuffer out = { to, room, 0 };
	size_t answer = ZSTD_decompressStream(u->zstd, &out, &in);

	u->at = in.pos;
	*ret_n = out.pos;
	*ret_is_over = answer == 0;
	return !ZSTD_isError(answer);
}

static bool turn_plain(struct unzip *u, char *to, size_t room, size_t *ret_n)
{
	*ret_n = u->n - u->at < room ? u->n - u->at : room;
	memcpy(to, u->in + u->at, *ret_n);
	u->at += *ret_n;
	return true;
}

static bool turn(struct unzip *u, char *to, size_t room, size_t *ret_n, bool *ret_is_over)
{
	*ret_is_over = false;
	switch (u->kind) {
	case KIND_GZIP:
		return turn_gzip(u, to, room, ret_n, ret_is_over);
	case KIND_ZSTD:
		return turn_zstd(u, to, room, ret_n, ret_is_over);
	case KIND_BZIP2:
		return turn_bzip2(u, to, room, ret_n, ret_is_over);
	default:
		return turn_plain(u, to, room, ret_n);
	}
}

/* Behind a member: another one, or the end. Zeros pad tapes and are no fault. */
static bool next_member(struct unzip *u)
{
	while (u->at < u->n && u->in[u->at] == 0)
		u->at++;
	if (u->at == u->n)
		return false;
	if (kind_of((struct slice){ u->in + u->at, u->n - u->at }) == u->kind)
		return true;
	u->cut = "bytes behind the compressed stream are no further one";
	return false;
}

static enum step end_early(struct unzip *u, const char *why)
{
	u->cut = why;
	u->is_done = true;
	return STEP_END;
}

static enum step end(struct unzip *u)
{
	u->is_done = true;
	return STEP_END;
}

static bool is_hungry(const struct unzip *u)
{
	return !u->is_end && u->n - u->at < (u->kind == KIND_PLAIN ? 1 : 4);
}

enum step unzip_read(struct unzip *u, char *to, size_t room, size_t *ret_n, struct err *e)
{
	size_t before;
	bool is_over;

	*ret_n = 0;
	while (!u->is_done) {
		if (is_hungry(u) && !fill(u, e))
			return STEP_FAIL;
		if (!u->is_open && u->kind != KIND_PLAIN) {
			if (!next_member(u))
				/* padding may go on behind what was read */
				return u->cut || u->is_end ? end(u)
							   : unzip_read(u, to, room, ret_n, e);
			if (!start(u)) {
				err_set(e, ERR_ENV, "out of memory");
				return STEP_FAIL;
			}
		}
		before = u->at;
		if (!turn(u, to, room, ret_n, &is_over))
			end_early(u, "the compressed stream is damaged");
		if (is_over)
			stop(u);
		if (*ret_n)
			return STEP_ITEM;
		if (u->at == before && u->is_end && !is_over && !u->is_done)
			return u->kind == KIND_PLAIN
				       ? end(u)
				       : end_early(u, "the compressed stream ends too early");
		if (u->at == before && !u->is_end && !fill(u, e))
			return STEP_FAIL;
	}
	return STEP_END;
}
