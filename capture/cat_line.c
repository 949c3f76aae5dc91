#include "capture/cat_line.h"

#include <inttypes.h>

#include "core/base/clock.h"
#include "core/base/json.h"

struct flag_name {
	uint32_t flag;
	const char *name;
};

/* What makes a request less than exact, and what else is known of it. */
static const struct flag_name qualities[] = {
	{ REQUEST_DERIVED, "derived" },
	{ REQUEST_TEXT_UNKNOWN, "text unknown" },
	{ REQUEST_VALUE_LOST, "value lost" },
	{ REQUEST_GAP, "gap" },
	{ REQUEST_SHED, "shed" },
	{ REQUEST_UNANSWERED, "unanswered" },
	{ REQUEST_UNLEXABLE, "unreadable" },
	{ REQUEST_SECRET, "secret" },
	{ REQUEST_TIMED, "timed" },
	{ 0 },
};
static const struct flag_name request_flags[] = {
	{ REQUEST_USES_NOW, "uses now" },
	{ REQUEST_SKIPPED, "skipped" },
	{ REQUEST_CANCELLED, "cancelled" },
	{ REQUEST_SYNC, "sync" },
	{ REQUEST_EXTERNAL, "external" },
	{ REQUEST_WRITES, "writes" },
	{ 0 },
};
static const struct flag_name session_flags[] = {
	{ SESSION_JOINED_LATE, "joined late" },
	{ SESSION_ENCRYPTED, "encrypted" },
	{ SESSION_WALSENDER, "walsender" },
	{ SESSION_UNCLOSED, "unclosed" },
	{ SESSION_POOLER_CLIENT, "before_pooler" },
	{ SESSION_POOLER_SERVER, "behind_pooler" },
	{ 0 },
};
static const struct flag_name value_flags[] = {
	{ VALUE_IS_PATTERN, "pattern" },
	{ VALUE_IS_CUT, "cut" },
	{ VALUE_IS_UNKNOWN, "unknown" },
	{ 0 },
};

static const char *const forms[] = { "", "simple", "unnamed", "named", "prepare", "fetch",
	"copy in", "copy out", "function", "http" };
static const char *const roles[] = { "unknown", "predicate", "payload", "structural" };
static const char *const actions[] = { "kept", "token", "shifted", "dropped" };

static void add_field(struct buf *to, const char *name, struct slice text)
{
	buf_addf(to, ",\"%s\":", name);
	json_write_string(text, to);
}

static void add_hex(struct buf *to, const char *name, struct slice bytes)
{
	buf_addf(to, ",\"%s\":\"", name);
	for (size_t i = 0; i < bytes.n; i++)
		buf_addf(to, "%02x", (unsigned char)bytes.p[i]);
	buf_add_byte(to, '"');
}

static void add_time(struct buf *to, const char *name, int64_t ns)
{
	char text[CLOCK_TEXT_MAX];

	if (ns)
		buf_addf(to, ",\"%s\":\"%s\"", name, clock_text(ns, text));
	else
		buf_addf(to, ",\"%s\":null", name);
}

/* Nanoseconds as milliseconds, exactly. */
static void add_ms(struct buf *to, const char *name, int64_t ns)
{
	uint64_t n = ns < 0 ? 0 - (uint64_t)ns : (uint64_t)ns;

	buf_addf(to, ",\"%s\":%s%" PRIu64 ".%06" PRIu64, name, ns < 0 ? "-" : "", n / 1000000,
		n % 1000000);
}

static void add_flags(
	struct buf *to, const char *name, const struct flag_name *names, uint32_t flags)
{
	const char *comma = "";

	buf_addf(to, ",\"%s\":[", name);
	for (; names->flag; names++) {
		if (!(flags & names->flag))
			continue;
		buf_addf(to, "%s\"%s\"", comma, names->name);
		comma = ",";
	}
	buf_add_byte(to, ']');
}

static const char *protocol_name(enum protocol protocol)
{
	return protocol == PROTOCOL_HTTP ? "http" : "pg";
}

void cat_session_line(const struct session_record *s, struct buf *to)
{
	buf_addf(to, "{\"type\":\"session\",\"session\":%" PRIu64, s->id);
	add_time(to, "t", s->open_ns);
	add_time(to, "t_close", s->close_ns);
	buf_addf(to, ",\"protocol\":\"%s\"", protocol_name(s->protocol));
	add_field(to, "client", s->client);
	add_field(to, "server", s->server);
	add_field(to, "user", s->user);
	add_field(to, "database", s->database);
	add_field(to, "application", s->application);
	add_flags(to, "flags", session_flags, s->flags);
	buf_add_text(to, "}\n");
}

