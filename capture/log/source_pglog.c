#include "capture/log/source_pglog.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "capture/log/log_advice.h"
#include "capture/log/log_match.h"
#include "capture/log/log_shape.h"
#include "capture/log/log_time.h"
#include "capture/log/rotated.h"
#include "core/base/file.h"
#include "core/base/unzip.h"
#include "core/format/pglog_csv.h"
#include "core/format/pglog_json.h"
#include "core/format/pglog_stderr.h"

enum {
	READ_BYTES = 256 << 10,
	FIRST_BYTES = 256 << 10, /* what a format and a prefix are known by */
	RECORD_MAX = 64 << 20,
	PATIENCE_S = 10,
};

struct source_pglog {
	const struct source_pglog_options *options;
	struct log_match_options match_options;
	struct log_match *match;
	struct log_time time;
	struct pglog_prefix prefix; /* given, or learned from a file before */
	bool has_prefix;
	struct log_shape shape; /* of the file being read */
	struct pglog_csv csv;
	struct pglog_json json;
	struct pglog_stderr lines_of;
	struct unwrap *unwrap; /* of the file being read, or NULL */
	struct buf bytes;
	uint64_t lines; /* of the file being read */
	bool is_damaged;
	char name[256]; /* of the file read last */
};

/* ---- faces */

bool source_pglog_detect(struct slice first_bytes, const char **ret_name)
{
	static const char *const formats[] = { NULL, "csvlog", "jsonlog", "stderr log" };
	struct log_shape shape;
	struct err unused = { 0 };

	if (!log_shape_of(first_bytes, NULL, &shape, &unused) || shape.format == PGLOG_NONE)
		return false;
	*ret_name = shape.frame   ? unwrap_name(shape.frame)
		    : shape.shell ? unwrap_name(shape.shell)
				  : formats[shape.format];
	return true;
}

bool source_pglog_is_format(const char *name)
{
	return log_shape_is_name(name);
}

const char *source_pglog_formats(void)
{
	return log_shape_names();
}

static bool start_of(void *data, const struct pglog_line *line, int64_t *ret_ns, struct err *e)
{
	struct source_pglog *s = data;
	struct pglog_stamp stamp;

	return !pglog_parse_stamp(line->session_start, &stamp) ||
	       log_time_of(&s->time, &stamp, ret_ns, e);
}

static bool set_up(struct source_pglog *s, const struct request_sink *sink, struct err *e)
{
	const struct source_pglog_options *o = s->options;

	if (!log_time_open(&s->time, o->zone, e))
		return false;
	if (o->format && !log_shape_is_name(o->format)) {
		err_set(e, ERR_USAGE, "format '%s' is not known", o->format);
		return err_hint(e, "%s", log_shape_names());
	}
	if (o->prefix && !pglog_prefix_compile(&s->prefix, o->prefix, e))
		return false;
	s->has_prefix = o->prefix != NULL;
	s->match = log_match_new(&s->match_options, sink, e);
	return s->match != NULL;
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
	s->match_options =
		(struct log_match_options){ .parameter_max_bytes = o->parameter_max_bytes,
			.server = o->server,
			.start_of = start_of,
			.data = s };
	buf_init(&s->bytes, RECORD_MAX);
	if (set_up(s, sink, e))
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
	log_time_close(&s->time);
	pglog_csv_free(&s->csv);
	pglog_json_free(&s->json);
	pglog_stderr_free(&s->lines_of);
	unwrap_free(s->unwrap);
	buf_free(&s->bytes);
	free(s);
}

/* ---- lines */

static bool take_line(struct source_pglog *s, const struct pglog_line *line, struct err *e)
{
	int64_t time_ns = line->utc_ns;

	if (!line->has_utc && !log_time_of(&s->time, &line->time, &time_ns, e))
		return false;
	return log_match_line(s->match, line, time_ns, e) || err_in(e, "line %" PRIu64, s->lines);
}

/* Other programs' lines in the same file are no damage. */
static void leave_out(struct source_pglog *s, const char *why)
{
	s->is_damaged |= strncmp(why, "not of Postgres", 15) != 0 &&
			 strcmp(why, "not a jsonlog record") != 0;
	log_match_unread(s->match, why);
}

static bool take_json(struct source_pglog *s, struct slice text, struct err *e)
{
	struct pglog_line line;
	const char *why;

	if (text.n == 0)
		return true;
	if (pglog_json_line(&s->json, text, &line, &why))
		return take_line(s, &line, e);
	leave_out(s, why);
	return true;
}

