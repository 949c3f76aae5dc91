#include "capture/log/log_match.h"

#include <stdlib.h>

#include "capture/log/log_binds.h"
#include "capture/log/log_order.h"
#include "capture/log/log_session.h"
#include "core/base/table.h"

enum {
	SESSIONS_MAX = 100000, /* open at a time */
	REASONS_MAX = 24,
};

struct reason {
	const char *why;
	uint64_t count;
};

struct log_match {
	const struct log_match_options *options;
	struct log_order *order;
	struct table sessions;
	uint64_t session_count;
	struct log_binds binds;
	uint64_t lines, read, broken, requests;
	struct log_seen seen;
	struct reason unread[REASONS_MAX], unpaired[REASONS_MAX];
};

/* ---- counting */

static void count_reason(struct reason reasons[REASONS_MAX], const char *why, uint64_t n)
{
	size_t i = 0;

	while (i < REASONS_MAX - 1 && reasons[i].why && strcmp(reasons[i].why, why) != 0)
		i++;
	if (!reasons[i].why)
		reasons[i].why = i < REASONS_MAX - 1 ? why : "other";
	reasons[i].count += n;
}

void log_match_unread(struct log_match *m, const char *why)
{
	m->lines++;
	m->broken++;
	count_reason(m->unread, why, 1);
}

uint64_t log_match_unread_all(const struct log_match *m)
{
	return m->broken;
}

static bool unread(struct log_match *m, const char *why)
{
	count_reason(m->unread, why, 1);
	return true;
}

static struct json *reasons_json(const struct reason reasons[REASONS_MAX])
{
	struct json *map = json_object();

	for (size_t i = 0; i < REASONS_MAX && reasons[i].why; i++)
		json_set_int(map, reasons[i].why, (int64_t)reasons[i].count);
	return map;
}

void log_match_ledger(const struct log_match *m, struct json *lines, struct json *requests)
{
	json_set_int(lines, "read", (int64_t)m->read);
	json_set(lines, "unread", reasons_json(m->unread));
	json_set_int(requests, "paired", (int64_t)m->requests);
	json_set(requests, "unpaired", reasons_json(m->unpaired));
}

uint64_t log_match_requests(const struct log_match *m)
{
	return m->requests;
}

struct log_seen log_match_seen(const struct log_match *m)
{
	return m->seen;
}

uint64_t log_match_lines(const struct log_match *m)
{
	return m->lines;
}

/* ---- sessions */

struct log_match *log_match_new(
	const struct log_match_options *o, const struct request_sink *sink, struct err *e)
{
	struct log_match *m = calloc(1, sizeof(*m));

	if (m) {
		m->options = o;
		m->order = log_order_new(sink);
		table_init(&m->sessions, SESSIONS_MAX);
		log_binds_init(&m->binds, o->parameter_max_bytes);
	}
	if (m && m->order)
		return m;
	err_set(e, ERR_ENV, "out of memory");
	log_match_free(m);
	return NULL;
}

void log_match_free(struct log_match *m)
{
	void *session;

	if (!m)
		return;
	for (size_t at = 0; table_next(&m->sessions, &at, NULL, &session);)
		log_session_free(session);
	table_free(&m->sessions);
	log_order_free(m->order);
	log_binds_free(&m->binds);
	free(m);
}

/* NULL when the cap is reached. */
static struct log_session *new_session(
	struct log_match *m, const struct pglog_line *line, int64_t open_ns, bool is_late)
{
	struct log_session *s = log_session_new(line, m->options->server, open_ns, is_late);

	if (!s)
		return NULL;
	if (!table_put(&m->sessions, s->key, s)) {
		log_session_free(s);
		return NULL;
	}
	s->raw.id = ++m->session_count;
	return s;
}

static struct log_session *find_session(struct log_match *m, const struct pglog_line *line)
{
	return table_get(&m->sessions, line->session_id);
}

