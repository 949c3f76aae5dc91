#include "capture/pipeline.h"

#include <stdlib.h>

#include "capture/sample.h"

struct pipeline {
	struct rcap_writer *writer;
	struct head_facts *facts;
	struct ledger ledger;
	struct scrub *scrub;
	struct match *match;
	struct tls_keys *tls_keys; /* or NULL */
	struct fragment_table *fragments;
	struct flow_table *flows;
	const struct sample *sample;
	struct valve valve;
	uint64_t shed_packets, header_packets, header_opens; /* of sessions that are shed */
	int64_t now_ns, flushed_ns;
	bool has_ended;
	bool has_news; /* since the last flush */
	bool has_ns, has_us; /* stamps finer than a microsecond, than a millisecond */
};

struct pipeline *pipeline_new(const struct pipeline_options *o, struct err *e)
{
	struct pipeline *p = calloc(1, sizeof *p);
	struct flow_limits limits = { .hash_seed = o->hash_seed,
		.held_total_max = o->flow_held_max };
	struct request_sink sink;
	struct flow_sink flow_sink;

	if (!p)
		goto out;
	p->writer = o->writer;
	p->facts = o->facts;
	p->tls_keys = o->match.tls_keys;
	p->scrub = scrub_new(o->policy, o->key, o->writer);
	if (p->scrub && o->cache_max)
		scrub_limit_cache(p->scrub, o->cache_max);
	if (!p->scrub)
		goto out;
	scrub_set_routes(p->scrub, o->routes);
	p->facts->scrub = p->scrub;
	if (o->store)
		scrub_set_store(p->scrub, o->store);
	p->sample = o->sample;
	p->valve.next = scrub_sink(p->scrub);
	sink = valve_sink(&p->valve);
	p->match = match_new(&o->match, &sink, &p->ledger);
	if (!p->match)
		goto out;
	flow_sink = match_flow_sink(p->match);
	p->flows = flow_table_new(&flow_sink, &limits);
	p->fragments = fragment_table_new(&(struct fragment_limits){ 0 });
	if (!p->flows || !p->fragments)
		goto out;
	p->facts->ledger = &p->ledger;
	p->facts->server = match_server(p->match);
	p->facts->servers = match_servers(p->match);
	return p;
out:
	pipeline_free(p);
	err_set(e, ERR_ENV, "out of memory");
	return NULL;
}

void pipeline_free(struct pipeline *p)
{
	if (!p)
		return;
	if (p->facts)
		p->facts->scrub = NULL;
	flow_table_free(p->flows);
	fragment_table_free(p->fragments);
	match_free(p->match);
	scrub_free(p->scrub);
	free(p);
}

/* ---- the head */

static int64_t fineness(const struct pipeline *p)
{
	if (!p->now_ns)
		return p->facts->fineness_ns;
	if (p->has_ns)
		return 1;
	return p->has_us ? NS_PER_US : NS_PER_MS;
}

struct json *pipeline_head(struct pipeline *p)
{
	struct head_facts *f = p->facts;

	f->fineness_ns = fineness(p);
	p->ledger.tcp = *flow_counts(p->flows);
	p->ledger.ip = *fragment_counts(p->fragments);
	f->sessions = scrub_sessions(p->scrub);
	f->requests = scrub_requests(p->scrub);
	f->prepares = p->ledger.prepares;
	f->unreadable = scrub_unreadable(p->scrub);
	f->secret = scrub_secret(p->scrub);
	f->changed_predicates = scrub_changed_predicates(p->scrub);
	f->refused_texts = rcap_refused_texts(p->writer);
	json_free(f->sampling);
	f->sampling = p->sample ? sample_json(p->sample, p->has_ended) : NULL;
	return head_json(f);
}

static bool flush(struct pipeline *p, int64_t now_ns, struct err *e)
{
	CLEANUP(json_cleanup) struct json *head = NULL;

	p->flushed_ns = now_ns;
	/* A program that is running writes keys as it goes. */
	if (p->tls_keys && !tls_keys_refresh(p->tls_keys, e))
		return false;
	if (!p->has_news)
		return true;
	p->has_news = false;
	head = pipeline_head(p);
	return rcap_flush(p->writer, head, e);
}

/* ---- packets */

static void note_time(struct pipeline *p, int64_t time_ns)
{
	struct head_facts *f = p->facts;

	if (!f->start_ns || time_ns < f->start_ns)
		f->start_ns = time_ns;
	if (time_ns > f->end_ns)
		f->end_ns = time_ns;
	/* Stamps of several interfaces may step back a little: time does not. */
	if (time_ns > p->now_ns)
		p->now_ns = time_ns;
	if (!p->has_ns) {
		p->has_ns = time_ns % NS_PER_US != 0;
		p->has_us |= time_ns % NS_PER_MS != 0;
	}
}

/* A clock that was set back would let requests end before they began. */
static int64_t steady_time(struct pipeline *p, int64_t time_ns)
{
	if (p->now_ns - time_ns <= NS_PER_S)
		return time_ns;
	p->ledger.lost[LOST_CLOCK]++;
	return p->now_ns;
}

/* The kernel's filter leaves them out, but for those that were on their way when it was
 * set, those that it cannot tell (shed.h), and for the headers that are all that is left in the end. */