static bool take_stderr(
	struct source_pglog *s, struct slice text, const struct pglog_around *around, struct err *e)
{
	struct pglog_line line;
	const char *why;

	switch (pglog_stderr_line(&s->lines_of, text, around, &line, &why)) {
	case STEP_ITEM:
		return take_line(s, &line, e);
	case STEP_FAIL:
		leave_out(s, why);
		return true;
	default:
		return true;
	}
}

/* csvlog that a collector carried line by line: a record is a line, or is cut. */
static bool take_csv(struct source_pglog *s, struct slice text, struct err *e)
{
	struct pglog_line line;
	struct buf *b = &s->lines_of.now.bytes;
	const char *why;

	buf_reset(b);
	buf_add_slice(b, text);
	buf_add_byte(b, '\n');
	struct slice rest = buf_slice(b);
	for (;;) {
		switch (pglog_csv_next(&s->csv, &rest, true, &line, &why)) {
		case STEP_ITEM:
			if (!take_line(s, &line, e))
				return false;
			break;
		case STEP_FAIL:
			leave_out(s, why);
			break;
		default:
			return true;
		}
	}
}

static bool take_text(
	struct source_pglog *s, struct slice text, const struct pglog_around *around, struct err *e)
{
	if (s->shape.format == PGLOG_JSON)
		return take_json(s, text, e);
	if (s->shape.format == PGLOG_CSV)
		return take_csv(s, text, e);
	return take_stderr(s, text, around, e);
}

/* An entry of a collector may be a message of several lines. */
static bool take_entry(struct source_pglog *s, const struct unwrapped *entry, struct err *e)
{
	struct pglog_around around = {
		.has_utc = entry->has_utc, .utc_ns = entry->utc_ns, .pid = entry->pid
	};
	struct slice rest = entry->text;

	if (entry->has_local) {
		if (!log_time_of_syslog(&s->time, entry->local_ns, &around.utc_ns, e))
			return false;
		around.has_utc = true;
	}
	if (s->shape.format != PGLOG_STDERR)
		return take_text(s, rest, &around, e);
	while (rest.n) {
		const char *end = memchr(rest.p, '\n', rest.n);
		struct slice line = { rest.p, end ? (size_t)(end - rest.p) : rest.n };

		if (!take_stderr(s, line, &around, e))
			return false;
		around.is_inside = true;
		rest.p += line.n + (end != NULL);
		rest.n -= line.n + (end != NULL);
	}
	return true;
}

static bool take_wrapped(struct source_pglog *s, struct slice line, struct err *e)
{
	struct unwrapped entry;
	const char *why;

	switch (unwrap_line(s->unwrap, line, &entry, &why)) {
	case STEP_ITEM:
		return take_entry(s, &entry, e);
	case STEP_FAIL:
		leave_out(s, why);
		return true;
	default:
		return true;
	}
}

static bool take_one(struct source_pglog *s, struct slice line, struct err *e)
{
	s->lines++;
	return s->unwrap ? take_wrapped(s, line, e) : take_text(s, line, NULL, e);
}

static bool take_lines(struct source_pglog *s, bool is_last, struct err *e)
{
	struct slice rest = buf_slice(&s->bytes);

	while (rest.n) {
		const char *end = memchr(rest.p, '\n', rest.n);

		if (!end && !is_last)
			break;
		struct slice line = { rest.p, end ? (size_t)(end - rest.p) : rest.n };
		size_t used = line.n + (end != NULL);
		if (!take_one(s, line, e))
			return false;
		rest.p += used;
		rest.n -= used;
	}
	buf_eat(&s->bytes, s->bytes.n - rest.n);
	return true;
}

/* Takes all whole csvlog records out of the buffer. */
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
				return false;
			break;
		case STEP_FAIL:
			s->lines++;
			leave_out(s, why);
			break;
		default:
			buf_eat(&s->bytes, s->bytes.n - rest.n);
			return true;
		}
	}
}

static bool take_bytes(struct source_pglog *s, bool is_last, struct err *e)
{
	return s->shape.format == PGLOG_CSV && !s->unwrap ? take_records(s, is_last, e)
							  : take_lines(s, is_last, e);
}

/* What waits for a line that will not come. */
static bool take_rest(struct source_pglog *s, struct err *e)
{
	struct unwrapped entry;
	struct pglog_line line;

	while (s->unwrap && unwrap_end(s->unwrap, &entry) == STEP_ITEM)
		if (!take_entry(s, &entry, e))
			return false;
	while (s->shape.format == PGLOG_STDERR &&
		pglog_stderr_end(&s->lines_of, &line) == STEP_ITEM)
		if (!take_line(s, &line, e))
			return false;
	return true;
}

