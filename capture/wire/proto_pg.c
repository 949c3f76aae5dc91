#include "capture/wire/proto_pg.h"

#include "capture/wire/pgdetect.h"

enum { HEADER_N = 5 };

void pg_proto_init(struct pg_proto *p, const struct pg_sink *sink, bool is_joined_late)
{
	*p = (struct pg_proto){ .sink = *sink, .is_joined_late = is_joined_late };
	for (int i = 0; i < 2; i++)
		buf_init(&p->side[i].partial, PG_BODY_MAX + HEADER_N);
	if (is_joined_late)
		p->side[0].is_lost = p->side[1].is_lost = true;
	else
		p->side[0].is_startup = true;
}

void pg_proto_free(struct pg_proto *p)
{
	buf_free(&p->side[0].partial);
	buf_free(&p->side[1].partial);
}

static bool end_as(struct pg_proto *p, enum pg_phase phase)
{
	p->phase = phase;
	return false;
}

/* ---- messages */

struct chunk {
	struct slice rest;
	int64_t time_ns, now_ns;
};

static void advance(struct chunk *c, size_t n)
{
	c->rest.p += n;
	c->rest.n -= n;
}

/* The first bytes of a message, at least a header; true when it was dealt with and
 * *ret_n bytes of it were used up. False: more bytes are needed. */
static bool take_message(struct pg_proto *p, bool from_client, struct slice have,
	const struct chunk *c, int64_t start_ns, size_t *ret_n)
{
	struct pg_side *side = &p->side[!from_client];
	char type = have.p[0];
	uint32_t body_n = be32_at(have.p + 1) - 4;
	uint32_t want_n = pg_body_wanted(type, from_client, body_n);
	struct pg_message m = {
		.type = type,
		.from_client = from_client,
		.is_whole = want_n == body_n,
		.wire_n = body_n + HEADER_N,
		.start_ns = start_ns,
		.end_ns = c->now_ns,
	};

	if (have.n - HEADER_N < want_n)
		return false;
	m.body = (struct slice){ have.p + HEADER_N, want_n };
	*ret_n = HEADER_N + want_n;
	side->skip_n = body_n - want_n;
	p->sink.message(p->sink.data, &m);
	return true;
}

static void lose_side(struct pg_proto *p, bool from_client, int64_t now_ns)
{
	struct pg_side *side = &p->side[!from_client];

	buf_reset(&side->partial);
	side->skip_n = 0;
	side->is_lost = true;
	p->sink.lost(p->sink.data, from_client, now_ns);
}

/* Continues the message that the last chunk left unfinished. */
static bool continue_partial(struct pg_proto *p, bool from_client, struct chunk *c)
{
	struct pg_side *side = &p->side[!from_client];
	size_t used_n, want_n;

	if (side->partial.n < HEADER_N) {
		want_n = HEADER_N - side->partial.n;
		if (want_n > c->rest.n)
			want_n = c->rest.n;
		buf_add(&side->partial, c->rest.p, want_n);
		advance(c, want_n);
		if (side->partial.n < HEADER_N)
			return true;
		if (!pg_header_is_valid(side->partial.p, from_client))
			return false;
	}
	want_n = pg_body_wanted(side->partial.p[0], from_client, be32_at(side->partial.p + 1) - 4) +
		 HEADER_N - side->partial.n;
	if (want_n > c->rest.n)
		want_n = c->rest.n;
	buf_add(&side->partial, c->rest.p, want_n);
	advance(c, want_n);
	if (take_message(p, from_client, buf_slice(&side->partial), c, side->partial_ns, &used_n)) {
		if (side->partial.cap > PG_COPY_MAX) {
			buf_free(&side->partial);
			buf_init(&side->partial, PG_BODY_MAX + HEADER_N);
		}
		buf_reset(&side->partial);
	}
	return true;
}

static bool cut_messages(struct pg_proto *p, bool from_client, struct chunk *c)
{
	struct pg_side *side = &p->side[!from_client];

	while (c->rest.n) {
		size_t used_n = 0;

		if (side->skip_n) {
			used_n = c->rest.n < side->skip_n ? c->rest.n : (size_t)side->skip_n;
			side->skip_n -= used_n;
		} else if (side->partial.n) {
			if (!continue_partial(p, from_client, c))
				return false;
		} else if (c->rest.n >= HEADER_N && !pg_header_is_valid(c->rest.p, from_client)) {
			return false;
		} else if (c->rest.n < HEADER_N ||
			   !take_message(p, from_client, c->rest, c, c->time_ns, &used_n)) {
			buf_add_slice(&side->partial, c->rest);
			side->partial_ns = c->time_ns;
			used_n = c->rest.n;
		}
		advance(c, used_n);
	}
	return true;
}

/* ---- startup */

