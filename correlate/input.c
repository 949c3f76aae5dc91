#include "correlate/input.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/base/json.h"
#include "core/model/rcap.h"
#include "core/model/rcap_code.h"

enum { LINE_MAX_BYTES = 1 << 20, FIELDS_MAX = 64, SNIFF = 4096 };

/* ---- capture files */

static bool add_request(struct input *in, struct series_route **routes, const struct rcap *file,
	const struct request_record *q)
{
	const struct rcap_route *from = rcap_route(file, q->route);
	struct series_route *r = q->route < RCAP_ROUTES_MAX ? routes[q->route] : NULL;

	if (!r) {
		r = series_route(in->series, from ? from->text : SLICE("other"),
			from ? from->fingerprint : 0);
		if (q->route < RCAP_ROUTES_MAX)
			routes[q->route] = r;
	}
	if (!r)
		return false;
	if (q->flags & REQUEST_UNANSWERED)
		return series_add_unanswered(in->series, r, q->start_ns, q->end_ns - q->start_ns);
	return series_add(in->series, r, q->start_ns, q->end_ns - q->start_ns, rcap_is_error(q));
}

static bool read_requests(struct input *in, struct rcap *file, struct series_route **routes,
	const struct run *run, struct err *e)
{
	struct run_progress progress = { .verb = "reading", .unit = "requests" };
	struct rcap_item item;
	enum step step = STEP_END;

	while (!run_stopped(run) && (step = rcap_next(file, &item, e)) == STEP_ITEM) {
		const struct request_record *q = &item.request;

		if (item.kind != RCAP_REQUEST || q->form == FORM_PREPARE ||
			q->flags & REQUEST_SKIPPED)
			continue;
		if (rcap_latency_us(q) < 0)
			in->untimed++;
		else if (q->flags & REQUEST_GAP)
			in->gap++;
		else if (add_request(in, routes, file, q))
			in->read++;
		else
			in->bad++;
		if ((in->read & 0xfff) == 0)
			run_progress_at(run, &progress, (double)in->read);
	}
	run_progress_end(run, &progress);
	return step != STEP_FAIL;
}

static bool read_capture(struct input *in, const char *path, const struct run *run, struct err *e)
{
	struct rcap *file = rcap_open(path, e);
	struct series_route **routes = calloc(RCAP_ROUTES_MAX, sizeof(struct series_route *));
	bool ok = file && routes && read_requests(in, file, routes, run, e);

	if (file && !routes)
		err_set(e, ERR_ENV, "out of memory");
	if (file) {
		in->is_torn |= rcap_is_torn(file);
		rcap_close(file);
	}
	in->has_packets = true;
	free(routes);
	return ok;
}

/* ---- lines */

struct columns {
	int t, route, ms, status; /* -1: none */
	bool is_set;
};

struct line_reader {
	struct input *in;
	const char *path;
	FILE *from;
	uint64_t number;
	bool is_json;
	struct columns columns;
};

static bool add_line(struct input *in, int64_t start_ns, struct slice route, double ms,
	bool is_error, struct err *e)
{
	if (!(ms >= 0) || ms > 1e12)
		return err_set(e, ERR_INPUT, "the latency is not a number of milliseconds");
	struct series_route *r = series_route(in->series, route, 0);
	if (!r)
		return err_set(e, ERR_INPUT, "more than %d routes", SERIES_ROUTES_MAX);
	if (!series_add(in->series, r, start_ns, (int64_t)llround(ms * 1e6), is_error))
		return err_set(e, ERR_INPUT,
			"more than 240 days from the first request, or out of memory");
	return true;
}

static bool is_bad_status(struct slice status)
{
	char text[16];

	if (!status.n || status.n >= sizeof(text) || slice_is(status, "00000"))
		return false;
	memcpy(text, status.p, status.n);
	text[status.n] = '\0';
	char *end;
	long v = strtol(text, &end, 10);
	/* Three digits are HTTP's, five characters an SQLSTATE. */
	return status.n == 5 ? true : *end == '\0' && v >= 500;
}

static bool parse_time(struct slice text, int64_t *ret_ns, struct err *e)
{
	char zoned[80];

	if (clock_parse(text, ret_ns))
		return true;
	snprintf(zoned, sizeof(zoned), "%.*sZ", (int)(text.n < 60 ? text.n : 60),
		text.p ? text.p : "");
	if (text.n > 4 && text.p[4] == '-' && clock_parse(slice_of(zoned), ret_ns)) {
		err_set(e, ERR_INPUT, "the time '%.*s' has no zone", (int)text.n, text.p);
		return err_hint(e, "write it as RFC 3339 with Z or +hh:mm, or as epoch seconds");
	}
	return err_set(e, ERR_INPUT, "'%.*s' is not a time", (int)(text.n < 40 ? text.n : 40),
		text.p ? text.p : "");
}

