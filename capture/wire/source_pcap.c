/* Packet files: the classic format by pcap_file, pcapng by pcapng_file, older ones by libpcap. */
#include <errno.h>
#include <fcntl.h>
#include <pcap/pcap.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "capture/wire/packet.h"
#include "capture/wire/pcap_file.h"
#include "capture/wire/pcapng_file.h"
#include "capture/wire/source.h"

struct pcap_source {
	struct source base;
	int fd;
	struct file_window in;
	struct pcap_file file;
	struct pcapng_file ng;
	pcap_t *pcap;
	int link; /* of all packets, but for pcapng */
	uint64_t packets;
	struct err why; /* here, for clearing one costs more than a packet's header */
};

/* What was read stays valid: a capture cut by a full disk or a kill is usual. */
static enum step end_early(struct pcap_source *s, const char *why, struct err *e)
{
	if (s->packets) {
		s->base.was_cut = true;
		snprintf(s->base.note, sizeof s->base.note, "%s: packet %llu: %.400s", s->base.name,
			(unsigned long long)s->packets + 1, why);
		return STEP_END;
	}
	err_set(e, ERR_INPUT, "%s", why);
	err_in(e, "%s: packet 1", s->base.name);
	return STEP_FAIL;
}

/* What a reader said; s->why is its failure. */
static enum step tell(struct pcap_source *s, enum step step, struct err *e)
{
	if (step == STEP_ITEM) {
		s->packets++;
		return step;
	}
	if (s->in.cut)
		return end_early(s, s->in.cut, e);
	return step == STEP_FAIL ? end_early(s, s->why.what, e) : step;
}

static enum step file_next(struct source *base, struct source_packet *ret, struct err *e)
{
	struct pcap_source *s = (struct pcap_source *)base;
	struct pcap_file_packet p;
	enum step step = pcap_file_next(&s->file, &p, &s->why);

	if (step == STEP_ITEM)
		*ret = (struct source_packet){ p.time_ns, s->link, p.bytes, p.n, p.wire_n };
	return tell(s, step, e);
}

static bool refuse_link(const struct pcap_source *s, int link, struct err *e)
{
	const char *name = pcap_datalink_val_to_name(link);

	err_set(e, ERR_INPUT, "link type %s (%d) is not known here", name ? name : "?", link);
	err_hint(e, "known are Ethernet, Linux cooked (SLL, SLL2), loopback and raw IP");
	return err_in(e, "%s", s->base.name);
}

static bool knows_some_link(const struct pcapng_file *f)
{
	for (uint32_t i = 0; i < f->count; i++)
		if (packet_knows_link(f->interfaces[i].link))
			return true;
	return false;
}

static enum step ng_next(struct source *base, struct source_packet *ret, struct err *e)
{
	struct pcap_source *s = (struct pcap_source *)base;
	struct pcapng_packet p;
	enum step step = pcapng_file_next(&s->ng, &p, &s->why);

	if (step == STEP_ITEM && !s->packets && !packet_knows_link(p.link) &&
		!knows_some_link(&s->ng)) {
		refuse_link(s, p.link, e);
		return STEP_FAIL;
	}
	if (step == STEP_ITEM)
		*ret = (struct source_packet){ p.time_ns, p.link, p.bytes, p.n, p.wire_n };
	return tell(s, step, e);
}

static void ng_drops(struct source *base, struct source_drops *ret)
{
	struct pcap_source *s = (struct pcap_source *)base;

	pcapng_file_drops(&s->ng, &ret->kernel, &ret->interface);
}

static enum step pcap_source_next(struct source *base, struct source_packet *ret, struct err *e)
{
	struct pcap_source *s = (struct pcap_source *)base;
	struct pcap_pkthdr *h;
	const u_char *bytes;
	int got = pcap_next_ex(s->pcap, &h, &bytes);

	if (got == PCAP_ERROR_BREAK)
		return STEP_END;
	if (got != 1)
		return end_early(s, pcap_geterr(s->pcap), e);
	s->packets++;
	/* With nanosecond precision tv_usec holds nanoseconds. */
	*ret = (struct source_packet){ (int64_t)h->ts.tv_sec * NS_PER_S + h->ts.tv_usec, s->link,
		bytes, h->caplen, h->len };
	return STEP_ITEM;
}

