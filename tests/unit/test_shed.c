#include "tests/lib/unit.h"

#include <pcap/pcap.h>

#include "capture/shed.h"
#include "tests/lib/wire.h"

enum { SNAPLEN = 262144 };

static pcap_t *compile(const char *text, struct bpf_program *ret)
{
	pcap_t *p = pcap_open_dead(DLT_EN10MB, SNAPLEN);

	assert_non_null(p);
	if (pcap_compile(p, ret, text, 1, PCAP_NETMASK_UNKNOWN) != 0)
		fail_msg("%s: %s", text, pcap_geterr(p));
	return p;
}

static bool passes(const struct bpf_program *program, const struct buf *frame)
{
	struct pcap_pkthdr h = { .caplen = (bpf_u_int32)frame->n, .len = (bpf_u_int32)frame->n };

	return pcap_offline_filter(program, &h, (const u_char *)frame->p) != 0;
}

/* Ethernet, IPv6, TCP: the ports and the flags are all that a filter looks at. */
static void frame_v6(struct buf *b, uint16_t from, uint16_t to, uint8_t flags)
{
	unsigned char f[14 + 40 + 20] = { 0 };

	f[12] = 0x86;
	f[13] = 0xdd;
	f[14] = 0x60;
	f[14 + 5] = 20;
	f[14 + 6] = 6;
	f[54] = (unsigned char)(from >> 8);
	f[55] = (unsigned char)from;
	f[56] = (unsigned char)(to >> 8);
	f[57] = (unsigned char)to;
	f[54 + 12] = 0x50;
	f[54 + 13] = flags;
	buf_reset(b);
	buf_add(b, f, sizeof f);
}

static void frame_v4(struct buf *b, uint16_t from, uint16_t to, uint8_t flags)
{
	wire_frame(b, &(struct wire_segment){ .from_ip = 1,
			      .to_ip = 2,
			      .from_port = from,
			      .to_port = to,
			      .flags = flags });
}

static void the_kernel_keeps_the_sessions_that_we_keep(void **state)
{
	struct buf frame = { 0 }, text = { 0 };

	(void)state;
	for (int level = SHED_NONE; level < SHED_HEADERS; level++) {
		struct bpf_program program;
		pcap_t *p;

		buf_reset(&text);
		shed_filter((enum shed_level)level, "tcp", &text);
		p = compile(buf_text(&text), &program);
		for (unsigned port = 32768; port < 32768 + 4096; port++) {
			bool is_kept =
				shed_hash((uint16_t)port, 5432) < shed_kept((enum shed_level)level);

			frame_v4(&frame, (uint16_t)port, 5432, 16);
			assert_int_equal(passes(&program, &frame), is_kept);
			frame_v4(&frame, 5432, (uint16_t)port, 16);
			assert_int_equal(passes(&program, &frame), is_kept);
			frame_v6(&frame, (uint16_t)port, 5432, 16);
			assert_int_equal(passes(&program, &frame), is_kept);
		}
		pcap_freecode(&program);
		pcap_close(p);
	}
	buf_free(&frame);
	buf_free(&text);
}

/* The frame with a tag, in a tunnel, in pieces: nobody hashes those but us. */
static void change(struct buf *b, unsigned how)
{
	struct buf whole = { 0 };

	if (how == 0) {
		buf_add(&whole, b->p, 12);
		buf_add(&whole, "\x81\x00\x00\x07", 4);
		buf_add(&whole, b->p + 12, b->n - 12);
		buf_reset(b);
		buf_add_slice(b, buf_slice(&whole));
		buf_free(&whole);
	} else {
		static const struct {
			size_t at;
			char byte;
		} changes[] = { { 14 + 9, 17 }, { 14 + 9, 47 }, { 14 + 6, 0x20 }, { 14 + 7, 5 } };

		b->p[changes[how - 1].at] = changes[how - 1].byte;
	}
}

static void what_cannot_be_hashed_passes_at_every_level(void **state)
{
	struct buf frame = { 0 }, text = { 0 };

	(void)state;
	for (int level = SHED_NONE; level < SHED_LEVELS; level++) {
		struct bpf_program program;
		pcap_t *p;

		buf_reset(&text);
		shed_filter((enum shed_level)level, "ip or ip6 or vlan", &text);
		p = compile(buf_text(&text), &program);
		for (unsigned how = 0; how < 5; how++)
			for (unsigned port = 40000; port < 40032; port++) {
				frame_v4(&frame, (uint16_t)port, 5432, 16);
				change(&frame, how);
				if (!passes(&program, &frame))
					fail_msg("level %d, way %u, port %u", level, how, port);
			}
		pcap_freecode(&program);
		pcap_close(p);
	}
	buf_free(&frame);
	buf_free(&text);
}