static bool tell_session(struct log_match *m, struct log_session *s, int64_t at_ns, struct err *e)
{
	if (s->is_told)
		return true;
	s->is_told = true;
	return log_order_session(m->order, &s->raw, at_ns, e);
}

static bool close_session(
	struct log_match *m, struct log_session *s, int64_t close_ns, struct err *e)
{
	if (s->pending.is_set)
		count_reason(m->unpaired, "no duration logged", 1);
	s->raw.close_ns = close_ns;
	bool ok = log_order_session(m->order, &s->raw, close_ns, e);
	table_remove(&m->sessions, s->key);
	log_session_free(s);
	return ok;
}

/* A pid comes again: what another user did with it was another session. */
static bool is_same(const struct log_session *s, const struct pglog_line *line)
{
	return (!line->user.n || slice_same(line->user, s->raw.user)) &&
	       (!line->database.n || slice_same(line->database, s->raw.database));
}

static bool start_late(struct log_match *m, const struct pglog_line *line, int64_t time_ns,
	struct log_session **ret, struct err *e)
{
	int64_t open_ns = time_ns;

	if (line->session_start.n && m->options->start_of &&
		!m->options->start_of(m->options->data, line, &open_ns, e))
		return false;
	*ret = new_session(m, line, open_ns < time_ns ? open_ns : time_ns, true);
	return true;
}

/* *ret is NULL when there are too many. */
static bool session_of(struct log_match *m, const struct pglog_line *line, bool is_new,
	int64_t time_ns, struct log_session **ret, struct err *e)
{
	*ret = find_session(m, line);
	if (*ret && line->is_rebuilt && (is_new || !is_same(*ret, line))) {
		if (!close_session(m, *ret, time_ns, e))
			return false;
		*ret = NULL;
	}
	if (*ret)
		return true;
	if (!is_new)
		return start_late(m, line, time_ns, ret, e);
	*ret = new_session(m, line, time_ns, false);
	return true;
}

/* ---- requests */

static uint8_t form_of(const struct pglog_meaning *meaning)
{
	switch (meaning->kind) {
	case PGLOG_EXECUTE:
		return meaning->statement.n ? FORM_NAMED : FORM_UNNAMED;
	case PGLOG_FETCH:
		return FORM_FETCH;
	case PGLOG_FASTPATH:
		return FORM_FUNCTION;
	default:
		return FORM_SIMPLE;
	}
}

/* Names with a slash are split at the last one, unless the whole is a statement's. */
static void set_names(struct log_session *s, const struct pglog_meaning *meaning,
	uint32_t *ret_statement, uint32_t *ret_portal)
{
	bool is_whole = meaning->portal.n && log_session_knows(&s->statements, meaning->name);

	*ret_statement = log_session_number_of(
		&s->statements, is_whole ? meaning->name : meaning->statement);
	*ret_portal = is_whole ? 0 : log_session_number_of(&s->portals, meaning->portal);
}

static bool put_request(struct log_match *m, struct log_session *s, struct raw_request *q,
	struct slice detail, struct err *e)
{
	q->session = s->raw.id;
	q->seq = s->seq++;
	q->flags |= REQUEST_DERIVED;
	if (q->form != FORM_FUNCTION && q->form != FORM_SIMPLE &&
		!log_binds_read(&m->binds, detail, q))
		q->flags |= REQUEST_VALUE_LOST;
	if (q->text.n == 0)
		q->flags |= REQUEST_TEXT_UNKNOWN;
	log_session_set_times(s, q);
	q->state_before = s->state;
	if (q->sqlstate[0])
		s->state = s->state == 'T' ? 'E' : s->state;
	else if (q->text.n)
		s->state = log_session_state_after(q->text, s->state);
	q->state_after = s->state;
	m->requests++;
	return log_order_request(m->order, q, e);
}

static void note_duration(struct log_match *m, int64_t duration_ns)
{
	if (m->seen.timed++ == 0 || duration_ns < m->seen.shortest_ns)
		m->seen.shortest_ns = duration_ns;
}

