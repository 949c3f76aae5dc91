#include "capture/log_match.h"

#include <stdlib.h>

#include "capture/log_order.h"
#include "core/base/table.h"
#include "core/model/sqllex.h"

enum {
	SESSIONS_MAX = 100000, /* open at a time */
	NAMES_MAX = 1000, /* prepared statements or portals of a session */
	REASONS_MAX = 24,
	PARAMETERS_MAX = 65535,
	PENDING_MAX = 16 << 20,
};

/* Stamps are cut to milliseconds, durations are not: a start may seem to lie so much
 * before the end of the request before it. */
static const int64_t stamp_ns = NS_PER_MS;

struct names {
	uint64_t *hashes; /* the number is the index + 1 */
	uint32_t count, room;
};

/* A statement line whose duration has not come yet. */
struct pending {
	bool is_set;
	uint8_t form;
	int64_t start_ns;
	struct buf text, detail;
	uint32_t statement, portal;
};

struct log_session {
	struct slice key;
	struct raw_session raw;
	char *texts; /* of raw and key */
	char *application; /* clients name themselves after they have connected */
	uint64_t seq;
	int64_t last_end_ns;
	bool has_ended_one;
	bool is_told; /* the sink has its opening */
	char state;
	struct names statements, portals;
	struct pending pending;
	/* Parse and Bind that went before the Execute to come; 0: none. */
	int64_t lead_ns, lead_end_ns;
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
	struct buf values; /* of one request's parameters */
	struct raw_value *binds;
	size_t bind_room;
	uint64_t lines, read, requests;
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
	count_reason(m->unread, why, 1);
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
		buf_init(&m->values, PENDING_MAX);
	}
	if (m && m->order)
		return m;
	err_set(e, ERR_ENV, "out of memory");
	log_match_free(m);
	return NULL;
}

static void free_session(struct log_session *s)
{
	buf_free(&s->pending.text);
	buf_free(&s->pending.detail);
	free(s->statements.hashes);
	free(s->portals.hashes);
	free(s->texts);
	free(s->application);
	free(s);
}

void log_match_free(struct log_match *m)
{
	void *session;

	if (!m)
		return;
	for (size_t at = 0; table_next(&m->sessions, &at, NULL, &session);)
		free_session(session);
	table_free(&m->sessions);
	log_order_free(m->order);
	buf_free(&m->values);
	free(m->binds);
	free(m);
}

static struct slice keep(char **to, struct slice s)
{
	struct slice kept = { *to, s.n };

	if (s.n)
		memcpy(*to, s.p, s.n);
	*to += s.n;
	return kept;
}

/* NULL when the cap is reached. */
static struct log_session *new_session(
	struct log_match *m, const struct pglog_line *line, int64_t open_ns, bool is_late)
{
	struct log_session *s = calloc(1, sizeof(*s));
	size_t n = line->session_id.n + line->client.n + line->user.n + line->database.n +
		   line->application.n;
	char *to = s ? s->texts = malloc(n + 1) : NULL;

	if (!to) {
		free(s);
		return NULL;
	}
	buf_init(&s->pending.text, PENDING_MAX);
	buf_init(&s->pending.detail, PENDING_MAX);
	s->key = keep(&to, line->session_id);
	s->state = is_late ? '?' : 'I';
	s->raw = (struct raw_session){ .protocol = PROTOCOL_PG,
		.open_ns = open_ns,
		.flags = is_late ? SESSION_JOINED_LATE : 0,
		.client = keep(&to, line->client),
		.server = slice_of(m->options->server),
		.user = keep(&to, line->user),
		.database = keep(&to, line->database),
		.application = keep(&to, line->application) };
	if (!table_put(&m->sessions, s->key, s)) {
		free_session(s);
		return NULL;
	}
	s->raw.id = ++m->session_count;
	return s;
}

static struct log_session *find_session(struct log_match *m, const struct pglog_line *line)
{
	return table_get(&m->sessions, line->session_id);
}

static struct log_session *session_of(struct log_match *m, const struct pglog_line *line,
	int64_t time_ns, int64_t session_start_ns)
{
	struct log_session *s = find_session(m, line);

	return s ? s : new_session(m, line, session_start_ns ? session_start_ns : time_ns, true);
}