/* Packets without a type byte. True: the bytes were understood so far. */
static bool take_startup(struct pg_proto *p, struct chunk *c)
{
	struct pg_side *side = &p->side[0];

	while (side->is_startup && c->rest.n) {
		const char *other = NULL;
		size_t want_n = 8;
		enum pg_startup kind;

		if (side->partial.n == 0)
			side->partial_ns = c->time_ns;
		if (side->partial.n >= 8)
			want_n = be32_at(side->partial.p);
		want_n -= side->partial.n;
		if (want_n > c->rest.n)
			want_n = c->rest.n;
		buf_add(&side->partial, c->rest.p, want_n);
		advance(c, want_n);
		if (side->partial.is_full) {
			/* Out of memory: who this is stays unknown, what follows is found anew. */
			side->is_startup = false;
			p->is_out_of_memory = true;
			lose_side(p, true, c->now_ns);
			return true;
		}
		kind = pg_startup_kind(buf_slice(&side->partial), &other);
		if (kind == PG_STARTUP_SHORT)
			continue;
		switch (kind) {
		case PG_STARTUP_TLS:
			return end_as(p, PG_ENCRYPTED);
		case PG_STARTUP_CANCEL:
			if (side->partial.n < be32_at(side->partial.p))
				continue;
			p->sink.cancel(p->sink.data,
				(struct slice){ side->partial.p + 8, side->partial.n - 8 });
			buf_free(&side->partial);
			p->asks++;
			return end_as(p, PG_CANCEL);
		case PG_STARTUP_ASKS:
			p->phase = PG_RUNNING;
			p->awaits_bare_byte = true;
			p->asks++;
			break;
		case PG_STARTUP_SESSION:
			p->phase = PG_RUNNING;
			side->is_startup = false;
			p->sink.startup(p->sink.data,
				(struct slice){ side->partial.p + 8, side->partial.n - 8 },
				side->partial_ns);
			break;
		default:
			return end_as(p, PG_OTHER);
		}
		buf_reset(&side->partial);
	}
	return true;
}

/* S or G: the stream is dark from here. */
static bool take_bare_byte(struct pg_proto *p, struct chunk *c)
{
	char answer = c->rest.p[0];

	p->awaits_bare_byte = false;
	if (answer == 'S' || answer == 'G')
		return end_as(p, answer == 'S' ? PG_TLS : PG_ENCRYPTED);
	/* Old servers answer a request they do not know with an ErrorResponse. */
	if (answer == 'N')
		advance(c, 1);
	return true;
}

/* ---- chunks */

/* At a boundary again? Then what comes before it is dropped. */
static bool find_boundary(struct pg_proto *p, bool from_client, struct chunk *c)
{
	size_t at = pg_boundary(c->rest, from_client);

	if (at == SIZE_MAX)
		return false;
	advance(c, at);
	p->side[!from_client].is_lost = false;
	p->phase = PG_RUNNING;
	p->resyncs++;
	return true;
}

/* The SYN alone may have been missed: then the startup comes after all. */
static void look_for_startup(struct pg_proto *p, struct slice bytes)
{
	const char *other = NULL;
	enum pg_startup kind = pg_startup_kind(bytes, &other);

	if (kind != PG_STARTUP_SESSION && kind != PG_STARTUP_ASKS && kind != PG_STARTUP_CANCEL)
		return;
	p->side[0].is_startup = true;
	p->side[0].is_lost = p->side[1].is_lost = false;
	p->is_joined_late = false;
}

bool pg_proto_feed(
	struct pg_proto *p, bool from_client, struct slice bytes, int64_t time_ns, int64_t now_ns)
{
	struct chunk c = { bytes, time_ns, now_ns };

	if (p->phase == PG_TLS)
		p->phase = PG_RUNNING;
	if (p->is_joined_late && from_client && p->phase == PG_UNDECIDED)
		look_for_startup(p, bytes);
	if (!from_client && p->phase == PG_UNDECIDED && !p->side[1].is_lost)
		/* Servers that speak first are not Postgres. */
		return end_as(p, PG_OTHER);
	if (from_client && p->side[0].is_startup && !take_startup(p, &c))
		return false;
	if (!from_client && p->awaits_bare_byte && c.rest.n && !take_bare_byte(p, &c))
		return false;
	if (!c.rest.n || (p->side[!from_client].is_lost && !find_boundary(p, from_client, &c)))
		return true;
	if (!cut_messages(p, from_client, &c) || p->side[!from_client].partial.is_full)
		lose_side(p, from_client, now_ns);
	return true;
}

void pg_proto_gap(struct pg_proto *p, bool from_client, uint64_t missing_n, int64_t now_ns)
{
	struct pg_side *side = &p->side[!from_client];

	/* Inside a body that is skipped anyway nothing is lost. */
	if (side->skip_n > missing_n) {
		side->skip_n -= missing_n;
		return;
	}
	if (side->is_startup || p->awaits_bare_byte) {
		p->side[0].is_startup = false;
		p->awaits_bare_byte = false;
		p->is_joined_late = true;
		p->side[1].is_lost = true;
	}
	lose_side(p, from_client, now_ns);
}