static bool take_whole(struct log_match *m, struct log_session *s, const struct pglog_line *line,
	const struct pglog_meaning *meaning, int64_t time_ns, struct err *e)
{
	struct raw_request q = { .start_ns = time_ns - meaning->duration_ns,
		.end_ns = time_ns,
		.form = form_of(meaning),
		.text = meaning->text };

	set_names(s, meaning, &q.statement, &q.portal);
	note_duration(m, meaning->duration_ns);
	if (s->pending.is_set)
		count_reason(m->unpaired, "no duration logged", 1);
	s->pending.is_set = false;
	return put_request(m, s, &q, line->detail, e);
}

static bool take_start(struct log_match *m, struct log_session *s, const struct pglog_line *line,
	const struct pglog_meaning *meaning, int64_t time_ns)
{
	struct log_pending *p = &s->pending;

	if (p->is_set)
		count_reason(m->unpaired, "no duration logged", 1);
	buf_reset(&p->text);
	buf_reset(&p->detail);
	buf_add_slice(&p->text, meaning->text);
	buf_add_slice(&p->detail, line->detail);
	p->is_set = !p->text.is_full && !p->detail.is_full;
	p->form = form_of(meaning);
	p->start_ns = time_ns;
	set_names(s, meaning, &p->statement, &p->portal);
	m->seen.statements++;
	if (!p->is_set)
		count_reason(m->unpaired, "statement over 16 MiB", 1);
	return true;
}

static bool take_duration(struct log_match *m, struct log_session *s,
	const struct pglog_meaning *meaning, int64_t time_ns, struct err *e)
{
	m->seen.durations++;
	if (!s->pending.is_set)
		return unread(m, "duration without its statement");
	note_duration(m, meaning->duration_ns);
	struct raw_request q = log_session_from_pending(&s->pending);
	q.end_ns = time_ns;
	q.start_ns = time_ns - meaning->duration_ns;
	m->read++;
	return put_request(m, s, &q, buf_slice(&s->pending.detail), e);
}

static void set_sqlstate(const struct pglog_line *line, struct raw_request *q)
{
	const char *known = "XX000";

	if (line->sqlstate.n == 5)
		memcpy(q->sqlstate, line->sqlstate.p, 5);
	else if ((known = pglog_sqlstate_of(line->message)))
		memcpy(q->sqlstate, known, 5);
	else
		memcpy(q->sqlstate, "XX000", 5);
	if (strcmp(q->sqlstate, "57014") == 0)
		q->flags |= REQUEST_CANCELLED;
}

/* A failed statement has no duration line. Its start is known when statements are
 * logged; else it has no length at all, and REQUEST_GAP says so. */
static bool take_error(struct log_match *m, struct log_session *s, const struct pglog_line *line,
	int64_t time_ns, struct err *e)
{
	struct raw_request q = {
		.start_ns = time_ns, .form = FORM_SIMPLE, .text = line->query, .flags = REQUEST_GAP
	};
	struct slice detail = pglog_context_parameters(line->context);

	m->seen.errors++;
	if (s->pending.is_set) {
		q = log_session_from_pending(&s->pending);
		if (!detail.n)
			detail = buf_slice(&s->pending.detail);
	} else if (line->query.n == 0) {
		return unread(m, "error outside a statement");
	} else if (log_binds_has_placeholder(line->query)) {
		q.form = FORM_UNNAMED;
	}
	q.end_ns = time_ns;
	set_sqlstate(line, &q);
	m->read++;
	return put_request(m, s, &q, detail, e);
}

static bool take_statement(struct log_match *m, struct log_session *s,
	const struct pglog_line *line, const struct pglog_meaning *meaning, int64_t time_ns,
	struct err *e)
{
	if (meaning->kind == PGLOG_DURATION)
		return take_duration(m, s, meaning, time_ns, e);
	if (meaning->kind == PGLOG_ERROR)
		return take_error(m, s, line, time_ns, e);
	m->read++;
	return meaning->has_duration ? take_whole(m, s, line, meaning, time_ns, e)
				     : take_start(m, s, line, meaning, time_ns);
}

