#include "tests/lib/unit.h"

#include <unistd.h>

#include "capture/wire/pcap_file.h"
#include "core/base/buf.h"

static void put32(struct buf *b, uint32_t v, bool is_big)
{
	for (int i = 0; i < 4; i++)
		buf_add_byte(b, (unsigned char)(v >> 8 * (is_big ? 3 - i : i)));
}

static void put_head(struct buf *b, uint32_t magic, uint32_t snap_n, bool is_big)
{
	put32(b, magic, is_big);
	put32(b, is_big ? 2u << 16 | 4 : 4u << 16 | 2, is_big);
	put32(b, 0, is_big);
	put32(b, 0, is_big);
	put32(b, snap_n, is_big);
	put32(b, 1, is_big);
}

static void put_packet(struct buf *b, uint32_t fraction, uint32_t n, bool is_big)
{
	put32(b, 1796040000, is_big);
	put32(b, fraction, is_big);
	put32(b, n, is_big);
	put32(b, n + 7, is_big);
	for (uint32_t i = 0; i < n; i++)
		buf_add_byte(b, (unsigned char)i);
}

/* Through a pipe, as ssh gives it; the writer is done before we read. */
static void open_bytes(struct pcap_file *f, struct file_window *w, const struct buf *b)
{
	struct err e = { 0 };
	int ends[2];

	assert_int_equal(pipe(ends), 0);
	assert_true(pcap_file_is((const unsigned char *)b->p, f));
	assert_int_equal(write(ends[1], b->p + PCAP_FILE_HEADER, b->n - PCAP_FILE_HEADER),
		(ssize_t)b->n - PCAP_FILE_HEADER);
	close(ends[1]);
	assert_true(file_window_open(w, ends[0], PCAP_FILE_MOST, &e));
	f->in = w;
}

static void close_bytes(struct pcap_file *f, struct buf *b)
{
	close(f->in->fd);
	file_window_close(f->in);
	buf_free(b);
}

static void both_byte_orders_and_both_finenesses_give_the_same_times(void **state)
{
	(void)state;
	for (int i = 0; i < 4; i++) {
		bool is_big = i & 1, has_ns = i & 2;
		struct buf b = { 0 };
		struct pcap_file f;
		struct file_window w;
		struct pcap_file_packet p;
		struct err e = { 0 };

		put_head(&b, has_ns ? 0xa1b23c4d : 0xa1b2c3d4, 100, is_big);
		put_packet(&b, has_ns ? 5000 : 5, 60, is_big);
		put_packet(&b, has_ns ? 6000 : 6, 120, is_big);
		open_bytes(&f, &w, &b);
		assert_int_equal(f.link, 1);
		assert_int_equal(pcap_file_next(&f, &p, &e), STEP_ITEM);
		assert_int_equal(p.time_ns, INT64_C(1796040000) * NS_PER_S + 5000);
		assert_int_equal(p.n, 60);
		assert_int_equal(p.wire_n, 67);
		assert_int_equal(p.bytes[59], 59);
		assert_int_equal(pcap_file_next(&f, &p, &e), STEP_ITEM);
		/* What is longer than the snapshot length is cut to it, as by libpcap. */
		assert_int_equal(p.n, 100);
		assert_int_equal(p.wire_n, 127);
		assert_int_equal(pcap_file_next(&f, &p, &e), STEP_END);
		close_bytes(&f, &b);
	}
}

static void other_formats_are_not_its(void **state)
{
	static const uint32_t magics[] = { 0x0a0d0d0a, 0xa1b2cd34, 0 };
	struct pcap_file f;

	(void)state;
	for (size_t i = 0; i < LENGTH(magics); i++) {
		struct buf b = { 0 };

		put_head(&b, magics[i], 100, false);
		assert_false(pcap_file_is((const unsigned char *)b.p, &f));
		buf_free(&b);
	}
}

static void a_cut_file_ends_with_its_last_whole_packet(void **state)
{
	(void)state;
	for (size_t cut = 1; cut < 76; cut++) {
		struct buf b = { 0 };
		struct pcap_file f;
		struct file_window w;
		struct pcap_file_packet p;
		struct err e = { 0 };

		put_head(&b, 0xa1b2c3d4, 65535, false);
		put_packet(&b, 1, 60, false);
		put_packet(&b, 2, 60, false);
		b.n -= cut;
		open_bytes(&f, &w, &b);
		assert_int_equal(pcap_file_next(&f, &p, &e), STEP_ITEM);
		assert_int_equal(pcap_file_next(&f, &p, &e), STEP_FAIL);
		assert_non_null(strstr(e.what, cut > 60 ? "header" : "captured"));
		close_bytes(&f, &b);
	}
}

static void a_length_beyond_the_largest_packet_is_damage(void **state)
{
	struct buf b = { 0 };
	struct pcap_file f;
	struct file_window w;
	struct pcap_file_packet p;
	struct err e = { 0 };

	(void)state;
	put_head(&b, 0xa1b2c3d4, 65535, false);
	put32(&b, 0, false);
	put32(&b, 0, false);
	put32(&b, 262145, false);
	put32(&b, 262145, false);
	open_bytes(&f, &w, &b);
	assert_int_equal(pcap_file_next(&f, &p, &e), STEP_FAIL);
	assert_non_null(strstr(e.what, "invalid"));
	close_bytes(&f, &b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(both_byte_orders_and_both_finenesses_give_the_same_times),
		cmocka_unit_test(other_formats_are_not_its),
		cmocka_unit_test(a_cut_file_ends_with_its_last_whole_packet),
		cmocka_unit_test(a_length_beyond_the_largest_packet_is_damage),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
