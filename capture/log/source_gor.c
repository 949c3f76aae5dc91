#include "capture/log/source_gor.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <unistd.h>

#include "capture/log/gor_message.h"
#include "capture/log/http_copy.h"
#include "capture/log/http_feed.h"
#include "core/base/file.h"
#include "core/base/table.h"
#include "core/base/unzip.h"
#include "core/format/gor.h"

enum { PENDING_MAX = 100000, READ_BYTES = 256 << 10 };

static const size_t pending_bytes_max = (size_t)64 << 20;

/* A request or a response that waits for its other half. */
struct pending {
	struct pending *older, *newer;
	struct slice id;
	size_t size;
	int64_t start_ns, last_ns;
	uint64_t bytes;
	bool is_request;
	struct raw_http *http; /* of a request */
	uint16_t status; /* of a response */
	struct slice type;
	/* id, type and the request follow */
};

enum unread { UNREAD_META, UNREAD_CUT, UNREAD_LONG, UNREAD_REQUEST, UNREAD_RESPONSE, UNREAD_COUNT };

struct source_gor {
	const struct run *run;
	struct http_feed *feed;
	struct gor_message message;
	struct buf bytes;
	struct table by_id;
	struct pending *oldest, *newest;
	size_t pending_count, pending_bytes;
	uint64_t records, requests, responses;
	uint64_t unread[UNREAD_COUNT];
	uint64_t paired, unanswered, strays, glued, replayed;
	bool is_cut;
};

static const char *const unread_names[] = { "no meta line", "cut at the end of the file",
	"longer than a record may be", "no HTTP request", "no HTTP response" };

struct source_gor *source_gor_new(
	const struct run *run, const struct request_sink *sink, struct err *e)
{
	struct source_gor *s = calloc(1, sizeof *s);

	if (s)
		s->feed = http_feed_new(sink);
	if (!s || !s->feed) {
		free(s);
		err_set(e, ERR_ENV, "out of memory");
		return NULL;
	}
	s->run = run;
	table_init(&s->by_id, PENDING_MAX + 1);
	buf_init(&s->bytes, GOR_RECORD_MAX + READ_BYTES);
	return s;
}

void source_gor_free(struct source_gor *s)
{
	if (!s)
		return;
	for (struct pending *p = s->oldest, *next; p; p = next) {
		next = p->newer;
		free(p);
	}
	table_free(&s->by_id);
	http_feed_free(s->feed);
	gor_message_free(&s->message);
	buf_free(&s->bytes);
	free(s);
}

bool source_gor_is_damaged(const struct source_gor *s)
{
	bool is_damaged = s->is_cut;

	for (size_t i = 0; i < UNREAD_COUNT; i++)
		is_damaged |= s->unread[i] > 0;
	return is_damaged;
}

/* ---- exchanges */

static int nibble(char c)
{
	return c >= '0' && c <= '9' ? c - '0' : ((c | 32) - 'a' + 10) & 15;
}

/* Digits 9 to 16 of a current ID are the client's IPv4 address. */
static void client_of(struct slice id, struct slice *ret, char text[16])
{
	int byte[4];

	if (id.n != 24)
		return;
	for (int i = 0; i < 4; i++)
		byte[i] = nibble(id.p[8 + 2 * i]) << 4 | nibble(id.p[9 + 2 * i]);
	int n = snprintf(text, 16, "%d.%d.%d.%d", byte[0], byte[1], byte[2], byte[3]);
	*ret = (struct slice){ text, (size_t)n };
}

static bool hand_on(struct source_gor *s, const struct pending *request,
	const struct pending *response, struct err *e)
{
	char client[16];
	struct http_feed_item i = { .http = request->http,
		.start_ns = request->start_ns,
		.end_ns = request->last_ns,
		.fineness_ns = 1,
		.is_start_stamped = true,
		.bytes_in = request->bytes,
		.key = gor_connection(request->id),
		.is_connection = request->id.n == 24,
		.flags = request->http->is_body_cut ? REQUEST_VALUE_LOST : 0 };

	client_of(request->id, &i.client, client);
	if (response) {
		request->http->status = response->status;
		request->http->answer_type = response->type;
		i.first_byte_ns = response->start_ns;
		i.end_ns = response->last_ns;
		i.bytes_out = response->bytes;
		s->paired++;
	} else if (s->responses) {
		i.flags |= REQUEST_UNANSWERED;
		s->unanswered++;
	} else {
		/* Recorded without answers: no time is known, not even that there was none. */
		i.flags |= REQUEST_GAP;
		i.end_ns = i.start_ns;
		s->unanswered++;
	}
	if (i.end_ns < i.start_ns)
		i.end_ns = i.start_ns;
	if (i.first_byte_ns && i.first_byte_ns < i.start_ns)
		i.first_byte_ns = i.start_ns;
	return http_feed_take(s->feed, &i, e);
}