static void pcap_source_close(struct source *base)
{
	struct pcap_source *s = (struct pcap_source *)base;

	if (s->pcap)
		pcap_close(s->pcap);
	pcapng_file_close(&s->ng);
	file_window_close(&s->in);
	if (s->fd > STDIN_FILENO)
		close(s->fd);
	free(s);
}

static const struct source_kind file_kind = { file_next, NULL, pcap_source_close };
static const struct source_kind ng_kind = { ng_next, ng_drops, pcap_source_close };
static const struct source_kind pcap_kind = { pcap_source_next, NULL, pcap_source_close };

static ssize_t read_on(void *cookie, char *to, size_t room)
{
	struct file_window *w = &((struct pcap_source *)cookie)->in;
	struct err e = { 0 };
	size_t n;

	if (!file_window_left(w) && !file_window_fill(w, 1, &e)) {
		errno = e.os_errno;
		return -1;
	}
	n = file_window_left(w) < room ? file_window_left(w) : room;
	memcpy(to, w->bytes + w->at, n);
	w->at += n;
	return (ssize_t)n;
}

static bool open_by_libpcap(struct pcap_source *s, struct err *e)
{
	cookie_io_functions_t io = { .read = read_on };
	char text[PCAP_ERRBUF_SIZE] = "";
	FILE *file = fopencookie(s, "rb", io);

	if (!file)
		return err_set(e, ERR_ENV, "out of memory");
	s->pcap = pcap_fopen_offline_with_tstamp_precision(file, PCAP_TSTAMP_PRECISION_NANO, text);
	if (!s->pcap) {
		fclose(file);
		return err_set(e, ERR_INPUT, "%s", text[0] ? text : "not a pcap or pcapng file");
	}
	s->base.kind = &pcap_kind;
	s->link = pcap_datalink(s->pcap);
	return true;
}

static void hand_secrets(void *data, struct slice key_log)
{
	const struct source *s = data;

	if (s->on_secrets)
		s->on_secrets(s->secrets_data, key_log);
}

static bool open_pcapng(struct pcap_source *s)
{
	s->ng.on_secrets = hand_secrets;
	s->ng.secrets_data = &s->base;
	s->ng.in = &s->in;
	s->base.kind = &ng_kind;
	return true;
}

static bool open_classic(struct pcap_source *s)
{
	s->in.at += PCAP_FILE_HEADER;
	s->file.in = &s->in;
	s->base.kind = &file_kind;
	s->link = s->file.link;
	return true;
}

static bool open_any(struct pcap_source *s, struct err *e)
{
	const unsigned char *first;
	size_t n;

	if (!file_window_open(&s->in, s->fd, PCAPNG_BLOCK_MAX, e) ||
		!file_window_fill(&s->in, PCAP_FILE_HEADER, e))
		return err_in(e, "%s", s->base.name);
	first = s->in.bytes + s->in.at;
	n = file_window_left(&s->in);
	if (n >= 4 && pcapng_file_is(first))
		return open_pcapng(s);
	if (n >= PCAP_FILE_HEADER && pcap_file_is(first, &s->file))
		open_classic(s);
	else if (!open_by_libpcap(s, e))
		return err_in(e, "%s", s->base.name);
	return packet_knows_link(s->link) || refuse_link(s, s->link, e);
}

struct source *source_pcap_open(const char *path, struct err *e)
{
	bool is_stdin = strcmp(path, "-") == 0;
	struct pcap_source *s = calloc(1, sizeof *s);

	if (!s) {
		err_set(e, ERR_ENV, "out of memory");
		return NULL;
	}
	snprintf(s->base.name, sizeof s->base.name, "%s", is_stdin ? "standard input" : path);
	s->fd = is_stdin ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
	if (s->fd < 0) {
		err_os(e, ERR_INPUT, errno, "could not open '%s'", path);
		free(s);
		return NULL;
	}
	if (open_any(s, e))
		return &s->base;
	pcap_source_close(&s->base);
	return NULL;
}
