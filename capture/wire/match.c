#include "capture/wire/match.h"

#include <stdlib.h>

#include "capture/wire/pgsession.h"
#include "core/base/cursor.h"

struct match *match_new(
	const struct match_options *o, const struct request_sink *sink, struct ledger *ledger)
{
	struct match *m = calloc(1, sizeof *m);

	if (!m)
		return NULL;
	m->options = *o;
	if (!m->options.held_max)
		m->options.held_max = 256 << 20;
	m->sink = *sink;
	m->ledger = ledger;
	pg_texts_init(&m->texts, m->options.held_max / 2);
	return m;
}

void match_free(struct match *m)
{
	if (!m)
		return;
	pg_request_free_pool(m);
	pg_texts_free(&m->texts);
	free(m);
}

void match_set_time(struct match *m, int64_t now_ns)
{
	if (now_ns > m->now_ns)
		m->now_ns = now_ns;
}

bool match_ok(const struct match *m, struct err *e)
{
	if (m->has_failed)
		*e = m->err;
	return !m->has_failed;
}

const struct match_server *match_server(const struct match *m)
{
	return &m->server;
}

uint32_t match_in_flight(const struct match *m)
{
	return m->in_flight;
}

/* ---- sessions */

static void emit_session(struct pg_session *s, int64_t close_ns)
{
	struct match *m = s->match;
	int client = s->proto.client, server = !client;
	char client_text[PACKET_ADDRESS_MAX], server_text[PACKET_ADDRESS_MAX];
	struct raw_session raw = {
		.id = s->id,
		.protocol = PROTOCOL_PG,
		.open_ns = s->open_ns,
		.close_ns = close_ns,
		.flags = s->flags,
		.user = s->user,
		.database = s->database,
		.application = s->application,
	};

	raw.client = slice_of(
		packet_address_text(&s->flow.address[client], s->flow.is_v6, false, client_text));
	raw.server = slice_of(
		packet_address_text(&s->flow.address[server], s->flow.is_v6, true, server_text));
	if (!m->server.address[0]) {
		packet_address_text(
			&s->flow.address[server], s->flow.is_v6, false, m->server.address);
		m->server.port = s->flow.address[server].port;
	}
	if (!m->has_failed && !m->sink.session(m->sink.data, &raw, &m->err))
		m->has_failed = true;
}

static void begin_session(struct pg_session *s, int64_t open_ns)
{
	if (s->id)
		return;
	s->id = ++s->match->next_session;
	s->open_ns = open_ns;
	s->match->ledger->sessions++;
	pg_names_init(&s->names, &s->match->texts);
	emit_session(s, 0);
}

static void on_startup(void *data, struct slice parameters, int64_t time_ns)
{
	struct pg_session *s = data;
	struct cursor c;

	buf_add_slice(&s->startup, parameters);
	c = cursor_of(s->startup.p, s->startup.n);
	for (;;) {
		struct slice name = cursor_cstring(&c), value = cursor_cstring(&c);

		if (c.is_short || !name.n)
			break;
		if (slice_is(name, "user"))
			s->user = value;
		else if (slice_is(name, "database"))
			s->database = value;
		else if (slice_is(name, "application_name"))
			s->application = value;
		else if (slice_is(name, "replication") && value.n && !slice_is(value, "false") &&
			 !slice_is(value, "off") && !slice_is(value, "0") && !slice_is(value, "no"))
			s->flags |= SESSION_WALSENDER;
	}
	begin_session(s, time_ns);
}

static void on_message(void *data, const struct pg_message *m)
{
	struct pg_session *s = data;

	if (!s->id) {
		/* An answer in the clear before any startup: a refused SSLRequest. */
		if (!s->proto.is_joined_late)
			return;
		s->flags |= SESSION_JOINED_LATE;
		begin_session(s, m->start_ns);
	}
	if (s->flags & SESSION_WALSENDER)
		return;
	if (m->from_client)
		pg_client_message(s, m);
	else
		pg_answer_message(s, m);
}

static void on_lost(void *data, bool from_client, int64_t time_ns)
{
	struct pg_session *s = data;

	(void)time_ns;
	if (!s->id || s->flags & SESSION_WALSENDER)
		return;
	if (from_client) {
		pg_session_settle(s, false);
		pg_names_forget_unnamed(&s->names);
		pg_request_release(s, s->building);
		s->building = NULL;
		s->building_portal = NULL;
		s->copying = NULL;
	} else if (s->queue.count) {
		s->is_blurry = true;
	}
}

/* ---- the flow's callbacks */