static void unlink_pending(struct source_gor *s, struct pending *p)
{
	*(p->older ? &p->older->newer : &s->oldest) = p->newer;
	*(p->newer ? &p->newer->older : &s->newest) = p->older;
	s->pending_count--;
	s->pending_bytes -= p->size;
	if (table_get(&s->by_id, p->id) == p)
		table_remove(&s->by_id, p->id);
}

static bool give_up(struct source_gor *s, struct pending *p, struct err *e)
{
	bool ok = true;

	unlink_pending(s, p);
	if (p->is_request)
		ok = hand_on(s, p, NULL, e);
	else
		s->strays++;
	free(p);
	return ok;
}

/* The same ID twice of the same kind: the older one stays without its half. */
static bool meet(struct source_gor *s, struct pending *p, struct err *e)
{
	struct pending *other = table_get(&s->by_id, p->id);

	if (other && other->is_request != p->is_request) {
		unlink_pending(s, other);
		bool ok = hand_on(s, p->is_request ? p : other, p->is_request ? other : p, e);

		free(other);
		free(p);
		return ok;
	}
	if (other && !give_up(s, other, e)) {
		free(p);
		return false;
	}
	if (!table_put(&s->by_id, p->id, p)) {
		free(p);
		return err_set(e, ERR_ENV, "out of memory");
	}
	p->older = s->newest;
	*(s->newest ? &s->newest->newer : &s->oldest) = p;
	s->newest = p;
	s->pending_count++;
	s->pending_bytes += p->size;
	while (s->pending_count > PENDING_MAX || s->pending_bytes > pending_bytes_max)
		if (!give_up(s, s->oldest, e))
			return false;
	return true;
}

static struct pending *new_pending(
	const struct gor_record *r, const struct raw_http *http, struct slice type)
{
	size_t http_size = http ? http_copy_size(http) : 0;
	size_t size = sizeof(struct pending) + http_size + r->id.n + type.n;
	struct pending *p = calloc(1, size);

	if (!p)
		return NULL;
	char *to = (char *)(p + 1);
	p->size = size;
	p->is_request = http != NULL;
	p->http = http ? http_copy(http, to) : NULL;
	p->start_ns = r->time_ns;
	if (r->length_ns < 0 || __builtin_add_overflow(r->time_ns, r->length_ns, &p->last_ns))
		p->last_ns = r->time_ns;
	p->bytes = r->payload.n;
	to += http_size;
	p->id = (struct slice){ memcpy(to, r->id.p, r->id.n), r->id.n };
	to += r->id.n;
	if (type.n)
		memcpy(to, type.p, type.n);
	p->type = (struct slice){ to, type.n };
	return p;
}

/* ---- records */

static bool take_request(struct source_gor *s, const struct gor_record *r, struct err *e)
{
	struct raw_http http;
	const char *why;

	if (!gor_message_request(&s->message, r->payload, &http, &why)) {
		s->unread[UNREAD_REQUEST]++;
		return true;
	}
	s->requests++;
	s->glued += s->message.has_more;
	struct pending *p = new_pending(r, &http, (struct slice){ 0 });
	return p ? meet(s, p, e) : err_set(e, ERR_ENV, "out of memory");
}

static bool take_response(struct source_gor *s, const struct gor_record *r, struct err *e)
{
	uint16_t status;
	struct slice type;

	if (!gor_message_response(&s->message, r->payload, &status, &type)) {
		s->unread[UNREAD_RESPONSE]++;
		return true;
	}
	s->responses++;
	struct pending *p = new_pending(r, NULL, type);
	if (!p)
		return err_set(e, ERR_ENV, "out of memory");
	p->status = status;
	return meet(s, p, e);
}

static bool take_record(struct source_gor *s, const struct gor_record *r, struct err *e)
{
	s->records++;
	switch (r->type) {
	case GOR_REQUEST:
		return take_request(s, r, e);
	case GOR_RESPONSE:
		return take_response(s, r, e);
	default:
		/* Of a replay: its times are another day's. */
		s->replayed++;
		return true;
	}
}

static void count_unread(struct source_gor *s, const char *why)
{
	for (size_t i = 0; i < UNREAD_COUNT; i++)
		s->unread[i] += strcmp(unread_names[i], why) == 0;
}