static void add_value(struct buf *to, const struct value *v, bool is_http)
{
	buf_addf(to, "{\"place\":%u,\"kind\":\"%s\",\"role\":\"%s\",\"action\":\"%s\"", v->place,
		v->is_bind ? "bind" : "literal", roles[v->role & 3], actions[v->action & 3]);
	if (v->type_oid)
		buf_addf(to, is_http ? ",\"bytes\":%u" : ",\"type\":%u", v->type_oid);
	if (v->flags & VALUE_IS_NULL)
		buf_add_text(to, ",\"text\":null");
	else if (v->format == 1)
		add_hex(to, "binary", v->bytes);
	else
		add_field(to, "text", v->bytes);
	if (v->flags & ~VALUE_IS_NULL)
		add_flags(to, "flags", value_flags, v->flags);
	buf_add_byte(to, '}');
}

/* The slot byte of the template is shown as ?n. */
static void add_template(struct buf *to, struct slice text)
{
	struct buf shown = { 0 };
	unsigned slot = 0;

	for (size_t i = 0; i < text.n; i++) {
		if (text.p[i] == TEMPLATE_SLOT)
			buf_addf(&shown, "?%u", slot++);
		else
			buf_add_byte(&shown, (unsigned char)text.p[i]);
	}
	add_field(to, "template", buf_slice(&shown));
	buf_free(&shown);
}

static void add_values(struct buf *to, const struct rcap *r, const struct request_record *q)
{
	if (q->template_id)
		add_template(to, rcap_template(r, q->template_id));
	buf_add_text(to, ",\"values\":[");
	for (size_t i = 0; i < q->value_count; i++) {
		buf_add_text(to, i ? "," : "");
		add_value(to, &q->values[i], rcap_route(r, q->route)->protocol == PROTOCOL_HTTP);
	}
	buf_add_text(to, "],\"edges\":[");
	for (size_t i = 0; i < q->edge_count; i++) {
		const struct edge *edge = &q->edges[i];

		buf_addf(to,
			"%s{\"from\":%" PRIu64 ",\"row\":%u,\"column\":%u,\"value\":%u,"
			"\"strong\":%s}",
			i ? "," : "", edge->from_seq, edge->row, edge->column, edge->value,
			edge->is_strong ? "true" : "false");
	}
	buf_add_byte(to, ']');
	if (q->copy_data.n)
		buf_addf(to, ",\"copy_bytes\":%zu", q->copy_data.n);
}

/* 0: not answered. */
static void add_status(
	struct buf *to, const struct rcap_route *route, const struct request_record *q)
{
	const char *blank = memchr(route->text.p, ' ', route->text.n);

	if (blank && route->text.p[0] != '(')
		add_field(to, "method",
			(struct slice){ route->text.p, (size_t)(blank - route->text.p) });
	if (q->status)
		buf_addf(to, ",\"status\":%u", q->status);
	else
		buf_add_text(to, ",\"status\":null");
	if (q->grpc)
		buf_addf(to, ",\"grpc\":%u", q->grpc - 1u);
}

static void add_outcome(
	struct buf *to, const struct rcap_route *route, const struct request_record *q)
{
	if (route->protocol == PROTOCOL_HTTP)
		add_status(to, route, q);
	else if (q->sqlstate[0])
		add_field(to, "sqlstate", slice_of(q->sqlstate));
	else
		buf_add_text(to, ",\"sqlstate\":null");
	buf_addf(to, ",\"rows\":%" PRIu64 ",\"bytes_in\":%" PRIu64 ",\"bytes_out\":%" PRIu64,
		q->rows, q->bytes_in, q->bytes_out);
}

void cat_request_line(
	const struct rcap *r, const struct request_record *q, bool has_values, struct buf *to)
{
	const struct rcap_route *route = rcap_route(r, q->route);

	buf_addf(to, "{\"type\":\"request\",\"session\":%" PRIu64 ",\"seq\":%" PRIu64, q->session,
		q->seq);
	add_time(to, "t", q->start_ns);
	add_ms(to, "duration_ms", q->end_ns - q->start_ns);
	if (q->first_byte_ns)
		add_ms(to, "first_byte_ms", q->first_byte_ns - q->start_ns);
	if (q->think_ns >= 0)
		add_ms(to, "think_ms", q->think_ns);
	buf_addf(to, ",\"protocol\":\"%s\"", protocol_name(route->protocol));
	add_field(to, "route", route->text);
	buf_addf(to, ",\"fingerprint\":\"%016" PRIx64 "\"", route->fingerprint);
	buf_addf(to, ",\"form\":\"%s\",\"in_flight\":%u", forms[q->form], q->in_flight);
	if (q->statement)
		buf_addf(to, ",\"statement\":%u", q->statement);
	if (q->portal)
		buf_addf(to, ",\"portal\":%u", q->portal);
	if (q->row_limit)
		buf_addf(to, ",\"row_limit\":%u", q->row_limit);
	buf_addf(to, ",\"state\":\"%c%c\"", q->state_before, q->state_after);
	add_outcome(to, route, q);
	add_flags(to, "quality", qualities, q->flags);
	add_flags(to, "flags", request_flags, q->flags);
	if (has_values)
		add_values(to, r, q);
	buf_add_text(to, "}\n");
}