static void headers_are_the_packets_that_open_and_close(void **state)
{
	struct buf frame = { 0 }, text = { 0 };
	struct bpf_program program;
	pcap_t *p;

	(void)state;
	shed_filter(SHED_HEADERS, "tcp port 5432", &text);
	p = compile(buf_text(&text), &program);
	frame_v4(&frame, 40000, 5432, 2);
	assert_true(passes(&program, &frame));
	frame_v6(&frame, 40000, 5432, 1 | 16);
	assert_true(passes(&program, &frame));
	frame_v4(&frame, 40000, 5432, 16);
	assert_false(passes(&program, &frame));
	frame_v6(&frame, 40000, 5432, 16);
	assert_false(passes(&program, &frame));
	frame_v4(&frame, 40000, 80, 2);
	assert_false(passes(&program, &frame));
	pcap_freecode(&program);
	pcap_close(p);
	buf_free(&frame);
	buf_free(&text);
}

/* Linux hands connect() every second port: each level must keep its share of those. */
static void each_level_keeps_its_share_of_even_ports(void **state)
{
	static const uint16_t servers[] = { 5432, 5433, 80, 443, 6432, 8080 };

	(void)state;
	for (size_t i = 0; i < LENGTH(servers); i++)
		for (int level = SHED_HALF; level < SHED_HEADERS; level++) {
			unsigned kept = 0, n = 0, want = shed_kept((enum shed_level)level);

			for (unsigned port = 32768; port < 60999; port += 2, n++)
				kept += shed_hash((uint16_t)port, servers[i]) < want;
			assert_in_range(kept, n * want / 16 * 9 / 10, n * want / 16 * 11 / 10);
		}
}

static int64_t step(struct shed *s, enum budget_state state, unsigned times, int64_t at)
{
	for (unsigned i = 0; i < times; i++)
		shed_step(s, state, at += NS_PER_S);
	return at;
}

static void it_rises_after_two_windows_and_sinks_after_calm(void **state)
{
	struct shed s = { 0 };

	(void)state;
	assert_false(shed_step(&s, BUDGET_OVER_CPU, 1));
	assert_int_equal(s.level, SHED_NONE);
	assert_true(shed_step(&s, BUDGET_OVER_CPU, 2));
	assert_int_equal(s.level, SHED_DETAIL);
	step(&s, BUDGET_FINE, 50, 3);
	assert_int_equal(s.level, SHED_DETAIL);
	step(&s, BUDGET_CALM, 5, 100);
	assert_int_equal(s.level, SHED_NONE);
	assert_int_equal(s.count, 1);
	assert_true(s.intervals[0].end_ns > s.intervals[0].start_ns);
}

static void a_lull_that_was_too_short_makes_it_slower_to_come_back(void **state)
{
	struct shed s = { 0 };
	int64_t at = step(&s, BUDGET_OVER_CPU, 4, 0);

	(void)state;
	assert_int_equal(s.level, SHED_HALF);
	at = step(&s, BUDGET_CALM, 5, at);
	assert_int_equal(s.level, SHED_DETAIL);
	at = step(&s, BUDGET_OVER_CPU, 2, at);
	assert_int_equal(s.level, SHED_HALF);
	at = step(&s, BUDGET_CALM, 9, at);
	assert_int_equal(s.level, SHED_HALF);
	step(&s, BUDGET_CALM, 200, at);
	assert_int_equal(s.level, SHED_NONE);
}

static void what_goes_on_over_the_budget_is_told(void **state)
{
	struct shed s = { 0 };

	(void)state;
	step(&s, BUDGET_OVER_MEM, 12, 0);
	assert_int_equal(s.level, SHED_HEADERS);
	assert_false(shed_is_exhausted(&s));
	step(&s, BUDGET_OVER_MEM, 10, 20 * NS_PER_S);
	assert_true(shed_is_exhausted(&s));
}

static void intervals_have_a_cap(void **state)
{
	struct shed s = { 0 };
	struct json *j;
	int64_t at = 0;

	(void)state;
	for (int i = 0; i < 400; i++) {
		at = step(&s, BUDGET_OVER_CPU, 2, at);
		at = step(&s, BUDGET_CALM, 100, at);
	}
	assert_int_equal(s.count, SHED_INTERVALS_MAX);
	assert_true(s.left_out > 0);
	j = shed_json(&s);
	assert_int_equal(json_count(json_get(j, "intervals")), SHED_INTERVALS_MAX);
	assert_true(json_int(json_get(j, "intervals_left_out"), 0) > 0);
	json_free(j);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_kernel_keeps_the_sessions_that_we_keep),
		cmocka_unit_test(what_cannot_be_hashed_passes_at_every_level),
		cmocka_unit_test(headers_are_the_packets_that_open_and_close),
		cmocka_unit_test(each_level_keeps_its_share_of_even_ports),
		cmocka_unit_test(it_rises_after_two_windows_and_sinks_after_calm),
		cmocka_unit_test(a_lull_that_was_too_short_makes_it_slower_to_come_back),
		cmocka_unit_test(what_goes_on_over_the_budget_is_told),
		cmocka_unit_test(intervals_have_a_cap),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