static bool take_records(struct source_gor *s, bool is_last, struct err *e)
{
	struct slice rest = buf_slice(&s->bytes);
	struct gor_record r;
	const char *why;

	for (;;) {
		switch (gor_next(&rest, is_last, &r, &why)) {
		case STEP_ITEM:
			if (!take_record(s, &r, e))
				return false;
			break;
		case STEP_FAIL:
			count_unread(s, why);
			break;
		default:
			buf_eat(&s->bytes, s->bytes.n - rest.n);
			return true;
		}
	}
}

/* ---- files */

static bool is_stopped(const struct source_gor *s)
{
	return s->run && run_stopped(s->run);
}

static bool read_unzip(struct source_gor *s, struct unzip *u, struct err *e)
{
	struct run_progress progress = { .verb = "reading", .unit = "bytes" };
	enum step step = STEP_ITEM;
	const char *why;
	double done = 0;

	buf_reset(&s->bytes);
	while (step == STEP_ITEM && !is_stopped(s)) {
		char *to = buf_room(&s->bytes, READ_BYTES);
		size_t n = 0;

		if (!to)
			return err_set(e, ERR_ENV, "out of memory");
		step = unzip_read_or_stop(u, to, READ_BYTES, &n, e);
		if (step == STEP_FAIL)
			return false;
		s->bytes.n += step == STEP_ITEM ? n : 0;
		done += (double)n;
		if (!take_records(s, step == STEP_END, e))
			return false;
		if (s->run)
			run_progress_at(s->run, &progress, done);
	}
	if (s->run)
		run_progress_end(s->run, &progress);
	s->is_cut |= unzip_was_cut(u, &why);
	return true;
}

bool source_gor_read(struct source_gor *s, const char *path, struct err *e)
{
	bool is_stdin = strcmp(path, "-") == 0;
	CLEANUP(file_close_fd) int own = is_stdin ? -1 : open(path, O_RDONLY | O_CLOEXEC);
	struct unzip *u = NULL;
	bool ok = false;

	if (!is_stdin && own < 0)
		err_os(e, ERR_INPUT, errno, "could not open");
	else if ((u = unzip_open(is_stdin ? STDIN_FILENO : own, e)))
		ok = read_unzip(s, u, e);
	unzip_close(u);
	return ok || err_in(e, "%s", is_stdin ? "standard input" : path);
}

/* ---- the end */

static void fill_ledger(const struct source_gor *s, struct json *lines, struct json *requests)
{
	struct json *unread = json_object(), *unpaired = json_object();

	for (size_t i = 0; i < UNREAD_COUNT; i++)
		if (s->unread[i])
			json_set_int(unread, unread_names[i], (int64_t)s->unread[i]);
	if (s->replayed)
		json_set_int(unread, "answer of a replay", (int64_t)s->replayed);
	json_set_int(lines, "read",
		(int64_t)(s->records - s->replayed - s->unread[UNREAD_REQUEST] -
			  s->unread[UNREAD_RESPONSE]));
	json_set(lines, "unread", unread);
	if (s->unanswered)
		json_set_int(unpaired, s->responses ? "no answer" : "recorded without answers",
			(int64_t)s->unanswered);
	if (s->strays)
		json_set_int(unpaired, "no request", (int64_t)s->strays);
	if (s->glued)
		json_set_int(unpaired, "glued to another request", (int64_t)s->glued);
	json_set_int(requests, "paired", (int64_t)s->paired);
	json_set(requests, "unpaired", unpaired);
	if (http_feed_late(s->feed))
		json_set_int(requests, "out_of_order", (int64_t)http_feed_late(s->feed));
}

bool source_gor_finish(struct source_gor *s, struct json *ledger_lines,
	struct json *ledger_requests, struct err *e)
{
	bool ok = true;

	while (ok && s->oldest)
		ok = give_up(s, s->oldest, e);
	ok = ok && http_feed_finish(s->feed, e);
	fill_ledger(s, ledger_lines, ledger_requests);
	if (!ok || is_stopped(s))
		return ok;
	if (!s->requests) {
		err_set(e, ERR_INPUT, "none of %" PRIu64 " records is a request", s->records);
		return err_hint(e, "record with gor --input-raw :PORT --output-file FILE.gor");
	}
	if (!s->responses && s->run)
		run_note(s->run, "the requests were recorded without answers, so latencies cannot "
				 "be estimated (gor --input-raw-track-response records them)");
	return true;
}
