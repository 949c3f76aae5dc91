#include "capture/log/log_session.h"

#include <stdlib.h>

#include "core/model/sqllex.h"

enum {
	NAMES_MAX = 1000, /* prepared statements or portals of a session */
	PENDING_MAX = 16 << 20,
};

/* Stamps are cut to milliseconds, durations are not: a start may seem to lie so much
 * before the end of the request before it. */
static const int64_t stamp_ns = NS_PER_MS;

void log_session_free(struct log_session *s)
{
	buf_free(&s->pending.text);
	buf_free(&s->pending.detail);
	free(s->statements.hashes);
	free(s->portals.hashes);
	free(s->texts);
	free(s->application);
	free(s);
}

static struct slice keep(char **to, struct slice s)
{
	struct slice kept = { *to, s.n };

	if (s.n)
		memcpy(*to, s.p, s.n);
	*to += s.n;
	return kept;
}

struct log_session *log_session_new(
	const struct pglog_line *line, const char *server, int64_t open_ns, bool is_late)
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
		.server = slice_of(server),
		.user = keep(&to, line->user),
		.database = keep(&to, line->database),
		.application = keep(&to, line->application) };
	return s;
}

void log_session_learn_application(struct log_session *s, struct slice name)
{
	if (s->raw.application.n || !name.n || s->application)
		return;
	char *to = s->application = malloc(name.n);
	if (to)
		s->raw.application = keep(&to, name);
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

bool log_session_knows(const struct log_names *names, struct slice name)
{
	uint64_t hash = hash_of(name);

	for (uint32_t i = 0; i < names->count; i++)
		if (names->hashes[i] == hash)
			return true;
	return false;
}

uint32_t log_session_number_of(struct log_names *names, struct slice name)
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

char log_session_state_after(struct slice text, char before)
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

/* ---- times */

/* Within a session one request follows the other; what the coarse stamp lets seem
 * earlier moves, and its duration stays. */
static void order_times(struct log_session *s, struct raw_request *q)
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
void log_session_take_lead(struct log_session *s, int64_t duration_ns, int64_t end_ns)
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

void log_session_set_times(struct log_session *s, struct raw_request *q)
{
	add_lead(s, q);
	order_times(s, q);
}

struct raw_request log_session_from_pending(struct log_pending *p)
{
	p->is_set = false;
	return (struct raw_request){ .start_ns = p->start_ns,
		.form = p->form,
		.text = buf_slice(&p->text),
		.statement = p->statement,
		.portal = p->portal };
}