/* ---- a file begins */

static bool refuse(const struct log_shape *shape, struct slice first, struct err *e)
{
	if (first.n == 0)
		return err_set(e, ERR_INPUT, "the file is empty");
	if (memmem(first.p, first.n < 4096 ? first.n : 4096, "LOG C-0x", 8) ||
		memmem(first.p, first.n < 4096 ? first.n : 4096, "] LOG S-0x", 10)) {
		err_set(e, ERR_INPUT, "a log of PgBouncer tells of connections, not of statements");
		return err_hint(e, "take the server's log");
	}
	err_set(e, ERR_INPUT, "not a log of Postgres%s%s", *shape->name ? ", though it is " : "",
		shape->name);
	return err_hint(e, "--format NAME says what it is: %s", log_shape_names());
}

static bool refuse_prefix(const struct log_shape *shape, struct err *e)
{
	if (shape->learned.foreign > shape->learned.lines) {
		err_set(e, ERR_INPUT, "its messages are not in English ('%s')",
			shape->learned.example);
		return err_hint(e, "set lc_messages = 'C', then reload and log again");
	}
	err_set(e, ERR_INPUT, "its log_line_prefix could not be learned from the lines");
	return err_hint(e, "give the server's with --log-prefix (SHOW log_line_prefix)");
}

/* Sessions cannot be told apart by less. */
static bool is_sufficient(const struct source_pglog *s, struct err *e)
{
	const struct pglog_prefix *p = &s->prefix;

	if (!pglog_prefix_has(p, 'c') && !pglog_prefix_has(p, 'p') && !s->shape.has_pid) {
		err_set(e, ERR_INPUT, "its log_line_prefix '%s' does not tell sessions apart",
			p->source);
		return err_hint(e, "add %%c, or %%p: log_line_prefix = '%%m [%%p] %%c '");
	}
	if (pglog_prefix_has(p, 'm') || pglog_prefix_has(p, 't') || pglog_prefix_has(p, 'n') ||
		s->shape.frame || s->shape.shell)
		return true;
	err_set(e, ERR_INPUT, "its log_line_prefix '%s' has no time", p->source);
	return err_hint(e, "add %%m: log_line_prefix = '%%m [%%p] %%c '");
}

static bool choose_prefix(struct source_pglog *s, struct err *e)
{
	bool is_learned = !s->options->prefix && s->shape.has_prefix;

	if (is_learned) {
		s->prefix = s->shape.learned.prefix;
		s->has_prefix = true;
	}
	/* A rotated file of a few lines may teach nothing: the one before it did. */
	if (!s->has_prefix)
		return refuse_prefix(&s->shape, e);
	if (is_learned && s->options->run)
		run_detail(s->options->run, "%s: log_line_prefix '%s'", s->name, s->prefix.source);
	pglog_stderr_free(&s->lines_of);
	pglog_stderr_init(&s->lines_of, &s->prefix);
	if (is_learned)
		s->lines_of.is_anonymous = !s->shape.learned.has_user;
	return is_sufficient(s, e);
}

static bool choose(struct source_pglog *s, struct slice first, struct err *e)
{
	if (!log_shape_of(first, s->options->format, &s->shape, e))
		return false;
	if (s->shape.format == PGLOG_NONE)
		return refuse(&s->shape, first, e);
	if (s->options->run)
		run_detail(s->options->run, "%s: %s", s->name, s->shape.name);
	unwrap_free(s->unwrap);
	s->unwrap = NULL;
	if (s->shape.frame || s->shape.shell) {
		s->unwrap = unwrap_new(s->shape.frame, s->shape.shell);
		if (!s->unwrap)
			return err_set(e, ERR_ENV, "out of memory");
	}
	return s->shape.format != PGLOG_STDERR || choose_prefix(s, e);
}

/* ---- reading */

struct reading {
	struct unzip *unzip;
	struct run_progress progress;
	double done;
	int64_t heard_ns; /* when a line came last */
	uint64_t lines;
	bool is_end, is_known;
};

static void close_reading(struct reading *r)
{
	unzip_close(r->unzip);
}

static bool read_more(struct source_pglog *s, struct reading *r, struct err *e)
{
	size_t room = RECORD_MAX - s->bytes.n < READ_BYTES ? RECORD_MAX - s->bytes.n : READ_BYTES,
	       n;
	char *to = buf_room(&s->bytes, room);

	if (!to)
		return err_set(e, ERR_ENV, "out of memory");
	switch (unzip_read_or_stop(r->unzip, to, room, &n, e)) {
	case STEP_ITEM:
		s->bytes.n += n;
		r->done += (double)n;
		return true;
	case STEP_END:
		r->is_end = true;
		return true;
	default:
		return false;
	}
}

