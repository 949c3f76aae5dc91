#include "capture/sample.h"

#include <stdlib.h>

#include "capture/samplecounts.h"
#include "core/model/rcap_block.h"
#include "core/model/rcap_code.h"

enum fate { FATE_OPEN, FATE_KEPT, FATE_DROPPED };

/* A session that is open. */
struct waiting {
	uint64_t id;
	double u;
	enum fate fate;
	bool has_lost; /* some of its first records could not wait */
	char *session; /* its opening record */
	size_t session_n;
	struct buf requests;
	struct rcap_state state; /* of the coder of requests */
	uint32_t count;
};

struct sample {
	const struct sample_rules *rules;
	const struct token_key *key;
	struct rcap_writer *writer;
	struct table sessions; /* id -> struct waiting */
	size_t waiting_n, waiting_max;
	struct rcap_decoder decoder;
	struct buf scratch;
	struct samplecounts counts;
};

/* ---- birth and death */

static void see_route(
	void *data, uint32_t id, enum protocol protocol, uint64_t fingerprint, struct slice text)
{
	struct sample *s = data;

	(void)protocol;
	samplecounts_route(
		&s->counts, id, fingerprint, sample_rules_find(s->rules, fingerprint, text));
}

struct sample *sample_new(const struct sample_rules *rules, const struct token_key *key,
	struct rcap_writer *writer, size_t waiting_max)
{
	struct sample *s = calloc(1, sizeof *s);

	if (!s)
		return NULL;
	s->rules = rules;
	s->key = key;
	s->writer = writer;
	s->waiting_max = waiting_max ? waiting_max : SAMPLE_WAITING_MAX;
	table_init(&s->sessions, SAMPLE_SESSIONS_MAX);
	if (!samplecounts_init(&s->counts)) {
		sample_free(s);
		return NULL;
	}
	rcap_on_route(writer, see_route, s);
	return s;
}

/* What waits for a session goes, the session stays. */
static void forget_waiting(struct sample *s, struct waiting *w)
{
	s->waiting_n -= w->requests.cap;
	buf_free(&w->requests);
	w->state = (struct rcap_state){ 0 };
	w->count = 0;
}

static void free_waiting(struct sample *s, struct waiting *w)
{
	forget_waiting(s, w);
	free(w->session);
	free(w);
}

void sample_free(struct sample *s)
{
	struct slice key;
	void *value;

	if (!s)
		return;
	for (size_t at = 0; table_next(&s->sessions, &at, &key, &value);)
		free_waiting(s, value);
	table_free(&s->sessions);
	samplecounts_free(&s->counts);
	buf_free(&s->scratch);
	rcap_decoder_free(&s->decoder);
	free(s);
}

size_t sample_waiting(const struct sample *s)
{
	return s->waiting_n;
}

/* ---- sessions */

static struct slice key_of(const uint64_t *id)
{
	return (struct slice){ (const char *)id, sizeof *id };
}

static double number_of(const struct sample *s, uint64_t id)
{
	uint64_t words[3] = { UINT64_C(0x73616d706c65), s->rules->seed, id };

	return (double)(token_hash(s->key, (struct slice){ (const char *)words, sizeof words }) >>
			11) /
	       (double)(UINT64_C(1) << 53);
}

static void open_session(struct sample *s, const struct session_record *r)
{
	struct waiting *w = calloc(1, sizeof *w);

	s->counts.sessions++;
	if (w)
		w->id = r->id;
	if (!w || !table_put(&s->sessions, key_of(&w->id), w)) {
		free(w);
		s->counts.sessions_over_cap++;
		return;
	}
	w->u = number_of(s, r->id);
	w->requests.max = SAMPLE_SESSION_MAX;
	/* Never to be kept, whatever it will do: nothing of it has to wait. */
	if (w->u >= s->rules->highest) {
		w->fate = FATE_DROPPED;
		return;
	}
	/* Copied to its size: there may be a hundred thousand of them. */
	buf_reset(&s->scratch);
	rcap_code_session(r, &s->scratch);
	w->session = malloc(s->scratch.n + 1);
	if (!w->session) {
		w->fate = FATE_DROPPED;
		s->counts.sessions_over_cap++;
		return;
	}
	memcpy(w->session, buf_text(&s->scratch), s->scratch.n);
	w->session_n = s->scratch.n;
}