/* Workers, walsenders and the like are nobody's clients. */
static bool is_client(const struct pglog_line *line)
{
	return line->backend_type.n == 0 || slice_is(line->backend_type, "client backend");
}

static bool take_other(struct log_match *m, const struct pglog_line *line)
{
	if (!pglog_is_localised(line))
		return unread(m, "not about a statement");
	m->seen.foreign++;
	return unread(m, "not in English");
}

/* Where a connection has arrived, whoever had its pid is gone. */
static bool take_received(
	struct log_match *m, const struct pglog_line *line, int64_t time_ns, struct err *e)
{
	struct log_session *s = line->is_rebuilt ? find_session(m, line) : NULL;

	m->read++;
	return !s || close_session(m, s, time_ns, e);
}

static bool take_disconnected(
	struct log_match *m, const struct pglog_line *line, int64_t time_ns, struct err *e)
{
	struct log_session *s = find_session(m, line);

	m->read++;
	if (s)
		log_session_learn_application(s, line->application);
	return !s || close_session(m, s, time_ns, e);
}

static void take_lead(struct log_match *m, struct log_session *s,
	const struct pglog_meaning *meaning, int64_t time_ns)
{
	log_session_take_lead(s, meaning->duration_ns, time_ns);
	/* A Parse tells a name as a whole. */
	if (meaning->statement.n && !meaning->portal.n)
		(void)log_session_number_of(&s->statements, meaning->statement);
	m->read++;
}

static bool take_in_session(struct log_match *m, const struct pglog_line *line,
	const struct pglog_meaning *meaning, int64_t time_ns, struct err *e)
{
	struct log_session *s;

	if (!session_of(m, line, meaning->kind == PGLOG_AUTHORIZED, time_ns, &s, e))
		return false;
	if (!s)
		return unread(m, "too many sessions at once");
	/* At first sight, so that the sink sees sessions in the order of their numbers. */
	if (!tell_session(m, s, time_ns, e))
		return false;
	log_session_learn_application(s, line->application);
	if (meaning->kind == PGLOG_PARSE_BIND)
		take_lead(m, s, meaning, time_ns);
	else if (meaning->kind == PGLOG_AUTHORIZED)
		m->read++;
	else
		return take_statement(m, s, line, meaning, time_ns, e);
	return true;
}

bool log_match_line(
	struct log_match *m, const struct pglog_line *line, int64_t time_ns, struct err *e)
{
	struct pglog_meaning meaning = pglog_mean(line);

	m->lines++;
	if (meaning.kind == PGLOG_OTHER)
		return take_other(m, line);
	if (meaning.kind == PGLOG_PLAN)
		return unread(m, "plan");
	if (meaning.kind == PGLOG_RECEIVED)
		return take_received(m, line, time_ns, e);
	if (!is_client(line))
		return unread(m, "not of a client");
	if (meaning.kind == PGLOG_DISCONNECTED)
		return take_disconnected(m, line, time_ns, e);
	if (!line->is_anonymous && line->user.n == 0 && line->database.n == 0)
		return unread(m, "before authentication");
	return take_in_session(m, line, &meaning, time_ns, e);
}

/* The file ends, the sessions do not. */
bool log_match_finish(struct log_match *m, struct err *e)
{
	void *value;

	for (size_t at = 0; table_next(&m->sessions, &at, NULL, &value);) {
		struct log_session *s = value;

		if (s->pending.is_set)
			count_reason(m->unpaired, "still running at the end", 1);
		s->pending.is_set = false;
		s->raw.flags |= SESSION_UNCLOSED;
		if (!log_order_session(m->order, &s->raw, s->last_end_ns, e))
			return false;
	}
	return log_order_flush(m->order, e);
}
