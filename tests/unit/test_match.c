#include "tests/lib/unit.h"

#include "capture/wire/match.h"
#include "tests/lib/wire.h"

enum { SEEN_MAX = 64 };

/* A request as the sink got it, with its borrowed parts copied. */
struct seen {
	struct raw_request raw;
	char text[256];
	char binds[256]; /* joined by '|' */
	struct edge edges[8];
};

struct fixture {
	struct ledger ledger;
	struct match *match;
	struct flow_sink flow;
	void *owner;
	struct seen seen[SEEN_MAX];
	size_t count;
	struct raw_session last_session;
	char user[64], client[64], server[64];
	unsigned sessions; /* calls, two for a session that closed */
	struct buf c, s; /* what the next client() and server() send */
	int64_t now_ns;
};

static bool on_session(void *data, const struct raw_session *s, struct err *e)
{
	struct fixture *x = data;

	(void)e;
	x->last_session = *s;
	snprintf(x->user, sizeof x->user, "%.*s", (int)s->user.n, s->user.p);
	snprintf(x->client, sizeof x->client, "%.*s", (int)s->client.n, s->client.p);
	snprintf(x->server, sizeof x->server, "%.*s", (int)s->server.n, s->server.p);
	x->sessions++;
	return true;
}

static bool on_request(void *data, const struct raw_request *q, struct err *e)
{
	struct fixture *x = data;
	struct seen *seen = &x->seen[x->count++];

	(void)e;
	assert_true(x->count < SEEN_MAX);
	seen->raw = *q;
	snprintf(seen->text, sizeof seen->text, "%.*s", (int)q->text.n, q->text.n ? q->text.p : "");
	for (size_t i = 0; i < q->bind_count; i++) {
		size_t n = strlen(seen->binds);

		snprintf(seen->binds + n, sizeof seen->binds - n, "%s%.*s", i ? "|" : "",
			(int)q->binds[i].bytes.n, q->binds[i].bytes.n ? q->binds[i].bytes.p : "");
	}
	for (size_t i = 0; i < q->edge_count && i < LENGTH(seen->edges); i++)
		seen->edges[i] = q->edges[i];
	return true;
}

static struct fixture *begin_late(int client)
{
	struct fixture *x = calloc(1, sizeof *x);
	struct request_sink sink = { on_session, on_request, x };
	struct match_options options = { 0 };
	struct flow_info flow = { .client = client,
		.address = { { { 10, 0, 0, 1 }, 1000 }, { { 10, 0, 0, 2 }, 5432 } } };

	x->now_ns = 1000;
	x->match = match_new(&options, &sink, &x->ledger);
	x->flow = match_flow_sink(x->match);
	x->owner = x->flow.open(x->flow.data, &flow);
	return x;
}

/* Time goes on by 1 us with each segment. */
static void send_side(struct fixture *x, int side, struct buf *b)
{
	x->now_ns += 1000;
	match_set_time(x->match, x->now_ns);
	if (x->owner && !x->flow.bytes(x->flow.data, x->owner, side, buf_slice(b), x->now_ns))
		x->owner = NULL;
	buf_reset(b);
}

static void client(struct fixture *x)
{
	send_side(x, 0, &x->c);
}

static void server(struct fixture *x)
{
	send_side(x, 1, &x->s);
}

static struct fixture *begin(void)
{
	struct fixture *x = begin_late(0);

	wire_startup(&x->c, 196608, "app", "shop");
	client(x);
	wire_message(&x->s, 'R', (struct slice){ "\0\0\0\0", 4 });
	wire_message(&x->s, 'S', (struct slice){ "server_version\00015.2", 20 });
	wire_message(&x->s, 'K', (struct slice){ "\0\0\0\1\0\0\0\2", 8 });
	wire_ready(&x->s, 'I');
	server(x);
	return x;
}

static void run_simple(struct fixture *x, const char *text)
{
	wire_query(&x->c, text);
	client(x);
	wire_done(&x->s, "SELECT 0");
	wire_ready(&x->s, 'I');
	server(x);
}

