#include "capture/wire/pcapng_file.h"

#include <stdlib.h>

enum {
	BLOCK_SECTION = 0x0a0d0d0a,
	BLOCK_INTERFACE = 1,
	BLOCK_OLD_PACKET = 2,
	BLOCK_SIMPLE_PACKET = 3,
	BLOCK_STATISTICS = 5,
	BLOCK_PACKET = 6,
	BLOCK_SECRETS = 10,
	OPTION_TIME_RESOLUTION = 9,
	OPTION_TIME_OFFSET = 14,
	OPTION_INTERFACE_DROPS = 5,
	OPTION_KERNEL_DROPS = 7,
	FRAME = 12, /* type and both lengths */
	PACKET_MAX = 262144,
};

static const uint32_t byte_order = 0x1a2b3c4d;
static const uint32_t tls_key_log = 0x544c534b; /* "TLSK": section 4.7 */

/* The bytes of one block between its lengths. */
struct body {
	const unsigned char *p;
	uint32_t n;
};

bool pcapng_file_is(const unsigned char first[4])
{
	return memcmp(first, "\x0a\x0d\x0d\x0a", 4) == 0;
}

/* ---- words */

static uint16_t u16(const struct pcapng_file *f, const unsigned char *p)
{
	uint16_t v;

	memcpy(&v, p, sizeof v);
	return f->is_swapped ? __builtin_bswap16(v) : v;
}

static uint32_t u32(const struct pcapng_file *f, const unsigned char *p)
{
	uint32_t v;

	memcpy(&v, p, sizeof v);
	return f->is_swapped ? __builtin_bswap32(v) : v;
}

static uint64_t u64(const struct pcapng_file *f, const unsigned char *p)
{
	uint64_t v;

	memcpy(&v, p, sizeof v);
	return f->is_swapped ? __builtin_bswap64(v) : v;
}

/* Two words, the high one first in either byte order. */
static uint64_t ticks_at(const struct pcapng_file *f, const unsigned char *p)
{
	return (uint64_t)u32(f, p) << 32 | u32(f, p + 4);
}

/* ---- options */

static const unsigned char *option(
	const struct pcapng_file *f, struct body b, uint32_t from, uint16_t code, uint32_t n)
{
	while (from <= b.n && b.n - from >= 4) {
		uint16_t it = u16(f, b.p + from), it_n = u16(f, b.p + from + 2);

		from += 4;
		if (it_n > b.n - from || it == 0)
			return NULL;
		if (it == code)
			return it_n >= n ? b.p + from : NULL;
		from += (it_n + 3u) & ~3u;
	}
	return NULL;
}

/* ---- interfaces */

static bool set_resolution(struct pcapng_interface *i, uint8_t code)
{
	uint8_t power = code & 0x7f;

	if (code & 0x80) {
		i->shift = power;
		i->times = power ? 1 : NS_PER_S;
		return power < 64;
	}
	for (; power < 9; power++)
		i->times *= 10;
	for (; power > 9 && i->per <= UINT64_MAX / 10; power--)
		i->per *= 10;
	return power == 9;
}

static struct pcapng_interface *add_interface(struct pcapng_file *f)
{
	if (f->count == f->cap) {
		uint32_t cap = f->cap ? 2 * f->cap : 4;
		struct pcapng_interface *more = realloc(f->interfaces, cap * sizeof *more);

		if (!more)
			return NULL;
		f->interfaces = more;
		f->cap = cap;
	}
	return &f->interfaces[f->count++];
}

static bool read_interface(struct pcapng_file *f, struct body b, struct err *e)
{
	struct pcapng_interface *i;
	const unsigned char *resolution, *offset;

	if (b.n < 8)
		return err_set(e, ERR_INPUT, "an interface block of %u bytes", b.n);
	if (f->count == PCAPNG_INTERFACES_MAX)
		return err_set(e, ERR_INPUT, "more than %d interfaces", PCAPNG_INTERFACES_MAX);
	i = add_interface(f);
	if (!i)
		return err_set(e, ERR_ENV, "out of memory");
	*i = (struct pcapng_interface){ .link = u16(f, b.p), .times = 1, .per = 1 };
	i->snap_n = u32(f, b.p + 4);
	resolution = option(f, b, 8, OPTION_TIME_RESOLUTION, 1);
	if (!set_resolution(i, resolution ? *resolution : 6))
		return err_set(e, ERR_INPUT, "interface %u: a clock finer than can be", f->count);
	offset = option(f, b, 8, OPTION_TIME_OFFSET, 8);
	if (offset) {
		int64_t s = (int64_t)u64(f, offset);

		i->offset_ns = s > INT32_MAX || s < -INT32_MAX ? 0 : s * NS_PER_S;
	}
	return true;
}

