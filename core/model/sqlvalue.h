/*
 * sqlvalue.h - one plain value scrubbed: by its slot's rule, else by spelling.
 *
 * Private to the SQL scrubber. The result is appended to out; nothing is when the
 * answer is VALUE_DROPPED. Pure: depends on policy, key and value only, so that
 * traffic and snapshot agree.
 */
#ifndef REPROD_SQLVALUE_H
#define REPROD_SQLVALUE_H

#include "core/model/sqlshape.h"
#include "core/model/token.h"

struct sqlvalue {
	const struct policy *policy;
	const struct token_key *key;
	bool is_backslash_escape; /* standard_conforming_strings is off */
	uint8_t rule; /* enum policy_rule, of the whole: for those parts that have none */
};

/* *ret_flags gets VALUE_IS_PATTERN and VALUE_IS_UNKNOWN where they apply. */
enum value_action sqlvalue_scrub(const struct sqlvalue *v, struct slice plain,
	const struct slot *slot, struct buf *out, uint8_t *ret_flags);
/* By spelling alone. */
enum value_action sqlvalue_plain(const struct sqlvalue *v, struct slice plain, struct buf *out);
/* A number of so few digits that the policy keeps it. */
bool sqlvalue_is_small(const struct policy *policy, struct slice number);
/* core/model/sqlcompound.c: JSON documents, arrays and ranges, part by part.
 * False when it is none of them; out is then as it was. */
bool sqlcompound_scrub(
	const struct sqlvalue *v, struct slice plain, struct buf *out, enum value_action *ret);
/* core/model/sqlform.c: whether a structural literal has a form of the closed list. */
bool sqlform_keeps(uint8_t rule, struct slice plain);
/* core/model/sqlliteral.c: a literal as SQL spells it becomes one that SQL reads. */
enum value_action sqlliteral_scrub(const struct sqlvalue *v, const struct sql_token *item,
	const struct slot *slot, struct buf scratch[2], struct buf *out, uint8_t *ret_flags);

#endif
