/*
 * Out of memory anywhere between a packet and the file: the capture fails with a message,
 * or goes on and has counted what it lost; the file can be read, holds nothing of a value,
 * and nothing leaks (the ASan run sees to that).
 */
#include "tests/lib/unit.h"

#include <stdlib.h>
#include <unistd.h>

#include "capture/pipeline.h"
#include "core/base/json.h"
#include "tests/fault/wrap.h"
#include "tests/lib/wire.h"

enum { PACKETS_MAX = 64 };

struct traffic {
	struct buf packets[PACKETS_MAX];
	size_t count, requests;
	uint32_t seq[2];
	uint16_t ports[2];
	struct policy policy;
	struct token_key *key;
	char path[64];
};

/* ---- the packets */

static void segment(struct traffic *t, int side, uint8_t flags, struct slice payload)
{
	assert_true(t->count < PACKETS_MAX);
	wire_frame(&t->packets[t->count++], &(struct wire_segment){ .from_ip = side ? 1 : 7,
						    .to_ip = side ? 7 : 1,
						    .from_port = t->ports[side],
						    .to_port = t->ports[!side],
						    .seq = t->seq[side],
						    .ack = t->seq[!side],
						    .flags = flags,
						    .payload = payload });
	t->seq[side] += (uint32_t)payload.n + ((flags & 3) != 0);
}

static void begin(struct traffic *t, uint16_t client, uint16_t server)
{
	t->ports[0] = client;
	t->ports[1] = server;
	t->seq[0] = 1000;
	t->seq[1] = 5000;
	segment(t, 0, 0x02, (struct slice){ 0 });
	segment(t, 1, 0x12, (struct slice){ 0 });
}

static void say(struct traffic *t, int side, struct buf *b)
{
	segment(t, side, 0x18, buf_slice(b));
	buf_reset(b);
}

static void end(struct traffic *t)
{
	segment(t, 0, 0x11, (struct slice){ 0 });
	segment(t, 1, 0x11, (struct slice){ 0 });
}

static void postgres(struct traffic *t, struct buf *b)
{
	begin(t, 40001, 5432);
	wire_startup(b, 0x30000, "zeisig", "zeisig");
	say(t, 0, b);
	wire_message(b, 'R', SLICE("\0\0\0\0"));
	wire_ready(b, 'I');
	say(t, 1, b);
	wire_query(b, "select * from t where a = 'zeisig' and b in (1, 2) /* zeisig */");
	say(t, 0, b);
	wire_columns(b, "a", 25);
	wire_row(b, "zeisig");
	say(t, 1, b);
	wire_done(b, "SELECT 1");
	wire_ready(b, 'I');
	say(t, 1, b);
	wire_parse(b, "s1", "insert into t (a) values ($1) returning id");
	wire_bind(b, "p1", "s1", "zeisig", NULL);
	wire_execute(b, "p1", 0);
	wire_sync(b);
	say(t, 0, b);
	wire_bare(b, '1');
	wire_bare(b, '2');
	wire_row(b, "741852963");
	wire_done(b, "INSERT 0 1");
	wire_ready(b, 'I');
	say(t, 1, b);
	wire_query(b, "copy t (a, b) from stdin");
	say(t, 0, b);
	wire_message(b, 'G', SLICE("\0\0\2\0\0\0\0"));
	say(t, 1, b);
	wire_message(b, 'd', SLICE("zeisig\t741852963\n"));
	wire_bare(b, 'c');
	say(t, 0, b);
	wire_done(b, "COPY 1");
	wire_ready(b, 'I');
	say(t, 1, b);
	wire_query(b, "select zeisig('");
	say(t, 0, b);
	wire_error(b, "42601");
	wire_ready(b, 'I');
	say(t, 1, b);
	end(t);
	t->requests += 4;
}

static void http(struct traffic *t, struct buf *b)
{
	begin(t, 40002, 8080);
	buf_add_text(
		b, "GET /users/zeisig?q=zeisig HTTP/1.1\r\nHost: zeisig\r\nCookie: zeisig\r\n\r\n");
	say(t, 0, b);
	buf_add_text(b, "HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nzeisig");
	say(t, 1, b);
	buf_add_text(b, "POST /orders HTTP/1.1\r\nHost: h\r\nContent-Type: application/json\r\n"
			"Content-Length: 33\r\n\r\n{\"a\": \"zeisig\", \"b\": [741852963]}");
	say(t, 0, b);
	buf_add_text(b, "HTTP/1.1 404 No\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n");
	say(t, 1, b);
	end(t);
	t->requests += 2;
}

/* A segment comes late, so that one is held. */
static void swap(struct traffic *t, size_t i)
{
	struct buf b = t->packets[i];

	t->packets[i] = t->packets[i + 1];
	t->packets[i + 1] = b;
}

/* ---- an attempt */

