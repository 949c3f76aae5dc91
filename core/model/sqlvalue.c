#include "core/model/sqlvalue.h"

#include "core/model/sqldate.h"

enum { DAYS_PER_WEEK = 7 };

bool sqlvalue_is_small(const struct policy *policy, struct slice number)
{
	size_t digits = 0;

	if (policy->is_permuting_ids)
		return false;
	for (size_t i = 0; i < number.n && (number.p[i] | 0x20) != 'e'; i++)
		digits += number.p[i] >= '0' && number.p[i] <= '9';
	return digits <= policy->keep_digits;
}

static enum value_action keep(struct slice plain, struct buf *out)
{
	buf_add_slice(out, plain);
	return VALUE_KEPT;
}

static enum value_action shift(const struct sqlvalue *v, struct slice plain, struct buf *out)
{
	if (v->policy->shift_weeks == 0)
		return keep(plain, out);
	sqldate_shift(plain, (int64_t)v->policy->shift_weeks * DAYS_PER_WEEK, out);
	return VALUE_SHIFTED;
}

/* These two words are never anybody's token: token.c sees to that. */
static bool is_boolean(struct slice s)
{
	return slice_is(s, "t") || slice_is(s, "f") || slice_is(s, "true") || slice_is(s, "false");
}

static bool is_word(const struct sqlvalue *v, struct slice plain)
{
	return is_boolean(plain) || (v->policy->words.count && table_get(&v->policy->words, plain));
}

/* Rules of JSON paths hold inside a document that is kept as a whole. */
static bool may_be_document(const struct sqlvalue *v, struct slice plain)
{
	return policy_has(v->policy, POLICY_JSON) && plain.n && strchr("{[", plain.p[0]);
}

/* What stays of a value that no rule speaks of, or only of its numbers. */
static bool is_plainly_kept(const struct sqlvalue *v, struct slice plain)
{
	if (plain.n == 0)
		return true;
	if (v->rule == POLICY_KEEP)
		return !may_be_document(v, plain);
	return v->rule != POLICY_TOKEN && v->rule != POLICY_SHIFT && is_word(v, plain);
}

/* "3 days" compared with or stored in an interval says its type nowhere. */
static bool is_plain_interval(const struct sqlvalue *v, struct slice plain)
{
	return v->rule != POLICY_TOKEN && v->rule != POLICY_SHIFT && plain.p[0] >= '0' &&
	       plain.p[0] <= '9' && sqlform_keeps(RULE_INTERVAL, plain) &&
	       token_class_of(plain) == TOKEN_TEXT;
}

enum value_action sqlvalue_plain(const struct sqlvalue *v, struct slice plain, struct buf *out)
{
	enum value_action action;

	if (is_plainly_kept(v, plain))
		return keep(plain, out);
	if (sqlcompound_scrub(v, plain, out, &action))
		return action;
	if (v->rule == POLICY_KEEP)
		return keep(plain, out);
	if (is_plain_interval(v, plain))
		return keep(plain, out);
	switch (token_class_of(plain)) {
	case TOKEN_DIGITS:
	case TOKEN_NUMBER:
		if (!v->rule && sqlvalue_is_small(v->policy, plain))
			return keep(plain, out);
		break;
	case TOKEN_DATE:
		if (!v->rule || v->rule == POLICY_SHIFT)
			return shift(v, plain, out);
		break;
	default:
		break;
	}
	token_of(v->key, plain, out);
	return VALUE_TOKEN;
}

/* Wildcards stay; each run between them is a value of its own. */
static void scrub_pattern(const struct sqlvalue *v, struct slice plain, struct buf *out)
{
	for (size_t from = 0, i = 0; i <= plain.n; i++) {
		if (i < plain.n && plain.p[i] != '%' && plain.p[i] != '_')
			continue;
		token_of(v->key, (struct slice){ plain.p + from, i - from }, out);
		if (i < plain.n)
			buf_add_byte(out, (unsigned char)plain.p[i]);
		from = i + 1;
	}
}

/* Kept for its form whatever the column's rule: without it the statement is another. */
static bool is_structure(const struct slot *slot, struct slice plain)
{
	return slot->rule != RULE_VALUE && slot->rule != RULE_PATTERN &&
	       slot->rule != RULE_BOOLEAN && sqlform_keeps(slot->rule, plain);
}

enum value_action sqlvalue_scrub(const struct sqlvalue *v, struct slice plain,
	const struct slot *slot, struct buf *out, uint8_t *ret_flags)
{
	struct sqlvalue ruled = *v;

	if (slot->rule == RULE_DROP || slot->action == POLICY_DROP) {
		*ret_flags |= VALUE_IS_UNKNOWN;
		return VALUE_DROPPED;
	}
	if (is_structure(slot, plain) ||
		(slot->action == POLICY_KEEP && !may_be_document(v, plain)))
		return keep(plain, out);
	if (slot->rule == RULE_PATTERN && slot->action != POLICY_KEEP) {
		*ret_flags |= VALUE_IS_PATTERN;
		scrub_pattern(v, plain, out);
		return VALUE_TOKEN;
	}
	if (!slot->action && sqlform_keeps(slot->rule, plain))
		return keep(plain, out);
	ruled.rule = slot->action;
	return sqlvalue_plain(&ruled, plain, out);
}
