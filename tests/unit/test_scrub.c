#include "tests/lib/unit.h"

#include <unistd.h>

#include "capture/wire/match.h"
#include "capture/scrub.h"

struct fixture {
	struct policy policy;
	struct token_key *key;
	struct rcap_writer *writer;
	struct scrub *scrub;
	struct request_sink sink;
	struct rcap *file;
	struct rcap_item item;
	char path[64];
	struct err err;
};

static struct fixture *begin(void)
{
	static const unsigned char bytes[32] = { 1, 2, 3 };
	struct fixture *x = calloc(1, sizeof *x);

	snprintf(x->path, sizeof x->path, "/tmp/test_scrub.XXXXXX");
	assert_true(policy_defaults(&x->policy, &x->err));
	x->key = token_key_of(bytes, &x->err);
	x->writer = rcap_create_fd(mkstemp(x->path), x->path, &x->err);
	assert_non_null(x->writer);
	x->scrub = scrub_new(&x->policy, x->key, x->writer);
	assert_non_null(x->scrub);
	x->sink = scrub_sink(x->scrub);
	return x;
}

static void put(struct fixture *x, const struct raw_request *q)
{
	assert_true(x->sink.request(x->sink.data, q, &x->err));
}

/* From here on the records are read. */
static void turn(struct fixture *x)
{
	struct json *head = json_object();

	assert_true(rcap_finish(x->writer, head, &x->err));
	json_free(head);
	x->file = rcap_open(x->path, &x->err);
	assert_non_null(x->file);
}

static const struct request_record *next(struct fixture *x)
{
	assert_int_equal(rcap_next(x->file, &x->item, &x->err), STEP_ITEM);
	return &x->item.request;
}

static bool file_holds(const struct fixture *x, const char *needle)
{
	char bytes[65536];
	FILE *f = fopen(x->path, "rb");
	size_t n = fread(bytes, 1, sizeof bytes, f);

	fclose(f);
	return memmem(bytes, n, needle, strlen(needle)) != NULL;
}

static void end(struct fixture *x)
{
	rcap_close(x->file);
	scrub_free(x->scrub);
	policy_free(&x->policy);
	token_key_free(x->key);
	unlink(x->path);
	free(x);
}

static bool holds(struct slice s, const char *needle)
{
	return s.n && memmem(s.p, s.n, needle, strlen(needle)) != NULL;
}

static void literals_and_binds_are_scrubbed_in_order(void **state)
{
	(void)state;
	struct fixture *x = begin();
	struct raw_value binds[] = { { .bytes = SLICE("secretname") }, { .is_null = true },
		{ .bytes = SLICE("42") } };
	struct raw_request raw = { .session = 1,
		.form = FORM_UNNAMED,
		.end_ns = 5,
		.text = SLICE("select 'canary', $1, $2 from t where id = $3 and k = 17"),
		.binds = binds,
		.bind_count = 3 };
	const struct request_record *q;

	put(x, &raw);
	turn(x);
	q = next(x);
	assert_int_equal(q->value_count, 5);
	assert_false(q->values[0].is_bind);
	assert_false(holds(q->values[0].bytes, "canary"));
	assert_int_equal(q->values[0].bytes.n, 8);
	assert_true(slice_is(q->values[1].bytes, "17"));
	assert_true(q->values[2].is_bind);
	assert_int_equal(q->values[2].place, 0);
	assert_int_equal(q->values[2].bytes.n, 10);
	assert_false(holds(q->values[2].bytes, "secret"));
	assert_true(q->values[3].flags & VALUE_IS_NULL);
	assert_true(slice_is(q->values[4].bytes, "42"));
	assert_int_equal(q->values[4].role, ROLE_PREDICATE);
	assert_false(file_holds(x, "canary"));
	end(x);
}

static void unreadable_text_leaves_nothing(void **state)
{
	(void)state;
	struct fixture *x = begin();
	struct raw_value bind = { .bytes = SLICE("bindcanary") };
	struct raw_request raw = { .session = 1,
		.form = FORM_SIMPLE,
		.text = SLICE("select 'canary"),
		.binds = &bind,
		.bind_count = 1 };
	const struct request_record *q;

	put(x, &raw);
	turn(x);
	q = next(x);
	assert_true(q->flags & REQUEST_UNLEXABLE);
	assert_int_equal(q->value_count, 0);
	assert_int_equal(q->template_id, 0);
	assert_true(slice_is(rcap_route(x->file, q->route)->text, "(unreadable statement)"));
	assert_int_equal(scrub_unreadable(x->scrub), 1);
	end(x);
}

/* With standard_conforming_strings off the quote after the backslash ends nothing. */
static void backslashes_escape_where_the_session_says_so(void **state)
{
	static const char text[] = "SELECT 'it\\', zq_canary_tail, \\'s'";
	struct raw_request q = {
		.form = FORM_SIMPLE, .text = slice_of(text), .is_backslash_escape = true
	};
	struct fixture *x = begin();

	(void)state;
	put(x, &q);
	turn(x);
	assert_int_equal(next(x)->value_count, 1);
	assert_false(file_holds(x, "zq_canary_tail"));
	end(x);
}