static bool feed_all(const struct traffic *t, struct pipeline *p, struct err *e)
{
	for (size_t i = 0; i < t->count; i++) {
		struct source_packet packet = {
			.time_ns = INT64_C(1767225600000000000) + (int64_t)i * 400000000,
			.link = 1, /* Ethernet */
			.bytes = (const unsigned char *)t->packets[i].p,
			.n = t->packets[i].n,
			.wire_n = t->packets[i].n,
		};

		if (!pipeline_packet(p, &packet, e))
			return false;
	}
	return true;
}

static bool run(const struct traffic *t, bool *ret_is_told, struct err *e)
{
	struct ledger *l;
	struct head_facts facts = { .policy = &t->policy, .key = t->key };
	struct pipeline_options o = { .policy = &t->policy, .key = t->key, .facts = &facts };
	struct rcap_writer *w = rcap_create(t->path, true, e);
	struct pipeline *p;
	struct json *head;
	bool ok;

	if (!w)
		return false;
	o.writer = w;
	p = pipeline_new(&o, e);
	if (!p) {
		rcap_abandon(w);
		return false;
	}
	ok = feed_all(t, p, e);
	/* As a capture ends: what came before a failure is kept. */
	struct err *at_end = ok ? e : &(struct err){ 0 };
	if (pipeline_end(p, at_end)) {
		head = pipeline_head(p);
		ok = rcap_finish(w, head, at_end) && ok;
		json_free(head);
		w = NULL;
	} else {
		ok = false;
	}
	l = pipeline_ledger(p);
	for (size_t i = 0; i < LENGTH(l->lost); i++)
		*ret_is_told |= l->lost[i] > 0;
	for (size_t i = 0; i < LENGTH(l->requests_unpaired); i++)
		*ret_is_told |= l->requests_unpaired[i] > 0;
	*ret_is_told |= !ledger_balances(l);
	pipeline_free(p);
	if (w)
		rcap_abandon(w);
	return ok;
}

static void assert_clean(struct slice s)
{
	assert_false(s.n && (memmem(s.p, s.n, "zeisig", 6) || memmem(s.p, s.n, "741852963", 9)));
}

/* What is in the file; it may be absent when it could not even be made. */
static size_t read_back(const struct traffic *t, bool *ret_is_told)
{
	bool is_whole = fault_hit(); /* then it was not here that memory ran out */
	struct err e = { 0 };
	struct rcap *r = rcap_open(t->path, &e);
	struct rcap_item item;
	enum step step;
	size_t n = 0;

	if (!r)
		return 0;
	while ((step = rcap_next(r, &item, &e)) == STEP_ITEM) {
		if (item.kind != RCAP_REQUEST)
			continue;
		n += item.request.form != FORM_PREPARE;
		*ret_is_told |= item.request.flags &
				(REQUEST_GAP | REQUEST_TEXT_UNKNOWN | REQUEST_UNANSWERED);
		assert_clean(item.request.copy_data);
		for (size_t i = 0; i < item.request.value_count; i++)
			assert_clean(item.request.values[i].bytes);
	}
	assert_true(step == STEP_END || (step == STEP_FAIL && !is_whole && e.kind == ERR_ENV));
	rcap_close(r);
	return n;
}

static void attempt(void *data)
{
	const struct traffic *t = data;
	struct err e = { 0 };
	bool is_told = false, has_failed_before;

	unlink(t->path);
	bool ok = run(t, &is_told, &e);
	has_failed_before = fault_hit();
	assert_true(ok || (e.kind == ERR_ENV && e.what[0]));
	assert_true(ok || has_failed_before);
	size_t n = read_back(t, &is_told);
	if (ok && !has_failed_before && !fault_hit())
		assert_true(n == t->requests && !is_told);
	if (ok && has_failed_before && n < t->requests && !is_told)
		fail_msg("%zu of %zu requests, and nothing says why", n, t->requests);
}

static void each_failed_allocation_is_told_or_counted(void **state)
{
	const unsigned char key[32] = "fault";
	struct traffic t = { 0 };
	struct buf b = { 0 };
	struct err e = { 0 };
	(void)state;

	snprintf(t.path, sizeof(t.path), "/tmp/fault_pipeline.%ld.rcap", (long)getpid());
	assert_true(policy_defaults(&t.policy, &e));
	t.key = token_key_of(key, &e);
	assert_non_null(t.key);
	postgres(&t, &b);
	swap(&t, 5);
	http(&t, &b);
	assert_true(fault_each(attempt, &t) > 50);
	unlink(t.path);
	for (size_t i = 0; i < t.count; i++)
		buf_free(&t.packets[i]);
	buf_free(&b);
	token_key_free(t.key);
	policy_free(&t.policy);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_failed_allocation_is_told_or_counted),
	};

	return cmocka_run_group_tests_name("fault: pipeline", tests, NULL, NULL);
}
