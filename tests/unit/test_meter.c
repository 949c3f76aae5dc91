#include "tests/lib/unit.h"

#include <unistd.h>

#include "capture/meter.h"
#include "tests/lib/wire.h"

/* A live source without interfaces needs no privilege. */
struct scene {
	struct policy policy;
	struct token_key *key;
	struct head_facts facts;
	struct rcap_writer *writer;
	struct meter meter;
	char path[32];
};

static int set_up(void **state)
{
	struct scene *s = calloc(1, sizeof *s);
	struct source_live_options live = { .filter = "tcp" };
	struct pipeline_options o = { .policy = &s->policy, .facts = &s->facts };
	struct err e = { 0 };

	strcpy(s->path, "/tmp/test_meter.XXXXXX");
	close(mkstemp(s->path));
	assert_true(policy_defaults(&s->policy, &e));
	o.key = s->key = token_key_fresh(&e);
	o.writer = s->writer = rcap_create(s->path, true, &e);
	s->facts.policy = &s->policy;
	s->facts.key = s->key;
	s->meter = (struct meter){ .source = source_live_open(&live, &e),
		.pipeline = pipeline_new(&o, &e),
		.writer = s->writer,
		.facts = &s->facts };
	assert_non_null(s->meter.source);
	assert_non_null(s->meter.pipeline);
	meter_start(&s->meter, 0);
	*state = s;
	return 0;
}

static int tear_down(void **state)
{
	struct scene *s = *state;

	pipeline_free(s->meter.pipeline);
	source_close(s->meter.source);
	rcap_abandon(s->writer);
	json_free(s->facts.cost);
	json_free(s->facts.shedding);
	token_key_free(s->key);
	policy_free(&s->policy);
	unlink(s->path);
	free(s);
	return 0;
}

static enum step look(struct scene *s, int second)
{
	struct err e = { 0 };

	return meter_look(&s->meter, second * NS_PER_S, (1000 + second) * NS_PER_S, &e);
}

static void within_its_budget_it_goes_on_and_tells_its_cost(void **state)
{
	struct scene *s = *state;

	s->meter.budget = (struct budget){ .mem_bytes = INT64_C(1) << 40, .disk_bytes = 1 << 30 };
	for (int i = 1; i < 40; i++)
		assert_int_equal(look(s, i), STEP_ITEM);
	assert_null(s->meter.ended);
	assert_int_equal(s->meter.shed.level, SHED_NONE);
	assert_true(json_int(json_get(s->facts.cost, "memory_max_bytes"), 0) > 0);
	assert_int_equal(json_int(json_path(s->facts.cost, "drops.kernel"), -1), 0);
	assert_int_equal(json_int(json_path(s->facts.cost, "budget.disk_bytes"), 0), 1 << 30);
	assert_null(s->facts.shedding);
}

static void over_it_everything_is_shed_in_turn_and_then_it_ends(void **state)
{
	struct scene *s = *state;
	int second = 1;

	s->meter.budget.mem_bytes = 1;
	while (look(s, second) == STEP_ITEM && second < 100)
		second++;
	/* Two windows for each of six levels, ten more to be sure. */
	assert_int_equal(second, 22);
	assert_string_equal(s->meter.ended, "memory");
	assert_int_equal(json_count(json_get(s->facts.shedding, "intervals")), 6);
	assert_string_equal(json_text(json_get(s->facts.shedding, "level"), ""), "headers");
}

static void a_full_disk_ends_it_within_the_second(void **state)
{
	struct scene *s = *state;

	s->meter.budget.disk_bytes = 1;
	assert_int_equal(meter_look(&s->meter, NS_PER_MS, NS_PER_S, &(struct err){ 0 }), STEP_END);
	assert_string_equal(s->meter.ended, "disk");
}

/* Tags that a card left in are not the filter's to hash: the pipeline leaves out what the
 * filter would have, with the same hash. */
static void tagged_packets_are_shed_by_the_same_hash(void **state)
{
	struct scene *s = *state;
	struct buf frame = { 0 }, tagged = { 0 };
	uint64_t kept = 0, all = 0;
	struct err e = { 0 };
	struct json *j = json_object();

	assert_true(pipeline_shed(s->meter.pipeline, SHED_QUARTER, &e));
	for (uint16_t port = 40000; port < 41000; port++, all++) {
		wire_frame(&frame, &(struct wire_segment){ .from_ip = 1,
					   .to_ip = 2,
					   .from_port = port,
					   .to_port = 5432,
					   .flags = TCP_SYN });
		buf_reset(&tagged);
		buf_add(&tagged, frame.p, 12);
		buf_add(&tagged, "\x81\x00\x00\x07", 4);
		buf_add(&tagged, frame.p + 12, frame.n - 12);
		assert_true(pipeline_packet(s->meter.pipeline,
			&(struct source_packet){ .time_ns = NS_PER_S,
				.link = LINK_ETHERNET,
				.bytes = (const unsigned char *)tagged.p,
				.n = tagged.n,
				.wire_n = tagged.n },
			&e));
		kept += shed_hash(port, 5432) < shed_kept(SHED_QUARTER);
	}
	assert_int_equal(pipeline_ledger(s->meter.pipeline)->packets_decoded, kept);
	pipeline_describe_shed(s->meter.pipeline, j);
	assert_int_equal(json_int(json_get(j, "packets_left_out"), 0), all - kept);
	assert_int_equal(json_int(json_get(j, "header_connections"), 0), all - kept);
	json_free(j);
	buf_free(&frame);
	buf_free(&tagged);
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(within_its_budget_it_goes_on_and_tells_its_cost),
		CASE(over_it_everything_is_shed_in_turn_and_then_it_ends),
		CASE(a_full_disk_ends_it_within_the_second),
		CASE(tagged_packets_are_shed_by_the_same_hash),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
