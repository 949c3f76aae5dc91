/*
 * pcap_file.h - packets of a classic pcap file, in place.
 *
 * The classic format alone (IETF draft-ietf-opsawg-pcap; micro- and nanoseconds, either
 * byte order, version 2.4): libpcap reads it through stdio with two calls and a copy
 * for each packet, which is a tenth of what a capture of small packets costs. Everything
 * else is pcapng_file's, or libpcap's (older variants). Packets are borrowed until the next call.
 */
#ifndef REPROD_PCAP_FILE_H
#define REPROD_PCAP_FILE_H

#include "capture/wire/file_window.h"

enum {
	PCAP_FILE_HEADER = 24,
	PCAP_FILE_PACKET_MAX = 262144, /* libpcap's own limit for the links we know */
	PCAP_FILE_MOST = 16 + PCAP_FILE_PACKET_MAX, /* at least, for file_window_open() */
};

struct pcap_file {
	struct file_window *in; /* the caller's, behind the header */
	int link;
	bool is_swapped, has_ns;
	uint32_t snap_n;
};

struct pcap_file_packet {
	int64_t time_ns;
	const unsigned char *bytes;
	uint32_t n, wire_n;
};

/* Reads a header; false when it is not this format's. Takes nothing. */
bool pcap_file_is(const unsigned char head[PCAP_FILE_HEADER], struct pcap_file *ret);
/* FAIL: cut in the middle, or damaged; *e says which. */
enum step pcap_file_next(struct pcap_file *f, struct pcap_file_packet *ret, struct err *e);

#endif
