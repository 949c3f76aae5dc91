#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "core/base/proc.h"
#include "core/format/accesslog.h"
#include "core/format/pglog.h"
#include "correlate/input_private.h"

enum { COMMAS_MIN = 20 }; /* csvlog has 22 and more, a table of latencies a few */

static bool has_commas(struct slice head)
{
	size_t n = 0;

	for (size_t i = 0; i < head.n && head.p[i] != '\n'; i++)
		n += head.p[i] == ',';
	return n >= COMMAS_MIN;
}

static bool holds(struct slice s, const char *text)
{
	return memmem(s.p, s.n, text, strlen(text)) != NULL;
}

bool input_is_log(struct slice head)
{
	switch (pglog_detect(head)) {
	case PGLOG_CSV:
		return has_commas(head);
	case PGLOG_JSON:
	case PGLOG_STDERR:
		return true;
	default:
		break;
	}
	/* Objects with a route and a latency are ours already. */
	if (head.n && *head.p == '{' && holds(head, "\"route\""))
		return false;
	return accesslog_detect(head) != NULL;
}

/* Our own capture reads it, scrubbed as always: one place knows logs. */
static bool capture_into(const struct input *in, const char *to, const char *path,
	const struct run *run, struct err *e)
{
	const char *zone = in->zone_name;
	const char *argv[] = { in->program, "capture", "--quiet", "-o", to,
		zone ? "--log-zone" : "--", zone ? zone : path, zone ? "--" : NULL,
		zone ? path : NULL, NULL };
	struct proc_spec spec = { .argv = argv, .wants_output = true };

	return proc_run(&spec, run, NULL, e);
}

bool input_read_log(struct input *in, const char *path, const struct run *run, struct err *e)
{
	const char *tmp = getenv("TMPDIR");
	char dir[4000], file[sizeof(dir) + 16];
	bool had_packets = in->has_packets;

	if (!in->program) {
		err_set(e, ERR_INPUT, "'%s' is a server's log: capture it first", path);
		return err_hint(e, "reprod capture %s -o FILE.rcap", path);
	}
	snprintf(dir, sizeof(dir), "%s/reprod-log.XXXXXX", tmp && *tmp == '/' ? tmp : "/tmp");
	if (!mkdtemp(dir))
		return err_os(e, ERR_ENV, errno, "could not make '%s'", dir);
	snprintf(file, sizeof(file), "%s/log.rcap", dir);
	bool ok = capture_into(in, file, path, run, e);
	ok = ok && input_read_capture(in, file, run, e);
	in->has_packets = had_packets;
	unlink(file);
	rmdir(dir);
	return ok;
}