static void read_statistics(struct pcapng_file *f, struct body b)
{
	uint32_t id = b.n >= 12 ? u32(f, b.p) : UINT32_MAX;
	const unsigned char *kernel, *interface;

	if (id >= f->count)
		return;
	kernel = option(f, b, 12, OPTION_KERNEL_DROPS, 8);
	interface = option(f, b, 12, OPTION_INTERFACE_DROPS, 8);
	if (kernel)
		f->interfaces[id].kernel_drops = u64(f, kernel);
	if (interface)
		f->interfaces[id].interface_drops = u64(f, interface);
}

void pcapng_file_drops(const struct pcapng_file *f, uint64_t *ret_kernel, uint64_t *ret_interface)
{
	*ret_kernel = f->kernel_drops;
	*ret_interface = f->interface_drops;
	for (uint32_t i = 0; i < f->count; i++) {
		*ret_kernel += f->interfaces[i].kernel_drops;
		*ret_interface += f->interfaces[i].interface_drops;
	}
}

static void begin_section(struct pcapng_file *f)
{
	uint64_t kernel, interface;

	pcapng_file_drops(f, &kernel, &interface);
	f->kernel_drops = kernel;
	f->interface_drops = interface;
	f->count = 0;
}

void pcapng_file_close(struct pcapng_file *f)
{
	free(f->interfaces);
	*f = (struct pcapng_file){ 0 };
}

/* ---- packets */

/* Ticks of 2^-shift s; what is finer than 2^-32 s is no part of a nanosecond. */
static uint64_t binary_ns(uint64_t ticks, uint8_t shift)
{
	uint64_t s = ticks >> shift, part = ticks - (s << shift);

	if (shift > 32) {
		part >>= shift - 32;
		shift = 32;
	}
	return s > INT64_MAX / 4 / NS_PER_S ? UINT64_MAX
					    : s * NS_PER_S + (part * NS_PER_S >> shift);
}

static int64_t time_of(const struct pcapng_interface *i, uint64_t ticks)
{
	uint64_t ns;

	if (i->shift)
		ns = binary_ns(ticks, i->shift);
	else if (i->per > 1)
		ns = ticks / i->per;
	else
		ns = ticks > INT64_MAX / 4 / i->times ? UINT64_MAX : ticks * i->times;
	return (ns > INT64_MAX / 4 ? 0 : (int64_t)ns) + i->offset_ns;
}

/* at: where the packet's bytes begin in the block. */
static enum step give(const struct pcapng_interface *i, struct body b, uint32_t at,
	struct pcapng_packet *ret, struct err *e)
{
	if (ret->n > PACKET_MAX || ret->n > b.n - at) {
		err_set(e, ERR_INPUT, "a packet of %u bytes in a block of %u", ret->n, b.n);
		return STEP_FAIL;
	}
	if (i->snap_n && ret->n > i->snap_n)
		ret->n = i->snap_n;
	ret->link = i->link;
	ret->bytes = b.p + at;
	return STEP_ITEM;
}

static enum step read_packet(
	struct pcapng_file *f, struct body b, bool is_old, struct pcapng_packet *ret, struct err *e)
{
	uint32_t id = b.n < 20 ? 0 : is_old ? u16(f, b.p) : u32(f, b.p);
	const struct pcapng_interface *i;

	if (b.n < 20 || id >= f->count) {
		err_set(e, ERR_INPUT,
			b.n < 20 ? "a packet block of %u bytes" : "interface %u was not described",
			b.n < 20 ? b.n : id);
		return STEP_FAIL;
	}
	i = &f->interfaces[id];
	ret->time_ns = f->last_ns = time_of(i, ticks_at(f, b.p + 4));
	ret->n = u32(f, b.p + 12);
	ret->wire_n = u32(f, b.p + 16);
	return give(i, b, 20, ret, e);
}

static enum step read_simple_packet(
	struct pcapng_file *f, struct body b, struct pcapng_packet *ret, struct err *e)
{
	const struct pcapng_interface *i = f->interfaces;

