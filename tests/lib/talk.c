#include "tests/lib/talk.h"

/* ---- what comes out */

static bool on_session(void *data, const struct raw_session *s, struct err *e)
{
	struct talk *x = data;

	(void)e;
	x->last_session = *s;
	snprintf(x->user, sizeof x->user, "%.*s", (int)s->user.n, s->user.n ? s->user.p : "");
	snprintf(x->client, sizeof x->client, "%.*s", (int)s->client.n, s->client.p);
	snprintf(x->server, sizeof x->server, "%.*s", (int)s->server.n, s->server.p);
	x->sessions++;
	return true;
}

static void copy_text(char *to, size_t size, struct slice from)
{
	snprintf(to, size, "%.*s", (int)from.n, from.n ? from.p : "");
}

static bool on_request(void *data, const struct raw_request *q, struct err *e)
{
	struct talk *x = data;
	struct seen *seen = &x->seen[x->count++];

	(void)e;
	assert_true(x->count < SEEN_MAX);
	seen->raw = *q;
	copy_text(seen->text, sizeof seen->text, q->text);
	copy_text(seen->copy, sizeof seen->copy, q->copy_data);
	for (size_t i = 0; i < q->bind_count; i++) {
		size_t n = strlen(seen->binds);

		snprintf(seen->binds + n, sizeof seen->binds - n, "%s%.*s", i ? "|" : "",
			(int)q->binds[i].bytes.n, q->binds[i].bytes.n ? q->binds[i].bytes.p : "");
	}
	for (size_t i = 0; i < q->edge_count && i < LENGTH(seen->edges); i++)
		seen->edges[i] = q->edges[i];
	return true;
}

/* ---- messages */

/* The next field, and the rest behind its bar. */
static struct slice field(const char **rest)
{
	const char *bar = *rest ? strchr(*rest, '|') : NULL;
	struct slice f = { *rest, bar ? (size_t)(bar - *rest) : *rest ? strlen(*rest) : 0 };

	*rest = bar ? bar + 1 : NULL;
	return f;
}

static void add_number(struct buf *b, unsigned long v, int bytes)
{
	while (bytes--)
		buf_add_byte(b, (unsigned char)(v >> 8 * bytes));
}

static void add_field(struct buf *b, const char **rest)
{
	buf_add_slice(b, field(rest));
	buf_add_byte(b, 0);
}

static unsigned long number_field(const char **rest)
{
	return strtoul(field(rest).p, NULL, 10);
}

/* length and bytes of each field; how many come first. "\N" is NULL. */
static void add_values(struct buf *b, const char *rest)
{
	struct buf values = { 0 };
	unsigned count = 0;

	for (; rest; count++) {
		struct slice v = field(&rest);
		bool is_null = slice_is(v, "\\N");

		add_number(&values, is_null ? 0xffffffff : v.n, 4);
		if (!is_null)
			buf_add_slice(&values, v);
	}
	add_number(b, count, 2);
	buf_add_slice(b, buf_slice(&values));
	buf_free(&values);
}

static void add_columns(struct buf *b, const char *rest)
{
	struct buf columns = { 0 };
	unsigned count = 0;

	for (; rest; count++) {
		add_field(&columns, &rest);
		add_number(&columns, 0, 6);
		add_number(&columns, number_field(&rest), 4);
		add_number(&columns, 0, 8);
	}
	add_number(b, count, 2);
	buf_add_slice(b, buf_slice(&columns));
	buf_free(&columns);
}

static void client_body(struct buf *b, char type, const char *rest)
{
	switch (type) {
	case 'Q':
	case 'f':
		buf_add(b, rest, strlen(rest) + 1);
		break;
	case 'P':
		add_field(b, &rest);
		buf_add(b, rest, strlen(rest) + 1);
		add_number(b, 0, 2);
		break;
	case 'B':
		add_field(b, &rest);
		add_field(b, &rest);
		add_number(b, 0, 2);
		add_values(b, rest);
		add_number(b, 0, 2);
		break;
	case 'E':
		add_field(b, &rest);
		add_number(b, rest ? number_field(&rest) : 0, 4);
		break;
	case 'D':
	case 'C':
		buf_add_byte(b, (unsigned char)*field(&rest).p);
		add_field(b, &rest);
		break;
	case 'F':
		add_number(b, number_field(&rest), 4);
		add_number(b, 0, 6);
		break;
	case 'd':
		buf_add_text(b, rest);
		break;
	default:
		break;
	}
}

static void server_error(struct buf *b, const char *rest)
{
	buf_add_text(b, "SERROR");
	buf_add_byte(b, 0);
	buf_add_byte(b, 'C');
	add_field(b, &rest);
	if (rest) {
		buf_add_byte(b, 'M');
		add_field(b, &rest);
	}
	buf_add_byte(b, 0);
}

