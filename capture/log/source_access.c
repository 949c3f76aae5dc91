#include "capture/log/source_access.h"

#include <inttypes.h>
#include <stdlib.h>
#include <unistd.h>

#include "capture/log/http_feed.h"
#include "capture/log/source_lines.h"
#include "core/format/zone.h"

enum { REASONS_MAX = 16, FILES_MAX = 64 };

struct reason {
	const char *why; /* static */
	uint64_t count;
};

struct source_access {
	const struct source_access_options *options;
	struct accesslog *format;
	struct http_feed *feed;
	struct zone zone;
	bool has_zone;
	struct buf key;
	struct reason reasons[REASONS_MAX];
	uint64_t read, unread, requests;
	uint64_t refused; /* lines of another format, not junk that the server logged */
	int64_t fineness_ns;
	bool is_cut;
};

struct source_access *source_access_new(
	const struct source_access_options *o, const struct request_sink *sink, struct err *e)
{
	struct source_access *s = calloc(1, sizeof *s);

	if (s) {
		s->options = o;
		s->feed = http_feed_new(sink);
	}
	if (!s || !s->feed) {
		source_access_free(s);
		err_set(e, ERR_ENV, "out of memory");
		return NULL;
	}
	s->has_zone = o->zone && zone_open(&s->zone, o->zone, e);
	if (!o->zone || s->has_zone)
		return s;
	source_access_free(s);
	return NULL;
}

void source_access_free(struct source_access *s)
{
	if (!s)
		return;
	http_feed_free(s->feed);
	accesslog_free(s->format);
	zone_close(&s->zone);
	buf_free(&s->key);
	free(s);
}

bool source_access_is_damaged(const struct source_access *s)
{
	return s->is_cut || s->refused;
}

int64_t source_access_fineness_ns(const struct source_access *s)
{
	return s->fineness_ns;
}

/* ---- the format */

static void say_format(const struct source_access *s, const char *name)
{
	const struct run *run = s->options->run;

	if (!run)
		return;
	run_note(run, "%s: access log, format '%s'%s", name, accesslog_name(s->format),
		accesslog_has_duration(s->format)
			? ""
			: "; it has no durations, so latencies cannot be estimated");
	if (!accesslog_has_connection(s->format))
		run_note(run,
			"%s: connections are not logged, so a session is one client address%s "
			"up to a minute of silence",
			name, accesslog_has_agent(s->format) ? " and user agent" : "");
}

static bool choose_format(
	struct source_access *s, struct slice first, const char *name, struct err *e)
{
	struct accesslog_options o = s->options->format;

	if (s->format)
		return true;
	if (!o.preset && !o.spec && !o.fields)
		o.preset = accesslog_detect(first);
	if (!o.preset && !o.spec && !o.fields) {
		err_set(e, ERR_INPUT, "the format of this access log is not known");
		return err_hint(e, "give the server's own with --log-format, or --fields for JSON "
				   "lines");
	}
	s->format = accesslog_new(&o, e);
	if (!s->format)
		return false;
	say_format(s, name);
	return true;
}

/* ---- lines */

/* These are what clients sent and the server logged; all others are not of the format. */
static bool is_servers_own(const char *why)
{
	return strncmp(why, "no request line", 15) == 0;
}

static void count_unread(struct source_access *s, const char *why)
{
	s->unread++;
	if (!is_servers_own(why))
		s->refused++;
	for (size_t i = 0; i < REASONS_MAX; i++) {
		struct reason *r = &s->reasons[i];

		if (r->why && strcmp(r->why, why) != 0)
			continue;
		r->why = why;
		r->count++;
		return;
	}
}

static bool to_utc(const struct source_access *s, int64_t *ns, struct err *e)
{
	if (*ns == ACCESSLOG_UNKNOWN)
		return true;
	if (!s->has_zone) {
		err_set(e, ERR_INPUT, "its times do not say their offset from UTC");
		return err_hint(
			e, "name the server's zone with --log-zone, as Europe/Berlin or +02:00");
	}
	return zone_to_utc(&s->zone, *ns, (struct slice){ 0 }, ns) ||
	       err_set(e, ERR_INPUT, "there is no such time in the zone '%s'", s->options->zone);
}