	if (b.n < 4 || !f->count) {
		err_set(e, ERR_INPUT, "a packet block before its interface's");
		return STEP_FAIL;
	}
	ret->time_ns = f->last_ns;
	ret->wire_n = u32(f, b.p);
	ret->n = i->snap_n && ret->wire_n > i->snap_n ? i->snap_n : ret->wire_n;
	return give(i, b, 4, ret, e);
}

/* ---- blocks */

/* Of other protocols' secrets (WireGuard, ZigBee) there is nothing to read here. */
static void read_secrets(const struct pcapng_file *f, struct body b)
{
	uint32_t n = b.n < 8 ? 0 : u32(f, b.p + 4);

	if (n && n <= b.n - 8 && u32(f, b.p) == tls_key_log && f->on_secrets)
		f->on_secrets(f->secrets_data, (struct slice){ (const char *)b.p + 8, n });
}

static enum step cut(size_t wanted, size_t got, struct err *e)
{
	err_set(e, ERR_INPUT, "truncated dump file; tried to read %zu bytes, only got %zu", wanted,
		got);
	return STEP_FAIL;
}

/* ITEM: n bytes are there. END: the file ended before the first of them. */
static enum step need(struct pcapng_file *f, size_t n, bool may_end, struct err *e)
{
	struct file_window *w = f->in;

	if (file_window_left(w) < n && !file_window_fill(w, n, e))
		return STEP_FAIL;
	if (file_window_left(w) >= n)
		return STEP_ITEM;
	return may_end && !file_window_left(w) ? STEP_END : cut(n, file_window_left(w), e);
}

static bool read_byte_order(struct pcapng_file *f, struct err *e)
{
	uint32_t magic;

	memcpy(&magic, f->in->bytes + f->in->at + 8, sizeof magic);
	f->is_swapped = magic == __builtin_bswap32(byte_order);
	if (!f->is_swapped && magic != byte_order)
		return err_set(e, ERR_INPUT, "a section without a byte order");
	begin_section(f);
	return true;
}

static bool is_read(uint32_t type, uint32_t n)
{
	/* Packets without their secrets are worth more than none. */
	if (type == BLOCK_SECRETS)
		return n <= PCAPNG_BLOCK_MAX;
	return type == BLOCK_SECTION || type == BLOCK_STATISTICS || type == BLOCK_PACKET ||
	       (type >= BLOCK_INTERFACE && type <= BLOCK_SIMPLE_PACKET);
}

/* The next block; *ret_type is 0 when it was passed over. */
static enum step next_block(
	struct pcapng_file *f, uint32_t *ret_type, struct body *ret, struct err *e)
{
	struct file_window *w = f->in;
	enum step step = need(f, FRAME, true, e);
	uint32_t n;

	if (step != STEP_ITEM)
		return step;
	*ret_type = u32(f, w->bytes + w->at);
	if (*ret_type == BLOCK_SECTION && !read_byte_order(f, e))
		return STEP_FAIL;
	n = u32(f, w->bytes + w->at + 4);
	if (n < FRAME || n % 4 || (is_read(*ret_type, n) && n > PCAPNG_BLOCK_MAX)) {
		err_set(e, ERR_INPUT, "invalid block length %u", n);
		return STEP_FAIL;
	}
	if (!is_read(*ret_type, n)) {
		*ret_type = 0;
		return file_window_skip(w, n, e) ? STEP_ITEM : STEP_FAIL;
	}
	step = need(f, n, false, e);
	if (step != STEP_ITEM)
		return step;
	*ret = (struct body){ w->bytes + w->at + 8, n - FRAME };
	w->at += n;
	if (u32(f, ret->p + ret->n) == n)
		return STEP_ITEM;
	err_set(e, ERR_INPUT, "a block whose two lengths differ");
	return STEP_FAIL;
}

enum step pcapng_file_next(struct pcapng_file *f, struct pcapng_packet *ret, struct err *e)
{
	enum step step;
	uint32_t type;
	struct body b;

	while ((step = next_block(f, &type, &b, e)) == STEP_ITEM)
		switch (type) {
		case BLOCK_PACKET:
		case BLOCK_OLD_PACKET:
			return read_packet(f, b, type == BLOCK_OLD_PACKET, ret, e);
		case BLOCK_SIMPLE_PACKET:
			return read_simple_packet(f, b, ret, e);
		case BLOCK_INTERFACE:
			if (!read_interface(f, b, e))
				return STEP_FAIL;
			break;
		case BLOCK_STATISTICS:
			read_statistics(f, b);
			break;
		case BLOCK_SECRETS:
			read_secrets(f, b);
			break;
		default:
			break;
		}
	return step;
}
