#include "capture/log/source_pglog.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <unistd.h>

#include "capture/log/log_match.h"
#include "core/base/file.h"
#include "core/format/pglog_csv.h"
#include "core/format/zone.h"

enum { READ_BYTES = 256 << 10, RECORD_MAX = 64 << 20 };

struct source_pglog {
	const struct source_pglog_options *options;
	struct log_match_options match_options;
	struct log_match *match;
	struct zone zone;
	bool has_zone;
	struct pglog_csv csv;
	struct buf bytes;
	uint64_t lines; /* of the file being read */
	bool is_damaged;
	char name[256]; /* of the file read last */
};

bool source_pglog_detect(struct slice first_bytes, const char **ret_name)
{
	static const char *const names[] = { NULL, "csvlog", "jsonlog", "stderr log" };

	*ret_name = names[pglog_detect(first_bytes)];
	return *ret_name != NULL;
}

struct source_pglog *source_pglog_new(
	const struct source_pglog_options *o, const struct request_sink *sink, struct err *e)
{
	struct source_pglog *s = calloc(1, sizeof(*s));

	if (!s) {
		err_set(e, ERR_ENV, "out of memory");
		return NULL;
	}
	s->options = o;
	s->match_options = (struct log_match_options){ o->parameter_max_bytes, o->server };
	buf_init(&s->bytes, RECORD_MAX);
	if (o->zone) {
		if (!zone_open(&s->zone, o->zone, e)) {
			source_pglog_free(s);
			return NULL;
		}
		s->has_zone = true;
	}
	s->match = log_match_new(&s->match_options, sink, e);
	if (s->match)
		return s;
	source_pglog_free(s);
	return NULL;
}

bool source_pglog_is_damaged(const struct source_pglog *s)
{
	return s->is_damaged;
}

void source_pglog_free(struct source_pglog *s)
{
	if (!s)
		return;
	log_match_free(s->match);
	zone_close(&s->zone);
	pglog_csv_free(&s->csv);
	buf_free(&s->bytes);
	free(s);
}

static bool refuse_zone(const struct pglog_stamp *stamp, struct err *e)
{
	err_set(e, ERR_INPUT, "the time zone '%.*s' does not say its offset from UTC",
		(int)stamp->zone.n, stamp->zone.p);
	return err_hint(
		e, "name the zone of log_timezone with --log-zone, as Europe/Berlin or +02:00");
}

static bool to_utc(const struct source_pglog *s, const struct pglog_stamp *stamp, int64_t *ret_ns,
	struct err *e)
{
	*ret_ns = stamp->local_ns - stamp->offset_ns;
	if (stamp->has_offset)
		return true;
	if (!s->has_zone)
		return refuse_zone(stamp, e);
	if (zone_to_utc(&s->zone, stamp->local_ns, stamp->zone, ret_ns))
		return true;
	err_set(e, ERR_INPUT, "'%.*s' is no time of the zone '%s' at that date", (int)stamp->zone.n,
		stamp->zone.p, s->options->zone);
	return err_hint(e, "see the server's log_timezone");
}

static bool take_line(struct source_pglog *s, const struct pglog_line *line, struct err *e)
{
	int64_t time_ns, start_ns = 0;

	if (!to_utc(s, &line->time, &time_ns, e))
		return false;
	if (line->session_start.zone.n && !to_utc(s, &line->session_start, &start_ns, e))
		return false;
	return log_match_line(s->match, line, time_ns, start_ns, e);
}

/* Takes all whole records out of the buffer. */
static bool take_records(struct source_pglog *s, bool is_last, struct err *e)
{
	struct slice rest = buf_slice(&s->bytes);
	struct pglog_line line;
	const char *why;

	for (;;) {
		switch (pglog_csv_next(&s->csv, &rest, is_last, &line, &why)) {
		case STEP_ITEM:
			s->lines++;
			if (!take_line(s, &line, e))
				return err_in(e, "record %" PRIu64, s->lines);
			break;
		case STEP_FAIL:
			s->lines++;
			s->is_damaged = true;
			log_match_unread(s->match, why);
			break;
		default:
			buf_eat(&s->bytes, s->bytes.n - rest.n);
			return true;
		}
	}
}