static void close_flow(struct fixture *x, enum flow_end why)
{
	if (x->owner)
		x->flow.close(x->flow.data, x->owner, why, x->now_ns + 1000);
	x->owner = NULL;
}

static void end(struct fixture *x)
{
	struct err e;

	close_flow(x, FLOW_CLOSED);
	assert_true(match_ok(x->match, &e));
	assert_int_equal(x->ledger.undecided, 0);
	assert_true(ledger_balances(&x->ledger));
	assert_int_equal(match_in_flight(x->match), 0);
	match_free(x->match);
	buf_free(&x->c);
	buf_free(&x->s);
	free(x);
}

static void startup_names_the_session(void **state)
{
	(void)state;
	struct fixture *x = begin();

	assert_int_equal(x->sessions, 1);
	assert_string_equal(x->user, "app");
	assert_string_equal(x->client, "10.0.0.1");
	assert_string_equal(x->server, "10.0.0.2:5432");
	assert_string_equal(match_server(x->match)->version, "15.2");
	close_flow(x, FLOW_CLOSED);
	assert_int_equal(x->sessions, 2);
	assert_int_equal(x->last_session.flags, 0);
	assert_int_equal(x->count, 0);
	end(x);
}

static void a_simple_query_is_one_request(void **state)
{
	(void)state;
	struct fixture *x = begin();
	const struct raw_request *q = &x->seen[0].raw;

	wire_query(&x->c, "select 1; select 2");
	client(x);
	wire_columns(&x->s, "a", 23);
	wire_row(&x->s, "1");
	wire_done(&x->s, "SELECT 1");
	server(x);
	wire_row(&x->s, "2");
	wire_done(&x->s, "SELECT 1");
	wire_ready(&x->s, 'I');
	server(x);
	assert_int_equal(x->count, 1);
	assert_string_equal(x->seen[0].text, "select 1; select 2");
	assert_int_equal(q->form, FORM_SIMPLE);
	assert_int_equal(q->rows, 2);
	assert_int_equal(q->first_byte_ns - q->start_ns, 1000);
	assert_int_equal(q->end_ns - q->start_ns, 2000);
	assert_int_equal(q->think_ns, -1);
	assert_int_equal(q->in_flight, 1);
	assert_int_equal(q->state_before, 'I');
	assert_int_equal(q->bytes_in, 24);
	end(x);
}

static void think_time_is_counted_from_the_last_answer(void **state)
{
	(void)state;
	struct fixture *x = begin();

	for (int i = 0; i < 2; i++) {
		wire_query(&x->c, i ? "commit" : "begin");
		x->now_ns += 5000;
		client(x);
		wire_done(&x->s, i ? "COMMIT" : "BEGIN");
		wire_ready(&x->s, i ? 'I' : 'T');
		server(x);
	}
	assert_int_equal(x->seen[1].raw.think_ns, 6000);
	assert_int_equal(x->seen[1].raw.seq, 1);
	assert_int_equal(x->seen[1].raw.state_before, 'T');
	assert_int_equal(x->seen[1].raw.state_after, 'I');
	end(x);
}

static void a_split_message_is_put_together(void **state)
{
	(void)state;
	struct fixture *x = begin();
	struct buf all = { 0 };
	int64_t started_ns = x->now_ns + 1000;

	wire_query(&all, "select 'in many pieces'");
	for (size_t i = 0; i < all.n; i++) {
		buf_add(&x->c, all.p + i, 1);
		client(x);
	}
	buf_reset(&all);
	wire_done(&all, "SELECT 0");
	wire_ready(&all, 'I');
	for (size_t i = 0; i < all.n; i++) {
		buf_add(&x->s, all.p + i, 1);
		server(x);
	}
	assert_int_equal(x->count, 1);
	assert_string_equal(x->seen[0].text, "select 'in many pieces'");
	assert_int_equal(x->seen[0].raw.start_ns, started_ns);
	assert_int_equal(x->seen[0].raw.end_ns, x->now_ns);
	buf_free(&all);
	end(x);
}

