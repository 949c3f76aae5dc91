/*
 * rcap_block.h - the frame of a capture file: header, block headers, checksums.
 *
 * Shared by rcap_write.c and rcap_read.c; everybody else uses rcap.h. The bytes
 * are described in docs/formats/rcap.md.
 */
#ifndef REPROD_RCAP_BLOCK_H
#define REPROD_RCAP_BLOCK_H

#include "core/base/buf.h"
#include "core/base/err.h"

enum {
	RCAP_FILE_HEADER = 16,
	RCAP_BLOCK_HEADER = 32,
	RCAP_RAW_MAX = 16 << 20, /* of one block, decompressed */
	RCAP_RECORD_MAX = 4 << 20, /* a larger request is stored without its values */
	RCAP_BLOCK_FULL = 256 << 10, /* the writer ends a block of records here */
};

enum rcap_block_kind {
	RCAP_BLOCK_RECORDS = 1,
	RCAP_BLOCK_DICTIONARY = 2,
	RCAP_BLOCK_COUNTS = 3,
	RCAP_BLOCK_HEAD = 4,
	RCAP_BLOCK_END = 5,
};

enum rcap_codec { RCAP_RAW = 0, RCAP_ZSTD = 1 };

/* Kinds of records within blocks of RECORDS, DICTIONARY and COUNTS. */
enum rcap_record_kind {
	RCAP_RECORD_SESSION = 1,
	RCAP_RECORD_REQUEST = 2,
	RCAP_RECORD_ROUTE = 3,
	RCAP_RECORD_TEMPLATE = 4,
	RCAP_RECORD_TOTALS = 5,
	RCAP_RECORD_ROUTE_COUNTS = 6,
};

struct rcap_block_header {
	uint8_t kind;
	uint8_t codec;
	uint32_t stored_bytes;
	uint32_t raw_bytes;
	uint32_t payload_crc;
	uint32_t number; /* from 0, consecutive */
	uint32_t records;
};

/* CRC-32C (Castagnoli, RFC 3720 appendix B.4). */
uint32_t rcap_crc(const void *bytes, size_t n);

void rcap_write_file_header(unsigned char to[RCAP_FILE_HEADER]);
/* Says what the file is instead when it is none of ours. */
bool rcap_check_file_header(struct slice first_bytes, struct err *e) MUST_USE;

void rcap_write_block_header(
	const struct rcap_block_header *h, unsigned char to[RCAP_BLOCK_HEADER]);
/* False when magic, checksum or sizes are wrong. */
bool rcap_read_block_header(
	struct rcap_block_header *h, const unsigned char from[RCAP_BLOCK_HEADER]) MUST_USE;

/* "records", "head", ...; "unknown" for kinds of later versions. */
const char *rcap_block_kind_name(uint8_t kind);

#endif