static bool close_session(
	struct sample *s, struct waiting *w, const struct session_record *r, struct err *e)
{
	struct session_record last = *r;
	bool ok = true;

	if (w->fate == FATE_KEPT) {
		last.flags |= w->has_lost ? SESSION_JOINED_LATE : 0;
		ok = rcap_put_session(s->writer, &last, e);
	}
	table_remove(&s->sessions, key_of(&w->id));
	free_waiting(s, w);
	return ok;
}

static bool take_session(void *data, const struct session_record *r, struct err *e)
{
	struct sample *s = data;
	struct waiting *w = table_get(&s->sessions, key_of(&r->id));

	rcap_count_session(s->writer, r);
	if (!w && !r->close_ns)
		open_session(s, r);
	return !w || !r->close_ns || close_session(s, w, r, e);
}

/* ---- requests */

static bool store(struct sample *s, const struct request_record *q, struct err *e)
{
	samplecounts_stored(&s->counts, q);
	return rcap_store_request(s->writer, q, e);
}

static bool damaged(struct err *e)
{
	return err_set(e, ERR_ENV, "a record that waited for its session cannot be read back");
}

static bool write_opening(struct sample *s, const struct waiting *w, struct err *e)
{
	struct cursor c = cursor_of(w->session, w->session_n);
	struct session_record r;
	struct slice payload;
	uint8_t kind;

	if (rcap_next_record(&c, &kind, &payload) != STEP_ITEM || !rcap_decode_session(payload, &r))
		return damaged(e);
	r.flags |= w->has_lost ? SESSION_JOINED_LATE : 0;
	return rcap_put_session(s->writer, &r, e);
}

/* What waited goes into the file, in its order. */
static bool keep(struct sample *s, struct waiting *w, struct err *e)
{
	struct cursor c = cursor_of(buf_text(&w->requests), w->requests.n);
	struct request_record q;
	struct slice payload;
	uint8_t kind;
	bool ok = write_opening(s, w, e);

	w->fate = FATE_KEPT;
	s->counts.sessions_stored++;
	s->counts.sessions_late += w->has_lost;
	s->decoder.state = (struct rcap_state){ 0 };
	while (ok && rcap_next_record(&c, &kind, &payload) == STEP_ITEM)
		ok = rcap_decode_request(&s->decoder, payload, &q) ? store(s, &q, e) : damaged(e);
	forget_waiting(s, w);
	return ok;
}

static void lose_waiting(struct sample *s, struct waiting *w)
{
	s->counts.over_cap += w->count;
	w->has_lost = true;
	forget_waiting(s, w);
}

static void wait_for_fate(struct sample *s, struct waiting *w, const struct request_record *q)
{
	size_t before = w->requests.cap;

	rcap_code_request(&w->state, q, &w->requests);
	s->waiting_n += w->requests.cap - before;
	w->count++;
	if (w->requests.is_full || s->waiting_n > s->waiting_max)
		lose_waiting(s, w);
}

static bool take_request(void *data, const struct request_record *q, struct err *e)
{
	struct sample *s = data;
	struct waiting *w = table_get(&s->sessions, key_of(&q->session));
	double rate = sample_rules_rate(s->rules, samplecounts_seen(&s->counts, q));

	if (!rcap_count_request(s->writer, q, e))
		return false;
	if (!w || w->fate == FATE_DROPPED)
		return true;
	/* To prepare a statement is not to run it. */
	if (w->fate == FATE_OPEN && q->form != FORM_PREPARE && w->u < rate && !keep(s, w, e))
		return false;
	if (w->fate == FATE_KEPT)
		return store(s, q, e);
	wait_for_fate(s, w, q);
	return true;
}

struct store sample_store(struct sample *s)
{
	return (struct store){ take_session, take_request, s };
}

struct json *sample_json(const struct sample *s, bool is_final)
{
	struct json *j = samplecounts_json(&s->counts, s->rules, is_final);

	json_set_int(j, "waiting_bytes", (int64_t)s->waiting_n);
	return j;
}