static void a_named_statement_is_prepared_and_run(void **state)
{
	(void)state;
	struct fixture *x = begin();

	wire_parse(&x->c, "s1", "select $1");
	wire_describe(&x->c, 'S', "s1");
	wire_sync(&x->c);
	client(x);
	wire_bare(&x->s, '1');
	wire_message(&x->s, 't', (struct slice){ "\0\1\0\0\0\x17", 6 });
	wire_bare(&x->s, 'n');
	wire_ready(&x->s, 'I');
	server(x);
	wire_bind(&x->c, "", "s1", "4711", NULL);
	wire_execute(&x->c, "", 0);
	wire_sync(&x->c);
	client(x);
	wire_bare(&x->s, '2');
	wire_row(&x->s, "4711");
	wire_done(&x->s, "SELECT 1");
	wire_ready(&x->s, 'I');
	server(x);
	assert_int_equal(x->count, 2);
	assert_int_equal(x->seen[0].raw.form, FORM_PREPARE);
	assert_string_equal(x->seen[0].text, "select $1");
	assert_int_equal(x->seen[0].raw.statement, 1);
	assert_int_equal(x->seen[1].raw.form, FORM_NAMED);
	assert_string_equal(x->seen[1].text, "select $1");
	assert_string_equal(x->seen[1].binds, "4711");
	assert_int_equal(x->seen[1].raw.statement, 1);
	assert_true(x->seen[1].raw.flags & REQUEST_SYNC);
	assert_int_equal(x->ledger.requests_seen, 1);
	assert_int_equal(x->ledger.prepares, 1);
	end(x);
}

static void parameter_types_come_from_the_description(void **state)
{
	(void)state;
	struct fixture *x = begin();

	wire_parse(&x->c, "s1", "select $1");
	wire_describe(&x->c, 'S', "s1");
	wire_bind(&x->c, "", "s1", "5", NULL);
	client(x);
	/* The description came after this Bind: only the next one knows. */
	wire_bare(&x->s, '1');
	wire_message(&x->s, 't', (struct slice){ "\0\1\0\0\0\x17", 6 });
	wire_bare(&x->s, 'n');
	wire_bare(&x->s, '2');
	server(x);
	wire_bind(&x->c, "", "s1", "6", NULL);
	wire_execute(&x->c, "", 0);
	wire_sync(&x->c);
	client(x);
	wire_bare(&x->s, '2');
	wire_done(&x->s, "SELECT 0");
	wire_ready(&x->s, 'I');
	server(x);
	assert_int_equal(x->count, 2);
	assert_string_equal(x->seen[1].binds, "6");
	end(x);
}

static void a_pipeline_is_several_requests(void **state)
{
	(void)state;
	struct fixture *x = begin();

	for (int i = 0; i < 3; i++) {
		wire_parse(&x->c, "", i == 0 ? "begin" : i == 1 ? "select 2" : "commit");
		wire_bind(&x->c, "", "", NULL);
		wire_execute(&x->c, "", 0);
		client(x);
	}
	wire_sync(&x->c);
	client(x);
	for (int i = 0; i < 3; i++) {
		wire_bare(&x->s, '1');
		wire_bare(&x->s, '2');
		wire_done(&x->s, i == 0 ? "BEGIN" : i == 1 ? "SELECT 0" : "COMMIT");
		server(x);
	}
	assert_int_equal(x->count, 2);
	wire_ready(&x->s, 'I');
	server(x);
	assert_int_equal(x->count, 3);
	assert_string_equal(x->seen[1].text, "select 2");
	assert_int_equal(x->seen[1].raw.state_before, 'T');
	assert_int_equal(x->seen[1].raw.think_ns, 0);
	assert_int_equal(x->seen[1].raw.in_flight, 2);
	assert_false(x->seen[1].raw.flags & REQUEST_SYNC);
	assert_true(x->seen[2].raw.flags & REQUEST_SYNC);
	/* ReadyForQuery ends the last one alone. */
	assert_int_equal(x->seen[2].raw.end_ns, x->now_ns);
	assert_int_equal(x->seen[1].raw.end_ns, x->now_ns - 2000);
	end(x);
}

