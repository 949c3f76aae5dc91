#include "tests/lib/talk.h"

static void startup_names_the_session(void **state)
{
	(void)state;
	struct talk *x = talk_begin();

	assert_int_equal(x->sessions, 1);
	assert_string_equal(x->user, "app");
	assert_string_equal(x->client, "10.0.0.1");
	assert_string_equal(x->server, "10.0.0.2:5432");
	assert_string_equal(match_server(x->match)->version, "15.2");
	talk_close(x, FLOW_CLOSED);
	assert_int_equal(x->sessions, 2);
	assert_int_equal(x->last_session.flags, 0);
	assert_int_equal(x->count, 0);
	talk_end(x);
}

static void ssl_refused_goes_on_in_the_clear(void **state)
{
	(void)state;
	struct talk *x = talk_late(0);

	wire_code(&x->c, 80877104);
	talk_flush(x, 0);
	buf_add_text(&x->s, "N");
	talk_flush(x, 1);
	wire_code(&x->c, 80877103);
	talk_flush(x, 0);
	buf_add_text(&x->s, "N");
	talk_flush(x, 1);
	wire_startup(&x->c, 196610, "late", "shop");
	talk_flush(x, 0);
	assert_string_equal(x->user, "late");
	talk_end(x);
}

static void ssl_granted_is_counted_and_dark(void **state)
{
	(void)state;
	struct talk *x = talk_late(0);

	wire_code(&x->c, 80877103);
	talk_flush(x, 0);
	buf_add_text(&x->s, "S");
	talk_flush(x, 1);
	buf_add_text(&x->c, "Q\0\0\0\10abc");
	talk_flush(x, 0);
	assert_int_equal(x->last_session.flags, SESSION_ENCRYPTED);
	talk_close(x, FLOW_CLOSED);
	assert_int_equal(x->count, 0);
	assert_int_equal(x->ledger.flows[FLOWS_ENCRYPTED], 1);
	talk_end(x);
}

static void a_walsender_is_set_aside(void **state)
{
	(void)state;
	struct talk *x = talk_late(0);
	static const char startup[] = "\0\0\0\x21\0\3\0\0user\0r\0replication\0true\0";

	buf_add(&x->c, startup, sizeof startup);
	talk_flush(x, 0);
	client(x, "Q IDENTIFY_SYSTEM");
	assert_int_equal(x->last_session.flags, SESSION_WALSENDER);
	talk_close(x, FLOW_CLOSED);
	assert_int_equal(x->count, 0);
	assert_int_equal(x->ledger.flows[FLOWS_WALSENDER], 1);
	talk_end(x);
}

static void an_unanswered_request_is_told_at_the_end(void **state)
{
	(void)state;
	struct talk *x = talk_begin();

	client(x, "Q select pg_sleep(100)");
	talk_close(x, FLOW_INPUT_ENDED);
	assert_int_equal(x->count, 1);
	assert_true(x->seen[0].raw.flags & REQUEST_UNANSWERED);
	assert_int_equal(x->seen[0].raw.end_ns, x->now_ns + 1000);
	assert_int_equal(x->last_session.flags, SESSION_UNCLOSED);
	assert_int_equal(x->ledger.requests_unpaired[UNPAIRED_NO_ANSWER], 1);
	talk_end(x);
}

static void joined_late_it_counts_a_stray_answer_and_goes_on(void **state)
{
	(void)state;
	struct talk *x = talk_late(-1);

	server(x, "D 1", "C SELECT 1", "Z T");
	client(x, "B |seen_by_nobody|5", "E |0", "S");
	server(x, "2", "C UPDATE 1", "Z T");
	assert_int_equal(x->last_session.flags, SESSION_JOINED_LATE);
	assert_int_equal(x->count, 1);
	assert_int_equal(x->seen[0].raw.form, FORM_NAMED);
	assert_true(x->seen[0].raw.flags & REQUEST_TEXT_UNKNOWN);
	assert_int_equal(x->seen[0].raw.state_before, 'T');
	assert_int_equal(x->ledger.requests_unpaired[UNPAIRED_NO_REQUEST], 1);
	talk_end(x);
}

