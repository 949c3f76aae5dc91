/* Postgres connections as the dispatcher sees them: sessions begin and end here. */
#include <stdlib.h>

#include "capture/wire/pgsession.h"
#include "core/base/cursor.h"

enum { KEYS_MAX = 65536 };

struct pg_wire *pg_wire_new(size_t texts_max)
{
	struct pg_wire *pg = calloc(1, sizeof *pg);

	if (!pg)
		return NULL;
	pg_texts_init(&pg->texts, texts_max);
	table_init(&pg->learned, PG_LEARNED_MAX);
	table_init(&pg->keys, KEYS_MAX);
	return pg;
}

void pg_wire_free(struct pg_wire *pg)
{
	if (!pg)
		return;
	pg_request_free_pool(pg);
	pg_learned_free(&pg->learned);
	table_free(&pg->keys);
	pg_texts_free(&pg->texts);
	free(pg);
}

/* ---- sessions */

/* The one at this address; NULL when there are too many. */
struct wire_server *pg_session_server(const struct pg_session *s)
{
	const struct flow_info *f = &s->info.flow;
	int side = !s->info.client;
	struct wire_servers *all = &s->wire->servers;
	char address[PACKET_ADDRESS_MAX];

	packet_address_text(&f->address[side], f->is_v6, false, address);
	for (uint32_t i = 0; i < all->count; i++)
		if (all->items[i].port == f->address[side].port &&
			strcmp(all->items[i].address, address) == 0)
			return &all->items[i];
	if (all->count == WIRE_SERVERS_MAX)
		return NULL;
	struct wire_server *new = &all->items[all->count++];
	*new = (struct wire_server){ .port = f->address[side].port };
	memcpy(new->address, address, sizeof new->address);
	return new;
}

static void emit_session(struct pg_session *s, int64_t close_ns)
{
	const struct flow_info *f = &s->info.flow;
	bool is_beyond = !close_ns && !pg_session_server(s);
	int client = s->info.client, server = !client;
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

	raw.client =
		slice_of(packet_address_text(&f->address[client], f->is_v6, false, client_text));
	raw.server =
		slice_of(packet_address_text(&f->address[server], f->is_v6, true, server_text));
	s->wire->servers.sessions_beyond += is_beyond;
	wire_session(s->wire, &raw);
}

static void begin_session(struct pg_session *s, int64_t open_ns)
{
	if (s->id)
		return;
	s->id = ++s->wire->sessions;
	s->open_ns = open_ns;
	s->wire->ledger->sessions++;
	pg_names_init(&s->names, &s->wire->pg->texts);
	emit_session(s, 0);
}

static bool is_replication(struct slice value)
{
	return value.n && !slice_is(value, "false") && !slice_is(value, "off") &&
	       !slice_is(value, "0") && !slice_is(value, "no");
}

static void on_startup(void *data, struct slice parameters, int64_t time_ns)
{
	struct pg_session *s = data;
	struct cursor c;

	s->wire->ledger->pg_messages[1]++;
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
		else if (slice_is(name, "replication") && is_replication(value))
			s->flags |= SESSION_WALSENDER;
	}
	/* The console of pgbouncer; of other sessions its client side looks like a server. */
	if (slice_is(s->database, "pgbouncer"))
		s->flags |= SESSION_POOLER_CLIENT;
	begin_session(s, time_ns);
}

/* ---- cancel requests (PostgreSQL manual, 55.2.8): joined by pid and key, of which
 * only a digest is kept, as long as the session lives */

static struct slice key_slice(const uint64_t *digest)
{
	return (struct slice){ (const char *)digest, sizeof *digest };
}

static uint64_t digest_of(struct slice pid_and_key)
{
	uint64_t h = UINT64_C(0xcbf29ce484222325);

	for (size_t i = 0; i < pid_and_key.n; i++)
		h = (h ^ (unsigned char)pid_and_key.p[i]) * UINT64_C(0x100000001b3);
	return h ? h : 1;
}

static void forget_key(struct pg_session *s)
{
	struct table *keys = &s->wire->pg->keys;

	if (s->key && table_get(keys, key_slice(&s->key)) == s)
		table_remove(keys, key_slice(&s->key));
	s->key = 0;
}

void pg_session_set_key(struct pg_session *s, struct slice pid_and_key)
{
	forget_key(s);
	s->key = digest_of(pid_and_key);
	if (!table_put(&s->wire->pg->keys, key_slice(&s->key), s))
		s->key = 0;
}

static void on_cancel(void *data, struct slice pid_and_key)
{
	const struct pg_session *s = data;
	uint64_t digest = digest_of(pid_and_key);
	struct pg_session *meant = table_get(&s->wire->pg->keys, key_slice(&digest));

	s->wire->ledger->cancels[meant != NULL]++;
	if (meant)
		meant->cancelled_ns = s->wire->now_ns;
}

