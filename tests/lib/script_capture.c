#include "tests/lib/script_capture.h"

#include <ctype.h>
#include <stdlib.h>

#include "core/base/arena.h"
#include "core/model/rcap.h"

enum { REQUESTS_MAX = 400000, SESSIONS_MAX = 5000, BINDS_MAX = 8 };

struct scripted {
	struct request_record q;
	struct slice sql;
	size_t order;
};

struct script {
	struct json *head;
	struct arena arena;
	struct scripted *requests;
	size_t count;
	struct session_record *sessions;
	size_t session_count;
	uint64_t next_seq[SESSIONS_MAX + 1];
	int64_t last_end_ns[SESSIONS_MAX + 1];
};

static int64_t at_ms(const char *text)
{
	return (int64_t)(atof(text) * 1e6);
}

static uint8_t form_of(const char *word)
{
	static const struct {
		const char *word;
		uint8_t form;
	} forms[] = { { "simple", FORM_SIMPLE }, { "unnamed", FORM_UNNAMED },
		{ "named", FORM_NAMED }, { "prepare", FORM_PREPARE }, { "copyin", FORM_COPY_IN },
		{ "copyout", FORM_COPY_OUT }, { "fetch", FORM_FETCH } };

	for (size_t i = 0; i < LENGTH(forms); i++)
		if (strcmp(word, forms[i].word) == 0)
			return forms[i].form;
	return 0;
}

static void add_bind(struct script *s, struct request_record *q, const char *text)
{
	struct value *values = arena_take(&s->arena, BINDS_MAX * sizeof(*values));

	if (q->value_count >= BINDS_MAX)
		return;
	if (q->value_count)
		memcpy(values, q->values, q->value_count * sizeof(*values));
	values[q->value_count] = (struct value){ .place = (uint16_t)q->value_count,
		.is_bind = true,
		.role = ROLE_PREDICATE,
		.bytes = arena_copy(&s->arena, slice_of(text)) };
	q->values = values;
	q->value_count++;
}

static void add_edge(struct script *s, struct request_record *q, const char *text)
{
	struct edge *edge = arena_take(&s->arena, sizeof(*edge));
	unsigned long long seq = 0;
	unsigned row = 0, column = 0, value = 0;

	sscanf(text, "%llu:%u:%u:%u", &seq, &row, &column, &value);
	*edge = (struct edge){ seq, row, (uint16_t)column, (uint16_t)value, true };
	q->edges = edge;
	q->edge_count = 1;
}

static void add_copy(struct script *s, struct request_record *q, const char *text)
{
	struct slice copy = arena_copy(&s->arena, slice_of(text));
	char *out = (char *)(uintptr_t)copy.p;
	size_t n = 0;

	for (size_t i = 0; i < copy.n; i++) {
		bool is_escape = copy.p[i] == '\\' && i + 1 < copy.n;

		i += is_escape;
		out[n++] = !is_escape ? copy.p[i] : copy.p[i] == 't' ? '\t' : '\n';
	}
	q->copy_data = (struct slice){ copy.p, n };
}

static void apply(struct script *s, struct request_record *q, const char *word)
{
	static const struct {
		const char *word;
		uint32_t flag;
	} flags[] = { { "external", REQUEST_EXTERNAL }, { "unknown", REQUEST_TEXT_UNKNOWN },
		{ "lost", REQUEST_VALUE_LOST }, { "secret", REQUEST_SECRET },
		{ "cancelled", REQUEST_CANCELLED } };

	if (strcmp(word, "nosync") == 0)
		q->flags &= ~(uint32_t)REQUEST_SYNC;
	else if (strncmp(word, "stmt=", 5) == 0)
		q->statement = (uint32_t)atoi(word + 5);
	else if (strncmp(word, "error=", 6) == 0)
		snprintf(q->sqlstate, sizeof(q->sqlstate), "%.5s", word + 6);
	else if (strncmp(word, "bind=", 5) == 0)
		add_bind(s, q, word + 5);
	else if (strncmp(word, "edge=", 5) == 0)
		add_edge(s, q, word + 5);
	else if (strncmp(word, "copy=", 5) == 0)
		add_copy(s, q, word + 5);
	for (size_t i = 0; i < LENGTH(flags); i++)
		if (strcmp(word, flags[i].word) == 0)
			q->flags |= flags[i].flag;
}