static void a_gap_in_the_answer_spoils_one_request(void **state)
{
	(void)state;
	struct talk *x = talk_begin();

	client(x, "Q select 1");
	server(x, "T a|25");
	talk_gap(x, 1, 500);
	/* In the middle of a row; then a boundary. */
	buf_add_text(&x->s, "rest of some row");
	server(x, "D more", "C SELECT 9", "Z I");
	client(x, "Q select 2");
	server(x, "C SELECT 0", "Z I");
	assert_int_equal(x->count, 2);
	assert_true(x->seen[0].raw.flags & REQUEST_GAP);
	assert_int_equal(x->seen[0].raw.flags & REQUEST_UNANSWERED, 0);
	assert_string_equal(x->seen[1].text, "select 2");
	assert_int_equal(x->seen[1].raw.flags, 0);
	assert_int_equal(x->ledger.requests_paired, 2);
	talk_end(x);
}

static void a_lost_parse_leaves_the_text_unknown(void **state)
{
	(void)state;
	struct talk *x = talk_begin();

	client(x, "P |select old", "B |", "E |0", "S");
	server(x, "1", "2", "C SELECT 0", "Z I");
	talk_gap(x, 0, 50);
	client(x, "B |", "E |0", "S");
	server(x, "2", "C SELECT 0", "Z I");
	assert_int_equal(x->count, 2);
	assert_true(x->seen[1].raw.flags & REQUEST_TEXT_UNKNOWN);
	talk_end(x);
}

/* Protocol 3.2: an older server says what it speaks; keys are longer. */
static void protocol_3_2_has_long_keys(void **state)
{
	(void)state;
	struct talk *x = talk_late(0), *y;
	char key[36] = "\0\0\0\x2a................................";
	char cancel[44] = "\0\0\0\x2c\x04\xd2\x16\x2e";

	wire_startup(&x->c, 196610, "app", "shop");
	talk_flush(x, 0);
	wire_message(&x->s, 'v', (struct slice){ "\0\3\0\0\0\0\0\0", 8 });
	wire_message(&x->s, 'R', (struct slice){ "\0\0\0\0", 4 });
	wire_message(&x->s, 'K', (struct slice){ key, 36 });
	server(x, "Z I");
	client(x, "Q select pg_sleep(9)");
	y = talk_late_beside(x, 0);
	memcpy(cancel + 8, key, 36);
	/* In two pieces: all of the key is needed. */
	talk_bytes(y, 0, cancel, 20);
	talk_bytes(y, 0, cancel + 20, 24);
	server(x, "E 57014|canceling statement due to statement timeout", "Z I");
	assert_int_equal(x->ledger.cancels[1], 1);
	assert_int_equal(x->ledger.flows[FLOWS_CANCEL], 1);
	assert_true(x->seen[0].raw.flags & REQUEST_CANCELLED);
	talk_end(y);
	talk_end(x);
}

static void a_cancel_for_nobody_known_hits_nobody(void **state)
{
	(void)state;
	struct talk *x = talk_begin(), *y = talk_late_beside(x, 0);

	client(x, "Q select 1");
	talk_bytes(y, 0, "\0\0\0\x10\x04\xd2\x16\x2e\0\0\0\1\0\0\0\3", 16);
	server(x, "E 57014|canceling statement due to statement timeout", "Z I");
	assert_int_equal(x->ledger.cancels[0], 1);
	assert_false(x->seen[0].raw.flags & REQUEST_CANCELLED);
	talk_end(y);
	talk_end(x);
}