static void on_message(void *data, const struct pg_message *m)
{
	struct pg_session *s = data;

	s->wire->ledger->pg_messages[m->from_client]++;
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
	if (!s->id)
		s->wire->ledger->lost[LOST_EVICTED] += s->proto.is_out_of_memory;
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

/* ---- the dispatcher's calls */

static void *pg_open(struct wire *w, const struct conn_info *info)
{
	struct pg_session *s = calloc(1, sizeof *s);
	struct pg_sink sink = { on_startup, on_message, on_lost, on_cancel, s };

	if (!s)
		return NULL;
	s->wire = w;
	s->info = *info;
	s->state = s->emitted_state = '?';
	s->open_ns = info->flow.open_ns;
	pg_proto_init(&s->proto, &sink, info->is_joined_late);
	return s;
}

static bool is_set_aside(const struct pg_session *s)
{
	return s->flags & (SESSION_ENCRYPTED | SESSION_WALSENDER);
}

static void pg_encrypted(void *state, int64_t time_ns)
{
	struct pg_session *s = state;

	(void)time_ns;
	s->flags |= SESSION_ENCRYPTED;
	begin_session(s, s->info.flow.open_ns);
}

/* What is read in the clear is told apart as soon as there is nothing more to learn;
 * an encrypted session stays until its flow ends. */
static bool go_on(struct pg_session *s, bool is_going_on)
{
	if (!is_going_on && s->proto.phase == PG_ENCRYPTED) {
		s->wire->ledger->encrypted[ENCRYPTED_GSS]++;
		pg_encrypted(s, 0);
		return true;
	}
	return is_going_on;
}

static bool pg_bytes(void *state, int side, struct slice bytes, int64_t time_ns)
{
	struct pg_session *s = state;

	if (is_set_aside(s))
		return true;
	return go_on(s,
		pg_proto_feed(&s->proto, side == s->info.client, bytes, time_ns, s->wire->now_ns));
}

static bool pg_gap(void *state, int side, uint64_t missing_n, int64_t time_ns)
{
	struct pg_session *s = state;

	(void)time_ns;
	if (is_set_aside(s))
		return true;
	s->gaps++;
	pg_proto_gap(&s->proto, side == s->info.client, missing_n, s->wire->now_ns);
	return true;
}

static bool pg_wants_tls(const void *state)
{
	return ((const struct pg_session *)state)->proto.phase == PG_TLS;
}

static enum ledger_flow kind_of(const struct pg_session *s)
{
	if (s->flags & SESSION_WALSENDER)
		return FLOWS_WALSENDER;
	if (s->id)
		return s->flags & SESSION_ENCRYPTED ? FLOWS_ENCRYPTED : FLOWS_POSTGRES;
	switch (s->proto.phase) {
	case PG_CANCEL:
		return FLOWS_CANCEL;
	case PG_RUNNING:
	case PG_TLS:
		return FLOWS_POSTGRES;
	case PG_OTHER:
		return FLOWS_OTHER;
	default:
		return FLOWS_SILENT;
	}
}

static void free_session(struct pg_session *s)
{
	struct ledger *l = s->wire->ledger;

	forget_key(s);
	if (s->id) {
		while (pg_queue_head(s))
			pg_queue_pop(s);
		pg_request_release(s, s->building);
		pg_names_free(&s->names);
		l->lost[LOST_TCP_GAP] += s->gaps;
	}
	/* Finding the first boundary of what was joined late is no loss. */
	l->lost[LOST_RESYNC] += s->proto.resyncs - (s->proto.is_joined_late && s->proto.resyncs);
	free(s->queue.entries);
	free(s->edges);
	buf_free(&s->startup);
	pg_proto_free(&s->proto);
	free(s);
}

static void pg_close(void *state, enum flow_end why, int64_t time_ns)
{
	struct pg_session *s = state;
	int64_t end_ns = time_ns > s->wire->now_ns ? time_ns : s->wire->now_ns;

	s->wire->ledger->flows[kind_of(s)]++;
	s->wire->ledger->pg_messages[1] += s->proto.asks;
	if (s->id) {
		pg_queue_give_up(s, s->is_blurry ? REQUEST_GAP : 0, end_ns);
		if (why == FLOW_EVICTED || why == FLOW_INPUT_ENDED || why == FLOW_REUSED)
			s->flags |= SESSION_UNCLOSED;
		emit_session(s, end_ns);
	}
	free_session(s);
}

const struct conn_protocol conn_pg = {
	.name = "postgres",
	.open = pg_open,
	.bytes = pg_bytes,
	.gap = pg_gap,
	.close = pg_close,
	.wants_tls = pg_wants_tls,
	.encrypted = pg_encrypted,
};
