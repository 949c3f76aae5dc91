/*
 * sniff.h - what kind of input a file is, by its first bytes.
 */
#ifndef REPROD_SNIFF_H
#define REPROD_SNIFF_H

#include "core/base/err.h"

enum input_kind { INPUT_PCAP, INPUT_PGLOG };

/* Reads at most 4 KiB of a file; "-" counts as pcap. format: NULL to detect, or
 * pcap, pcapng, csvlog. What cannot be read (yet) is ERR_INPUT with its name and
 * what to do. */
bool sniff_input(const char *path, const char *format, enum input_kind *ret_kind,
	const char **ret_name, struct err *e) MUST_USE;
/* The same for bytes, without a file. */
bool sniff_bytes(struct slice first, enum input_kind *ret_kind, const char **ret_name,
	struct err *e) MUST_USE;

#endif