static bool read_session(struct script *s, char **words, size_t n)
{
	if (n < 4 || s->session_count >= SESSIONS_MAX || atoi(words[1]) > SESSIONS_MAX)
		return false;
	struct session_record *r = &s->sessions[s->session_count++];
	*r = (struct session_record){ .id = strtoull(words[1], NULL, 10),
		.protocol = PROTOCOL_PG,
		.open_ns = SCRIPT_START_NS + at_ms(words[2]),
		.close_ns = atof(words[3]) > 0 ? SCRIPT_START_NS + at_ms(words[3]) : 0 };
	return true;
}

static bool read_request(struct script *s, char **words, size_t n, struct slice sql)
{
	if (n < 6 || s->count >= REQUESTS_MAX || !form_of(words[4]) || strlen(words[3]) != 2)
		return false;
	struct scripted *one = &s->requests[s->count];
	struct request_record *q = &one->q;
	uint64_t session = strtoull(words[0], NULL, 10);
	if (session < 1 || session > SESSIONS_MAX)
		return false;
	*one = (struct scripted){ .order = s->count, .sql = arena_copy(&s->arena, sql) };
	s->count++;
	q->session = session;
	q->seq = s->next_seq[session]++;
	q->start_ns = SCRIPT_START_NS + at_ms(words[1]);
	q->end_ns = q->first_byte_ns = q->start_ns + at_ms(words[2]);
	q->think_ns = s->last_end_ns[session] ? q->start_ns - s->last_end_ns[session] : -1;
	s->last_end_ns[session] = q->end_ns;
	q->state_before = words[3][0];
	q->state_after = words[3][1];
	q->form = form_of(words[4]);
	q->rows = strtoull(words[5], NULL, 10);
	q->flags = REQUEST_SYNC;
	q->in_flight = 1;
	for (size_t i = 6; i < n; i++)
		apply(s, q, words[i]);
	return true;
}

/* "server.source_id" goes into the map server. */
static bool read_head(struct script *s, char **words, size_t n)
{
	struct json *map = s->head;
	const char *key = n == 3 ? words[1] : "";

	if (strncmp(key, "server.", 7) == 0) {
		map = json_get(s->head, "server");
		key += 7;
	}
	if (!*key)
		return false;
	if (strcmp(words[2], "true") == 0 || strcmp(words[2], "false") == 0)
		json_set_bool(map, key, words[2][0] == 't');
	else
		json_set_text(map, key, words[2]);
	return true;
}

static bool read_line(struct script *s, char *line)
{
	char *words[64];
	size_t n = 0;
	char *bar = strstr(line, " | ");
	struct slice sql = { 0 };

	if (bar) {
		*bar = '\0';
		sql = slice_of(bar + 3);
	}
	for (char *w = strtok(line, " \t"); w && n < LENGTH(words); w = strtok(NULL, " \t"))
		words[n++] = w;
	if (!n || words[0][0] == '#')
		return true;
	if (strcmp(words[0], "session") == 0)
		return read_session(s, words, n);
	if (strcmp(words[0], "head") == 0)
		return read_head(s, words, n);
	return read_request(s, words, n, sql);
}

static int by_end(const void *pa, const void *pb)
{
	const struct scripted *a = pa, *b = pb;

	if (a->q.end_ns != b->q.end_ns)
		return a->q.end_ns < b->q.end_ns ? -1 : 1;
	return (a->order > b->order) - (a->order < b->order);
}

