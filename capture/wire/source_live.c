#include <errno.h>
#include <pcap/pcap.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>

#include "capture/wire/packet.h"
#include "capture/wire/source.h"
#include "core/base/buf.h"

enum {
	INTERFACES_MAX = 16,
	RING_BYTES = 16 << 20,
	SNAPLEN = 262144,
	BLOCK_MS = 64, /* a block of the ring is handed over at the latest after this */
	WAIT_MS = 200,
};

struct live_source {
	struct source base;
	pcap_t *pcap[INTERFACES_MAX];
	const char *interface[INTERFACES_MAX];
	size_t count, at;
	struct buf filter;
	struct source_drops gone; /* of interfaces that went away */
};

/* ---- reading */

static void add_drops(pcap_t *p, struct source_drops *d)
{
	struct pcap_stat st;

	if (pcap_stats(p, &st) != 0)
		return;
	d->kernel += st.ps_drop;
	d->interface += st.ps_ifdrop;
}

static void live_drops(struct source *base, struct source_drops *ret)
{
	struct live_source *s = (struct live_source *)base;

	*ret = s->gone;
	for (size_t i = 0; i < s->count; i++)
		if (s->pcap[i])
			add_drops(s->pcap[i], ret);
}

/* An interface that went down ends; the others go on. */
static void drop_interface(struct live_source *s, size_t i)
{
	snprintf(s->base.note, sizeof s->base.note, "%s: %s", s->interface[i],
		pcap_geterr(s->pcap[i]));
	add_drops(s->pcap[i], &s->gone);
	pcap_close(s->pcap[i]);
	s->pcap[i] = NULL;
	s->base.was_cut = true;
}

static bool try_interface(struct live_source *s, size_t i, struct source_packet *ret)
{
	struct pcap_pkthdr *h;
	const u_char *bytes;
	int got;

	if (!s->pcap[i])
		return false;
	got = pcap_next_ex(s->pcap[i], &h, &bytes);
	if (got == 1) {
		int64_t fraction = h->ts.tv_usec;

		if (pcap_get_tstamp_precision(s->pcap[i]) != PCAP_TSTAMP_PRECISION_NANO)
			fraction *= NS_PER_US;
		*ret = (struct source_packet){ (int64_t)h->ts.tv_sec * NS_PER_S + fraction,
			pcap_datalink(s->pcap[i]), bytes, h->caplen, h->len };
		return true;
	}
	if (got < 0)
		drop_interface(s, i);
	return false;
}

/* TPACKET_V3 never wakes a reader for an empty block, so we wait on our own clock. */
static enum step wait_for_packets(struct live_source *s)
{
	struct pollfd fds[INTERFACES_MAX];
	nfds_t n = 0;

	for (size_t i = 0; i < s->count; i++)
		if (s->pcap[i])
			fds[n++] = (struct pollfd){ .fd = pcap_get_selectable_fd(s->pcap[i]),
				.events = POLLIN };
	if (!n)
		return STEP_END;
	poll(fds, n, WAIT_MS);
	return STEP_MORE;
}

static enum step live_next(struct source *base, struct source_packet *ret, struct err *e)
{
	struct live_source *s = (struct live_source *)base;

	(void)e;
	/* Stays with one interface as long as it has packets: its block is warm. */
	for (size_t i = 0; i < s->count; i++) {
		if (try_interface(s, s->at, ret))
			return STEP_ITEM;
		s->at = (s->at + 1) % s->count;
	}
	return wait_for_packets(s);
}

static void live_close(struct source *base)
{
	struct live_source *s = (struct live_source *)base;

	for (size_t i = 0; i < s->count; i++)
		if (s->pcap[i])
			pcap_close(s->pcap[i]);
	buf_free(&s->filter);
	free(s);
}

static const struct source_kind live_kind = { live_next, live_drops, live_close };

const char *source_live_filter(const struct source *s)
{
	return buf_text(&((const struct live_source *)s)->filter);
}

/* ---- opening */

static void make_filter(const struct source_live_options *o, struct buf *to)
{
	if (o->filter) {
		buf_add_text(to, o->filter);
		return;
	}
	buf_add_text(to, "tcp");
	for (size_t i = 0; i < o->port_count; i++)
		buf_addf(to, "%s port %u", i ? " or" : " and (", o->ports[i]);
	if (o->port_count)
		buf_add_byte(to, ')');
}

