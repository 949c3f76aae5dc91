#include "capture/sniff.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "capture/log/source_pglog.h"
#include "capture/wire/sniff_peek.h"
#include "core/base/file.h"
#include "core/base/unzip.h"
#include "core/format/accesslog.h"
#include "core/format/gor.h"
#include "core/model/rcap_block.h"

enum { PEEK_BYTES = 16 << 10, UNZIPPED_BYTES = 64 << 10 };

struct magic {
	const char *bytes;
	size_t n;
	const char *name;
	const char *hint; /* NULL: it can be read */
};

#define ZIP_HINT                                                                                   \
	"decompress it on the way: zcat, zstdcat, bzcat or xzcat FILE | reprod capture - -o F.rcap"

static const struct magic magics[] = {
	{ "\xd4\xc3\xb2\xa1", 4, "pcap", NULL },
	{ "\xa1\xb2\xc3\xd4", 4, "pcap", NULL },
	{ "\x4d\x3c\xb2\xa1", 4, "pcap", NULL },
	{ "\xa1\xb2\x3c\x4d", 4, "pcap", NULL },
	{ "\x34\xcd\xb2\xa1", 4, "pcap", NULL },
	{ "\xa1\xb2\xcd\x34", 4, "pcap", NULL },
	{ "\x0a\x0d\x0d\x0a", 4, "pcapng", NULL },
	{ "\xfd"
	  "7zXZ",
		5, "xz file", ZIP_HINT },
	{ "PGDMP", 5, "pg_dump archive", "that is a database, not traffic" },
	{ "\x7f"
	  "ELF",
		4, "program", "give a pcap file or a Postgres csvlog" },
};

static bool has_text(struct slice s, const char *needle)
{
	return memmem(s.p, s.n, needle, strlen(needle)) != NULL;
}

static bool refuse(struct err *e, const char *what, const char *hint)
{
	err_set(e, ERR_INPUT, "%s", what);
	return err_hint(e, "%s", hint);
}

static bool sniff_text(
	struct slice b, enum input_kind *ret_kind, const char **ret_name, struct err *e)
{
	const char *log = NULL;

	if (source_pglog_detect(b, &log)) {
		/* Its reader refuses the formats it does not know, in its own words. */
		*ret_kind = INPUT_PGLOG;
		*ret_name = log;
		return true;
	}
	if (gor_detect(b)) {
		*ret_kind = INPUT_GOR;
		*ret_name = "gor";
		return true;
	}
	*ret_name = accesslog_detect(b);
	if (*ret_name) {
		*ret_kind = INPUT_ACCESS;
		return true;
	}
	if (has_text(b, "HTTP/1.") || has_text(b, "HTTP/2"))
		return refuse(e, "it speaks of HTTP requests, in a format that is not known",
			"for an access log give the server's format string with --log-format, or "
			"--fields for JSON lines");
	return refuse(e, "its format is not known",
		"packets (pcap, pcapng), a Postgres log, an access log or a .gor file are expected; "
		"--format NAME forces one");
}

bool sniff_bytes(struct slice b, enum input_kind *ret_kind, const char **ret_name, struct err *e)
{
	struct err ours = { 0 };

	if (!b.n)
		return refuse(e, "it is empty", "was the capture stopped before anything came?");
	for (size_t i = 0; i < LENGTH(magics); i++) {
		const struct magic *m = &magics[i];

		if (b.n < m->n || memcmp(b.p, m->bytes, m->n) != 0)
			continue;
		*ret_kind = INPUT_PCAP;
		*ret_name = m->name;
		if (!m->hint)
			return true;
		err_set(e, ERR_INPUT, "it is a %s", m->name);
		return err_hint(e, "%s", m->hint);
	}
	if (rcap_check_file_header(b, &ours))
		return refuse(e, "it is a capture already",
			"reprod capture show FILE prints what it holds");
	return sniff_text(b, ret_kind, ret_name, e);
}

