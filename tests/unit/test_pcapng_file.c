#include "tests/lib/unit.h"

#include "capture/wire/pcapng_file.h"
#include "core/base/buf.h"

/* A file in the making, in either byte order. */
struct made {
	struct buf b;
	bool is_big;
	size_t block_at;
};

static void put(struct made *m, uint64_t v, int n)
{
	for (int i = 0; i < n; i++)
		buf_add_byte(&m->b, (unsigned char)(v >> 8 * (m->is_big ? n - 1 - i : i)));
}

static void put_all(struct made *m, const char *bytes, size_t n)
{
	buf_add(&m->b, bytes, n);
	while (n++ % 4)
		buf_add_byte(&m->b, 0);
}

static void begin(struct made *m, uint32_t type)
{
	m->block_at = m->b.n;
	put(m, type, 4);
	put(m, 0, 4);
}

static void end(struct made *m)
{
	struct made n = { .is_big = m->is_big };

	put(m, m->b.n - m->block_at + 4, 4);
	put(&n, m->b.n - m->block_at, 4);
	memcpy(m->b.p + m->block_at + 4, n.b.p, 4);
	buf_free(&n.b);
}

static void section(struct made *m, bool is_big)
{
	m->is_big = is_big;
	begin(m, 0x0a0d0d0a);
	put(m, 0x1a2b3c4d, 4);
	put(m, 1, 2);
	put(m, 0, 2);
	put(m, UINT64_MAX, 8);
	end(m);
}

/* resolution: a code of if_tsresol, or -1; offset_s 0: not told. */
static void interface(struct made *m, int link, uint32_t snap_n, int resolution, int64_t offset_s)
{
	begin(m, 1);
	put(m, (uint64_t)link, 2);
	put(m, 0, 2);
	put(m, snap_n, 4);
	put(m, 2, 2); /* if_name */
	put(m, 3, 2);
	put_all(m, "eth", 3);
	if (resolution >= 0) {
		put(m, 9, 2);
		put(m, 1, 2);
		put_all(m, (char[]){ (char)resolution }, 1);
	}
	if (offset_s) {
		put(m, 14, 2);
		put(m, 8, 2);
		put(m, (uint64_t)offset_s, 8);
	}
	put(m, 0, 4);
	end(m);
}

static void packet(struct made *m, uint32_t id, uint64_t ticks, const char *bytes)
{
	begin(m, 6);
	put(m, id, 4);
	put(m, ticks >> 32, 4);
	put(m, ticks & UINT32_MAX, 4);
	put(m, strlen(bytes), 4);
	put(m, strlen(bytes) + 10, 4);
	put_all(m, bytes, strlen(bytes));
	end(m);
}

struct reading {
	struct file_window w;
	struct pcapng_file f;
	struct pcapng_packet p;
	struct err e;
};

static void open_made(struct reading *r, struct made *m)
{
	assert_true(pcapng_file_is((const unsigned char *)m->b.p));
	assert_true(file_window_open(&r->w, -1, m->b.n, &r->e));
	memcpy(r->w.bytes, m->b.p, m->b.n);
	r->w.end = m->b.n;
	r->f.in = &r->w;
}

static void close_made(struct reading *r, struct made *m)
{
	pcapng_file_close(&r->f);
	file_window_close(&r->w);
	buf_free(&m->b);
}

static void expect(struct reading *r, int64_t time_ns, int link, const char *bytes)
{
	enum step step = pcapng_file_next(&r->f, &r->p, &r->e);

	if (step != STEP_ITEM)
		fail_msg("no packet '%s': %s", bytes, r->e.what);
	assert_int_equal(r->p.time_ns, time_ns);
	assert_int_equal(r->p.link, link);
	assert_int_equal(r->p.n, strlen(bytes));
	assert_memory_equal(r->p.bytes, bytes, r->p.n);
}

static void every_interface_has_its_link_and_its_clock(void **state)
{
	(void)state;
	const int64_t s = 1796040000, ns = s * NS_PER_S;
	struct made m = { 0 };
	struct reading r = { 0 };

	section(&m, false);
	interface(&m, 1, 0, -1, 0);
	interface(&m, 113, 6, 9, 0);
	interface(&m, 276, 0, 3, 3600);
	packet(&m, 1, (uint64_t)ns + 7, "abcdefgh");
	packet(&m, 0, (uint64_t)s * 1000000 + 5, "ab");
	packet(&m, 2, (uint64_t)s * 1000 + 1, "abc");
	section(&m, true);
	interface(&m, 101, 0, 0x80 | 10, -1);
	interface(&m, 101, 0, 12, 0);
	interface(&m, 101, 0, 0x80 | 32, 0);
	packet(&m, 0, (uint64_t)(s + 1) << 10 | 512, "x");
	packet(&m, 1, (uint64_t)5000 * 1000000, "y");
	packet(&m, 2, (uint64_t)s << 32 | UINT32_C(1) << 31, "z");
	open_made(&r, &m);
	expect(&r, ns + 7, 113, "abcdef");
	assert_int_equal(r.p.wire_n, 18);
	expect(&r, ns + 5000, 1, "ab");
	expect(&r, ns + 3600 * NS_PER_S + NS_PER_MS, 276, "abc");
	expect(&r, ns + NS_PER_S / 2, 101, "x");
	expect(&r, 5000 * NS_PER_US, 101, "y");
	expect(&r, ns + NS_PER_S / 2, 101, "z");
	assert_int_equal(pcapng_file_next(&r.f, &r.p, &r.e), STEP_END);
	close_made(&r, &m);
}

