#include "capture/wire/pcap_file.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

enum {
	RECORD_HEADER = 16,
	PACKET_MAX = 262144, /* libpcap's own limit for the links we know */
	READ_N = 1 << 16, /* stays in the second level cache */
	ROOM = RECORD_HEADER + PACKET_MAX + READ_N,
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
	struct pcap_file f = { .fd = -1 };
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
	f.snap_n = snap_n == 0 || snap_n > PACKET_MAX ? PACKET_MAX : snap_n;
	f.link = (int)(read_u32(&f, head + 20) & LINK_BITS);
	*ret = f;
	return true;
}

bool pcap_file_open(struct pcap_file *f, int fd, struct err *e)
{
	f->fd = fd;
	f->bytes = malloc(ROOM);
	return f->bytes || err_set(e, ERR_ENV, "out of memory");
}

void pcap_file_close(struct pcap_file *f)
{
	free(f->bytes);
	f->bytes = NULL;
}

/* At least n bytes from f->at on, else as many as there are; false on a read error. */
static bool fill(struct pcap_file *f, size_t n, struct err *e)
{
	memmove(f->bytes, f->bytes + f->at, f->end - f->at);
	f->end -= f->at;
	f->at = 0;
	while (f->end < n) {
		ssize_t got = read(f->fd, f->bytes + f->end, READ_N);

		/* Asked to stop while a pipe is quiet: what came is the end. */
		if (got < 0 && errno == EINTR)
			break;
		if (got < 0)
			return err_os(e, ERR_INPUT, errno, "could not read");
		if (got == 0)
			break;
		f->end += (size_t)got;
	}
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
	const unsigned char *h;
	uint32_t kept_n;

	if (f->end - f->at < RECORD_HEADER && !fill(f, RECORD_HEADER, e))
		return STEP_FAIL;
	if (f->end == f->at)
		return STEP_END;
	if (f->end - f->at < RECORD_HEADER)
		return cut("header", RECORD_HEADER, f->end - f->at, e);
	kept_n = read_u32(f, f->bytes + f->at + 8);
	if (kept_n > PACKET_MAX) {
		err_set(e, ERR_INPUT, "invalid packet capture length %u, bigger than maximum of %d",
			kept_n, PACKET_MAX);
		return STEP_FAIL;
	}
	if (f->end - f->at < RECORD_HEADER + (size_t)kept_n) {
		if (!fill(f, RECORD_HEADER + (size_t)kept_n, e))
			return STEP_FAIL;
		if (f->end - f->at < RECORD_HEADER + (size_t)kept_n)
			return cut("captured", kept_n, f->end - f->at - RECORD_HEADER, e);
	}
	h = f->bytes + f->at;
	f->at += RECORD_HEADER + (size_t)kept_n;
	ret->time_ns = (int64_t)read_u32(f, h) * NS_PER_S +
		       (int64_t)read_u32(f, h + 4) * (f->has_ns ? 1 : NS_PER_US);
	ret->bytes = h + RECORD_HEADER;
	ret->n = kept_n < f->snap_n ? kept_n : f->snap_n;
	ret->wire_n = read_u32(f, h + 12);
	return STEP_ITEM;
}
