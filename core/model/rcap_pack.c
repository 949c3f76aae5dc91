#include "core/model/rcap_pack.h"

#include <zstd.h>

/* Blocks of a few hundred bytes to some kilobytes, one every few seconds: time is no matter. */
enum { ZSTD_LEVEL = 6 };

static size_t compress(struct rcap_packer *p, char *to, size_t bound, struct slice raw)
{
	if (!p->compressor)
		p->compressor = ZSTD_createCCtx();
	size_t n = p->compressor
			   ? ZSTD_compressCCtx(p->compressor, to, bound, raw.p, raw.n, ZSTD_LEVEL)
			   : raw.n;

	return ZSTD_isError(n) || n >= raw.n ? 0 : n;
}

bool rcap_pack(struct rcap_packer *p, uint8_t kind, uint32_t number, uint32_t records,
	struct slice raw, struct buf *to)
{
	struct rcap_block_header h = { .kind = kind,
		.codec = RCAP_ZSTD,
		.raw_bytes = (uint32_t)raw.n,
		.number = number,
		.records = records };
	size_t bound = ZSTD_compressBound(raw.n);

	buf_reset(to);
	char *room = raw.n > RCAP_RAW_MAX ? NULL : buf_room(to, RCAP_BLOCK_HEADER + bound);
	if (!room)
		return false;
	char *payload = room + RCAP_BLOCK_HEADER;
	size_t n = compress(p, payload, bound, raw);
	if (!n) {
		h.codec = RCAP_RAW;
		n = raw.n;
		if (n)
			memcpy(payload, raw.p, n);
	}
	h.stored_bytes = (uint32_t)n;
	h.payload_crc = rcap_crc(payload, n);
	rcap_write_block_header(&h, (unsigned char *)room);
	to->n += RCAP_BLOCK_HEADER + n;
	return true;
}

bool rcap_unpack(struct rcap_packer *p, const struct rcap_block_header *h, struct slice stored,
	struct slice *ret)
{
	if (stored.n != h->stored_bytes || rcap_crc(stored.p, stored.n) != h->payload_crc)
		return false;
	*ret = stored;
	if (h->codec == RCAP_RAW)
		return h->raw_bytes == h->stored_bytes;
	if (!p->decompressor)
		p->decompressor = ZSTD_createDCtx();
	buf_reset(&p->raw);
	char *to = h->codec == RCAP_ZSTD ? buf_room(&p->raw, h->raw_bytes) : NULL;
	if (!to || !p->decompressor)
		return false;
	size_t n = ZSTD_decompressDCtx(p->decompressor, to, h->raw_bytes, stored.p, stored.n);
	if (ZSTD_isError(n) || n != h->raw_bytes)
		return false;
	p->raw.n = n;
	*ret = buf_slice(&p->raw);
	return true;
}

void rcap_packer_free(struct rcap_packer *p)
{
	ZSTD_freeCCtx(p->compressor);
	ZSTD_freeDCtx(p->decompressor);
	buf_free(&p->raw);
	*p = (struct rcap_packer){ 0 };
}