static bool is_stopped(const struct source_pglog *s)
{
	return s->options->run && run_stopped(s->options->run);
}

static bool is_patient(const struct source_pglog *s, struct reading *r, struct err *e)
{
	int64_t now_ns = clock_real_mono_ns();
	int64_t patience_ns =
		s->options->patience_ns ? s->options->patience_ns : PATIENCE_S * NS_PER_S;
	uint64_t read = log_match_lines(s->match) - log_match_unread_all(s->match);

	if (read != r->lines || r->heard_ns == 0) {
		r->lines = read;
		r->heard_ns = now_ns;
	}
	if (now_ns - r->heard_ns <= patience_ns)
		return true;
	err_set(e, ERR_INPUT, "%.0f MB without a line of a log", r->done / 1e6);
	return err_hint(e, "is it a log at all? --format NAME forces a format");
}

static bool take_first(struct source_pglog *s, struct reading *r, struct err *e)
{
	if (!r->is_end && s->bytes.n < FIRST_BYTES)
		return true;
	r->is_known = true;
	return choose(s, buf_slice(&s->bytes), e);
}

static bool read_on(struct source_pglog *s, struct reading *r, struct err *e)
{
	while (!r->is_end && !is_stopped(s)) {
		if (!read_more(s, r, e) || (!r->is_known && !take_first(s, r, e)))
			return false;
		if (r->is_known && !take_bytes(s, r->is_end, e))
			return false;
		/* No record is that long: a quote without its end. */
		if (s->bytes.n == RECORD_MAX && !take_bytes(s, true, e))
			return false;
		if (!is_patient(s, r, e))
			return false;
		if (s->options->run)
			run_progress_at(s->options->run, &r->progress, r->done);
	}
	return !r->is_known || take_rest(s, e);
}

static void note_cut(struct source_pglog *s, const struct reading *r)
{
	const char *why;

	if (!unzip_was_cut(r->unzip, &why))
		return;
	s->is_damaged = true;
	if (s->options->run)
		run_note(s->options->run, "%s: %s; what came before it is kept", s->name, why);
}

static bool read_fd(struct source_pglog *s, int fd, struct err *e)
{
	struct reading r CLEANUP(close_reading) = { .unzip = unzip_open(fd, e),
		.progress = { .verb = "reading", .unit = "bytes" } };
	struct stat st;

	if (!r.unzip)
		return false;
	buf_reset(&s->bytes);
	s->lines = 0;
	s->time.newest_ns = fstat(fd, &st) == 0 && S_ISREG(st.st_mode)
				    ? st.st_mtim.tv_sec * NS_PER_S
			    : s->options->run ? clock_wall_ns(&s->options->run->clock)
					      : 0;
	bool ok = read_on(s, &r, e);
	if (s->options->run)
		run_progress_end(s->options->run, &r.progress);
	note_cut(s, &r);
	return ok;
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
	return read_fd(s, is_stdin ? STDIN_FILENO : fd, e) || err_in(e, "%s", s->name);
}

/* ---- several files */

bool source_pglog_read_all(
	struct source_pglog *s, const char *const *paths, size_t count, struct err *e)
{
	struct rotated files = { 0 };
	bool ok = rotated_sort(&files, paths, count, e);

	for (size_t i = 0; ok && i < count && !is_stopped(s); i++)
		ok = source_pglog_read(s, files.paths[i], e);
	rotated_free(&files);
	return ok;
}

/* ---- the end */

static void tell(const struct source_pglog *s)
{
	char text[256];

	if (!s->options->run)
		return;
	if (s->time.assumed[0])
		run_note(s->options->run, "%s: times are in %s; --log-zone says otherwise", s->name,
			s->time.assumed);
	if (log_lacks(s->match, text))
		run_note(s->options->run, "%s: %s", s->name, text);
}

bool source_pglog_finish(struct source_pglog *s, struct json *ledger_lines,
	struct json *ledger_requests, struct err *e)
{
	bool ok = log_match_finish(s->match, e);

	log_match_ledger(s->match, ledger_lines, ledger_requests);
	if (!ok || is_stopped(s))
		return ok;
	if (log_match_requests(s->match) == 0) {
		(void)log_advise(s->match, &s->shape, s->prefix.source, e);
		return err_in(e, "%s", s->name);
	}
	tell(s);
	return true;
}
