/*
 * pcapng_file.h - packets of a pcapng file, in place.
 *
 * IETF draft-ietf-opsawg-pcapng: several sections, each in its byte order; several
 * interfaces, each with its link type, snapshot length, clock resolution (decimal and
 * binary) and offset; enhanced, simple and obsolete packet blocks; what the capturing
 * host counted as dropped. libpcap refuses a file whose interfaces differ in any of it.
 * TLS key logs in it are handed on; other blocks (names, comments) are passed over. At most
 * PCAPNG_INTERFACES_MAX interfaces in a section and PCAPNG_BLOCK_MAX bytes in a block
 * that is read. Packets are borrowed until the next call. One thread.
 */
#ifndef REPROD_PCAPNG_FILE_H
#define REPROD_PCAPNG_FILE_H

#include "capture/wire/file_window.h"

#define PCAPNG_INTERFACES_MAX 4096
#define PCAPNG_BLOCK_MAX (1 << 20) /* also for file_window_open() */

struct pcapng_interface {
	int link;
	uint32_t snap_n;
	/* A tick is times ns, or 1 / per ns, or 2^-shift s when there is a shift. */
	uint64_t times, per;
	uint8_t shift;
	int64_t offset_ns;
	uint64_t kernel_drops, interface_drops; /* the last that was told */
};

struct pcapng_file {
	struct file_window *in; /* the caller's, from the file's first byte on */
	bool is_swapped;
	struct pcapng_interface *interfaces; /* of this section */
	uint32_t count, cap;
	int64_t last_ns; /* simple packets have no time: that of the packet before */
	uint64_t kernel_drops, interface_drops; /* of the sections before */
	/* Lines of a TLS key log, borrowed for the call; or NULL. */
	void (*on_secrets)(void *data, struct slice key_log);
	void *secrets_data;
};

struct pcapng_packet {
	int64_t time_ns;
	int link;
	const unsigned char *bytes;
	uint32_t n, wire_n;
};

/* Do four bytes begin such a file? */
bool pcapng_file_is(const unsigned char first[4]);
/* FAIL: cut in the middle, or damaged; *e says which. */
enum step pcapng_file_next(struct pcapng_file *f, struct pcapng_packet *ret, struct err *e);
/* What interface statistics said of all sections up to here. */
void pcapng_file_drops(const struct pcapng_file *f, uint64_t *ret_kernel, uint64_t *ret_interface);
void pcapng_file_close(struct pcapng_file *f);

#endif