static void after_an_error_the_rest_of_the_pipeline_is_skipped(void **state)
{
	(void)state;
	struct fixture *x = begin();

	for (int i = 0; i < 3; i++) {
		wire_parse(&x->c, "", "select 1");
		wire_bind(&x->c, "", "", NULL);
		wire_execute(&x->c, "", 0);
	}
	wire_sync(&x->c);
	client(x);
	wire_bare(&x->s, '1');
	wire_bare(&x->s, '2');
	wire_error(&x->s, "22012");
	wire_ready(&x->s, 'I');
	server(x);
	assert_int_equal(x->count, 3);
	assert_string_equal(x->seen[0].raw.sqlstate, "22012");
	assert_int_equal(x->seen[0].raw.flags & REQUEST_SKIPPED, 0);
	assert_true(x->seen[1].raw.flags & REQUEST_SKIPPED);
	assert_true(x->seen[2].raw.flags & REQUEST_SKIPPED);
	assert_int_equal(x->ledger.requests_paired, 1);
	assert_int_equal(x->ledger.requests_unpaired[UNPAIRED_SKIPPED], 2);
	/* The next one is none of that. */
	wire_query(&x->c, "select 2");
	client(x);
	wire_done(&x->s, "SELECT 0");
	wire_ready(&x->s, 'I');
	server(x);
	assert_int_equal(x->seen[3].raw.flags, 0);
	end(x);
}

static void what_comes_after_an_error_before_sync_is_skipped_too(void **state)
{
	(void)state;
	struct fixture *x = begin();

	wire_parse(&x->c, "", "selec");
	client(x);
	wire_error(&x->s, "42601");
	server(x);
	wire_bind(&x->c, "", "", NULL);
	wire_execute(&x->c, "", 0);
	wire_sync(&x->c);
	client(x);
	wire_ready(&x->s, 'I');
	server(x);
	assert_int_equal(x->count, 2);
	assert_string_equal(x->seen[0].raw.sqlstate, "42601");
	assert_true(x->seen[1].raw.flags & REQUEST_SKIPPED);
	end(x);
}

static void a_failed_prepare_leaves_no_name(void **state)
{
	(void)state;
	struct fixture *x = begin();

	wire_parse(&x->c, "s1", "good");
	wire_sync(&x->c);
	client(x);
	wire_bare(&x->s, '1');
	wire_ready(&x->s, 'I');
	server(x);
	wire_parse(&x->c, "s1", "again");
	wire_sync(&x->c);
	client(x);
	wire_error(&x->s, "42P05");
	wire_ready(&x->s, 'I');
	server(x);
	wire_bind(&x->c, "", "s1", NULL);
	wire_execute(&x->c, "", 0);
	wire_sync(&x->c);
	client(x);
	wire_bare(&x->s, '2');
	wire_done(&x->s, "SELECT 0");
	wire_ready(&x->s, 'I');
	server(x);
	assert_int_equal(x->count, 3);
	assert_string_equal(x->seen[2].text, "good");
	end(x);
}

static void a_portal_is_fetched_in_parts(void **state)
{
	(void)state;
	struct fixture *x = begin();

	wire_parse(&x->c, "", "select g");
	wire_bind(&x->c, "p", "", NULL);
	wire_execute(&x->c, "p", 2);
	wire_sync(&x->c);
	client(x);
	wire_bare(&x->s, '1');
	wire_bare(&x->s, '2');
	wire_row(&x->s, "1");
	wire_row(&x->s, "2");
	wire_bare(&x->s, 's');
	wire_ready(&x->s, 'T');
	server(x);
	wire_execute(&x->c, "p", 2);
	wire_sync(&x->c);
	client(x);
	wire_row(&x->s, "3");
	wire_done(&x->s, "SELECT 1");
	wire_ready(&x->s, 'T');
	server(x);
	assert_int_equal(x->count, 2);
	assert_int_equal(x->seen[0].raw.form, FORM_UNNAMED);
	assert_int_equal(x->seen[0].raw.rows, 2);
	assert_int_equal(x->seen[0].raw.row_limit, 2);
	assert_int_equal(x->seen[1].raw.form, FORM_FETCH);
	assert_int_equal(x->seen[1].raw.portal, x->seen[0].raw.portal);
	assert_int_equal(x->seen[1].raw.rows, 1);
	assert_string_equal(x->seen[1].text, "select g");
	end(x);
}

