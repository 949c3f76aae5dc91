/*
 * samplerules.h - what share of which routes a capture keeps (docs/formats/sampling.md).
 *
 * The first rule that fits a route gives its rate; a route that none fits gets the
 * baseline. A rule names a route by a fragment of its text, as `--route` does
 * elsewhere (case and white space folded), or by its fingerprint. At most
 * SAMPLE_RULES_MAX. The digest names the rules: equal digests choose alike.
 */
#ifndef REPROD_SAMPLERULES_H
#define REPROD_SAMPLERULES_H

#include "core/base/json.h"

#define SAMPLE_RULES_MAX 256
#define SAMPLE_BASELINE (-1)

struct sample_rule {
	struct slice fragment; /* folded; empty with a fingerprint */
	uint64_t fingerprint;
	double rate; /* of sessions that touch it, 0 to 1 */
};

struct sample_rules {
	struct sample_rule items[SAMPLE_RULES_MAX];
	size_t count;
	double baseline, highest; /* rates */
	uint64_t seed;
	char digest[65];
	struct json *document;
	struct buf texts; /* of the fragments */
};

bool sample_rules_load(struct sample_rules *r, const char *path, struct err *e) MUST_USE;
bool sample_rules_parse(
	struct sample_rules *r, struct slice text, const char *name, struct err *e) MUST_USE;
/* Takes the document over, also when it fails. */
bool sample_rules_of(
	struct sample_rules *r, struct json *document, const char *name, struct err *e) MUST_USE;
/* The rule of a route, or SAMPLE_BASELINE. */
int sample_rules_find(const struct sample_rules *r, uint64_t fingerprint, struct slice route);
double sample_rules_rate(const struct sample_rules *r, int rule);
/* The rule as people wrote it. */
const char *sample_rules_name(const struct sample_rules *r, int rule);
void sample_rules_free(struct sample_rules *r);

#endif
