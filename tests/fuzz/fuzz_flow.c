/*
 * fuzz_flow.c - laws: bytes and gaps of each side are handed on in the order of their
 * sequence numbers, each open has one close, and what is held stays under its cap.
 *
 * Six bytes make a segment: side and flags, port, sequence number (two bytes), ack,
 * length; each payload byte is the low byte of its own sequence number.
 */
#include <stdio.h>
#include <stdlib.h>

#include "capture/wire/flow.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static void must(bool holds, const char *law)
{
	if (holds)
		return;
	fprintf(stderr, "broken: %s\n", law);
	abort();
}

struct owner {
	bool is_known[2];
	uint8_t next[2]; /* low byte of the next sequence number */
};

struct world {
	int open;
};

static void *on_open(void *data, const struct flow_info *f)
{
	(void)f;
	((struct world *)data)->open++;
	return calloc(1, sizeof(struct owner));
}

static bool on_bytes(void *data, void *owner, int side, struct slice bytes, int64_t time_ns)
{
	struct owner *o = owner;

	(void)data;
	(void)time_ns;
	must(bytes.n > 0, "there are bytes");
	must(!o->is_known[side] || (uint8_t)bytes.p[0] == o->next[side], "bytes come in order");
	o->is_known[side] = true;
	for (size_t i = 0; i < bytes.n; i++)
		must((uint8_t)bytes.p[i] == (uint8_t)((uint8_t)bytes.p[0] + i), "each once");
	o->next[side] = (uint8_t)((uint8_t)bytes.p[0] + bytes.n);
	return true;
}

static bool on_gap(void *data, void *owner, int side, uint64_t missing_n, int64_t time_ns)
{
	struct owner *o = owner;

	(void)data;
	(void)time_ns;
	must(missing_n > 0, "a gap is not empty");
	o->next[side] = (uint8_t)(o->next[side] + missing_n);
	return true;
}

static void on_close(void *data, void *owner, enum flow_end why, int64_t time_ns)
{
	(void)why;
	(void)time_ns;
	((struct world *)data)->open--;
	free(owner);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	static const uint32_t base = UINT32_C(0xffffff00); /* wraps early */
	struct world w = { 0 };
	struct flow_sink sink = { on_open, on_bytes, on_gap, on_close, &w };
	struct flow_limits limits = {
		.flows_max = 3, .held_per_flow_max = 400, .held_total_max = 700
	};
	struct flow_table *t = flow_table_new(&sink, &limits);
	int64_t now_ns = 0;

	for (; t && size >= 6; bytes += 6, size -= 6) {
		unsigned char payload[256];
		struct packet p = { .flags = bytes[0] >> 1 & 0x17,
			.seq = base + (uint32_t)(bytes[2] << 2 | bytes[3] >> 6),
			.ack = base + (uint32_t)bytes[4] * 4,
			.ip_id = bytes[1] >> 6,
			.window = bytes[1] >> 5 & 1 ? 0 : 500,
			.payload = payload,
			.payload_n = bytes[5] & 63 };
		struct packet_address a = { { 1 }, bytes[1] % 5 }, b = { { 2 }, 5432 };

		p.from = bytes[0] & 1 ? b : a;
		p.to = bytes[0] & 1 ? a : b;
		p.wire_n = p.payload_n + (bytes[5] >> 7) * 3u;
		for (uint32_t i = 0; i < p.payload_n; i++)
			payload[i] = (unsigned char)(p.seq + (p.flags & TCP_SYN ? 1 : 0) + i);
		must(flow_feed(t, &p, now_ns += bytes[1] >> 4 & 1 ? 400 * NS_PER_MS : 1000),
			"memory suffices");
		must(w.open <= 3, "no more flows than the cap");
	}
	flow_table_free(t);
	must(w.open == 0, "each flow that opened was closed");
	return 0;
}