static void server_body(struct buf *b, char type, const char *rest)
{
	switch (type) {
	case 'Z':
		buf_add_byte(b, (unsigned char)*rest);
		break;
	case 'C':
		buf_add(b, rest, strlen(rest) + 1);
		break;
	case 'D':
		add_values(b, rest);
		break;
	case 'E':
	case 'N':
		server_error(b, rest ? rest : "00000|just so");
		break;
	case 'T':
		add_columns(b, rest);
		break;
	case 't': {
		unsigned count = 0;
		size_t at = b->n;

		for (add_number(b, 0, 2); rest; count++)
			add_number(b, number_field(&rest), 4);
		b->p[at + 1] = (char)count;
		break;
	}
	case 'S':
		add_field(b, &rest);
		add_field(b, &rest);
		break;
	case 'A':
		add_number(b, 77, 4);
		buf_add(b, "channel\0payload", 16);
		break;
	case 'G':
	case 'H':
	case 'W': {
		unsigned long format = rest ? number_field(&rest) : 0;

		add_number(b, format, 1);
		add_number(b, 1, 2);
		add_number(b, format, 2);
		break;
	}
	case 'V':
		add_number(b, 0xffffffff, 4);
		break;
	case 'd':
		buf_add_text(b, rest);
		break;
	default:
		break;
	}
}

/* ---- sending */

void talk_flush(struct talk *x, int side)
{
	struct buf *b = side ? &x->s : &x->c;

	x->first->now_ns += 1000;
	x->now_ns = x->first->now_ns;
	match_set_time(x->match, x->now_ns);
	if (x->owner && !x->flow.bytes(x->flow.data, x->owner, side, buf_slice(b), x->now_ns))
		x->owner = NULL;
	buf_reset(b);
}

void talk_bytes(struct talk *x, int side, const char *bytes, size_t n)
{
	buf_add(side ? &x->s : &x->c, bytes, n);
	talk_flush(x, side);
}

void talk_send(struct talk *x, int side, const char *const *messages)
{
	for (; *messages; messages++) {
		struct buf body = { 0 };
		const char *rest = (*messages)[1] ? *messages + 2 : NULL;

		if (side)
			server_body(&body, **messages, rest);
		else
			client_body(&body, **messages, rest);
		wire_message(side ? &x->s : &x->c, **messages, buf_slice(&body));
		buf_free(&body);
	}
	talk_flush(x, side);
}

void talk_gap(struct talk *x, int side, uint64_t missing_n)
{
	assert_true(x->flow.gap(x->flow.data, x->owner, side, missing_n, x->now_ns));
}

void talk_simple(struct talk *x, const char *text)
{
	wire_query(&x->c, text);
	talk_flush(x, 0);
	server(x, "C SELECT 0", "Z I");
}

/* ---- beginning and end */

static void open_flow(struct talk *x, int syn, uint16_t server_port)
{
	struct flow_info flow = { .client = syn,
		.address = { { { 10, 0, 0, 1 }, 1000 }, { { 10, 0, 0, 2 }, server_port } } };

	x->match = x->first->match;
	x->now_ns = x->first->now_ns;
	x->flow = match_flow_sink(x->match);
	x->owner = x->flow.open(x->flow.data, &flow);
}

struct talk *talk_new(int syn, uint16_t server_port, const struct match_options *o)
{
	struct talk *x = calloc(1, sizeof *x);
	struct request_sink sink = { on_session, on_request, x };
	struct match_options none = { 0 };

	x->now_ns = 1000;
	x->first = x;
	x->match = match_new(o ? o : &none, &sink, &x->ledger);
	open_flow(x, syn, server_port);
	return x;
}

struct talk *talk_late(int syn)
{
	return talk_new(syn, 5432, NULL);
}

struct talk *talk_late_beside(struct talk *first, int syn)
{
	struct talk *x = calloc(1, sizeof *x);

	x->first = first;
	open_flow(x, syn, 5432);
	return x;
}

static void start(struct talk *x)
{
	wire_startup(&x->c, 196608, "app", "shop");
	talk_flush(x, 0);
	wire_message(&x->s, 'R', (struct slice){ "\0\0\0\0", 4 });
	wire_message(&x->s, 'K', (struct slice){ "\0\0\0\1\0\0\0\2", 8 });
	server(x, "S server_version|15.2", "Z I");
}

struct talk *talk_begin(void)
{
	struct talk *x = talk_late(0);

	start(x);
	return x;
}

struct talk *talk_begin_beside(struct talk *first)
{
	struct talk *x = talk_late_beside(first, 0);

	start(x);
	return x;
}

void talk_close(struct talk *x, enum flow_end why)
{
	if (x->owner)
		x->flow.close(x->flow.data, x->owner, why, x->now_ns + 1000);
	x->owner = NULL;
}

void talk_end(struct talk *x)
{
	struct err e;

	talk_close(x, FLOW_CLOSED);
	if (x->first == x) {
		assert_true(match_ok(x->match, &e));
		assert_int_equal(x->ledger.undecided, 0);
		assert_true(ledger_balances(&x->ledger));
		assert_int_equal(match_in_flight(x->match), 0);
		match_free(x->match);
	}
	buf_free(&x->c);
	buf_free(&x->s);
	free(x);
}