static bool refuse_format(struct slice first, struct err *e)
{
	enum pglog_format format = pglog_detect(first);

	if (format == PGLOG_CSV)
		return true;
	if (first.n == 0)
		return err_set(e, ERR_INPUT, "the file is empty");
	err_set(e, ERR_INPUT, "%s",
		format == PGLOG_JSON     ? "jsonlog is not read yet, only csvlog"
		: format == PGLOG_STDERR ? "a stderr log is not read yet, only csvlog"
					 : "not a Postgres csvlog");
	return err_hint(e, "set log_destination = 'csvlog' and logging_collector = on");
}

static bool read_more(struct source_pglog *s, int fd, bool *ret_is_end, struct err *e)
{
	size_t room = RECORD_MAX - s->bytes.n < READ_BYTES ? RECORD_MAX - s->bytes.n : READ_BYTES;
	char *to = buf_room(&s->bytes, room);

	if (!to)
		return err_set(e, ERR_ENV, "out of memory");
	ssize_t n = read(fd, to, room);
	if (n < 0 && errno != EINTR)
		return err_os(e, ERR_INPUT, errno, "could not read");
	*ret_is_end = n == 0;
	s->bytes.n += n > 0 ? (size_t)n : 0;
	return true;
}

static bool is_stopped(const struct source_pglog *s)
{
	return s->options->run && run_stopped(s->options->run);
}

static bool read_fd(struct source_pglog *s, int fd, struct err *e)
{
	struct run_progress progress = { .verb = "reading", .unit = "bytes" };
	bool is_end = false, is_known = false;
	double done = 0;

	buf_reset(&s->bytes);
	s->lines = 0;
	while (!is_end && !is_stopped(s)) {
		size_t before = s->bytes.n;

		if (!read_more(s, fd, &is_end, e))
			return false;
		done += (double)(s->bytes.n - before);
		if (!is_known && (is_end || s->bytes.n >= 512)) {
			if (!refuse_format(buf_slice(&s->bytes), e))
				return false;
			is_known = true;
		}
		if (is_known && !take_records(s, is_end, e))
			return false;
		/* No record is that long: a quote without its end. */
		if (s->bytes.n == RECORD_MAX && !take_records(s, true, e))
			return false;
		if (s->options->run)
			run_progress_at(s->options->run, &progress, done);
	}
	if (s->options->run)
		run_progress_end(s->options->run, &progress);
	return true;
}

bool source_pglog_read(struct source_pglog *s, const char *path, struct err *e)
{
	bool is_stdin = strcmp(path, "-") == 0;

	snprintf(s->name, sizeof(s->name), "%s", is_stdin ? "standard input" : path);
	CLEANUP(file_close_fd) int fd = -1;

	if (!is_stdin) {
		fd = open(path, O_RDONLY | O_CLOEXEC);
		if (fd < 0) {
			err_os(e, ERR_INPUT, errno, "could not open");
			return err_in(e, "%s", path);
		}
	}
	return read_fd(s, is_stdin ? STDIN_FILENO : fd, e) ||
	       err_in(e, "%s", is_stdin ? "standard input" : path);
}

bool source_pglog_finish(struct source_pglog *s, struct json *ledger_lines,
	struct json *ledger_requests, struct err *e)
{
	bool ok = log_match_finish(s->match, e);

	log_match_ledger(s->match, ledger_lines, ledger_requests);
	if (!ok || log_match_requests(s->match) || is_stopped(s))
		return ok;
	err_set(e, ERR_INPUT, "0 of %" PRIu64 " lines tell of a request with its duration",
		log_match_lines(s->match));
	err_in(e, "%s", s->name);
	return err_hint(e, "set log_min_duration_statement = 0 (or log_statement = 'all' with "
			   "log_duration = on), lc_messages = 'C', then reload and log again");
}