static void copy_in_is_one_request_with_its_rows(void **state)
{
	(void)state;
	struct fixture *x = begin();

	/* libpq sends Sync with the COPY and once more at its end; the first is ignored. */
	wire_parse(&x->c, "", "copy t from stdin");
	wire_bind(&x->c, "", "", NULL);
	wire_execute(&x->c, "", 0);
	wire_sync(&x->c);
	client(x);
	wire_bare(&x->s, '1');
	wire_bare(&x->s, '2');
	wire_message(&x->s, 'G', (struct slice){ "\0\0\1\0\0", 5 });
	server(x);
	wire_message(&x->c, 'd', SLICE("1\tone\n2\t"));
	client(x);
	wire_message(&x->c, 'd', SLICE("two\n"));
	wire_bare(&x->c, 'c');
	wire_sync(&x->c);
	client(x);
	wire_done(&x->s, "COPY 2");
	wire_ready(&x->s, 'I');
	server(x);
	run_simple(x, "select 'next'");
	assert_int_equal(x->count, 2);
	assert_string_equal(x->seen[1].text, "select 'next'");
	assert_int_equal(x->seen[1].raw.flags, 0);
	assert_int_equal(x->seen[0].raw.form, FORM_COPY_IN);
	assert_int_equal(x->seen[0].raw.rows, 2);
	assert_int_equal(x->seen[0].raw.copy_data.n, 12);
	end(x);
}

/* An answer that fits nothing we know of: what is owed is doubtful until ReadyForQuery. */
static void an_answer_that_does_not_fit_is_not_believed(void **state)
{
	(void)state;
	struct fixture *x = begin();

	wire_query(&x->c, "select 1");
	client(x);
	wire_bare(&x->s, '2');
	wire_done(&x->s, "SELECT 77");
	wire_ready(&x->s, 'I');
	server(x);
	run_simple(x, "select 2");
	assert_int_equal(x->count, 2);
	assert_true(x->seen[0].raw.flags & REQUEST_GAP);
	assert_int_equal(x->seen[0].raw.rows, 0);
	assert_int_equal(x->seen[1].raw.flags, 0);
	end(x);
}

static void an_unanswered_request_is_told_at_the_end(void **state)
{
	(void)state;
	struct fixture *x = begin();

	wire_query(&x->c, "select pg_sleep(100)");
	client(x);
	close_flow(x, FLOW_INPUT_ENDED);
	assert_int_equal(x->count, 1);
	assert_true(x->seen[0].raw.flags & REQUEST_UNANSWERED);
	assert_int_equal(x->seen[0].raw.end_ns, x->now_ns + 1000);
	assert_int_equal(x->last_session.flags, SESSION_UNCLOSED);
	assert_int_equal(x->ledger.requests_unpaired[UNPAIRED_NO_ANSWER], 1);
	end(x);
}

static void a_fatal_error_is_an_answer(void **state)
{
	(void)state;
	struct fixture *x = begin();

	wire_query(&x->c, "select pg_sleep(100)");
	client(x);
	wire_error(&x->s, "57P01");
	server(x);
	close_flow(x, FLOW_CLOSED);
	assert_int_equal(x->count, 1);
	assert_string_equal(x->seen[0].raw.sqlstate, "57P01");
	assert_int_equal(x->seen[0].raw.flags & REQUEST_UNANSWERED, 0);
	end(x);
}

