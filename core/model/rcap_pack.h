/*
 * rcap_pack.h - payloads to whole blocks and back: Zstandard, checksum, header.
 *
 * For files of ours made of the blocks of rcap_block.h. A packer holds one
 * compressor and one decompressor, made when they are first needed; one thread.
 */
#ifndef REPROD_RCAP_PACK_H
#define REPROD_RCAP_PACK_H

#include "core/model/rcap_block.h"

struct rcap_packer {
	void *compressor, *decompressor;
	struct buf raw;
};

/* Header and payload, in place of what `to` held. False when it is out of memory or
 * raw is longer than RCAP_RAW_MAX. */
bool rcap_pack(struct rcap_packer *p, uint8_t kind, uint32_t number, uint32_t records,
	struct slice raw, struct buf *to) MUST_USE;
/* The payload as it was, borrowed from the packer or from stored until the next call;
 * false when checksum, codec or length are wrong. */
bool rcap_unpack(struct rcap_packer *p, const struct rcap_block_header *h, struct slice stored,
	struct slice *ret) MUST_USE;
void rcap_packer_free(struct rcap_packer *p);

#endif