static bool tell_session(struct log_match *m, struct log_session *s, int64_t at_ns, struct err *e)
{
	if (s->is_told)
		return true;
	s->is_told = true;
	return log_order_session(m->order, &s->raw, at_ns, e);
}

static void learn_application(struct log_session *s, struct slice name)
{
	if (s->raw.application.n || !name.n || s->application)
		return;
	char *to = s->application = malloc(name.n);
	if (to)
		s->raw.application = keep(&to, name);
}

static bool close_session(
	struct log_match *m, struct log_session *s, int64_t close_ns, struct err *e)
{
	if (s->pending.is_set)
		count_reason(m->unpaired, "no duration logged", 1);
	s->raw.close_ns = close_ns;
	bool ok = log_order_session(m->order, &s->raw, close_ns, e);
	table_remove(&m->sessions, s->key);
	free_session(s);
	return ok;
}

/* ---- names become numbers */

/* FNV-1a (Fowler, Noll, Vo): two names of one session that collide are one in 2^64. */
static uint64_t hash_of(struct slice s)
{
	uint64_t h = UINT64_C(0xcbf29ce484222325);

	for (size_t i = 0; i < s.n; i++)
		h = (h ^ (unsigned char)s.p[i]) * UINT64_C(0x100000001b3);
	return h;
}

static uint32_t number_of(struct names *names, struct slice name)
{
	uint64_t hash = hash_of(name);

	if (name.n == 0)
		return 0;
	for (uint32_t i = 0; i < names->count; i++)
		if (names->hashes[i] == hash)
			return i + 1;
	if (names->count == NAMES_MAX)
		return 0;
	if (names->count == names->room) {
		uint32_t room = names->room ? 2 * names->room : 8;
		uint64_t *hashes = realloc(names->hashes, room * sizeof(*hashes));

		if (!hashes)
			return 0;
		names->hashes = hashes;
		names->room = room;
	}
	names->hashes[names->count] = hash;
	return ++names->count;
}

/* ---- transaction state, as far as statements tell it */

static char state_after(struct slice text, char before)
{
	struct sqllex lex;
	struct sql_token first, second;
	struct slice rest = text, statement;

	sqllex_init(&lex, text);
	if (sqllex_next(&lex, &first) != STEP_ITEM || first.kind != SQL_WORD)
		return before;
	bool has_second = sqllex_next(&lex, &second) == STEP_ITEM;
	/* A script in one Query: what its parts do to the state is not followed. */
	if (memchr(text.p, ';', text.n) && sql_split_next(&rest, &statement) == STEP_ITEM &&
		sql_split_next(&rest, &statement) == STEP_ITEM)
		return '?';
	if (sql_word_is(&first, "begin") || sql_word_is(&first, "start"))
		return before == 'E' ? 'E' : 'T';
	if (sql_word_is(&first, "commit") || sql_word_is(&first, "end") ||
		sql_word_is(&first, "abort"))
		return 'I';
	if (sql_word_is(&first, "rollback"))
		return has_second && sql_word_is(&second, "to") ? 'T' : 'I';
	if (sql_word_is(&first, "prepare") && has_second && sql_word_is(&second, "transaction"))
		return 'I';
	return before;
}

/* ---- values */

static bool is_cut(const struct log_match *m, struct slice value)
{
	size_t max = m->options->parameter_max_bytes;

	if (value.n < 3 || memcmp(value.p + value.n - 3, "...", 3) != 0)
		return false;
	/* Cut at a whole character: up to three bytes less. */
	return max == 0 || (value.n - 3 <= max && value.n - 3 + 3 >= max);
}

static bool has_placeholder(struct slice text)
{
	const char *p = text.n ? memchr(text.p, '$', text.n) : NULL;
	const char *end = text.p + text.n;

	while (p && p + 1 < end) {
		if (p[1] >= '1' && p[1] <= '9')
			return true;
		p = memchr(p + 1, '$', (size_t)(end - p - 1));
	}
	return false;
}

static bool grow_binds(struct log_match *m)
{
	size_t room = m->bind_room ? 2 * m->bind_room : 32;
	struct raw_value *binds = realloc(m->binds, room * sizeof(*binds));

	if (!binds)
		return false;
	m->binds = binds;
	m->bind_room = room;
	return true;
}

