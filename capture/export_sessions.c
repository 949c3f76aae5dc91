/* wsesslog: httperf's session log, "--wsesslog=N,0,FILE" (httperf(1)). */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "capture/export.h"

/* A request of a session; the line's text follows it. */
struct line {
	uint64_t session, seq;
	int64_t start_ns, end_ns;
	char text[];
};

struct lines {
	struct line **items;
	size_t count, room;
	size_t bytes;
};

static const size_t bytes_max = (size_t)64 << 20;

/* Its words end at blanks, and it has no escapes. */
static bool is_plain(struct slice s, const char * not )
{
	for (size_t i = 0; i < s.n; i++)
		if (s.p[i] <= 0x20 || s.p[i] == 0x7f || strchr(not, s.p[i]))
			return false;
	return s.n > 0;
}

/* A body goes between quotes of one kind; a backslash takes the next byte. */
static bool add_contents(struct slice body, struct buf *to)
{
	bool has_single = memchr(body.p, '\'', body.n), has_double = memchr(body.p, '"', body.n);
	char quote = has_single ? '"' : '\'';

	if ((has_single && has_double) || body.n > 4096 || memchr(body.p, '\\', body.n))
		return false;
	for (size_t i = 0; i < body.n; i++)
		if ((unsigned char)body.p[i] < 0x20)
			return false;
	buf_addf(to, " contents=%c", quote);
	buf_add_slice(to, body);
	buf_add_byte(to, (unsigned char)quote);
	return true;
}

static bool is_known_method(struct slice m)
{
	static const char *const names[] = { "GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS",
		"TRACE" };

	for (size_t i = 0; i < LENGTH(names); i++)
		if (slice_is(m, names[i]))
			return true;
	return false;
}

static bool make_text(struct export *x, struct buf *to)
{
	struct export_http h;

	if (!export_http_parts(x, &h) || !is_plain(h.target, "") || *h.target.p != '/' ||
		!is_known_method(h.method))
		return false;
	buf_add_slice(to, h.target);
	if (!slice_is(h.method, "GET")) {
		buf_add_text(to, " method=");
		buf_add_slice(to, h.method);
	}
	return !h.body.n || add_contents(h.body, to);
}

static bool keep_line(struct lines *l, const struct request_record *q, const struct buf *text)
{
	size_t size = sizeof(struct line) + text->n + 1;

	if (l->count == l->room) {
		size_t room = l->room ? 2 * l->room : 1024;
		struct line **more = realloc(l->items, room * sizeof *more);

		if (!more)
			return false;
		l->items = more;
		l->room = room;
	}
	struct line *line = malloc(size);
	if (!line)
		return false;
	line->session = q->session;
	line->seq = q->seq;
	line->start_ns = q->start_ns;
	line->end_ns = q->end_ns;
	memcpy(line->text, buf_text(text), text->n + 1);
	l->items[l->count++] = line;
	l->bytes += size;
	return true;
}

static bool collect(struct export *x, struct lines *l, struct err *e)
{
	CLEANUP(buf_free) struct buf text = { 0 };
	struct request_record q;
	enum step step;

	while ((step = export_next(x, PROTOCOL_HTTP, &q, e)) == STEP_ITEM) {
		if (l->count == EXPORT_REQUESTS_MAX || l->bytes > bytes_max) {
			x->over_cap++;
			continue;
		}
		if (!export_http_text(x, &q))
			continue;
		buf_reset(&text);
		if (!make_text(x, &text)) {
			x->no_text++;
			continue;
		}
		if (!keep_line(l, &q, &text))
			return err_set(e, ERR_ENV, "out of memory");
		x->written++;
	}
	return step == STEP_END;
}

static int by_session(const void *a, const void *b)
{
	const struct line *x = *(struct line *const *)a, *y = *(struct line *const *)b;

	if (x->session != y->session)
		return x->session < y->session ? -1 : 1;
	if (x->start_ns != y->start_ns)
		return x->start_ns < y->start_ns ? -1 : 1;
	return x->seq < y->seq ? -1 : x->seq > y->seq;
}

/* The think time stands on the line before it: httperf waits after a burst. */
static void print_lines(const struct export *x, const struct lines *l)
{
	for (size_t i = 0; i < l->count; i++) {
		const struct line *line = l->items[i],
				  *next = i + 1 < l->count ? l->items[i + 1] : NULL;
		bool is_last = !next || next->session != line->session;

		if (i && l->items[i - 1]->session != line->session)
			fputs("\n", x->to);
		fputs(line->text, x->to);
		int64_t think_ns = is_last ? 0 : next->start_ns - line->end_ns;
		if (think_ns > 0)
			fprintf(x->to, " think=%.6f", (double)think_ns / (double)NS_PER_S);
		fputs("\n", x->to);
	}
}

static size_t count_sessions(const struct lines *l)
{
	size_t n = l->count > 0;

	for (size_t i = 1; i < l->count; i++)
		n += l->items[i]->session != l->items[i - 1]->session;
	return n;
}

bool export_wsesslog(struct export *x, struct err *e)
{
	struct lines l = { 0 };
	bool ok = collect(x, &l, e);

	if (ok) {
		if (l.count)
			qsort(l.items, l.count, sizeof *l.items, by_session);
		size_t sessions = count_sessions(&l);
		double seconds = (double)(x->last_ns - x->first_ns) / (double)NS_PER_S;

		fprintf(x->to,
			"# httperf --hog --server=HOST --port=PORT --wsesslog=%zu,0,THIS --rate=%.3g\n"
			"# %zu sessions, %zu requests. Not in here: headers, and what overlapped within a\n"
			"# session (one request follows the other); bodies with both kinds of quotes or\n"
			"# control characters, and their requests.\n",
			sessions, seconds > 0 ? (double)sessions / seconds : 1, sessions, l.count);
		print_lines(x, &l);
		ok = !ferror(x->to) || err_os(e, ERR_ENV, errno, "could not write '%s'", x->output);
	}
	for (size_t i = 0; i < l.count; i++)
		free(l.items[i]);
	free(l.items);
	return ok;
}
