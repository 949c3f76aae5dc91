#include "capture/wire/pcap_file.h"

enum {
	RECORD_HEADER = 16,
	LINK_BITS = 0x03ffffff, /* above: the length of the frame check sequence */
};

static uint32_t read_u32(const struct pcap_file *f, const unsigned char *p)
{
	uint32_t v;

	memcpy(&v, p, sizeof v);
	return f->is_swapped ? __builtin_bswap32(v) : v;
}

bool pcap_file_is(const unsigned char head[PCAP_FILE_HEADER], struct pcap_file *ret)
{
	struct pcap_file f = { 0 };
	uint32_t magic = read_u32(&f, head), version, snap_n;

	f.is_swapped = magic == 0xd4c3b2a1 || magic == 0x4d3cb2a1;
	magic = read_u32(&f, head);
	f.has_ns = magic == 0xa1b23c4d;
	if (magic != 0xa1b2c3d4 && !f.has_ns)
		return false;
	/* Two words of 16 bits: the byte order swaps each, not their places. */
	version = f.is_swapped ? (uint32_t)(head[4] << 24 | head[5] << 16 | head[6] << 8 | head[7])
			       : (uint32_t)(head[5] << 24 | head[4] << 16 | head[7] << 8 | head[6]);
	if (__BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__ || version != (2u << 16 | 4))
		return false;
	snap_n = read_u32(&f, head + 16);
	f.snap_n = snap_n == 0 || snap_n > PCAP_FILE_PACKET_MAX ? PCAP_FILE_PACKET_MAX : snap_n;
	f.link = (int)(read_u32(&f, head + 20) & LINK_BITS);
	*ret = f;
	return true;
}

static enum step cut(const char *what, size_t wanted, size_t got, struct err *e)
{
	err_set(e, ERR_INPUT, "truncated dump file; tried to read %zu %s bytes, only got %zu",
		wanted, what, got);
	return STEP_FAIL;
}

enum step pcap_file_next(struct pcap_file *f, struct pcap_file_packet *ret, struct err *e)
{
	struct file_window *w = f->in;
	const unsigned char *h;
	uint32_t kept_n;
	size_t n;

	if (file_window_left(w) < RECORD_HEADER && !file_window_fill(w, RECORD_HEADER, e))
		return STEP_FAIL;
	if (!file_window_left(w))
		return STEP_END;
	if (file_window_left(w) < RECORD_HEADER)
		return cut("header", RECORD_HEADER, file_window_left(w), e);
	kept_n = read_u32(f, w->bytes + w->at + 8);
	if (kept_n > PCAP_FILE_PACKET_MAX) {
		err_set(e, ERR_INPUT, "invalid packet capture length %u, bigger than maximum of %d",
			kept_n, PCAP_FILE_PACKET_MAX);
		return STEP_FAIL;
	}
	n = RECORD_HEADER + (size_t)kept_n;
	if (file_window_left(w) < n) {
		if (!file_window_fill(w, n, e))
			return STEP_FAIL;
		if (file_window_left(w) < n)
			return cut("captured", kept_n, file_window_left(w) - RECORD_HEADER, e);
	}
	h = w->bytes + w->at;
	w->at += n;
	ret->time_ns = (int64_t)read_u32(f, h) * NS_PER_S +
		       (int64_t)read_u32(f, h + 4) * (f->has_ns ? 1 : NS_PER_US);
	ret->bytes = h + RECORD_HEADER;
	ret->n = kept_n < f->snap_n ? kept_n : f->snap_n;
	ret->wire_n = read_u32(f, h + 12);
	return STEP_ITEM;
}