static void old_and_simple_packets_are_packets(void **state)
{
	(void)state;
	struct made m = { 0 };
	struct reading r = { 0 };

	section(&m, true);
	interface(&m, 1, 4, -1, 0);
	begin(&m, 2);
	put(&m, 0, 2);
	put(&m, 9, 2);
	put(&m, 0, 4);
	put(&m, 77, 4);
	put(&m, 3, 4);
	put(&m, 30, 4);
	put_all(&m, "old", 3);
	end(&m);
	begin(&m, 3);
	put(&m, 60, 4);
	put_all(&m, "simp", 4);
	end(&m);
	open_made(&r, &m);
	expect(&r, 77 * NS_PER_US, 1, "old");
	assert_int_equal(r.p.wire_n, 30);
	/* It has no time of its own, and the snapshot length says how much there is. */
	expect(&r, 77 * NS_PER_US, 1, "simp");
	assert_int_equal(r.p.wire_n, 60);
	close_made(&r, &m);
}

static void statistics(struct made *m, uint32_t id, uint64_t interface_drops, uint64_t kernel_drops)
{
	begin(m, 5);
	put(m, id, 4);
	put(m, 0, 8);
	put(m, 5, 2);
	put(m, 8, 2);
	put(m, interface_drops, 8);
	put(m, 7, 2);
	put(m, 8, 2);
	put(m, kernel_drops, 8);
	put(m, 0, 4);
	end(m);
}

static void other_blocks_are_passed_over_and_drops_added_up(void **state)
{
	(void)state;
	struct made m = { 0 };
	struct reading r = { 0 };
	uint64_t kernel, interface_n;
	size_t much = 3 << 20;
	char *secrets = calloc(1, much);

	section(&m, false);
	begin(&m, 10); /* longer than any block that is read */
	put_all(&m, secrets, much);
	end(&m);
	interface(&m, 1, 0, -1, 0);
	statistics(&m, 0, 1, 2);
	statistics(&m, 0, 3, 5); /* counts on */
	statistics(&m, 9, 100, 100); /* nobody's */
	packet(&m, 0, 1, "a");
	section(&m, false);
	interface(&m, 1, 0, -1, 0);
	statistics(&m, 0, 0, 7);
	open_made(&r, &m);
	expect(&r, NS_PER_US, 1, "a");
	assert_int_equal(pcapng_file_next(&r.f, &r.p, &r.e), STEP_END);
	pcapng_file_drops(&r.f, &kernel, &interface_n);
	assert_int_equal(kernel, 12);
	assert_int_equal(interface_n, 3);
	close_made(&r, &m);
	free(secrets);
}

static void a_cut_file_ends_with_its_last_whole_packet(void **state)
{
	(void)state;
	for (size_t cut = 1; cut < 36; cut++) {
		struct made m = { 0 };
		struct reading r = { 0 };

		section(&m, false);
		interface(&m, 1, 0, -1, 0);
		packet(&m, 0, 1, "first");
		packet(&m, 0, 2, "next");
		m.b.n -= cut;
		open_made(&r, &m);
		expect(&r, NS_PER_US, 1, "first");
		assert_int_equal(pcapng_file_next(&r.f, &r.p, &r.e), STEP_FAIL);
		assert_non_null(strstr(r.e.what, "truncated"));
		close_made(&r, &m);
	}
}

/* One word of a good file set to another; what is said then. */
static void what_contradicts_itself_is_damage(void **state)
{
	static const struct {
		size_t at;
		uint32_t word;
		const char *says;
	} cases[] = {
		{ 8, 0x12345678, "byte order" },
		{ 4, 8, "block length" },
		{ 4, 30, "block length" },
		{ 4, PCAPNG_BLOCK_MAX + 4, "block length" },
		{ 24, 24, "two lengths" },
		{ 28 + 16, 0xffff0009, NULL }, /* an option beyond its block is none */
		{ 60 + 8, 1, "interface 1" },
		{ 60 + 20, 9, "9 bytes" },
		{ 60 + 20, UINT32_MAX, "bytes in a block" },
	};

	(void)state;
	for (size_t i = 0; i < LENGTH(cases); i++) {
		struct made m = { 0 };
		struct reading r = { 0 };
		uint32_t word = cases[i].word;

		section(&m, false);
		interface(&m, 1, 0, -1, 0);
		assert_int_equal(m.b.n, 60);
		packet(&m, 0, 1, "first");
		memcpy(m.b.p + cases[i].at, &word, sizeof word);
		open_made(&r, &m);
		assert_int_equal(
			pcapng_file_next(&r.f, &r.p, &r.e), cases[i].says ? STEP_FAIL : STEP_ITEM);
		if (cases[i].says && !strstr(r.e.what, cases[i].says))
			fail_msg("case %zu says: %s", i, r.e.what);
		close_made(&r, &m);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_interface_has_its_link_and_its_clock),
		cmocka_unit_test(old_and_simple_packets_are_packets),
		cmocka_unit_test(other_blocks_are_passed_over_and_drops_added_up),
		cmocka_unit_test(a_cut_file_ends_with_its_last_whole_packet),
		cmocka_unit_test(what_contradicts_itself_is_damage),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
