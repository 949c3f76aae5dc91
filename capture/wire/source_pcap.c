/* Packet files: the classic format by pcap_file, all others by libpcap. */
#include <errno.h>
#include <fcntl.h>
#include <pcap/pcap.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "capture/wire/packet.h"
#include "capture/wire/pcap_file.h"
#include "capture/wire/source.h"

struct pcap_source {
	struct source base;
	int fd;
	struct pcap_file file; /* bytes is NULL when libpcap reads */
	pcap_t *pcap;
	int link;
	uint64_t packets;
	/* What was read to tell the format, in front of the rest for libpcap. */
	unsigned char head[PCAP_FILE_HEADER];
	size_t head_n, head_at;
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

static enum step file_next(struct source *base, struct source_packet *ret, struct err *e)
{
	struct pcap_source *s = (struct pcap_source *)base;
	struct pcap_file_packet p;
	enum step step = pcap_file_next(&s->file, &p, &s->why);

	if (step == STEP_FAIL)
		return end_early(s, s->why.what, e);
	if (step != STEP_ITEM)
		return step;
	s->packets++;
	*ret = (struct source_packet){ p.time_ns, s->link, p.bytes, p.n, p.wire_n };
	return STEP_ITEM;
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
	pcap_file_close(&s->file);
	if (s->fd > STDIN_FILENO)
		close(s->fd);
	free(s);
}

static const struct source_kind file_kind = { file_next, NULL, pcap_source_close };
static const struct source_kind pcap_kind = { pcap_source_next, NULL, pcap_source_close };

static bool read_head(struct pcap_source *s, struct err *e)
{
	while (s->head_n < sizeof s->head) {
		ssize_t n = read(s->fd, s->head + s->head_n, sizeof s->head - s->head_n);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return err_os(e, ERR_INPUT, errno, "could not read '%s'", s->base.name);
		if (n == 0)
			break;
		s->head_n += (size_t)n;
	}
	return true;
}

static ssize_t read_on(void *cookie, char *to, size_t room)
{
	struct pcap_source *s = cookie;
	size_t n = s->head_n - s->head_at;

	if (n == 0)
		return read(s->fd, to, room);
	n = n < room ? n : room;
	memcpy(to, s->head + s->head_at, n);
	s->head_at += n;
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
		err_set(e, ERR_INPUT, "%s", text[0] ? text : "not a pcap or pcapng file");
		return err_in(e, "%s", s->base.name);
	}
	s->base.kind = &pcap_kind;
	s->link = pcap_datalink(s->pcap);
	return true;
}

static bool open_any(struct pcap_source *s, struct err *e)
{
	if (!read_head(s, e))
		return false;
	if (s->head_n < sizeof s->head || !pcap_file_is(s->head, &s->file)) {
		if (!open_by_libpcap(s, e))
			return false;
	} else {
		s->base.kind = &file_kind;
		s->link = s->file.link;
		if (!pcap_file_open(&s->file, s->fd, e))
			return false;
	}
	if (packet_knows_link(s->link))
		return true;
	const char *name = pcap_datalink_val_to_name(s->link);
	err_set(e, ERR_INPUT, "link type %s (%d) is not known here", name ? name : "?", s->link);
	err_hint(e, "known are Ethernet, Linux cooked (SLL, SLL2), loopback and raw IP");
	return err_in(e, "%s", s->base.name);
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