struct forced {
	const char *name;
	enum input_kind kind;
};

static bool forced(
	const char *format, enum input_kind *ret_kind, const char **ret_name, struct err *e)
{
	static const struct forced names[] = {
		{ "pcap", INPUT_PCAP },
		{ "pcapng", INPUT_PCAP },
		{ "gor", INPUT_GOR },
	};
	CLEANUP(buf_free) struct buf presets = { 0 };

	*ret_name = format;
	for (size_t i = 0; i < LENGTH(names); i++)
		if (strcmp(format, names[i].name) == 0) {
			*ret_kind = names[i].kind;
			return true;
		}
	*ret_kind = INPUT_ACCESS;
	if (accesslog_is_preset(slice_of(format)))
		return true;
	*ret_kind = INPUT_PGLOG;
	if (source_pglog_is_format(format))
		return true;
	err_set(e, ERR_USAGE, "format '%s' is not known", format);
	accesslog_preset_names(&presets);
	return err_hint(e, "pcap, pcapng, gor, %s; %s", source_pglog_formats(), buf_text(&presets));
}

/* The first bytes as they were before compression. A memory file gives the reader the
 * descriptor that it wants. */
static int open_zipped(const char *path, struct slice zipped)
{
	/* bzip2 gives nothing before a whole block of up to 900 kB. */
	if (strcmp(path, "-") != 0)
		return open(path, O_RDONLY | O_CLOEXEC);
	int fd = memfd_create("first", MFD_CLOEXEC);
	if (fd >= 0 &&
		(write(fd, zipped.p, zipped.n) != (ssize_t)zipped.n || lseek(fd, 0, SEEK_SET) != 0))
		file_close_fd(&fd);
	return fd;
}

static bool unzip_first(
	const char *path, struct slice zipped, char *to, size_t room, size_t *ret_n, struct err *e)
{
	CLEANUP(file_close_fd) int fd = open_zipped(path, zipped);
	enum step step = STEP_ITEM;
	size_t n;

	*ret_n = 0;
	if (fd < 0)
		return err_set(e, ERR_ENV, "could not look into the compressed input");
	struct unzip *u = unzip_open(fd, e);
	while (u && *ret_n < room &&
		(step = unzip_read(u, to + *ret_n, room - *ret_n, &n, e)) == STEP_ITEM)
		*ret_n += n;
	unzip_close(u);
	return u && step != STEP_FAIL;
}

static bool sniff_zipped(const char *path, struct slice zipped, const char *how,
	enum input_kind *ret_kind, const char **ret_name, struct err *e)
{
	char first[UNZIPPED_BYTES];
	size_t n;

	if (!unzip_first(path, zipped, first, sizeof first, &n, e))
		return false;
	/* A block longer than the bytes that a pipe lets us look at. */
	if (!n && strcmp(path, "-") == 0) {
		err_set(e, ERR_INPUT, "its first bytes do not tell what is in the %s stream", how);
		return err_hint(e, "for a log say --format NAME; for packets " ZIP_HINT);
	}
	if (!sniff_bytes((struct slice){ first, n }, ret_kind, ret_name, e))
		return err_in(e, "in the %s file", how);
	return true;
}

bool sniff_input(const char *path, const char *format, enum input_kind *ret_kind,
	const char **ret_name, struct err *e)
{
	char first[PEEK_BYTES];
	size_t n;

	if (format)
		return forced(format, ret_kind, ret_name, e);
	if (!sniff_peek(path, first, sizeof first, &n, e))
		return false;
	struct slice bytes = { first, n };
	const char *how = unzip_detect(bytes);
	bool ok = how ? sniff_zipped(path, bytes, how, ret_kind, ret_name, e)
		      : sniff_bytes(bytes, ret_kind, ret_name, e);
	return ok || err_in(e, "%s", strcmp(path, "-") == 0 ? "standard input" : path);
}
