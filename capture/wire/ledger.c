#include "capture/wire/ledger.h"

#include <inttypes.h>

static const char *const unpaired_names[UNPAIRED_REASONS] = {
	[UNPAIRED_NO_ANSWER] = "no_answer",
	[UNPAIRED_NO_REQUEST] = "no_request",
	[UNPAIRED_SKIPPED] = "skipped_after_error",
	[UNPAIRED_GAP] = "gap",
	[UNPAIRED_SHED] = "shed",
};

static const char *const flow_names[FLOWS_KINDS] = {
	[FLOWS_POSTGRES] = "postgres",
	[FLOWS_ENCRYPTED] = "postgres_encrypted",
	[FLOWS_CANCEL] = "postgres_cancel",
	[FLOWS_WALSENDER] = "postgres_walsender",
	[FLOWS_HTTP] = "http",
	[FLOWS_HTTP2] = "http2",
	[FLOWS_HTTP_UPGRADED] = "http_upgraded",
	[FLOWS_HTTP_REFUSED] = "http_refused",
	[FLOWS_TLS] = "tls",
	[FLOWS_OTHER] = "other",
	[FLOWS_SILENT] = "silent",
	[FLOWS_OTHER_PORT] = "other_port",
};

static const char *const message_names[] = { "server", "client" };

static const char *const cancel_names[] = { "of_no_session_seen", "joined" };

static const char *const encrypted_names[ENCRYPTED_REASONS] = {
	[TLS_OPENING] = "handshake_unfinished",
	[TLS_READING] = "read",
	[TLS_NO_KEY] = "no_key",
	[TLS_NO_HANDSHAKE] = "no_handshake",
	[TLS_SUITE] = "suite",
	[TLS_LOST] = "lost",
	[TLS_BROKEN] = "broken",
	[ENCRYPTED_GSS] = "gssapi",
};

static const char *const lost_names[LOST_REASONS] = {
	[LOST_KERNEL] = "kernel_dropped",
	[LOST_INTERFACE] = "interface_dropped",
	[LOST_TCP_GAP] = "tcp_gap",
	[LOST_RESYNC] = "resync",
	[LOST_EVICTED] = "connection_evicted",
	[LOST_TEXT] = "text_too_long",
	[LOST_COPY] = "copy_data_over_cap",
	[LOST_CUT_INPUT] = "input_cut",
	[LOST_BODY] = "body_over_cap",
	[LOST_FIELDS] = "http2_fields_unknown",
	[LOST_PUSH] = "http2_push",
	[LOST_CLOCK] = "clock_went_back",
};

static uint64_t sum(const uint64_t *counts, size_t n)
{
	uint64_t total = 0;

	for (size_t i = 0; i < n; i++)
		total += counts[i];
	return total;
}

bool ledger_balances(const struct ledger *l)
{
	return l->packets_seen == l->packets_decoded + sum(l->packets_skipped, PACKET_VERDICTS) &&
	       l->requests_seen == l->requests_paired +
					   sum(l->requests_unpaired, UNPAIRED_REASONS) +
					   l->undecided;
}

/* Zeroes are left out: absent means none. */
static struct json *counts_json(const char *const *names, const uint64_t *counts, size_t n)
{
	struct json *j = json_object();

	for (size_t i = 0; i < n; i++)
		if (counts[i])
			json_set_int(j, names[i], (int64_t)counts[i]);
	return j;
}

/* What connections went through that is no loss, or explains one. */
struct ledger_detail {
	const char *name;
	uint64_t count;
};

enum { DETAILS_MAX = 24 };

static size_t list_details(const struct ledger *l, struct ledger_detail to[DETAILS_MAX])
{
	const struct flow_counts *c = &l->tcp;
	const struct ledger_detail all[] = {
		{ "connections", c->opened },
		{ "closed", c->closed },
		{ "reset", c->reset },
		{ "ports_reused", c->reused },
		{ "evicted", c->evicted },
		{ "joined_late", c->joined_late },
		{ "half_open", c->half_open },
		{ "one_way", c->one_way },
		{ "retransmitted_bytes", c->retransmitted_n },
		{ "conflicting", c->conflicting },
		{ "duplicated", c->duplicated },
		{ "keepalives", c->keepalives },
		{ "window_probes", c->window_probes },
		{ "urgent", c->urgent },
		{ "reordered", c->reordered },
		{ "gaps", c->gaps },
		{ "gap_bytes", c->gap_n },
		{ "hold_full", c->hold_full },
		{ "out_of_window", c->out_of_window },
		{ "resets_ignored", c->resets_ignored },
		{ "datagrams_joined", l->ip.whole },
		{ "fragments_overlapping", l->ip.overlaps },
		{ "datagrams_given_up", l->ip.given_up },
	};
	size_t n = 0;

	_Static_assert(LENGTH(all) <= DETAILS_MAX, "they fit");
	for (size_t i = 0; i < LENGTH(all); i++)
		if (all[i].count)
			to[n++] = all[i];
	return n;
}