static void a_cancelled_query_is_flagged(void **state)
{
	(void)state;
	struct fixture *x = begin();

	wire_query(&x->c, "select pg_sleep(100)");
	client(x);
	wire_error(&x->s, "57014");
	wire_ready(&x->s, 'I');
	server(x);
	assert_true(x->seen[0].raw.flags & REQUEST_CANCELLED);
	end(x);
}

static void joined_late_it_counts_a_stray_answer_and_goes_on(void **state)
{
	(void)state;
	struct fixture *x = begin_late(-1);

	wire_row(&x->s, "1");
	wire_done(&x->s, "SELECT 1");
	wire_ready(&x->s, 'T');
	server(x);
	wire_bind(&x->c, "", "seen_by_nobody", "5", NULL);
	wire_execute(&x->c, "", 0);
	wire_sync(&x->c);
	client(x);
	wire_bare(&x->s, '2');
	wire_done(&x->s, "UPDATE 1");
	wire_ready(&x->s, 'T');
	server(x);
	assert_int_equal(x->last_session.flags, SESSION_JOINED_LATE);
	assert_int_equal(x->count, 1);
	assert_int_equal(x->seen[0].raw.form, FORM_NAMED);
	assert_true(x->seen[0].raw.flags & REQUEST_TEXT_UNKNOWN);
	assert_int_equal(x->seen[0].raw.state_before, 'T');
	assert_int_equal(x->ledger.requests_unpaired[UNPAIRED_NO_REQUEST], 1);
	end(x);
}

static void a_gap_in_the_answer_spoils_one_request(void **state)
{
	(void)state;
	struct fixture *x = begin();

	wire_query(&x->c, "select 1");
	client(x);
	wire_columns(&x->s, "a", 25);
	server(x);
	assert_true(x->flow.gap(x->flow.data, x->owner, 1, 500, x->now_ns));
	/* In the middle of a row; then a boundary. */
	buf_add_text(&x->s, "rest of some row");
	wire_row(&x->s, "more");
	wire_done(&x->s, "SELECT 9");
	wire_ready(&x->s, 'I');
	server(x);
	wire_query(&x->c, "select 2");
	client(x);
	wire_done(&x->s, "SELECT 0");
	wire_ready(&x->s, 'I');
	server(x);
	assert_int_equal(x->count, 2);
	assert_true(x->seen[0].raw.flags & REQUEST_GAP);
	assert_int_equal(x->seen[0].raw.flags & REQUEST_UNANSWERED, 0);
	assert_string_equal(x->seen[1].text, "select 2");
	assert_int_equal(x->seen[1].raw.flags, 0);
	assert_int_equal(x->ledger.requests_paired, 2);
	end(x);
}

static void a_lost_parse_leaves_the_text_unknown(void **state)
{
	(void)state;
	struct fixture *x = begin();

	wire_parse(&x->c, "", "select old");
	wire_bind(&x->c, "", "", NULL);
	wire_execute(&x->c, "", 0);
	wire_sync(&x->c);
	client(x);
	wire_bare(&x->s, '1');
	wire_bare(&x->s, '2');
	wire_done(&x->s, "SELECT 0");
	wire_ready(&x->s, 'I');
	server(x);
	assert_true(x->flow.gap(x->flow.data, x->owner, 0, 50, x->now_ns));
	wire_bind(&x->c, "", "", NULL);
	wire_execute(&x->c, "", 0);
	wire_sync(&x->c);
	client(x);
	wire_bare(&x->s, '2');
	wire_done(&x->s, "SELECT 0");
	wire_ready(&x->s, 'I');
	server(x);
	assert_int_equal(x->count, 2);
	assert_true(x->seen[1].raw.flags & REQUEST_TEXT_UNKNOWN);
	end(x);
}

