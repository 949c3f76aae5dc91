/*
 * sample.h - keeps whole sessions by the value of what they do; counts everything.
 *
 * A session has one number u in [0, 1), a keyed hash of its id and the rules' seed.
 * Its rate is the highest rate of the routes it touches, and it is kept when u is
 * below: so the same input with the same key keeps the same sessions, and a higher
 * rate keeps a superset. Until a session touched a route that decides, its records
 * wait here, at most SAMPLE_SESSION_MAX bytes of it and the given bytes of all; a
 * session kept after some of them had to go is flagged SESSION_JOINED_LATE and
 * counted. Counts, histograms and concurrency are exact for every request. The writer
 * and the rules outlive it. One thread.
 */
#ifndef REPROD_SAMPLE_H
#define REPROD_SAMPLE_H

#include "capture/samplerules.h"
#include "capture/store.h"
#include "core/model/rcap.h"
#include "core/model/token.h"

#define SAMPLE_SESSION_MAX (64 << 10)
#define SAMPLE_WAITING_MAX (16 << 20)
#define SAMPLE_SESSIONS_MAX (1 << 17) /* open at once; beyond, the newest are not kept */

struct sample;

/* waiting_max 0: SAMPLE_WAITING_MAX. NULL: out of memory. */
struct sample *sample_new(const struct sample_rules *rules, const struct token_key *key,
	struct rcap_writer *writer, size_t waiting_max);
struct store sample_store(struct sample *s);
/* For the head: rules, stored and seen by rule and by route, exact concurrency. The
 * distribution of the concurrency is in the final one only: it costs a millisecond. */
struct json *sample_json(const struct sample *s, bool is_final);
/* Bytes of requests that wait now; the opening records are bounded by their number. */
size_t sample_waiting(const struct sample *s);
void sample_free(struct sample *s);

#endif
