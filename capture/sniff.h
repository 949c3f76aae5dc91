/*
 * sniff.h - what kind of input a file is, by its first bytes.
 *
 * Looks through gzip, zstd and bzip2. Standard input is looked at without taking
 * anything from it.
 */
#ifndef REPROD_SNIFF_H
#define REPROD_SNIFF_H

#include "core/base/err.h"

enum input_kind { INPUT_PCAP, INPUT_PGLOG, INPUT_ACCESS, INPUT_GOR };

/* format: NULL to detect, or pcap, pcapng, gor, a kind of Postgres log,
 * or a preset of access logs. What cannot be read is
 * ERR_INPUT with its name and what to do. ret_name is a static text. */
bool sniff_input(const char *path, const char *format, enum input_kind *ret_kind,
	const char **ret_name, struct err *e) MUST_USE;
/* The same for bytes, without a file. */
bool sniff_bytes(struct slice first, enum input_kind *ret_kind, const char **ret_name,
	struct err *e) MUST_USE;

#endif