static void a_returned_key_makes_a_strong_edge(void **state)
{
	(void)state;
	struct fixture *x = begin();

	wire_query(&x->c, "insert into t values (1) returning id");
	client(x);
	wire_columns(&x->s, "id", 23);
	wire_row(&x->s, "7");
	wire_done(&x->s, "INSERT 0 1");
	wire_ready(&x->s, 'I');
	server(x);
	wire_query(&x->c, "select 'a', 7 from t");
	client(x);
	wire_columns(&x->s, "n", 20);
	wire_row(&x->s, "4711");
	wire_done(&x->s, "SELECT 1");
	wire_ready(&x->s, 'I');
	server(x);
	wire_parse(&x->c, "", "select $1, $2");
	wire_bind(&x->c, "", "", "x", "4711", NULL);
	wire_execute(&x->c, "", 0);
	wire_sync(&x->c);
	client(x);
	close_flow(x, FLOW_CLOSED);
	assert_int_equal(x->seen[1].raw.edge_count, 1);
	assert_int_equal(x->seen[1].edges[0].from_seq, 0);
	assert_int_equal(x->seen[1].edges[0].value, 1);
	assert_true(x->seen[1].edges[0].is_strong);
	assert_int_equal(x->seen[2].raw.edge_count, 1);
	assert_int_equal(x->seen[2].edges[0].from_seq, 1);
	assert_int_equal(x->seen[2].edges[0].value, MATCH_EDGE_BIND | 1);
	assert_false(x->seen[2].edges[0].is_strong);
	end(x);
}

static void small_numbers_and_large_results_make_no_edges(void **state)
{
	(void)state;
	struct fixture *x = begin();

	wire_query(&x->c, "select a from t");
	client(x);
	wire_row(&x->s, "5");
	wire_done(&x->s, "SELECT 1");
	wire_ready(&x->s, 'I');
	server(x);
	wire_query(&x->c, "select b from t");
	client(x);
	for (int i = 0; i < 17; i++)
		wire_row(&x->s, "123456");
	wire_done(&x->s, "SELECT 17");
	wire_ready(&x->s, 'I');
	server(x);
	wire_query(&x->c, "select 5, 123456");
	client(x);
	close_flow(x, FLOW_CLOSED);
	assert_int_equal(x->seen[2].raw.edge_count, 0);
	end(x);
}

static void ssl_refused_goes_on_in_the_clear(void **state)
{
	(void)state;
	struct fixture *x = begin_late(0);

	wire_code(&x->c, 80877104);
	client(x);
	buf_add_text(&x->s, "N");
	server(x);
	wire_code(&x->c, 80877103);
	client(x);
	buf_add_text(&x->s, "N");
	server(x);
	wire_startup(&x->c, 196610, "late", "shop");
	client(x);
	assert_string_equal(x->user, "late");
	end(x);
}

static void ssl_granted_is_counted_and_dark(void **state)
{
	(void)state;
	struct fixture *x = begin_late(0);

	wire_code(&x->c, 80877103);
	client(x);
	buf_add_text(&x->s, "S");
	server(x);
	buf_add_text(&x->c, "Q\0\0\0\10abc");
	client(x);
	assert_int_equal(x->last_session.flags, SESSION_ENCRYPTED);
	close_flow(x, FLOW_CLOSED);
	assert_int_equal(x->count, 0);
	assert_int_equal(x->ledger.flows[FLOWS_ENCRYPTED], 1);
	end(x);
}

static void other_protocols_are_named(void **state)
{
	(void)state;
	static const struct {
		const char *first;
		size_t n;
		enum ledger_flow kind;
	} cases[] = {
		{ "GET / HTTP/1.1\r\n", 16, FLOWS_HTTP },
		{ "SSH-2.0-x\r\n", 11, FLOWS_OTHER },
		{ "\0\0\0\x10\x04\xd2\x16\x2e\0\0\0\1\0\0\0\2", 16, FLOWS_CANCEL },
	};

	for (size_t i = 0; i < LENGTH(cases); i++) {
		struct fixture *x = begin_late(0);

		buf_add(&x->c, cases[i].first, cases[i].n);
		client(x);
		assert_null(x->owner);
		assert_int_equal(x->ledger.flows[cases[i].kind], 1);
		assert_int_equal(x->sessions, 0);
		end(x);
	}
}

