#include <pcap/pcap.h>
#include <stdio.h>
#include <stdlib.h>
#include <errno.h>

#include "capture/packet.h"
#include "capture/source.h"

struct pcap_source {
	struct source base;
	pcap_t *pcap;
	int link;
	uint64_t packets;
};

static enum step pcap_source_next(struct source *base, struct source_packet *ret, struct err *e)
{
	struct pcap_source *s = (struct pcap_source *)base;
	struct pcap_pkthdr *h;
	const u_char *bytes;
	int got = pcap_next_ex(s->pcap, &h, &bytes);

	if (got == 1) {
		s->packets++;
		/* With nanosecond precision tv_usec holds nanoseconds. */
		*ret = (struct source_packet){ (int64_t)h->ts.tv_sec * NS_PER_S + h->ts.tv_usec,
			s->link, bytes, h->caplen, h->len };
		return STEP_ITEM;
	}
	if (got == PCAP_ERROR_BREAK)
		return STEP_END;
	if (s->packets) {
		/* What was read stays valid: a capture cut by a full disk or a kill is usual. */
		base->was_cut = true;
		snprintf(base->note, sizeof base->note, "%s: packet %llu: %s", base->name,
			(unsigned long long)s->packets + 1, pcap_geterr(s->pcap));
		return STEP_END;
	}
	err_set(e, ERR_INPUT, "%s", pcap_geterr(s->pcap));
	err_in(e, "%s: packet 1", base->name);
	return STEP_FAIL;
}

static void pcap_source_close(struct source *base)
{
	struct pcap_source *s = (struct pcap_source *)base;

	if (s->pcap)
		pcap_close(s->pcap);
	free(s);
}

static const struct source_kind pcap_kind = { pcap_source_next, NULL, pcap_source_close };

struct source *source_pcap_open(const char *path, struct err *e)
{
	char text[PCAP_ERRBUF_SIZE] = "";
	bool is_stdin = strcmp(path, "-") == 0;
	struct pcap_source *s = calloc(1, sizeof *s);
	FILE *file;

	if (!s) {
		err_set(e, ERR_ENV, "out of memory");
		return NULL;
	}
	s->base.kind = &pcap_kind;
	snprintf(s->base.name, sizeof s->base.name, "%s", is_stdin ? "standard input" : path);
	file = is_stdin ? stdin : fopen(path, "rbe");
	if (!file) {
		err_os(e, ERR_INPUT, errno, "could not open '%s'", path);
		free(s);
		return NULL;
	}
	s->pcap = pcap_fopen_offline_with_tstamp_precision(file, PCAP_TSTAMP_PRECISION_NANO, text);
	if (!s->pcap) {
		err_set(e, ERR_INPUT, "%s", text[0] ? text : "not a pcap or pcapng file");
		err_in(e, "%s", s->base.name);
		if (!is_stdin)
			fclose(file);
		free(s);
		return NULL;
	}
	s->link = pcap_datalink(s->pcap);
	if (!packet_knows_link(s->link)) {
		const char *name = pcap_datalink_val_to_name(pcap_datalink(s->pcap));

		err_set(e, ERR_INPUT, "link type %s (%d) is not known here", name ? name : "?",
			pcap_datalink(s->pcap));
		err_hint(e, "known are Ethernet, Linux cooked (SLL, SLL2), loopback and raw IP");
		err_in(e, "%s", s->base.name);
		pcap_source_close(&s->base);
		return NULL;
	}
	return &s->base;
}
