/*
 * head.h - the JSON document at the head of a capture (docs/formats/rcap.md).
 */
#ifndef REPROD_HEAD_H
#define REPROD_HEAD_H

#include "capture/wire/ledger.h"
#include "capture/wire/match.h"
#include "capture/scrub.h"
#include "core/model/policy.h"
#include "core/model/token.h"

struct head_facts {
	const struct policy *policy;
	const struct token_key *key;
	const struct ledger *ledger;
	const struct wire_server *server; /* where none of Postgres was heard */
	const struct wire_servers *servers; /* of Postgres, or NULL */
	struct json *sources; /* list of {kind, name} */
	struct json *audit; /* live captures only, or NULL */
	struct json *sampling, *cost, *shedding, *probe; /* or NULL */
	const char *ended; /* why, of live captures, or NULL */
	const struct scrub *scrub; /* for what became of each place, or NULL */
	const char *routes_digest; /* of --routes FILE, or NULL */
	struct json *identity; /* of --server-profile, or NULL */
	struct json *lines; /* of log sources, or NULL */
	struct json *log_requests; /* likewise {paired, unpaired} */
	const char *clock_kind; /* "packets" or "log" */
	int64_t fineness_ns; /* of the stamps seen; 0 unknown */
	int64_t start_ns, end_ns; /* 0: nothing came */
	uint64_t sessions, requests, prepares;
	uint64_t unreadable, secret; /* statements without text */
	uint64_t refused_texts; /* that found no room in the dictionaries */
	uint64_t changed_predicates; /* statements' values that rows are looked up by, not kept */
	bool is_complete;
};

/* The caller frees it. */
struct json *head_json(const struct head_facts *f);
/* Takes the identity out of a `snapshot describe` document: a new value, or NULL
 * and *e. */
struct json *head_identity(const char *profile_path, struct err *e);

#endif