static void a_walsender_is_set_aside(void **state)
{
	(void)state;
	struct fixture *x = begin_late(0);
	static const char startup[] = "\0\0\0\x21\0\3\0\0user\0r\0replication\0true\0";

	buf_add(&x->c, startup, sizeof startup);
	client(x);
	wire_query(&x->c, "IDENTIFY_SYSTEM");
	client(x);
	assert_int_equal(x->last_session.flags, SESSION_WALSENDER);
	close_flow(x, FLOW_CLOSED);
	assert_int_equal(x->count, 0);
	assert_int_equal(x->ledger.flows[FLOWS_WALSENDER], 1);
	end(x);
}

static void too_long_a_pipeline_is_shed_and_counted(void **state)
{
	(void)state;
	struct fixture *x = begin();

	for (int i = 0; i < 20000; i++)
		wire_describe(&x->c, 'S', "s");
	wire_query(&x->c, "select 1");
	client(x);
	wire_ready(&x->s, 'I');
	server(x);
	wire_query(&x->c, "select 2");
	client(x);
	wire_done(&x->s, "SELECT 0");
	wire_ready(&x->s, 'I');
	server(x);
	assert_string_equal(x->seen[x->count - 1].text, "select 2");
	end(x);
}

static void discard_all_forgets_the_names(void **state)
{
	(void)state;
	struct fixture *x = begin();

	wire_parse(&x->c, "s1", "select 1");
	wire_sync(&x->c);
	client(x);
	wire_bare(&x->s, '1');
	wire_ready(&x->s, 'I');
	server(x);
	wire_query(&x->c, " discard ALL;");
	client(x);
	wire_done(&x->s, "DISCARD ALL");
	wire_ready(&x->s, 'I');
	server(x);
	wire_bind(&x->c, "", "s1", NULL);
	wire_execute(&x->c, "", 0);
	wire_sync(&x->c);
	client(x);
	wire_error(&x->s, "26000");
	wire_ready(&x->s, 'I');
	server(x);
	assert_int_equal(x->count, 3);
	assert_true(x->seen[2].raw.flags & REQUEST_TEXT_UNKNOWN);
	end(x);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(startup_names_the_session),
		cmocka_unit_test(a_simple_query_is_one_request),
		cmocka_unit_test(think_time_is_counted_from_the_last_answer),
		cmocka_unit_test(a_split_message_is_put_together),
		cmocka_unit_test(a_named_statement_is_prepared_and_run),
		cmocka_unit_test(parameter_types_come_from_the_description),
		cmocka_unit_test(a_pipeline_is_several_requests),
		cmocka_unit_test(after_an_error_the_rest_of_the_pipeline_is_skipped),
		cmocka_unit_test(what_comes_after_an_error_before_sync_is_skipped_too),
		cmocka_unit_test(a_failed_prepare_leaves_no_name),
		cmocka_unit_test(a_portal_is_fetched_in_parts),
		cmocka_unit_test(copy_in_is_one_request_with_its_rows),
		cmocka_unit_test(an_answer_that_does_not_fit_is_not_believed),
		cmocka_unit_test(an_unanswered_request_is_told_at_the_end),
		cmocka_unit_test(a_fatal_error_is_an_answer),
		cmocka_unit_test(a_cancelled_query_is_flagged),
		cmocka_unit_test(joined_late_it_counts_a_stray_answer_and_goes_on),
		cmocka_unit_test(a_gap_in_the_answer_spoils_one_request),
		cmocka_unit_test(a_lost_parse_leaves_the_text_unknown),
		cmocka_unit_test(a_returned_key_makes_a_strong_edge),
		cmocka_unit_test(small_numbers_and_large_results_make_no_edges),
		cmocka_unit_test(ssl_refused_goes_on_in_the_clear),
		cmocka_unit_test(ssl_granted_is_counted_and_dark),
		cmocka_unit_test(other_protocols_are_named),
		cmocka_unit_test(a_walsender_is_set_aside),
		cmocka_unit_test(too_long_a_pipeline_is_shed_and_counted),
		cmocka_unit_test(discard_all_forgets_the_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