static bool explain(
	int code, const char *interface, const char *text, const char *self, struct err *e)
{
	switch (code) {
	case PCAP_ERROR_PERM_DENIED:
	case PCAP_ERROR_PROMISC_PERM_DENIED:
		err_set(e, ERR_ENV, "no permission to capture on '%s'", interface);
		return err_hint(e,
			"run it with sudo, or once: sudo setcap cap_net_raw,cap_net_admin=eip %s; "
			"or read the server's log instead: reprod capture LOG.csv -o F.rcap",
			self ? self : "reprod");
	case PCAP_ERROR_NO_SUCH_DEVICE:
		err_set(e, ERR_ENV, "no interface '%s'", interface);
		return err_hint(
			e, "'ip link' lists them; 'lo' is this host's own traffic, 'any' is all");
	case PCAP_ERROR_IFACE_NOT_UP:
		err_set(e, ERR_ENV, "interface '%s' is down", interface);
		return err_hint(e, "ip link set %s up", interface);
	default:
		return err_set(e, ERR_ENV, "cannot capture on '%s': %s", interface,
			text && text[0] ? text : pcap_statustostr(code));
	}
}

static bool set_filter(pcap_t *p, const char *filter, const char *interface, struct err *e)
{
	struct bpf_program program;

	if (pcap_compile(p, &program, filter, 1, PCAP_NETMASK_UNKNOWN) != 0) {
		err_set(e, ERR_USAGE, "the filter '%s' does not compile: %s", filter,
			pcap_geterr(p));
		return err_hint(e, "the syntax is tcpdump's: 'tcp port 5432', see pcap-filter(7)");
	}
	if (pcap_setfilter(p, &program) != 0) {
		pcap_freecode(&program);
		return err_set(e, ERR_ENV, "could not set the filter on '%s': %s", interface,
			pcap_geterr(p));
	}
	pcap_freecode(&program);
	return true;
}

bool source_live_refilter(struct source *base, const char *filter, struct err *e)
{
	struct live_source *s = (struct live_source *)base;
	struct bpf_insn nothing = BPF_STMT(BPF_RET | BPF_K, 0);
	struct bpf_program none = { .bf_len = 1, .bf_insns = &nothing };

	for (size_t i = 0; i < s->count; i++) {
		if (!s->pcap[i])
			continue;
		if (filter && !set_filter(s->pcap[i], filter, s->interface[i], e))
			return false;
		if (!filter && pcap_setfilter(s->pcap[i], &none) != 0)
			return err_set(e, ERR_ENV, "could not set the filter on '%s': %s",
				s->interface[i], pcap_geterr(s->pcap[i]));
	}
	return true;
}

static bool open_interface(struct live_source *s, const char *interface,
	const struct source_live_options *o, struct err *e)
{
	char text[PCAP_ERRBUF_SIZE] = "";
	pcap_t *p = pcap_create(interface, text);
	int code;

	if (!p)
		return err_set(e, ERR_ENV, "cannot capture on '%s': %s", interface, text);
	s->interface[s->count] = interface;
	s->pcap[s->count++] = p;
	pcap_set_snaplen(p, SNAPLEN);
	pcap_set_buffer_size(p, o->ring_bytes ? (int)o->ring_bytes : RING_BYTES);
	pcap_set_timeout(p, BLOCK_MS);
	/* Refused by some drivers: then microseconds. */
	pcap_set_tstamp_precision(p, PCAP_TSTAMP_PRECISION_NANO);
	code = pcap_activate(p);
	if (code < 0)
		return explain(code, interface, pcap_geterr(p), o->self, e);
	if (!packet_knows_link(pcap_datalink(p)))
		return err_set(e, ERR_ENV, "link type %d of '%s' is not known here",
			pcap_datalink(p), interface);
	/* Loopback shows each packet going out and coming in. */
	if (strcmp(interface, "lo") == 0)
		pcap_setdirection(p, PCAP_D_IN);
	if (pcap_setnonblock(p, 1, text) != 0)
		return err_set(e, ERR_ENV, "cannot capture on '%s': %s", interface, text);
	return set_filter(p, buf_text(&s->filter), interface, e);
}

struct source *source_live_open(const struct source_live_options *o, struct err *e)
{
	struct live_source *s = calloc(1, sizeof *s);

	if (!s) {
		err_set(e, ERR_ENV, "out of memory");
		return NULL;
	}
	s->base.kind = &live_kind;
	make_filter(o, &s->filter);
	if (o->interface_count > INTERFACES_MAX) {
		err_set(e, ERR_USAGE, "at most %d interfaces", INTERFACES_MAX);
		live_close(&s->base);
		return NULL;
	}
	for (size_t i = 0; i < o->interface_count; i++) {
		size_t n = strlen(s->base.name);

		snprintf(s->base.name + n, sizeof s->base.name - n, "%s%s", i ? "," : "",
			o->interfaces[i]);
		if (!open_interface(s, o->interfaces[i], o, e)) {
			live_close(&s->base);
			return NULL;
		}
	}
	return &s->base;
}
