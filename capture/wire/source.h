/*
 * source.h - where packets come from: a file, a pipe, or live interfaces.
 *
 * Packets are pulled one by one; their bytes are borrowed until the next pull from
 * the same source. source_next() says MORE when nothing is there just now (live
 * only; it waited up to 200 ms, or a signal came). One thread.
 */
#ifndef REPROD_SOURCE_H
#define REPROD_SOURCE_H

#include "core/base/err.h"

struct source_packet {
	int64_t time_ns; /* UTC */
	int link; /* enum packet_link */
	const unsigned char *bytes;
	size_t n, wire_n;
};

struct source_drops {
	uint64_t kernel, interface;
};

struct source;

struct source_kind {
	enum step (*next)(struct source *s, struct source_packet *ret, struct err *e);
	void (*drops)(struct source *s, struct source_drops *ret); /* or NULL */
	void (*close)(struct source *s);
};

/* The head of every kind's own struct. */
struct source {
	const struct source_kind *kind;
	char name[256]; /* path, or the interfaces */
	bool was_cut; /* it ended in the middle of a packet */
	char note[768]; /* why it ended early, or empty */
	/* Lines of a TLS key log that the file brings, borrowed for the call; or NULL. */
	void (*on_secrets)(void *data, struct slice key_log);
	void *secrets_data;
};

static inline enum step source_next(struct source *s, struct source_packet *ret, struct err *e)
{
	return s->kind->next(s, ret, e);
}

static inline void source_close(struct source *s)
{
	if (s)
		s->kind->close(s);
}

/* "-" is stdin: a pcap stream. */
struct source *source_pcap_open(const char *path, struct err *e);

struct source_live_options {
	const char *const *interfaces;
	size_t interface_count;
	const char *filter; /* NULL: made from the ports, or "tcp" */
	const uint16_t *ports;
	size_t port_count;
	size_t ring_bytes; /* of the kernel, for each interface; 0: 16 MiB */
	const char *self; /* path of this program, for the hint about capabilities */
};

/* Needs CAP_NET_RAW; says how to get it when it is missing. */
struct source *source_live_open(const struct source_live_options *o, struct err *e);
/* Another filter on every interface; packets already in the ring are judged by it too.
 * NULL: no packets at all, until the next one. */
bool source_live_refilter(struct source *s, const char *filter, struct err *e) MUST_USE;
/* The filter that was set at the opening. */
const char *source_live_filter(const struct source *s);

#endif
