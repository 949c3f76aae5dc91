/*
 * pipeline.h - packets in, capture file out: decode, flow, match, scrub, write.
 *
 * Owns the parts in between; the writer, policy and key are the caller's. Runs on
 * packet time alone, so the same packets with the same key give the same bytes.
 * The file is flushed once a second of that time. One thread.
 */
#ifndef REPROD_PIPELINE_H
#define REPROD_PIPELINE_H

#include "capture/head.h"
#include "capture/wire/match.h"
#include "capture/scrub.h"
#include "capture/valve.h"
#include "capture/wire/source.h"

struct pipeline;
struct sample;

struct pipeline_options {
	const struct policy *policy;
	const struct token_key *key;
	struct rcap_writer *writer;
	struct match_options match;
	uint64_t hash_seed;
	size_t flow_held_max; /* bytes held for reordering; 0: flow.h's */
	size_t cache_max; /* bytes of what was scrubbed before; 0: sqlscrub.h's */
	const struct store *store; /* where records go; NULL: to the writer */
	const struct httproutes *routes; /* of --routes FILE, or NULL */
	const struct sample *sample; /* told of in the head; or NULL */
	struct head_facts *facts; /* what the pipeline cannot know; it fills in the rest */
};

struct pipeline *pipeline_new(const struct pipeline_options *o, struct err *e);
bool pipeline_packet(
	struct pipeline *p, const struct source_packet *packet, struct err *e) MUST_USE;
/* Between packets: goes on in another file. The old one is not touched any more. */
void pipeline_set_writer(struct pipeline *p, struct rcap_writer *writer);
/* From here on so much is given up: sessions that are no longer kept end now. */
bool pipeline_shed(struct pipeline *p, enum shed_level level, struct err *e) MUST_USE;
/* TLS of connections that begin later is read with these. */
void pipeline_use_keys(struct pipeline *p, struct tls_keys *keys);
void pipeline_tap(struct pipeline *p, struct valve_tap tap);
/* Adds to shed_json() what was counted here. */
void pipeline_describe_shed(const struct pipeline *p, struct json *to);
/* Live, without packets: a flush is due all the same. */
bool pipeline_idle(struct pipeline *p, int64_t wall_ns, struct err *e) MUST_USE;
/* Ends all connections. The head is then final. */
bool pipeline_end(struct pipeline *p, struct err *e) MUST_USE;
/* Its writer is gone: connections that are still open end unsaid. */
void pipeline_silence(struct pipeline *p);
/* For other readers of requests: the scrubber alone, with the pipeline's flushing. */
struct request_sink pipeline_sink(struct pipeline *p);
struct ledger *pipeline_ledger(struct pipeline *p);
uint64_t pipeline_requests(const struct pipeline *p);
uint64_t pipeline_sessions(const struct pipeline *p);
const struct flow_counts *pipeline_flows(const struct pipeline *p);
/* A new document; the caller frees it. */
struct json *pipeline_head(struct pipeline *p);
void pipeline_free(struct pipeline *p);

#endif