static bool is_shed(struct pipeline *p, const struct packet *tcp)
{
	p->valve.hash = shed_hash(tcp->from.port, tcp->to.port);
	if (p->valve.level < SHED_HALF || p->valve.hash < shed_kept(p->valve.level))
		return false;
	p->shed_packets++;
	p->header_packets += (tcp->flags & (TCP_SYN | TCP_FIN | TCP_RST)) != 0;
	p->header_opens += (tcp->flags & (TCP_SYN | TCP_ACK)) == TCP_SYN;
	return true;
}

static bool is_given_up(void *data, const struct flow_info *f)
{
	const struct pipeline *p = data;

	return shed_hash(f->address[0].port, f->address[1].port) >= shed_kept(p->valve.level);
}

bool pipeline_shed(struct pipeline *p, enum shed_level level, struct err *e)
{
	bool has_fewer = shed_kept(level) < shed_kept(p->valve.level);

	p->valve.level = level;
	if (!has_fewer)
		return true;
	p->valve.is_cutting = true;
	flow_end_chosen(p->flows, is_given_up, p, p->now_ns);
	p->valve.is_cutting = false;
	return match_ok(p->match, e);
}

void pipeline_set_writer(struct pipeline *p, struct rcap_writer *writer)
{
	p->writer = writer;
	scrub_set_writer(p->scrub, writer);
}

void pipeline_use_keys(struct pipeline *p, struct tls_keys *keys)
{
	p->tls_keys = keys;
	match_use_keys(p->match, keys);
}

void pipeline_tap(struct pipeline *p, struct valve_tap tap)
{
	p->valve.tap = tap;
}

void pipeline_describe_shed(const struct pipeline *p, struct json *to)
{
	json_set_int(to, "requests_flagged", (int64_t)p->valve.flagged);
	json_set_int(to, "packets_left_out", (int64_t)p->shed_packets);
	json_set_int(to, "header_packets", (int64_t)p->header_packets);
	json_set_int(to, "header_connections", (int64_t)p->header_opens);
}

/* Frames whose datagram is whole at last are no longer skipped: they become what it is. */
static enum packet_verdict join_fragments(struct pipeline *p, struct packet *tcp, int64_t time_ns)
{
	uint64_t frames;
	enum packet_verdict v = fragment_feed(p->fragments, tcp, time_ns, &frames);

	if (v == PACKET_FRAGMENT)
		return v;
	p->ledger.packets_skipped[PACKET_FRAGMENT] -= frames - 1;
	if (v == PACKET_TCP)
		p->ledger.packets_decoded += frames - 1;
	else
		p->ledger.packets_skipped[v] += frames - 1;
	return v;
}

bool pipeline_packet(struct pipeline *p, const struct source_packet *packet, struct err *e)
{
	struct packet tcp;
	enum packet_verdict v =
		packet_decode(packet->link, packet->bytes, packet->n, packet->wire_n, &tcp);

	int64_t time_ns = steady_time(p, packet->time_ns);

	note_time(p, time_ns);
	if (v == PACKET_FRAGMENT)
		v = join_fragments(p, &tcp, time_ns);
	if (v == PACKET_TCP && is_shed(p, &tcp))
		return true;
	p->ledger.packets_seen++;
	p->has_news = true;
	if (v != PACKET_TCP) {
		p->ledger.packets_skipped[v]++;
		return true;
	}
	p->ledger.packets_decoded++;
	match_set_time(p->match, p->now_ns);
	if (!flow_feed(p->flows, &tcp, time_ns))
		return err_set(e, ERR_ENV, "out of memory");
	if (!match_ok(p->match, e))
		return false;
	if (!p->flushed_ns)
		p->flushed_ns = p->now_ns;
	return p->now_ns - p->flushed_ns < NS_PER_S || flush(p, p->now_ns, e);
}

bool pipeline_idle(struct pipeline *p, int64_t wall_ns, struct err *e)
{
	return wall_ns - p->flushed_ns < NS_PER_S || flush(p, wall_ns, e);
}

void pipeline_silence(struct pipeline *p)
{
	match_silence(p->match);
}

bool pipeline_end(struct pipeline *p, struct err *e)
{
	flow_end_all(p->flows, p->now_ns);
	p->has_ended = true;
	return match_ok(p->match, e);
}

/* ---- requests of other sources */

static bool pass_session(void *data, const struct raw_session *s, struct err *e)
{
	struct pipeline *p = data;
	struct request_sink sink = scrub_sink(p->scrub);

	p->has_news = true;
	return sink.session(sink.data, s, e);
}

static bool pass_request(void *data, const struct raw_request *q, struct err *e)
{
	struct pipeline *p = data;
	struct request_sink sink = scrub_sink(p->scrub);
	struct head_facts *f = p->facts;

	p->has_news = true;
	if (!f->start_ns || q->start_ns < f->start_ns)
		f->start_ns = q->start_ns;
	if (q->end_ns > f->end_ns)
		f->end_ns = q->end_ns;
	if (!sink.request(sink.data, q, e))
		return false;
	if (!p->flushed_ns)
		p->flushed_ns = q->end_ns;
	return q->end_ns - p->flushed_ns < NS_PER_S || flush(p, q->end_ns, e);
}

struct request_sink pipeline_sink(struct pipeline *p)
{
	return (struct request_sink){ pass_session, pass_request, p };
}

struct ledger *pipeline_ledger(struct pipeline *p)
{
	return &p->ledger;
}

uint64_t pipeline_requests(const struct pipeline *p)
{
	return scrub_requests(p->scrub);
}

uint64_t pipeline_sessions(const struct pipeline *p)
{
	return scrub_sessions(p->scrub);
}

const struct flow_counts *pipeline_flows(const struct pipeline *p)
{
	return flow_counts(p->flows);
}