static bool json_line(struct input *in, struct slice text, struct err *e)
{
	struct json *line CLEANUP(json_cleanup) = json_parse(text, "line", e);
	int64_t start_ns;

	if (!line) {
		e->where[0] = '\0';
		return false;
	}
	const struct json *t = json_get(line, "t");
	const char *route = json_text(json_get(line, "route"), NULL);
	const struct json *status = json_get(line, "status");
	if (json_type(t) == JSON_NUMBER) {
		double s = json_number(t, NAN);

		if (!(s > -9e9 && s < 9e9))
			return err_set(e, ERR_INPUT, "'t' is not a time");
		start_ns = (int64_t)llround(s * 1e6) * NS_PER_US;
	} else if (!json_text(t, NULL)) {
		return err_set(e, ERR_INPUT, "no 't'");
	} else if (!parse_time(slice_of(json_text(t, "")), &start_ns, e)) {
		return false;
	}
	if (!route)
		return err_set(e, ERR_INPUT, "no 'route'");
	bool is_error = json_type(status) == JSON_NUMBER
				? json_number(status, 0) >= 500
				: is_bad_status(slice_of(json_text(status, "")));
	return add_line(
		in, start_ns, slice_of(route), json_number(json_get(line, "ms"), NAN), is_error, e);
}

/* RFC 4180; unquotes in place. Returns the number of fields, or -1. */
static int split_csv(char *line, size_t n, struct slice fields[FIELDS_MAX])
{
	size_t at = 0;
	int count = 0;

	for (;;) {
		if (count == FIELDS_MAX)
			return -1;
		char *start = line + at;
		size_t length = 0;
		if (at < n && line[at] == '"') {
			start = line + ++at;
			while (at < n && (line[at] != '"' || (at + 1 < n && line[at + 1] == '"'))) {
				at += line[at] == '"';
				start[length++] = line[at++];
			}
			if (at++ >= n)
				return -1;
		} else {
			while (at < n && line[at] != ',') {
				at++;
				length++;
			}
		}
		fields[count++] = (struct slice){ start, length };
		if (at >= n)
			return count;
		if (line[at++] != ',')
			return -1;
	}
}

static int find_column(const struct slice *fields, int count, const char *const *names)
{
	for (; *names; names++)
		for (int i = 0; i < count; i++)
			if (fields[i].n == strlen(*names) &&
				strncasecmp(fields[i].p, *names, fields[i].n) == 0)
				return i;
	return -1;
}

/* True when the line was a header. */
static bool set_columns(struct columns *c, const struct slice *fields, int count)
{
	static const char *const t[] = { "t", "time", "timestamp", NULL };
	static const char *const route[] = { "route", NULL };
	static const char *const ms[] = { "ms", NULL };
	static const char *const status[] = { "status", NULL };

	*c = (struct columns){ find_column(fields, count, t), find_column(fields, count, route),
		find_column(fields, count, ms), find_column(fields, count, status), true };
	if (c->t >= 0 && c->route >= 0 && c->ms >= 0)
		return true;
	*c = (struct columns){ 0, 1, 2, 3, true };
	return false;
}

static bool csv_line(struct line_reader *r, char *line, size_t n, bool *ret_header, struct err *e)
{
	struct slice fields[FIELDS_MAX];
	int count = split_csv(line, n, fields);
	char number[64], *end;
	int64_t start_ns;

	*ret_header = false;
	if (count < 0)
		return err_set(e, ERR_INPUT, "not a line of comma-separated values");
	if (!r->columns.is_set && set_columns(&r->columns, fields, count)) {
		*ret_header = true;
		return true;
	}
	const struct columns *c = &r->columns;
	if (c->t >= count || c->route >= count || c->ms >= count)
		return err_set(e, ERR_INPUT, "%d fields, where t, route and ms are needed", count);
	struct slice ms = fields[c->ms];
	if (!ms.n || ms.n >= sizeof(number))
		return err_set(e, ERR_INPUT, "the latency is not a number of milliseconds");
	memcpy(number, ms.p, ms.n);
	number[ms.n] = '\0';
	double value = strtod(number, &end);
	if (*end || end == number)
		return err_set(e, ERR_INPUT, "the latency is not a number of milliseconds");
	if (!parse_time(fields[c->t], &start_ns, e))
		return false;
	bool is_error = c->status >= 0 && c->status < count && is_bad_status(fields[c->status]);
	return add_line(r->in, start_ns, fields[c->route], value, is_error, e);
}

static void take_line(struct line_reader *r, char *line, size_t n)
{
	struct err bad = { 0 };
	bool is_header = false, is_good;

	if (n > LINE_MAX_BYTES)
		is_good = err_set(&bad, ERR_INPUT, "longer than %d bytes", LINE_MAX_BYTES);
	else if (r->is_json)
		is_good = json_line(r->in, (struct slice){ line, n }, &bad);
	else
		is_good = csv_line(r, line, n, &is_header, &bad);
	r->in->read += is_good && !is_header;
	r->in->bad += !is_good;
	if (!is_good && r->in->first_bad.kind == ERR_NONE) {
		r->in->first_bad = bad;
		err_in(&r->in->first_bad, "%s: line %llu", r->path, (unsigned long long)r->number);
	}
}