/* Start and end from what the line has; false: it has no duration. */
static bool set_times(const struct accesslog_line *l, struct http_feed_item *i)
{
	bool has_start = l->start_ns != ACCESSLOG_UNKNOWN, has_end = l->end_ns != ACCESSLOG_UNKNOWN;
	bool has_duration = l->duration_ns >= 0;

	i->is_start_stamped = has_start;
	i->fineness_ns = l->fineness_ns;
	i->start_ns = has_start      ? l->start_ns
		      : has_duration ? l->end_ns - l->duration_ns
				     : l->end_ns;
	i->end_ns = has_end ? l->end_ns : has_duration ? l->start_ns + l->duration_ns : l->start_ns;
	return has_duration || (has_start && has_end);
}

static uint8_t version_of(struct slice protocol)
{
	if (protocol.n < 6 || memcmp(protocol.p, "HTTP/", 5) != 0)
		return protocol.n == 2 && protocol.p[0] == 'h' ? 20 : 11;
	/* HTTP/3 has the semantics and the form of 2 (RFC 9114). */
	if (protocol.p[5] >= '2')
		return 20;
	return protocol.n >= 8 && protocol.p[7] == '0' ? 10 : 11;
}

static void set_key(
	struct source_access *s, const struct accesslog_line *l, struct http_feed_item *i)
{
	buf_reset(&s->key);
	i->is_connection = l->connection.n || l->port.n;
	i->is_opening = l->connection_requests == 1;
	if (l->connection.n) {
		buf_add_slice(&s->key, l->connection);
	} else {
		buf_add_slice(&s->key, l->address);
		buf_add_byte(&s->key, l->port.n ? ':' : '\0');
		buf_add_slice(&s->key, l->port.n ? l->port : l->agent);
	}
	i->key = buf_slice(&s->key);
}

static bool take_request(struct source_access *s, struct accesslog_line *l, struct err *e)
{
	struct http_feed_item i = { .bytes_in = l->bytes_in,
		.bytes_out = l->bytes_out,
		.flags = REQUEST_DERIVED,
		.client = l->address,
		.user = l->user };
	struct raw_http http = { .method = l->method,
		.target = l->target,
		.authority = l->host,
		.version = version_of(l->protocol),
		.status = l->status };

	if (l->is_zoneless && (!to_utc(s, &l->start_ns, e) || !to_utc(s, &l->end_ns, e)))
		return false;
	if (!set_times(l, &i))
		i.flags |= REQUEST_GAP;
	/* nginx's 499, and lines with no status: the client went before the answer. */
	if (!l->status)
		i.flags |= REQUEST_UNANSWERED;
	if (l->fineness_ns > s->fineness_ns)
		s->fineness_ns = l->fineness_ns;
	set_key(s, l, &i);
	i.http = &http;
	s->requests++;
	return http_feed_take(s->feed, &i, e);
}

static bool take_line(struct source_access *s, struct slice line, struct err *e)
{
	struct accesslog_line l;
	const char *why;

	switch (accesslog_read(s->format, line, &l, &why)) {
	case STEP_ITEM:
		s->read++;
		return take_request(s, &l, e);
	case STEP_FAIL:
		count_unread(s, why);
		return true;
	default:
		return true;
	}
}

/* ---- files */

static bool is_stopped(const struct source_access *s)
{
	return s->options->run && run_stopped(s->options->run);
}

