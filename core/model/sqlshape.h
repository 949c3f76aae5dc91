/*
 * sqlshape.h - what one shape of statement means, found once and cached.
 *
 * A shape is a statement without its literals: template, route, and for every
 * literal and every $n a slot that says its role and by which rule it is scrubbed.
 * Nothing in a shape comes from inside a literal. One block of memory, counted.
 * Private to the SQL scrubber.
 */
#ifndef REPROD_SQLSHAPE_H
#define REPROD_SQLSHAPE_H

#include "core/base/buf.h"
#include "core/model/policy.h"
#include "core/model/record.h"
#include "core/model/sqlplaces.h"
#include "core/model/sqlread.h"
#include "core/model/sqltree.h"

/* What is kept of a literal, each from a closed list of forms; what does not have
 * the form goes the way of RULE_VALUE. */
enum slot_rule {
	RULE_VALUE, /* by spelling and policy */
	RULE_COUNT, /* LIMIT, OFFSET, varchar(20): a number stays */
	RULE_UNIT, /* 'hour' */
	RULE_INTERVAL, /* '3 days' */
	RULE_NAME, /* of a sequence, a table, a setting, a JSON key */
	RULE_PATH, /* '{a,b}' of JSON keys */
	RULE_SETTING, /* 'on', '64MB', 'read committed' */
	RULE_BOOLEAN,
	RULE_DATE, /* 'today' in a cast */
	RULE_FORMAT, /* 'YYYY-MM-DD', 'hex' */
	RULE_ZONE, /* 'Europe/Berlin' */
	RULE_PATTERN, /* LIKE */
	RULE_DROP, /* bodies of functions, commands */
};

struct slot {
	uint8_t rule; /* enum slot_rule */
	uint8_t role; /* enum value_role */
	uint8_t action; /* enum policy_rule of its column, place or route */
	uint16_t place; /* of core/model/sqlplaces.h, 0 when no column is known */
};

struct sqlshape {
	uint32_t references;
	uint32_t flags; /* enum request_flag */
	uint32_t param_count;
	uint32_t slot_count;
	uint64_t fingerprint;
	size_t size_bytes;
	struct slice template_text, route;
	const struct slot *slots; /* of the literals */
	const struct slot *params;
	const struct sqltree_slot *tree; /* of an outline: slot_count of them, and nothing else */
	const uint8_t *param_roles;
	bool has_strong_result;
	char transaction;
};

enum { SQL_PARAMS_MAX = 65535 };

/* A statement taken apart, and what PostgreSQL's grammar said about it. */
struct sqlshape_source {
	const struct policy *policy;
	struct sqlplaces *places;
	const struct sql_token *items;
	size_t n;
	const struct sqltree_slot *tree; /* by stand-in; NULL: only the lexer has read it */
	const uint32_t *stand_ins; /* of the literals and parameters in order */
};

/* NULL when out of memory. Scratch buffers are the caller's, reset here. */
struct sqlshape *sqlshape_new(const struct sqlshape_source *source, struct buf scratch[2]);
/* The grammar's reading of an outline, in a shape of its own so that it can be cached. */
struct sqlshape *sqlshape_of_tree(const struct sqltree_slot *slots, size_t n);
void sqlshape_release(struct sqlshape *shape);

/* core/model/sqlroute.c: route text and fingerprint. */
void sqlroute_build(
	const struct sql_token *items, size_t n, struct buf *route, uint64_t *ret_fingerprint);
/* core/model/sqlverb.c: flags, transaction verb, strong results; per statement of a text. */
void sqlverb_judge(const struct sql_token *items, size_t n, struct sqlshape *shape);
/* core/model/sqlrole.c: a slot for each literal and parameter. */
bool sqlrole_assign(const struct sqlshape_source *source, struct slot *slots, struct slot *params,
	size_t param_count);
/* Number of $n, 0 when out of range. */
uint32_t sqlitem_param(const struct sql_token *item);

#endif