static void a_secret_leaves_nothing(void **state)
{
	(void)state;
	struct fixture *x = begin();
	struct raw_request raw = { .session = 1,
		.form = FORM_SIMPLE,
		.text = SLICE("alter role r password 'canarycanary'") };
	const struct request_record *q;

	put(x, &raw);
	turn(x);
	q = next(x);
	assert_true(q->flags & REQUEST_SECRET);
	assert_int_equal(q->value_count, 0);
	assert_false(file_holds(x, "canary"));
	end(x);
}

static void unknown_text_keeps_its_binds(void **state)
{
	(void)state;
	struct fixture *x = begin();
	struct raw_value bind = { .bytes = SLICE("7") };
	struct raw_request raw = { .session = 1,
		.form = FORM_NAMED,
		.flags = REQUEST_TEXT_UNKNOWN,
		.binds = &bind,
		.bind_count = 1 };
	const struct request_record *q;

	put(x, &raw);
	turn(x);
	q = next(x);
	assert_true(q->flags & REQUEST_TEXT_UNKNOWN);
	assert_int_equal(q->value_count, 1);
	assert_int_equal(q->template_id, 0);
	end(x);
}

static void copy_rows_are_scrubbed_by_field(void **state)
{
	(void)state;
	struct fixture *x = begin();
	struct raw_request raw = { .session = 1,
		.form = FORM_COPY_IN,
		.text = SLICE("copy t from stdin"),
		.copy_data = SLICE("17\tcanary\\tx\t\\N\n18\t\t2026-01-02\n") };
	struct raw_request csv = raw;
	const struct request_record *q;

	csv.text = SLICE("copy t from stdin with (format csv)");
	put(x, &raw);
	put(x, &csv);
	turn(x);
	q = next(x);
	assert_memory_equal(q->copy_data.p, "17\t", 3);
	assert_false(holds(q->copy_data, "canary"));
	assert_true(holds(q->copy_data, "\t\\N\n18\t\t"));
	q = next(x);
	assert_int_equal(q->copy_data.n, 0);
	assert_true(q->flags & REQUEST_VALUE_LOST);
	end(x);
}

static void edges_point_at_the_value(void **state)
{
	(void)state;
	struct fixture *x = begin();
	struct raw_value binds[] = { { .bytes = SLICE("1") }, { .bytes = SLICE("777") } };
	struct edge edges[] = { { .from_seq = 0, .value = MATCH_EDGE_BIND | 1, .is_strong = true },
		{ .from_seq = 0, .value = 0, .is_strong = true },
		{ .from_seq = 1, .value = 0, .is_strong = true },
		{ .from_seq = 0, .value = MATCH_EDGE_BIND | 9 } };
	struct raw_request first = { .session = 1,
		.seq = 0,
		.form = FORM_SIMPLE,
		.text = SLICE("insert into t(a) values (1) returning id") };
	struct raw_request second = { .session = 1,
		.seq = 1,
		.form = FORM_UNNAMED,
		.text = SLICE("select 777, $1, $2"),
		.binds = binds,
		.bind_count = 2,
		.edges = edges,
		.edge_count = 4 };
	const struct request_record *q;

	put(x, &first);
	put(x, &second);
	turn(x);
	next(x);
	q = next(x);
	assert_int_equal(q->edge_count, 3);
	assert_int_equal(q->edges[0].value, 2);
	assert_true(q->edges[0].is_strong);
	assert_int_equal(q->edges[1].value, 0);
	assert_true(q->edges[1].is_strong);
	/* From an answer that generated nothing. */
	assert_false(q->edges[2].is_strong);
	end(x);
}

static void names_and_client_address_are_scrubbed_the_server_is_not(void **state)
{
	(void)state;
	struct fixture *x = begin();
	struct raw_session raw = { .id = 1,
		.protocol = PROTOCOL_PG,
		.open_ns = 1,
		.client = SLICE("192.168.7.9"),
		.server = SLICE("10.0.0.2:5432"),
		.user = SLICE("canaryuser"),
		.database = SLICE("canarydb"),
		.application = SLICE("canaryapp") };

	assert_true(x->sink.session(x->sink.data, &raw, &x->err));
	turn(x);
	next(x);
	assert_true(slice_is(x->item.session.server, "10.0.0.2:5432"));
	assert_false(holds(x->item.session.user, "canary"));
	assert_int_equal(x->item.session.user.n, 10);
	assert_false(holds(x->item.session.client, "192.168.7.9"));
	assert_false(file_holds(x, "canary"));
	end(x);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(literals_and_binds_are_scrubbed_in_order),
		cmocka_unit_test(unreadable_text_leaves_nothing),
		cmocka_unit_test(backslashes_escape_where_the_session_says_so),
		cmocka_unit_test(a_secret_leaves_nothing),
		cmocka_unit_test(unknown_text_keeps_its_binds),
		cmocka_unit_test(copy_rows_are_scrubbed_by_field),
		cmocka_unit_test(edges_point_at_the_value),
		cmocka_unit_test(names_and_client_address_are_scrubbed_the_server_is_not),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