static bool read_lines(struct source_access *s, struct source_lines *in, struct err *e)
{
	struct run_progress progress = { .verb = "reading", .unit = "bytes" };
	struct slice line;
	enum step step = STEP_ITEM;

	if (!choose_format(s, source_lines_first(in), source_lines_name(in), e))
		return false;
	for (uint64_t n = 1; !is_stopped(s) && (step = source_lines_next(in, &line, e)) != STEP_END;
		n++) {
		if (step == STEP_FAIL)
			return false;
		if (!line.p)
			count_unread(s, "longer than a line may be");
		else if (!take_line(s, line, e))
			return err_in(e, "line %" PRIu64, n);
		if ((n & 0xfff) == 0 && s->options->run)
			run_progress_at(s->options->run, &progress, (double)source_lines_bytes(in));
	}
	if (s->options->run)
		run_progress_end(s->options->run, &progress);
	s->is_cut |= source_lines_was_cut(in);
	return true;
}

static bool read_file(struct source_access *s, const char *path, struct err *e)
{
	struct source_lines *in = source_lines_open(path, e);
	bool ok = in && (read_lines(s, in, e) || err_in(e, "%s", source_lines_name(in)));

	source_lines_close(in);
	return ok;
}

struct file {
	const char *path;
	int64_t first_ns;
};

/* The stamp of the first line that reads; of a file without any, the end of time. */
static bool find_first(struct source_access *s, struct file *f, struct err *e)
{
	struct source_lines *in = source_lines_open(f->path, e);
	struct accesslog_line l;
	struct slice line;
	const char *why;

	f->first_ns = INT64_MAX;
	if (!in)
		return false;
	bool ok = choose_format(s, source_lines_first(in), source_lines_name(in), e) ||
		  err_in(e, "%s", f->path);
	for (int n = 0; ok && n < 1000 && f->first_ns == INT64_MAX; n++) {
		if (source_lines_next(in, &line, e) != STEP_ITEM)
			break;
		if (line.p && accesslog_read(s->format, line, &l, &why) == STEP_ITEM)
			f->first_ns = l.end_ns != ACCESSLOG_UNKNOWN ? l.end_ns : l.start_ns;
	}
	source_lines_close(in);
	return ok;
}

static int by_first(const void *a, const void *b)
{
	const struct file *x = a, *y = b;

	return x->first_ns < y->first_ns ? -1 : x->first_ns > y->first_ns;
}

bool source_access_read(
	struct source_access *s, const char *const *paths, size_t count, struct err *e)
{
	struct file files[FILES_MAX];

	if (count > FILES_MAX)
		return err_set(e, ERR_USAGE, "at most %d inputs", FILES_MAX);
	for (size_t i = 0; i < count; i++) {
		files[i] = (struct file){ .path = paths[i] };
		if (count > 1 && !find_first(s, &files[i], e))
			return false;
	}
	qsort(files, count, sizeof *files, by_first);
	for (size_t i = 0; i < count && !is_stopped(s); i++)
		if (!read_file(s, files[i].path, e))
			return false;
	return true;
}

/* ---- the end */

static struct json *reasons_json(const struct source_access *s)
{
	struct json *map = json_object();

	for (size_t i = 0; i < REASONS_MAX && s->reasons[i].why; i++)
		json_set_int(map, s->reasons[i].why, (int64_t)s->reasons[i].count);
	return map;
}

bool source_access_finish(struct source_access *s, struct json *ledger_lines,
	struct json *ledger_requests, struct err *e)
{
	bool ok = http_feed_finish(s->feed, e);

	json_set_int(ledger_lines, "read", (int64_t)s->read);
	json_set(ledger_lines, "unread", reasons_json(s));
	json_set_int(ledger_requests, "paired", (int64_t)s->requests);
	json_set(ledger_requests, "unpaired", json_object());
	if (http_feed_late(s->feed))
		json_set_int(ledger_requests, "out_of_order", (int64_t)http_feed_late(s->feed));
	if (!ok || s->requests || is_stopped(s))
		return ok;
	err_set(e, ERR_INPUT, "0 of %" PRIu64 " lines tell of a request (%s)", s->read + s->unread,
		s->reasons[0].why ? s->reasons[0].why : "there is none");
	return err_hint(e, "is it another format? --format NAME takes a preset, --log-format the "
			   "server's own string");
}