static uint32_t route_of(struct rcap_writer *w, struct slice sql)
{
	char text[512];
	size_t n = 0;
	uint64_t hash = 14695981039346656037U;

	for (size_t i = 0; i < sql.n && n < sizeof(text); i++) {
		bool is_digit = isdigit((unsigned char)sql.p[i]) != 0;

		if (is_digit && n && text[n - 1] == '?')
			continue;
		text[n] = is_digit ? '?' : sql.p[i];
		hash = (hash ^ (unsigned char)text[n++]) * 1099511628211U;
	}
	return rcap_add_route(w, PROTOCOL_PG, hash, (struct slice){ text, n });
}

static bool write_all(struct script *s, struct rcap_writer *w, const struct json *head,
	const char *server, struct err *e)
{
	for (size_t i = 0; i < s->session_count; i++) {
		struct session_record r = s->sessions[i];

		r.close_ns = 0;
		r.server = slice_of(server);
		record_seal_session(&r);
		if (!rcap_put_session(w, &r, e))
			return false;
	}
	qsort(s->requests, s->count, sizeof(*s->requests), by_end);
	for (size_t i = 0; i < s->count; i++) {
		struct request_record *q = &s->requests[i].q;

		q->route = route_of(w, s->requests[i].sql);
		q->template_id = rcap_add_template(w, s->requests[i].sql);
		record_seal_request(q);
		if (!rcap_put_request(w, q, e))
			return false;
		if (i % 1000 == 999 && !rcap_flush(w, head, e))
			return false;
	}
	for (size_t i = 0; i < s->session_count; i++) {
		if (!s->sessions[i].close_ns)
			continue;
		record_seal_session(&s->sessions[i]);
		if (!rcap_put_session(w, &s->sessions[i], e))
			return false;
	}
	return true;
}

static struct json *make_head(const char *address, int port)
{
	struct json *head = json_object(), *server = json_object();

	json_set_text(server, "address", address);
	json_set_int(server, "port", port);
	json_set(head, "server", server);
	json_set_bool(head, "predicates_kept", true);
	return head;
}

static bool read_all(struct script *s, FILE *script, struct err *e)
{
	char *line = NULL;
	size_t room = 0;
	ssize_t n;
	bool ok = true;

	for (int number = 1; ok && (n = getline(&line, &room, script)) >= 0; number++) {
		if (n && line[n - 1] == '\n')
			line[n - 1] = '\0';
		ok = read_line(s, line);
		if (!ok)
			err_set(e, ERR_INPUT, "script line %d cannot be read", number);
	}
	free(line);
	return ok;
}

bool script_capture_write(
	FILE *script, const char *path, const char *server_address, int server_port, struct err *e)
{
	struct script *s = calloc(1, sizeof(*s));
	char server[300];
	bool ok = false;

	s->head = make_head(server_address, server_port);
	arena_init(&s->arena, (size_t)1 << 30);
	s->requests = calloc(REQUESTS_MAX, sizeof(*s->requests));
	s->sessions = calloc(SESSIONS_MAX, sizeof(*s->sessions));
	snprintf(server, sizeof(server), "%s:%d", server_address, server_port);
	if (read_all(s, script, e)) {
		struct rcap_writer *w = rcap_create(path, true, e);

		ok = w && write_all(s, w, s->head, server, e);
		if (ok)
			ok = rcap_finish(w, s->head, e);
		else if (w)
			rcap_abandon(w);
	}
	json_free(s->head);
	free(s->requests);
	free(s->sessions);
	arena_free(&s->arena);
	free(s);
	return ok;
}

bool script_capture_write_text(const char *script, const char *path, struct err *e)
{
	FILE *f = fmemopen((void *)(uintptr_t)script, strlen(script), "r");
	bool ok = f && script_capture_write(f, path, "192.0.2.1", 5432, e);

	if (f)
		fclose(f);
	return ok;
}