/* The request gets its binds; false when the list does not read to its end. */
static bool read_binds(struct log_match *m, struct slice detail, struct raw_request *q)
{
	struct slice list, value;
	size_t n = 0;
	bool is_null;
	enum step step;

	if (!pglog_has_parameters(detail, &list))
		return !has_placeholder(q->text);
	buf_reset(&m->values);
	if (!buf_room(&m->values, list.n))
		return false;
	while ((step = pglog_next_parameter(&list, &m->values, &value, &is_null)) == STEP_ITEM) {
		if (n == PARAMETERS_MAX || (n == m->bind_room && !grow_binds(m)))
			return false;
		m->binds[n] = (struct raw_value){
			.bytes = value, .is_null = is_null, .is_cut = !is_null && is_cut(m, value)
		};
		if (m->binds[n++].is_cut)
			q->flags |= REQUEST_VALUE_LOST;
	}
	q->binds = m->binds;
	q->bind_count = n;
	return step == STEP_END;
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

/* Within a session one request follows the other; what the coarse stamp lets seem
 * earlier moves, and its duration stays. */
static void set_times(struct log_session *s, struct raw_request *q)
{
	int64_t overlap = s->last_end_ns - q->start_ns;

	if (s->has_ended_one && overlap > 0 && overlap <= stamp_ns) {
		q->start_ns += overlap;
		q->end_ns += overlap;
	}
	q->think_ns = !s->has_ended_one              ? -1
		      : q->start_ns > s->last_end_ns ? q->start_ns - s->last_end_ns
						     : 0;
	s->last_end_ns = q->end_ns;
	s->has_ended_one = true;
}

/* A lock that a plan needs is waited for in Bind, so a statement is as slow as its
 * Parse, Bind and Execute together. Stamps have milliseconds: what is further apart
 * than that is no part of one message's work; durations are finer, so they are added. */
static void take_lead(struct log_session *s, int64_t duration_ns, int64_t end_ns)
{
	if (end_ns - duration_ns - s->lead_end_ns > stamp_ns)
		s->lead_ns = 0;
	s->lead_ns += duration_ns;
	s->lead_end_ns = end_ns;
}

static void add_lead(struct log_session *s, struct raw_request *q)
{
	bool is_extended = q->form != FORM_SIMPLE && q->form != FORM_FUNCTION;

	if (is_extended && q->start_ns - s->lead_end_ns <= stamp_ns)
		q->start_ns -= s->lead_ns;
	s->lead_ns = 0;
}

static bool put_request(struct log_match *m, struct log_session *s, struct raw_request *q,
	struct slice detail, struct err *e)
{
	add_lead(s, q);
	q->session = s->raw.id;
	q->seq = s->seq++;
	q->flags |= REQUEST_DERIVED;
	if (q->form != FORM_FUNCTION && q->form != FORM_SIMPLE && !read_binds(m, detail, q))
		q->flags |= REQUEST_VALUE_LOST;
	if (q->text.n == 0)
		q->flags |= REQUEST_TEXT_UNKNOWN;
	set_times(s, q);
	q->state_before = s->state;
	if (q->sqlstate[0])
		s->state = s->state == 'T' ? 'E' : s->state;
	else if (q->text.n)
		s->state = state_after(q->text, s->state);
	q->state_after = s->state;
	m->requests++;
	return log_order_request(m->order, q, e);
}

static bool take_whole(struct log_match *m, struct log_session *s, const struct pglog_line *line,
	const struct pglog_meaning *meaning, int64_t time_ns, struct err *e)
{
	struct raw_request q = { .start_ns = time_ns - meaning->duration_ns,
		.end_ns = time_ns,
		.form = form_of(meaning),
		.text = meaning->text };

	q.statement = number_of(&s->statements, meaning->statement);
	q.portal = number_of(&s->portals, meaning->portal);
	if (s->pending.is_set)
		count_reason(m->unpaired, "no duration logged", 1);
	s->pending.is_set = false;
	return put_request(m, s, &q, line->detail, e);
}

static bool take_start(struct log_match *m, struct log_session *s, const struct pglog_line *line,
	const struct pglog_meaning *meaning, int64_t time_ns)
{
	struct pending *p = &s->pending;

	if (p->is_set)
		count_reason(m->unpaired, "no duration logged", 1);
	buf_reset(&p->text);
	buf_reset(&p->detail);
	buf_add_slice(&p->text, meaning->text);
	buf_add_slice(&p->detail, line->detail);
	p->is_set = !p->text.is_full && !p->detail.is_full;
	p->form = form_of(meaning);
	p->start_ns = time_ns;
	p->statement = number_of(&s->statements, meaning->statement);
	p->portal = number_of(&s->portals, meaning->portal);
	if (!p->is_set)
		count_reason(m->unpaired, "statement over 16 MiB", 1);
	return true;
}

static struct raw_request from_pending(struct pending *p)
{
	p->is_set = false;
	return (struct raw_request){ .start_ns = p->start_ns,
		.form = p->form,
		.text = buf_slice(&p->text),
		.statement = p->statement,
		.portal = p->portal };
}

static bool take_duration(struct log_match *m, struct log_session *s,
	const struct pglog_meaning *meaning, int64_t time_ns, struct err *e)
{
	if (!s->pending.is_set)
		return unread(m, "duration without its statement");
	struct raw_request q = from_pending(&s->pending);
	q.end_ns = time_ns;
	q.start_ns = time_ns - meaning->duration_ns;
	m->read++;
	return put_request(m, s, &q, buf_slice(&s->pending.detail), e);
}

/* A failed statement has no duration line. Its start is known when statements are
 * logged; else it has no length at all, and REQUEST_GAP says so. */
static bool take_error(struct log_match *m, struct log_session *s, const struct pglog_line *line,
	int64_t time_ns, struct err *e)
{
	struct raw_request q = {
		.start_ns = time_ns, .form = FORM_SIMPLE, .text = line->query, .flags = REQUEST_GAP
	};
	struct slice detail = { NULL, 0 };

	if (s->pending.is_set) {
		q = from_pending(&s->pending);
		detail = buf_slice(&s->pending.detail);
	} else if (line->query.n == 0) {
		return unread(m, "error outside a statement");
	} else if (has_placeholder(line->query)) {
		q.form = FORM_UNNAMED;
	}
	q.end_ns = time_ns;
	if (line->sqlstate.n == 5)
		memcpy(q.sqlstate, line->sqlstate.p, 5);
	else
		memcpy(q.sqlstate, "XX000", 5);
	if (strcmp(q.sqlstate, "57014") == 0)
		q.flags |= REQUEST_CANCELLED;
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

bool log_match_line(struct log_match *m, const struct pglog_line *line, int64_t time_ns,
	int64_t session_start_ns, struct err *e)
{
	struct pglog_meaning meaning = pglog_mean(line);
	struct log_session *s;

	m->lines++;
	switch (meaning.kind) {
	case PGLOG_OTHER:
		return unread(m, "not about a statement");
	case PGLOG_PLAN:
		return unread(m, "plan");
	case PGLOG_RECEIVED:
		m->read++;
		return true;
	default:
		break;
	}
	if (!is_client(line))
		return unread(m, "not of a client");
	if (meaning.kind == PGLOG_DISCONNECTED) {
		m->read++;
		s = find_session(m, line);
		if (s)
			learn_application(s, line->application);
		return !s || close_session(m, s, time_ns, e);
	}
	if (line->user.n == 0 && line->database.n == 0)
		return unread(m, "before authentication");
	s = meaning.kind == PGLOG_AUTHORIZED && !find_session(m, line)
		    ? new_session(m, line, time_ns, false)
		    : session_of(m, line, time_ns, session_start_ns);
	if (!s)
		return unread(m, "too many sessions at once");
	/* At first sight, so that the sink sees sessions in the order of their numbers. */
	if (!tell_session(m, s, time_ns, e))
		return false;
	learn_application(s, line->application);
	if (meaning.kind == PGLOG_PARSE_BIND) {
		take_lead(s, meaning.duration_ns, time_ns);
		m->read++;
		return true;
	}
	if (meaning.kind != PGLOG_AUTHORIZED)
		return take_statement(m, s, line, &meaning, time_ns, e);
	m->read++;
	return true;
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
