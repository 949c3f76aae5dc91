#include "capture/sniff.h"

#include <errno.h>
#include <stdio.h>

#include "capture/log/source_pglog.h"
#include "core/model/rcap_block.h"

struct magic {
	const char *bytes;
	size_t n;
	const char *name;
	const char *hint; /* NULL: it can be read */
};

#define ZIP_HINT                                                                                   \
	"decompress it on the way: zcat, zstdcat, xzcat or bzcat FILE | reprod capture - -o F.rcap"

static const struct magic magics[] = {
	{ "\xd4\xc3\xb2\xa1", 4, "pcap", NULL },
	{ "\xa1\xb2\xc3\xd4", 4, "pcap", NULL },
	{ "\x4d\x3c\xb2\xa1", 4, "pcap", NULL },
	{ "\xa1\xb2\x3c\x4d", 4, "pcap", NULL },
	{ "\x34\xcd\xb2\xa1", 4, "pcap", NULL },
	{ "\xa1\xb2\xcd\x34", 4, "pcap", NULL },
	{ "\x0a\x0d\x0d\x0a", 4, "pcapng", NULL },
	{ "\x1f\x8b", 2, "gzip file", ZIP_HINT },
	{ "\x28\xb5\x2f\xfd", 4, "zstd file", ZIP_HINT },
	{ "\xfd"
	  "7zXZ",
		5, "xz file", ZIP_HINT },
	{ "BZh", 3, "bzip2 file", ZIP_HINT },
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
	if (has_text(b, "HTTP/1.") || has_text(b, "HTTP/2"))
		return refuse(e, "it looks like an HTTP access log or dump, which is not read yet",
			"capture the packets between application and database instead");
	return refuse(e, "its format is not known",
		"a pcap or pcapng file or a Postgres csvlog is expected; --format NAME forces one");
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

static bool forced(
	const char *format, enum input_kind *ret_kind, const char **ret_name, struct err *e)
{
	*ret_name = format;
	*ret_kind = INPUT_PCAP;
	if (strcmp(format, "pcap") == 0 || strcmp(format, "pcapng") == 0)
		return true;
	*ret_kind = INPUT_PGLOG;
	if (strcmp(format, "csvlog") == 0)
		return true;
	err_set(e, ERR_USAGE, "format '%s' is not known", format);
	return err_hint(e, "pcap, pcapng or csvlog");
}

bool sniff_input(const char *path, const char *format, enum input_kind *ret_kind,
	const char **ret_name, struct err *e)
{
	char first[4096];
	size_t n;
	FILE *f;

	if (format)
		return forced(format, ret_kind, ret_name, e);
	if (strcmp(path, "-") == 0) {
		*ret_kind = INPUT_PCAP;
		*ret_name = "pcap";
		return true;
	}
	f = fopen(path, "rbe");
	if (!f)
		return err_os(e, ERR_INPUT, errno, "could not open '%s'", path);
	n = fread(first, 1, sizeof first, f);
	if (n == 0 && ferror(f)) {
		int os_errno = errno;

		fclose(f);
		return err_os(e, ERR_INPUT, os_errno, "could not read '%s'", path);
	}
	fclose(f);
	return sniff_bytes((struct slice){ first, n }, ret_kind, ret_name, e) ||
	       err_in(e, "%s", path);
}