static size_t trimmed(const char *line, ssize_t n)
{
	while (n > 0 && strchr(" \t\r\n", line[n - 1]) && line[n - 1])
		n--;
	return (size_t)n;
}

static bool read_lines(struct line_reader *r, const struct run *run, struct err *e)
{
	struct run_progress progress = { .verb = "reading", .unit = "lines" };
	char *line = NULL;
	size_t room = 0;
	ssize_t got;
	bool has_seen = false;

	while (!run_stopped(run) && (got = getline(&line, &room, r->from)) >= 0) {
		size_t n = trimmed(line, got);

		r->number++;
		if (!n)
			continue;
		if (!has_seen)
			r->is_json = *line == '{';
		has_seen = true;
		take_line(r, line, n);
		if ((r->number & 0xfff) == 0)
			run_progress_at(run, &progress, (double)r->number);
	}
	run_progress_end(run, &progress);
	free(line);
	return ferror(r->from) && !run_stopped(run)
		       ? err_os(e, ERR_INPUT, errno, "could not read '%s'", r->path)
		       : true;
}

/* A file all of whose lines are unreadable is more likely something else. */
static bool is_something(
	const struct input *in, uint64_t read_before, const char *path, struct err *e)
{
	if (in->read > read_before)
		return true;
	if (in->first_bad.kind == ERR_NONE) {
		err_set(e, ERR_INPUT, "no request in it");
		return err_in(e, "%s", path);
	}
	*e = in->first_bad;
	if (!e->hint[0])
		err_hint(e,
			"inputs are .rcap files, CSV or JSON lines with t, route, ms; a server's log: 'reprod capture LOG -o F.rcap' first");
	return false;
}

/* ---- which is it */

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

static bool is_url(const char *path, struct err *e)
{
	static const char *const schemes[] = { "sql:", "prometheus:", "clickhouse:" };

	for (size_t i = 0; i < LENGTH(schemes); i++)
		if (strncmp(path, schemes[i], strlen(schemes[i])) == 0) {
			err_set(e, ERR_USAGE, "this version cannot read from '%s'", schemes[i]);
			err_hint(e, "export t, route, ms as CSV or JSON lines");
			return true;
		}
	return false;
}

/* The bytes looked at stand in front of the rest again: a pipe cannot be wound back. */
struct sniffed {
	int fd;
	size_t n, at;
	unsigned char head[SNIFF];
};

static ssize_t read_sniffed(void *cookie, char *to, size_t room)
{
	struct sniffed *s = cookie;
	size_t n = s->n - s->at < room ? s->n - s->at : room;

	if (n == 0)
		return read(s->fd, to, room);
	memcpy(to, s->head + s->at, n);
	s->at += n;
	return (ssize_t)n;
}

static bool sniff(struct sniffed *s, const char *path, struct err *e)
{
	ssize_t got = 1;

	while (s->n < SNIFF && got > 0) {
		got = read(s->fd, s->head + s->n, SNIFF - s->n);
		if (got < 0 && errno == EINTR)
			return err_set(e, ERR_INTERRUPTED, "interrupted");
		if (got < 0)
			return err_os(e, ERR_INPUT, errno, "could not read '%s'", path);
		s->n += (size_t)got;
	}
	return true;
}

static bool read_text(
	struct input *in, const char *path, struct sniffed *s, const struct run *run, struct err *e)
{
	cookie_io_functions_t io = { .read = read_sniffed };
	struct line_reader reader = { .in = in, .path = path, .from = fopencookie(s, "r", io) };
	uint64_t before = in->read;

	if (!reader.from)
		return err_set(e, ERR_ENV, "out of memory");
	bool ok = read_lines(&reader, run, e) && is_something(in, before, path, e);
	fclose(reader.from);
	return ok;
}

static bool read_any(
	struct input *in, const char *path, struct sniffed *s, const struct run *run, struct err *e)
{
	if (!sniff(s, path, e))
		return false;
	if (is_pcap(s->head, s->n)) {
		err_set(e, ERR_INPUT, "'%s' is a packet capture: capture it first", path);
		return err_hint(e, "reprod capture %s -o FILE.rcap", path);
	}
	if (!s->n || !memchr(s->head, 0, s->n))
		return read_text(in, path, s, run, e);
	if (lseek(s->fd, 0, SEEK_SET) == 0)
		return read_capture(in, path, run, e);
	err_set(e, ERR_INPUT, "'%s' is a pipe with bytes that are no text", path);
	return err_hint(e, "a capture is read from its file, not from a pipe");
}

bool input_read(struct input *in, const char *path, const struct run *run, struct err *e)
{
	bool is_stdin = strcmp(path, "-") == 0;
	struct sniffed s = { .fd = STDIN_FILENO };

	if (is_url(path, e))
		return false;
	if (!is_stdin)
		s.fd = open(path, O_RDONLY | O_CLOEXEC);
	if (s.fd < 0)
		return err_os(e, ERR_INPUT, errno, "could not open '%s'", path);
	bool ok = read_any(in, is_stdin ? "/dev/stdin" : path, &s, run, e);
	if (!is_stdin)
		close(s.fd);
	return ok;
}
