/*
 * ledger.h - what came in and what became of it.
 *
 * packets seen = decoded + skipped by reason; requests = paired + unpaired by
 * reason. Each side of an equation is counted where it happens, so that
 * ledger_balances() can fail. Plain numbers, one thread.
 */
#ifndef REPROD_LEDGER_H
#define REPROD_LEDGER_H

#include "capture/wire/flow.h"
#include "capture/wire/fragment.h"
#include "capture/wire/tls.h"
#include "core/base/buf.h"
#include "core/base/json.h"

enum ledger_unpaired {
	UNPAIRED_NO_ANSWER, /* the connection or the input ended first */
	UNPAIRED_NO_REQUEST, /* an answer to something sent before we listened */
	UNPAIRED_SKIPPED, /* the server discarded it up to Sync after an error */
	UNPAIRED_GAP, /* packets were missing inside it */
	UNPAIRED_SHED, /* over a memory cap of ours */
	UNPAIRED_REASONS,
};

enum ledger_flow {
	FLOWS_POSTGRES,
	FLOWS_ENCRYPTED,
	FLOWS_CANCEL,
	FLOWS_WALSENDER,
	FLOWS_HTTP,
	FLOWS_HTTP2,
	FLOWS_HTTP_UPGRADED, /* CONNECT or Upgrade: opaque from there on */
	FLOWS_HTTP_REFUSED, /* framing that can't be trusted: read up to there */
	FLOWS_TLS,
	FLOWS_OTHER,
	FLOWS_SILENT, /* no bytes, or too few to tell */
	FLOWS_OTHER_PORT, /* not one of the ports asked for */
	FLOWS_KINDS,
};

enum ledger_lost {
	LOST_KERNEL, /* packets the kernel dropped for want of room */
	LOST_INTERFACE,
	LOST_TCP_GAP, /* stretches of bytes missing in a connection */
	LOST_RESYNC, /* times a message boundary had to be found anew */
	LOST_EVICTED, /* connections given up for want of memory */
	LOST_TEXT, /* statement texts too long or over the cap */
	LOST_COPY, /* COPY data over the cap: counted only */
	LOST_CUT_INPUT, /* input files that end in the middle */
	LOST_BODY, /* request bodies over the cap: their size is kept */
	LOST_FIELDS, /* HTTP/2 heads that refer to fields sent before we listened */
	LOST_PUSH, /* HTTP/2 answers that the server pushed unasked */
	LOST_CLOCK, /* packets stamped over a second before an earlier one: counted at its time */
	LOST_REASONS,
};

/* encrypted[]: enum tls_state, and what GSSAPI encrypts. */
enum { ENCRYPTED_GSS = TLS_BROKEN + 1, ENCRYPTED_REASONS };

struct ledger {
	uint64_t packets_seen, packets_decoded;
	uint64_t packets_skipped[PACKET_VERDICTS];
	uint64_t requests_seen, requests_paired;
	uint64_t requests_unpaired[UNPAIRED_REASONS];
	uint64_t flows[FLOWS_KINDS];
	uint64_t encrypted[ENCRYPTED_REASONS]; /* why connections could not be read */
	uint64_t lost[LOST_REASONS];
	struct flow_counts tcp; /* as of the last head */
	struct fragment_counts ip;
	uint64_t cancels[2]; /* cancel requests: of no session seen, of one seen */
	uint64_t pg_messages[2]; /* read: the server's, the client's (startups among them) */
	uint64_t prepares, sessions;
	uint64_t requests_stored; /* records written, prepares not among them */
	uint64_t undecided; /* requests still open: 0 at the end */
};

bool ledger_balances(const struct ledger *l);
/* {packets{seen, decoded, skipped{}}, requests{paired, unpaired{}}, flows{}, encrypted{}} */
struct json *ledger_json(const struct ledger *l);
struct json *ledger_lost_json(const struct ledger *l);
/* A few lines for people. */
void ledger_describe(const struct ledger *l, struct buf *to);

#endif