static void a_key_is_forgotten_with_its_session(void **state)
{
	(void)state;
	struct talk *x = talk_begin(), *y;

	talk_close(x, FLOW_CLOSED);
	y = talk_late_beside(x, 0);
	talk_bytes(y, 0, "\0\0\0\x10\x04\xd2\x16\x2e\0\0\0\1\0\0\0\2", 16);
	assert_int_equal(x->ledger.cancels[0], 1);
	talk_end(y);
	talk_end(x);
}

static void a_server_that_knows_no_gss_answers_with_an_error(void **state)
{
	(void)state;
	struct talk *x = talk_late(0);

	wire_code(&x->c, 80877104);
	talk_flush(x, 0);
	server(x, "E 08P01|unsupported frontend protocol");
	talk_close(x, FLOW_CLOSED);
	assert_int_equal(x->sessions, 0);
	assert_int_equal(x->ledger.requests_seen, 0);
	assert_int_equal(x->ledger.flows[FLOWS_POSTGRES], 1);
	talk_end(x);
}

static void gss_granted_is_dark_by_that_name(void **state)
{
	(void)state;
	struct talk *x = talk_late(0);

	wire_code(&x->c, 80877104);
	talk_flush(x, 0);
	talk_bytes(x, 1, "G", 1);
	talk_bytes(x, 0,
		"\0\0\0\x10"
		"krb5 bytes..",
		16);
	talk_close(x, FLOW_CLOSED);
	assert_int_equal(x->last_session.flags, SESSION_ENCRYPTED);
	assert_int_equal(x->ledger.encrypted[ENCRYPTED_GSS], 1);
	talk_end(x);
}

static void copy_both_is_a_walsender(void **state)
{
	(void)state;
	struct talk *x = talk_begin();

	client(x, "Q START_REPLICATION 0/0");
	server(x, "W");
	client(x, "d status");
	server(x, "d wal");
	talk_close(x, FLOW_CLOSED);
	assert_int_equal(x->count, 0);
	assert_int_equal(x->ledger.flows[FLOWS_WALSENDER], 1);
	assert_int_equal(x->ledger.requests_seen, 0);
	talk_end(x);
}

static void which_side_of_a_pooler_is_told_where_it_shows(void **state)
{
	(void)state;
	struct talk *x = talk_begin();

	client(x, "P PGBOUNCER_12|select 1", "S");
	server(x, "1", "Z I");
	talk_close(x, FLOW_CLOSED);
	assert_int_equal(x->last_session.flags, SESSION_POOLER_SERVER);
	talk_end(x);
	x = talk_late(0);
	wire_startup(&x->c, 196608, "admin", "pgbouncer");
	talk_flush(x, 0);
	server(x, "S server_version|1.21.0/bouncer", "Z I");
	assert_int_equal(x->last_session.flags, SESSION_POOLER_CLIENT);
	talk_end(x);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(startup_names_the_session),
		cmocka_unit_test(ssl_refused_goes_on_in_the_clear),
		cmocka_unit_test(ssl_granted_is_counted_and_dark),
		cmocka_unit_test(a_walsender_is_set_aside),
		cmocka_unit_test(an_unanswered_request_is_told_at_the_end),
		cmocka_unit_test(joined_late_it_counts_a_stray_answer_and_goes_on),
		cmocka_unit_test(a_gap_in_the_answer_spoils_one_request),
		cmocka_unit_test(a_lost_parse_leaves_the_text_unknown),
		cmocka_unit_test(protocol_3_2_has_long_keys),
		cmocka_unit_test(a_cancel_for_nobody_known_hits_nobody),
		cmocka_unit_test(a_key_is_forgotten_with_its_session),
		cmocka_unit_test(a_server_that_knows_no_gss_answers_with_an_error),
		cmocka_unit_test(gss_granted_is_dark_by_that_name),
		cmocka_unit_test(copy_both_is_a_walsender),
		cmocka_unit_test(which_side_of_a_pooler_is_told_where_it_shows),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
