/*
 * policy.h - what the scrubber keeps, and what becomes of the rest.
 *
 * A zeroed policy with policy_defaults() is the default of docs/scrubbing.md:
 * numbers of up to 8 digits kept, text tokenised, dates kept (shifted by 0 weeks),
 * binary of unknown type dropped. A policy file (docs/formats/policy.md) adds rules.
 * The digest names the policy; equal digests scrub equally.
 */
#ifndef REPROD_POLICY_H
#define REPROD_POLICY_H

#include "core/base/arena.h"
#include "core/base/err.h"
#include "core/base/json.h"
#include "core/base/table.h"

enum value_action { VALUE_KEPT, VALUE_TOKEN, VALUE_SHIFTED, VALUE_DROPPED };

/* What a rule asks for. The first four are enum value_action + 1. */
enum policy_rule {
	POLICY_NONE,
	POLICY_KEEP,
	POLICY_TOKEN, /* always a token: small numbers, dates, booleans and keep_words too */
	POLICY_SHIFT,
	POLICY_DROP,
	/* Numbers are permuted within their length, dates and texts become tokens; booleans,
	 * intervals and keep_words stay. */
	POLICY_PERMUTE,
};

/* Where a rule applies, and how its name is spelled in the policy file. */
enum policy_scope {
	POLICY_COLUMN, /* columns: "orders.status", "status", "*" */
	POLICY_BIND, /* binds: "FINGERPRINT:$2" or "$2" */
	POLICY_JSON, /* json: "$.user.email", "$.items[*].sku", "email" (that key anywhere) */
	POLICY_HEADER, /* headers: "x-tenant", any case */
	POLICY_QUERY, /* query: "page" */
	POLICY_FORM, /* form: "name" of form and multipart bodies */
	POLICY_SEGMENT, /* segments: "/users/{}" (the segment at its last {}) */
	POLICY_ROUTE, /* routes: a route's text: all its values */
	POLICY_SCOPES,
};

struct policy {
	unsigned keep_digits; /* numbers of up to so many digits are kept (8) */
	bool is_permuting_ids; /* --ids permute: all numbers are permuted */
	int shift_weeks; /* dates and timestamps move by so many weeks */
	/* By scope: a name -> (void *)(uintptr_t)enum policy_rule. policy_put() fills it. */
	struct table rules[POLICY_SCOPES];
	struct arena names; /* those that are spelled otherwise than in the document */
	struct table words; /* enum labels and low-cardinality values kept as they are */
	struct json *document; /* NULL for the default */
	char digest[65]; /* SHA-256 of the canonical form, hex */
};

bool policy_defaults(struct policy *p, struct err *e) MUST_USE;
bool policy_load(struct policy *p, const char *path, struct err *e) MUST_USE;
/* One more rule; the name is copied. POLICY_NONE takes a rule away. Seal afterwards. */
bool policy_put(struct policy *p, enum policy_scope scope, struct slice name,
	enum policy_rule rule) MUST_USE;
/* After fields were changed by options. */
void policy_seal(struct policy *p);
/* The policy as it stands in a capture's head. */
struct json *policy_json(const struct policy *p);
/* The rule "*" of columns: for values of columns that no other rule names and of
 * no known column; POLICY_NONE when there is none. */
enum policy_rule policy_other_columns(const struct policy *p);
/* The rule of that name, POLICY_NONE when there is none. A route's rule goes before the others.
 * Names are compared as they stand; those of headers must be given in lower case. */
enum policy_rule policy_rule(const struct policy *p, enum policy_scope scope, struct slice name);
/* The word of the policy file for a rule, "" for POLICY_NONE. */
const char *policy_rule_name(enum policy_rule rule);
/* Whether any rule of that scope is there at all: spares the look-up. */
static inline bool policy_has(const struct policy *p, enum policy_scope scope)
{
	return p->rules[scope].count > 0;
}
void policy_free(struct policy *p);

#endif
