/*
 * coverage.h - what a capture kept of each route beside what the traffic had.
 *
 * Traffic is the file's exact counts, samples are the requests stored in it. A rule
 * (of the capture's head, or a rules file) whose routes have no traffic is the finding
 * that matters: a renamed endpoint falls to the baseline without a sound, so a route
 * that no rule names and whose text is like the rule's, or like a route that an
 * earlier capture had, or that fell silent in the middle of this one, is named beside it.
 */
#ifndef REPROD_COVERAGE_H
#define REPROD_COVERAGE_H

#include "capture/samplerules.h"
#include "core/model/rcap.h"

struct coverage_input {
	struct rcap *capture;
	const struct rcap *before; /* an earlier capture, or NULL */
	const struct sample_rules *rules; /* or NULL */
};

/* {routes[{route, fingerprint, rule, rate, traffic, samples, effective_rate, p99_ok}],
 *  rules[{rule, rate, routes, traffic, samples, like}], vanished[{route, traffic_before,
 *  like, similarity}], renamed[{route, last, like, like_first, similarity}], warnings[], ok}.
 * ok: every rule has traffic, and nothing vanished or was renamed.
 * The caller frees it; NULL and *e on failure. */
struct json *coverage_json(const struct coverage_input *in, struct err *e);
/* 0 to 1: twice the longest common subsequence of words over the words of both. */
double coverage_similarity(struct slice a, struct slice b);

#endif
