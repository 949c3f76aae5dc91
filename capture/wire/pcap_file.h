/*
 * pcap_file.h - packets of a classic pcap file, in place.
 *
 * The classic format alone (IETF draft-ietf-opsawg-pcap; micro- and nanoseconds, either
 * byte order, version 2.4): libpcap reads it through stdio with two calls and a copy
 * for each packet, which is a tenth of what a capture of small packets costs. Everything
 * else (pcapng, older variants) is libpcap's. Packets are borrowed until the next call.
 */
#ifndef REPROD_PCAP_FILE_H
#define REPROD_PCAP_FILE_H

#include "core/base/err.h"

enum { PCAP_FILE_HEADER = 24 };

struct pcap_file {
	int fd;
	int link;
	bool is_swapped, has_ns;
	uint32_t snap_n;
	unsigned char *bytes;
	size_t at, end; /* of what was read and not yet given out */
};

struct pcap_file_packet {
	int64_t time_ns;
	const unsigned char *bytes;
	uint32_t n, wire_n;
};

/* Reads a header; false when it is not this format's. Takes nothing. */
bool pcap_file_is(const unsigned char head[PCAP_FILE_HEADER], struct pcap_file *ret);
/* Reads on behind the header; fd stays the caller's. */
bool pcap_file_open(struct pcap_file *f, int fd, struct err *e) MUST_USE;
/* FAIL: cut in the middle, or damaged; *e says which. */
enum step pcap_file_next(struct pcap_file *f, struct pcap_file_packet *ret, struct err *e);
void pcap_file_close(struct pcap_file *f);

#endif
