#include "core/format/pglog_stderr.h"

#include "core/base/clock.h"

enum { MESSAGE_MAX = 64 << 20 };

void pglog_stderr_init(struct pglog_stderr *r, const struct pglog_prefix *prefix)
{
	*r = (struct pglog_stderr){ .prefix = *prefix,
		.is_anonymous = !pglog_prefix_has(prefix, 'u') && !pglog_prefix_has(prefix, 'd') };
	buf_init(&r->now.bytes, MESSAGE_MAX);
	buf_init(&r->before.bytes, MESSAGE_MAX);
}

void pglog_stderr_free(struct pglog_stderr *r)
{
	buf_free(&r->now.bytes);
	buf_free(&r->before.bytes);
}

/* ---- slices of a message move with its bytes */

static void move_slice(struct slice *s, const char *from, size_t n, const char *to)
{
	uintptr_t p = (uintptr_t)s->p, low = (uintptr_t)from;

	if (s->p && p >= low && p <= low + n)
		s->p = to + (p - low);
}

static void move_all(struct pglog_message *m, const char *from, size_t n, const char *to)
{
	static const uint16_t places[] = {
		offsetof(struct pglog_line, time.zone),
		offsetof(struct pglog_line, session_start),
		offsetof(struct pglog_line, user),
		offsetof(struct pglog_line, database),
		offsetof(struct pglog_line, application),
		offsetof(struct pglog_line, client),
		offsetof(struct pglog_line, port),
		offsetof(struct pglog_line, session_id),
		offsetof(struct pglog_line, command_tag),
		offsetof(struct pglog_line, severity),
		offsetof(struct pglog_line, sqlstate),
		offsetof(struct pglog_line, message),
		offsetof(struct pglog_line, detail),
		offsetof(struct pglog_line, context),
		offsetof(struct pglog_line, query),
		offsetof(struct pglog_line, backend_type),
	};

	for (size_t i = 0; i < LENGTH(places); i++)
		move_slice((struct slice *)((char *)&m->line + places[i]), from, n, to);
	move_slice(&m->pid, from, n, to);
}

/* Appends; NULL when the message is over its cap. */
static const char *append(struct pglog_message *m, struct slice s)
{
	const char *old = m->bytes.p;
	size_t before = m->bytes.n;

	buf_add_slice(&m->bytes, s);
	if (m->bytes.is_full)
		return NULL;
	if (old && m->bytes.p != old)
		move_all(m, old, before, m->bytes.p);
	return m->bytes.p ? m->bytes.p + before : "";
}

static bool reserve(struct pglog_message *m, size_t n)
{
	const char *old = m->bytes.p;

	if (!buf_room(&m->bytes, n))
		return false;
	if (old && m->bytes.p != old)
		move_all(m, old, m->bytes.n, m->bytes.p);
	return true;
}

static bool add_part(struct pglog_message *m, struct slice *part, struct slice text)
{
	const char *at = append(m, text);

	if (at)
		*part = (struct slice){ at, text.n };
	return at != NULL;
}

/* A part is the last in the bytes when its continuation comes. */
static bool add_continuation(struct pglog_message *m, struct slice *part, struct slice text)
{
	return append(m, SLICE("\n")) && append(m, text) && (part->n += 1 + text.n, true);
}

/* ---- a message begins */

static bool parse_epoch(struct slice s, struct pglog_line *line)
{
	line->has_utc = clock_parse(s, &line->utc_ns);
	return line->has_utc;
}

static bool set_time(const struct pglog_prefix_head *h, const struct pglog_around *around,
	struct pglog_line *line)
{
	if (h->time_ms.n && pglog_parse_stamp(h->time_ms, &line->time))
		return true;
	if (h->epoch.n && parse_epoch(h->epoch, line))
		return true;
	/* A wrapping's time is finer than the seconds of %t, but later by what it took. */
	if (h->time.n && pglog_parse_stamp(h->time, &line->time))
		return true;
	line->has_utc = around && around->has_utc;
	line->utc_ns = line->has_utc ? around->utc_ns : 0;
	return line->has_utc;
}

/* Pids come again, a session's start with its pid does not. */
static bool set_session(struct pglog_message *m, const struct pglog_prefix_head *h)
{
	struct pglog_line *line = &m->line;

	if (h->session_id.n)
		return true;
	bool has_start = line->session_start.n > 0;
	/* What is appended lies in the same bytes, which must not move meanwhile. */
	if (!reserve(m, m->pid.n + 1 + line->session_start.n + line->client.n))
		return false;
	size_t before = m->bytes.n;
	if (!append(m, m->pid) || !append(m, SLICE("@")) ||
		!append(m, has_start ? line->session_start : line->client))
		return false;
	line->session_id = (struct slice){ m->bytes.p + before, m->bytes.n - before };
	line->is_rebuilt = !has_start;
	return true;
}