static bool has_port(const struct match_options *o, uint16_t port)
{
	if (!o->port_count)
		return port == MATCH_PG_PORT;
	for (size_t i = 0; i < o->port_count; i++)
		if (o->ports[i] == port)
			return true;
	return false;
}

static void *on_open(void *data, const struct flow_info *f)
{
	struct match *m = data;
	struct pg_session *s;
	struct pg_sink sink = { on_startup, on_message, on_lost, NULL };
	int server_side = -1;

	for (int i = 0; i < 2; i++)
		if (has_port(&m->options, f->address[i].port))
			server_side = server_side < 0 ? i : -1;
	if (m->options.port_count && server_side < 0) {
		m->ledger->flows[FLOWS_OTHER_PORT]++;
		return NULL;
	}
	s = calloc(1, sizeof *s);
	if (!s) {
		m->ledger->flows[FLOWS_SILENT]++;
		return NULL;
	}
	s->match = m;
	s->flow = *f;
	s->state = s->emitted_state = '?';
	s->open_ns = f->open_ns;
	sink.data = s;
	pg_proto_init(&s->proto, &sink, f->client, server_side);
	return s;
}

static void free_session(struct pg_session *s)
{
	if (s->id) {
		while (pg_queue_head(s))
			pg_queue_pop(s);
		pg_request_release(s, s->building);
		pg_names_free(&s->names);
	}
	s->match->ledger->lost[LOST_RESYNC] +=
		s->proto.resyncs - (s->proto.is_joined_late && s->proto.resyncs);
	if (s->id)
		s->match->ledger->lost[LOST_TCP_GAP] += s->gaps;
	free(s->queue.entries);
	free(s->edges);
	buf_free(&s->startup);
	pg_proto_free(&s->proto);
	free(s);
}

static enum ledger_flow kind_of(const struct pg_session *s)
{
	if (s->flags & SESSION_WALSENDER)
		return FLOWS_WALSENDER;
	if (s->id)
		return s->flags & SESSION_ENCRYPTED ? FLOWS_ENCRYPTED : FLOWS_POSTGRES;
	if (s->proto.phase == PG_CANCEL)
		return FLOWS_CANCEL;
	if (s->proto.phase == PG_RUNNING)
		return FLOWS_POSTGRES;
	if (s->proto.phase == PG_OTHER && s->proto.other) {
		if (strcmp(s->proto.other, "http") == 0)
			return FLOWS_HTTP;
		return strcmp(s->proto.other, "tls") == 0 ? FLOWS_TLS : FLOWS_OTHER;
	}
	return FLOWS_SILENT;
}

/* What was read is told apart as soon as there is nothing more to learn; an encrypted
 * session stays until its flow ends. */
static bool end_reading(struct pg_session *s)
{
	if (s->proto.phase == PG_ENCRYPTED) {
		s->flags |= SESSION_ENCRYPTED;
		begin_session(s, s->flow.open_ns);
		return true;
	}
	s->match->ledger->flows[kind_of(s)]++;
	free_session(s);
	return false;
}

static bool on_bytes(void *data, void *owner, int side, struct slice bytes, int64_t time_ns)
{
	struct pg_session *s = owner;
	struct match *m = data;

	if (s->flags & (SESSION_ENCRYPTED | SESSION_WALSENDER))
		return true;
	return pg_proto_feed(&s->proto, side, bytes, time_ns, m->now_ns) || end_reading(s);
}

static bool on_gap(void *data, void *owner, int side, uint64_t missing_n, int64_t time_ns)
{
	struct pg_session *s = owner;
	struct match *m = data;

	(void)time_ns;
	if (s->flags & (SESSION_ENCRYPTED | SESSION_WALSENDER))
		return true;
	s->gaps++;
	return pg_proto_gap(&s->proto, side, missing_n, m->now_ns) || end_reading(s);
}

static void on_close(void *data, void *owner, enum flow_end why, int64_t time_ns)
{
	struct pg_session *s = owner;
	struct match *m = data;
	int64_t end_ns = time_ns > m->now_ns ? time_ns : m->now_ns;

	m->ledger->flows[kind_of(s)]++;
	m->ledger->lost[LOST_EVICTED] += why == FLOW_EVICTED;
	if (s->id) {
		pg_queue_give_up(s, s->is_blurry ? REQUEST_GAP : 0, end_ns);
		if (why == FLOW_EVICTED || why == FLOW_INPUT_ENDED || why == FLOW_REUSED)
			s->flags |= SESSION_UNCLOSED;
		emit_session(s, end_ns);
	}
	free_session(s);
}

struct flow_sink match_flow_sink(struct match *m)
{
	return (struct flow_sink){ on_open, on_bytes, on_gap, on_close, m };
}