static struct json *details_json(const struct ledger *l)
{
	struct ledger_detail details[DETAILS_MAX];
	size_t n = list_details(l, details);
	struct json *j = json_object();

	for (size_t i = 0; i < n; i++)
		json_set_int(j, details[i].name, (int64_t)details[i].count);
	return j;
}

struct json *ledger_json(const struct ledger *l)
{
	struct json *j = json_object(), *packets = json_object(), *requests = json_object();
	struct json *skipped = json_object();

	for (int i = 0; i < PACKET_VERDICTS; i++)
		if (l->packets_skipped[i])
			json_set_int(skipped, packet_verdict_name((enum packet_verdict)i),
				(int64_t)l->packets_skipped[i]);
	json_set_int(packets, "seen", (int64_t)l->packets_seen);
	json_set_int(packets, "decoded", (int64_t)l->packets_decoded);
	json_set(packets, "skipped", skipped);
	json_set_int(requests, "seen", (int64_t)l->requests_seen);
	json_set_int(requests, "paired", (int64_t)l->requests_paired);
	json_set(requests, "unpaired",
		counts_json(unpaired_names, l->requests_unpaired, UNPAIRED_REASONS));
	json_set(j, "packets", packets);
	json_set(j, "requests", requests);
	json_set(j, "flows", counts_json(flow_names, l->flows, FLOWS_KINDS));
	json_set(j, "tcp", details_json(l));
	json_set(j, "postgres_messages",
		counts_json(message_names, l->pg_messages, LENGTH(message_names)));
	json_set(j, "cancels", counts_json(cancel_names, l->cancels, LENGTH(cancel_names)));
	json_set(j, "encrypted", counts_json(encrypted_names, l->encrypted, ENCRYPTED_REASONS));
	return j;
}

struct json *ledger_lost_json(const struct ledger *l)
{
	return counts_json(lost_names, l->lost, LOST_REASONS);
}

static void describe_counts(struct buf *to, const char *const *names, const uint64_t *counts,
	size_t n, const char *before, const char *after)
{
	bool is_first = true;

	for (size_t i = 0; i < n; i++) {
		if (!counts[i])
			continue;
		buf_addf(to, "%s%s %" PRIu64, is_first ? before : ", ", names[i], counts[i]);
		is_first = false;
	}
	if (!is_first)
		buf_add_text(to, after);
}

static void describe_details(const struct ledger *l, struct buf *to)
{
	struct ledger_detail details[DETAILS_MAX];
	size_t n = list_details(l, details);

	for (size_t i = 0; i < n; i++)
		buf_addf(to, "%s%s %" PRIu64, i ? ", " : "tcp      ", details[i].name,
			details[i].count);
	if (n)
		buf_add_byte(to, '\n');
}

void ledger_describe(const struct ledger *l, struct buf *to)
{
	const char *skipped[PACKET_VERDICTS];

	for (int i = 0; i < PACKET_VERDICTS; i++)
		skipped[i] = packet_verdict_name((enum packet_verdict)i);
	if (l->packets_seen) {
		buf_addf(to,
			"packets  %" PRIu64 " seen = %" PRIu64 " decoded + %" PRIu64 " skipped",
			l->packets_seen, l->packets_decoded,
			sum(l->packets_skipped, PACKET_VERDICTS));
		describe_counts(to, skipped, l->packets_skipped, PACKET_VERDICTS, " (", ")");
		buf_add_byte(to, '\n');
	}
	buf_addf(to, "requests %" PRIu64 " = %" PRIu64 " paired + %" PRIu64 " unpaired",
		l->requests_seen, l->requests_paired, sum(l->requests_unpaired, UNPAIRED_REASONS));
	describe_counts(to, unpaired_names, l->requests_unpaired, UNPAIRED_REASONS, " (", ")");
	buf_addf(to, ", in %" PRIu64 " sessions\n", l->sessions);
	describe_counts(to, flow_names, l->flows, FLOWS_KINDS, "flows    ", "\n");
	describe_details(l, to);
	describe_counts(to, encrypted_names, l->encrypted, ENCRYPTED_REASONS, "tls      ", "\n");
	describe_counts(to, lost_names, l->lost, LOST_REASONS, "lost     ", "\n");
}