/* "host(port)" */
static void split_client(struct pglog_line *line)
{
	struct slice c = line->client;
	const char *open = c.n && c.p[c.n - 1] == ')' ? memrchr(c.p, '(', c.n) : NULL;

	if (!open)
		return;
	line->client.n = (size_t)(open - c.p);
	line->port = (struct slice){ open + 1, c.n - line->client.n - 2 };
}

static bool begin(struct pglog_stderr *r, struct slice line, const struct pglog_prefix_head *h,
	const struct pglog_around *around)
{
	struct pglog_message *m = &r->now;
	struct slice prefix = { line.p, (size_t)(h->text.p - line.p) };

	buf_reset(&m->bytes);
	m->line = (struct pglog_line){ .user = h->user,
		.database = h->database,
		.application = h->application,
		.client = h->client,
		.session_id = h->session_id,
		.session_start = h->session_start,
		.command_tag = h->command_tag,
		.backend_type = h->backend_type,
		.severity = h->severity,
		.sqlstate = h->sqlstate };
	m->line.is_anonymous = r->is_anonymous;
	m->pid = h->pid;
	if (!set_time(h, around, &m->line))
		return false;
	const char *copy = append(m, prefix);
	if (!copy)
		return false;
	move_all(m, line.p, prefix.n, copy);
	if (!m->pid.n && around && around->pid.n) {
		const char *pid = append(m, around->pid);
		m->pid = (struct slice){ pid ? pid : "", pid ? around->pid.n : 0 };
	}
	if (!set_session(m, h) || !add_part(m, &m->line.message, h->text))
		return false;
	split_client(&m->line);
	r->part = &m->line.message;
	m->is_set = true;
	return true;
}

/* ---- lines */

/* The message before is whole; the room of the one before it is free. */
static bool finish(struct pglog_stderr *r, struct pglog_line *ret)
{
	struct pglog_message done = r->now;

	if (!done.is_set)
		return false;
	r->now = r->before;
	r->now.is_set = false;
	r->before = done;
	r->part = NULL;
	*ret = done.line;
	return true;
}

static struct slice *part_of(struct pglog_line *line, enum pglog_label label)
{
	switch (label) {
	case PGLOG_DETAIL:
		return &line->detail;
	case PGLOG_CONTEXT:
		return &line->context;
	case PGLOG_STATEMENT_TEXT:
		return &line->query;
	default:
		return NULL;
	}
}

static bool is_of(const struct pglog_message *m, const struct pglog_prefix_head *h)
{
	if (!m->is_set)
		return false;
	if (h->session_id.n)
		return slice_same(h->session_id, m->line.session_id);
	return !h->pid.n || slice_same(h->pid, m->pid);
}

static enum step fail(const char **ret_why, const char *why)
{
	*ret_why = why;
	return STEP_FAIL;
}

static enum step take_part(
	struct pglog_stderr *r, const struct pglog_prefix_head *h, const char **ret_why)
{
	if (!is_of(&r->now, h)) {
		r->part = NULL;
		return fail(ret_why, "a part without its message");
	}
	r->part = part_of(&r->now.line, h->label);
	if (r->part && !add_part(&r->now, r->part, h->text))
		return fail(ret_why, "message over 64 MiB");
	return STEP_MORE;
}

static enum step take_continuation(struct pglog_stderr *r, struct slice text, const char **ret_why)
{
	if (!r->now.is_set)
		return fail(ret_why, "a continuation without its message");
	if (r->part && !add_continuation(&r->now, r->part, text))
		return fail(ret_why, "message over 64 MiB");
	return STEP_MORE;
}

enum step pglog_stderr_line(struct pglog_stderr *r, struct slice line,
	const struct pglog_around *around, struct pglog_line *ret, const char **ret_why)
{
	struct pglog_prefix_head h;

	if (line.n && line.p[line.n - 1] == '\r')
		line.n--;
	if (line.n == 0)
		return STEP_MORE;
	if (line.p[0] == '\t')
		return take_continuation(r, (struct slice){ line.p + 1, line.n - 1 }, ret_why);
	if (!pglog_prefix_match(&r->prefix, line, &h)) {
		if (around && around->is_inside && r->now.is_set)
			return take_continuation(r, line, ret_why);
		return fail(ret_why, "not of this log_line_prefix");
	}
	if (h.label != PGLOG_SEVERITY && h.label != PGLOG_FOREIGN)
		return take_part(r, &h, ret_why);
	bool has_message = finish(r, ret);
	if (begin(r, line, &h, around) || has_message)
		return has_message ? STEP_ITEM : STEP_MORE;
	return fail(ret_why, "without a time");
}

enum step pglog_stderr_end(struct pglog_stderr *r, struct pglog_line *ret)
{
	return finish(r, ret) ? STEP_ITEM : STEP_END;
}
