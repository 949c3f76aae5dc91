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

#include "core/base/err.h"
#include "core/base/json.h"
#include "core/base/table.h"

enum value_action { VALUE_KEPT, VALUE_TOKEN, VALUE_SHIFTED, VALUE_DROPPED };

/* What a rule asks for. */
enum policy_rule {
	POLICY_NONE,
	POLICY_KEEP,
	POLICY_TOKEN, /* always a token, small numbers and dates too */
	POLICY_SHIFT,
	POLICY_DROP,
	POLICY_PERMUTE, /* numbers are permuted within their length, other values tokens */
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
	struct table columns; /* "table.column" or "column" -> (void *)(action + 1) */
	struct table words; /* enum labels and low-cardinality values kept as they are */
	struct json *document; /* NULL for the default */
	char digest[65]; /* SHA-256 of the canonical form, hex */
};

bool policy_defaults(struct policy *p, struct err *e) MUST_USE;
bool policy_load(struct policy *p, const char *path, struct err *e) MUST_USE;
/* After fields were changed by options. */
void policy_seal(struct policy *p);
/* The policy as it stands in a capture's head. */
struct json *policy_json(const struct policy *p);
/* Action + 1 of the rule "*", for values of columns that no other rule names and of
 * no known column; 0 when there is none. */
uint8_t policy_other_columns(const struct policy *p);
/* The rule of that name, POLICY_NONE when there is none. A route's rule goes before the others.
 * Names are compared as they stand, headers in lower case. */
enum policy_rule policy_rule(const struct policy *p, enum policy_scope scope, struct slice name);
/* Whether any rule of that scope is there at all: spares the look-up. */
bool policy_has(const struct policy *p, enum policy_scope scope);
void policy_free(struct policy *p);

#endif
