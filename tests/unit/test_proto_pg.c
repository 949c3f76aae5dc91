#include "tests/lib/unit.h"

#include "capture/wire/pgdetect.h"
#include "capture/wire/proto_pg.h"
#include "tests/lib/wire.h"

/* Writes down message letters, upper side first: "c" or "s", letter, body length. */
struct heard {
	struct buf text;
};

static void on_startup(void *data, struct slice parameters, int64_t time_ns)
{
	(void)time_ns;
	buf_addf(&((struct heard *)data)->text, "startup%d ", (int)parameters.n);
}

static void on_message(void *data, const struct pg_message *m)
{
	buf_addf(&((struct heard *)data)->text, "%c%c%d%s ", m->from_client ? 'c' : 's', m->type,
		(int)m->body.n, m->is_whole ? "" : "-");
}

static void on_cancel(void *data, struct slice pid_and_key)
{
	buf_addf(&((struct heard *)data)->text, "cancel%d ", (int)pid_and_key.n);
}

static void on_lost(void *data, bool from_client, int64_t time_ns)
{
	(void)time_ns;
	buf_add_text(&((struct heard *)data)->text, from_client ? "lost-c " : "lost-s ");
}

struct fixture {
	struct heard heard;
	struct pg_proto proto;
	struct buf b;
};

static struct fixture *begin(bool is_joined_late)
{
	struct fixture *x = calloc(1, sizeof *x);
	struct pg_sink sink = { on_startup, on_message, on_lost, on_cancel, &x->heard };

	pg_proto_init(&x->proto, &sink, is_joined_late);
	return x;
}

static bool feed(struct fixture *x, int side)
{
	bool goes_on = pg_proto_feed(&x->proto, side == 0, buf_slice(&x->b), 1, 1);

	buf_reset(&x->b);
	return goes_on;
}

static void end(struct fixture *x)
{
	pg_proto_free(&x->proto);
	buf_free(&x->heard.text);
	buf_free(&x->b);
	free(x);
}

static void passwords_never_leave_it(void **state)
{
	(void)state;
	struct fixture *x = begin(false);

	wire_startup(&x->b, 196608, "u", "d");
	feed(x, 0);
	wire_message(&x->b, 'R', (struct slice){ "\0\0\0\5salt", 8 });
	feed(x, 1);
	wire_message(&x->b, 'p', SLICE("md5password"));
	feed(x, 0);
	wire_message(&x->b, 'K', (struct slice){ "\0\0\0\1keykeykey", 13 });
	wire_ready(&x->b, 'I');
	feed(x, 1);
	assert_string_equal(buf_text(&x->heard.text), "startup19 sR4- cp0- sK13 sZ1 ");
	end(x);
}

static void large_bodies_are_skipped_by_length(void **state)
{
	(void)state;
	struct fixture *x = begin(false);
	static char big[300000];

	wire_startup(&x->b, 196608, "u", "d");
	feed(x, 0);
	buf_add(&x->b, "D\0\4\223\344", 5); /* 300004 */
	feed(x, 1);
	for (int i = 0; i < 3; i++) {
		buf_add(&x->b, big, 100000);
		if (i == 2)
			wire_ready(&x->b, 'I');
		feed(x, 1);
	}
	assert_string_equal(buf_text(&x->heard.text), "startup19 sD0- sZ1 ");
	assert_true(x->proto.side[1].partial.cap < 100);
	end(x);
}

static void a_gap_inside_a_skipped_body_loses_nothing(void **state)
{
	(void)state;
	struct fixture *x = begin(false);
	char part[1000] = { 0 };

	wire_startup(&x->b, 196608, "u", "d");
	feed(x, 0);
	buf_add(&x->b, "d\0\0\x27\x14", 5); /* 10004 */
	buf_add(&x->b, part, 1000);
	feed(x, 1);
	pg_proto_gap(&x->proto, false, 8000, 1);
	buf_add(&x->b, part, 1000);
	wire_ready(&x->b, 'I');
	feed(x, 1);
	assert_string_equal(buf_text(&x->heard.text), "startup19 sd0- sZ1 ");
	end(x);
}

static void garbage_is_left_at_the_next_boundary(void **state)
{
	(void)state;
	struct fixture *x = begin(false);

	wire_startup(&x->b, 196608, "u", "d");
	feed(x, 0);
	buf_add(&x->b, "y\0\0\0\0", 5);
	feed(x, 1);
	buf_add_text(&x->b, "more rubbish");
	wire_ready(&x->b, 'T');
	wire_bare(&x->b, 'n');
	feed(x, 1);
	assert_string_equal(buf_text(&x->heard.text), "startup19 lost-s sZ1 sn0 ");
	assert_int_equal(x->proto.resyncs, 1);
	end(x);
}

static void an_old_server_answers_gssenc_with_an_error(void **state)
{
	(void)state;
	struct fixture *x = begin(false);

	wire_code(&x->b, 80877104);
	assert_true(feed(x, 0));
	wire_error(&x->b, "08P01");
	assert_true(feed(x, 1));
	assert_string_equal(buf_text(&x->heard.text), "sE26 ");
	end(x);
}

static void startup_kinds_are_told_apart(void **state)
{
	(void)state;
	static const struct {
		const char *bytes;
		size_t n;
		enum pg_startup kind;
	} cases[] = {
		{ "\0\0\0\x08\x04\xd2\x16\x2f", 8, PG_STARTUP_ASKS },
		{ "\0\0\0\x08\x04\xd2\x16\x30", 8, PG_STARTUP_ASKS },
		{ "\0\0\0\x10\x04\xd2\x16\x2e", 8, PG_STARTUP_CANCEL },
		{ "\0\0\0\x2c\x04\xd2\x16\x2e", 8, PG_STARTUP_CANCEL },
		{ "\0\0\0\x0a\0\3\0\2\0", 9, PG_STARTUP_SHORT },
		{ "\0\0\0\x09\0\3\0\2\0", 9, PG_STARTUP_SESSION },
		{ "\0\0\0\x09\0\3\x27\x0f\0", 9, PG_STARTUP_SESSION },
		{ "\0\0\0\x09\0\2\0\0\0", 9, PG_STARTUP_NONE },
		{ "\0\x10\0\x09\0\3\0\0\0", 9, PG_STARTUP_NONE },
		{ "\0\0\0", 3, PG_STARTUP_SHORT },
		{ "PRI * HTTP/2.0", 14, PG_STARTUP_NONE },
	};
	const char *other;

	for (size_t i = 0; i < LENGTH(cases); i++)
		assert_int_equal(
			pg_startup_kind((struct slice){ cases[i].bytes, cases[i].n }, &other),
			cases[i].kind);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(passwords_never_leave_it),
		cmocka_unit_test(large_bodies_are_skipped_by_length),
		cmocka_unit_test(a_gap_inside_a_skipped_body_loses_nothing),
		cmocka_unit_test(garbage_is_left_at_the_next_boundary),
		cmocka_unit_test(an_old_server_answers_gssenc_with_an_error),
		cmocka_unit_test(startup_kinds_are_told_apart),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
