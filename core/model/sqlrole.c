#include <stdlib.h>

#include "core/model/sqlshape.h"
#include "core/model/sqlword.h"

enum { DEPTH_MAX = 48, TABLES_MAX = 32, NAME_MAX_BYTES = 64 };

enum clause {
	CLAUSE_NONE,
	CLAUSE_LIST,
	CLAUSE_FROM,
	CLAUSE_PREDICATE,
	CLAUSE_PAYLOAD,
	CLAUSE_COUNT,
};

/* One depth of parentheses. */
struct level {
	uint8_t clause;
	bool is_call;
	bool is_list; /* IN (...), ANY (...) */
	bool is_row; /* of VALUES */
	size_t function; /* item in front of the parenthesis, + 1 */
	size_t argument; /* from 0 */
	size_t column; /* item of the column a list is compared with, + 1 */
};

struct table_name {
	struct slice table, alias;
};

struct roles {
	const struct sqlshape_source *source;
	const struct policy *policy;
	const struct sql_token *items;
	size_t n;
	size_t value; /* of all literals and parameters, in order */
	struct level levels[DEPTH_MAX];
	size_t depth; /* may pass DEPTH_MAX: deeper ones share the last */
	size_t start; /* of the statement */
	size_t insert_columns; /* the ( of INSERT INTO t (...), + 1 */
	bool is_insert, is_set, is_copy, is_body;
	struct table_name tables[TABLES_MAX];
	size_t table_count;
};

static void roles_free(struct roles **r)
{
	free(*r);
}

static struct level *level_of(struct roles *r)
{
	return &r->levels[r->depth < DEPTH_MAX ? r->depth : DEPTH_MAX - 1];
}

static const struct sql_token *item_at(const struct roles *r, size_t i)
{
	static const struct sql_token none = { .kind = SQL_PUNCTUATION, .text = { ";", 1 } };

	return i < r->n ? &r->items[i] : &none;
}

/* An item before i, and none before the statement. */
static const struct sql_token *before(const struct roles *r, size_t i, size_t back)
{
	return item_at(r, i >= r->start + back ? i - back : SIZE_MAX);
}

static uint32_t sets_of(const struct sql_token *i)
{
	return i->kind == SQL_WORD ? word_sets(i->text) : 0;
}

static bool is_name(const struct sql_token *i)
{
	return i->kind == SQL_NAME ||
	       (i->kind == SQL_WORD && !(word_sets(i->text) & WORDS_RESERVED));
}

/* The name as the catalog has it, in the caller's bytes. */
static struct slice fold(const struct sql_token *i, char to[NAME_MAX_BYTES])
{
	struct slice s = i->text;
	size_t n = 0;

	if (i->kind == SQL_NAME && s.n >= 2 && s.p[0] == '"')
		return (struct slice){ s.p + 1, s.n - 2 };
	for (; n < s.n && n < NAME_MAX_BYTES; n++)
		to[n] = s.p[n] >= 'A' && s.p[n] <= 'Z' ? (char)(s.p[n] | 0x20) : s.p[n];
	return (struct slice){ to, n };
}

static bool same_name(struct slice a, const struct sql_token *item)
{
	char folded[NAME_MAX_BYTES];

	return slice_same(a, fold(item, folded));
}

/* The column named by the item at i: of the table that the policy has a rule for. */
static struct sqlcolumn column_at(const struct roles *r, size_t i)
{
	char name[NAME_MAX_BYTES], table_name[NAME_MAX_BYTES];
	struct slice column = fold(item_at(r, i), name), table = { NULL, 0 };
	bool is_qualified = item_is_sign(before(r, i, 1), '.') && is_name(before(r, i, 2));
	size_t candidates = 0;

	for (size_t t = 0; t < r->table_count; t++) {
		const struct table_name *known = &r->tables[t];
		char alias[NAME_MAX_BYTES];
		struct sql_token a = { .kind = SQL_WORD, .text = known->alias };

		if (is_qualified && !same_name(fold(&a, alias), before(r, i, 2)))
			continue;
		struct sql_token tab = { .kind = SQL_WORD, .text = known->table };
		table = fold(&tab, table_name);
		struct sqlcolumn found =
			sqlplaces_find(r->source->places, r->policy, table, column);
		if (found.action)
			return found;
		candidates++;
	}
	if (candidates != 1)
		table = is_qualified ? fold(before(r, i, 2), table_name)
				     : (struct slice){ NULL, 0 };
	return sqlplaces_find(r->source->places, r->policy, table, column);
}

static struct slice bare(const struct sql_token *i)
{
	if (i->kind == SQL_NAME && i->text.n >= 2 && i->text.p[0] == '"')
		return (struct slice){ i->text.p + 1, i->text.n - 2 };
	return i->text;
}

/* FROM a.b AS c: remembers b under b and c. */
static void note_table(struct roles *r, size_t i)
{
	while (item_word_is(item_at(r, i), "only") || item_word_is(item_at(r, i), "lateral"))
		i++;
	if (r->table_count == TABLES_MAX || !is_name(item_at(r, i)))
		return;
	while (item_is_sign(item_at(r, i + 1), '.') && is_name(item_at(r, i + 2)))
		i += 2;
	struct table_name *t = &r->tables[r->table_count++];
	t->table = t->alias = bare(item_at(r, i));
	if (item_word_is(item_at(r, i + 1), "as"))
		i++;
	if (is_name(item_at(r, i + 1)))
		t->alias = bare(item_at(r, i + 1));
}

static void note_tables(struct roles *r)
{
	r->table_count = 0;
	for (size_t i = r->start; i < r->n && !item_is_sign(item_at(r, i), ';'); i++) {
		const struct sql_token *item = item_at(r, i);

		if (item_word_is(item, "from") || item_word_is(item, "join") ||
			item_word_is(item, "into") || item_word_is(item, "update") ||
			item_word_is(item, "using") || item_word_is(item, "copy"))
			note_table(r, i + 1);
	}
}

/* The item of the column that the operator at i compares, + 1; casts are skipped. */
static size_t column_before(const struct roles *r, size_t i)
{
	while (i > r->start) {
		const struct sql_token *item = item_at(r, i - 1);

		if (is_name(item) && item_is_operator(before(r, i - 1, 1), "::"))
			i -= 2;
		else if (item_is_sign(item, ')'))
			i--; /* lower(email) = 'x': the innermost last name */
		else if (item->kind == SQL_WORD &&
			 (item_word_is(item, "not") || item_word_is(item, "any") ||
				 item_word_is(item, "all")))
			i--;
		else if (item->kind == SQL_OPERATOR && !item_is_operator(item, "::") &&
			 item_word_is(item_at(r, i), "any"))
			i--;
		else
			return is_name(item) ? i : 0;
	}
	return 0;
}

static bool compares(const struct sql_token *i)
{
	return (i->kind == SQL_OPERATOR && !item_is_operator(i, "::")) ||
	       sets_of(i) & WORDS_COMPARE;
}

/* The p-th name of INSERT INTO t (...), as item + 1. */
static size_t inserted_column(const struct roles *r, size_t p)
{
	for (size_t i = r->insert_columns; r->insert_columns && i < r->n; i++) {
		if (item_is_sign(&r->items[i], ')'))
			return 0;
		if (item_is_sign(&r->items[i], ','))
			continue;
		if (p-- == 0)
			return i + 1;
	}
	return 0;
}

/* The column a literal or parameter belongs to, as item + 1; 0 when unclear. */
static size_t column_of(struct roles *r, size_t i)
{
	const struct level *level = level_of(r);

	if (compares(before(r, i, 1))) {
		size_t column = column_before(r, i - 1);

		if (column)
			return column;
	}
	if (level->is_list && level->column)
		return level->column;
	/* BETWEEN a AND b */
	if (item_word_is(before(r, i, 1), "and") && item_word_is(before(r, i, 3), "between"))
		return column_before(r, i - 3);
	size_t after = i + 2;
	if (item_at(r, i + 1)->kind == SQL_OPERATOR && !item_is_operator(item_at(r, i + 1), "::") &&
		is_name(item_at(r, after))) {
		while (item_is_sign(item_at(r, after + 1), '.') && is_name(item_at(r, after + 2)))
			after += 2;
		return after + 1;
	}
	for (size_t d = r->depth < DEPTH_MAX ? r->depth : DEPTH_MAX - 1; d > 0; d--)
		if (r->levels[d].is_row)
			return inserted_column(r, r->levels[d].argument);
	return 0;
}

static uint8_t rule_of_type(const struct sql_token *type)
{
	uint32_t sets = sets_of(type);

	if (item_word_is(type, "interval"))
		return RULE_INTERVAL;
	if (item_word_is(type, "bool") || item_word_is(type, "boolean"))
		return RULE_BOOLEAN;
	if (sets & WORDS_REGTYPE)
		return RULE_NAME;
	return sets & WORDS_CLOCKED ? RULE_DATE : RULE_VALUE;
}

/* By the function that the literal is an argument of. */
static uint8_t rule_of_call(struct roles *r)
{
	const struct level *level = level_of(r);

	if (!level->is_call)
		return RULE_VALUE;
	const struct sql_token *function = item_at(r, level->function - 1);
	uint32_t sets = sets_of(function);
	if (sets & WORDS_TYPMOD)
		return RULE_COUNT;
	if (sets & WORDS_FIRST_UNIT && level->argument == 0)
		return RULE_UNIT;
	if (sets & WORDS_NAMED &&
		(level->argument == 0 || item_word_is(function, "pg_get_serial_sequence")))
		return item_word_is(function, "to_tsvector") ||
				       item_word_is(function, "to_tsquery") ||
				       item_word_is(function, "plainto_tsquery") ||
				       item_word_is(function, "phraseto_tsquery") ||
				       item_word_is(function, "websearch_to_tsquery")
			       ? RULE_SETTING
			       : RULE_NAME;
	if (item_word_is(function, "set_config") && level->argument == 1)
		return RULE_SETTING;
	if (sets & WORDS_FORMAT && (level->argument == 1 || item_word_is(function, "gen_salt")))
		return RULE_FORMAT;
	if (item_word_is(function, "timezone") && level->argument == 0)
		return RULE_ZONE;
	if (sets & WORDS_KEYED) {
		bool is_build = item_word_is(function, "json_build_object") ||
				item_word_is(function, "jsonb_build_object");

		if (is_build ? level->argument % 2 == 0 : level->argument > 0)
			return RULE_NAME;
	}
	if ((item_word_is(function, "jsonb_set") || item_word_is(function, "jsonb_insert")) &&
		level->argument == 1)
		return RULE_PATH;
	return RULE_VALUE;
}

static uint8_t rule_of_operator(const struct sql_token *operator)
{
	if (operator->kind != SQL_OPERATOR)
		return RULE_VALUE;
	if (item_is_operator(operator, "->") || item_is_operator(operator, "->>") ||
		item_is_operator(operator, "?"))
		return RULE_NAME;
	if (item_is_operator(operator, "#>") || item_is_operator(operator, "#>>") ||
		item_is_operator(operator, "?|") || item_is_operator(operator, "?&"))
		return RULE_PATH;
	/* ~~ is LIKE; ~ and its kin are regular expressions. */
	if (memchr(operator->text.p, '~', operator->text.n) &&
		!memchr(operator->text.p, '=', operator->text.n))
		return RULE_PATTERN;
	return RULE_VALUE;
}

/* Statements whose strings are not values of columns. */
static uint8_t rule_of_statement(const struct roles *r, size_t i)
{
	const struct sql_token *prior = before(r, i, 1);

	if (r->is_set)
		return item_word_is(prior, "zone") ? RULE_ZONE : RULE_SETTING;
	if (r->is_body) {
		if (item_word_is(prior, "language"))
			return RULE_SETTING;
		if (item_word_is(prior, "as") || item_word_is(prior, "do") ||
			r->items[i].kind == SQL_DOLLAR || item_is_sign(prior, ',') ||
			item_word_is(item_at(r, r->start), "do"))
			return RULE_DROP;
	}
	if (r->is_copy) {
		if (item_word_is(prior, "program"))
			return RULE_DROP;
		return item_word_is(prior, "from") || item_word_is(prior, "to") ? RULE_VALUE
										: RULE_SETTING;
	}
	return RULE_VALUE;
}

static uint8_t rule_of(struct roles *r, size_t i)
{
	const struct sql_token *item = &r->items[i], *prior = before(r, i, 1),
			       *next = item_at(r, i + 1);
	uint8_t rule;

	if (level_of(r)->clause == CLAUSE_COUNT && item->kind == SQL_NUMBER)
		return RULE_COUNT;
	if (item_word_is(next, "uescape") || item_word_is(prior, "uescape"))
		return RULE_DROP;
	if (item_is_operator(next, "::") && (rule = rule_of_type(item_at(r, i + 2))) != RULE_VALUE)
		return rule;
	if (item_word_is(next, "as") && (rule = rule_of_type(item_at(r, i + 2))) != RULE_VALUE)
		return rule;
	if ((rule = rule_of_type(prior)) != RULE_VALUE)
		return rule;
	/* timestamp with time zone '...' */
	if (item_word_is(prior, "zone"))
		return r->is_set || item_word_is(before(r, i, 3), "at") ? RULE_ZONE : RULE_DATE;
	if (item_word_is(prior, "like") || item_word_is(prior, "ilike") ||
		(item_word_is(prior, "to") && item_word_is(before(r, i, 2), "similar")))
		return RULE_PATTERN;
	if ((rule = rule_of_operator(prior)) != RULE_VALUE)
		return rule;
	if ((rule = rule_of_call(r)) != RULE_VALUE)
		return rule;
	return rule_of_statement(r, i);
}

static uint8_t role_in(uint8_t clause, uint8_t rule)
{
	bool is_value = rule == RULE_VALUE || rule == RULE_PATTERN || rule == RULE_DATE;

	switch (clause) {
	case CLAUSE_COUNT:
		return ROLE_STRUCTURAL;
	case CLAUSE_PREDICATE:
		return is_value ? ROLE_PREDICATE : ROLE_STRUCTURAL;
	case CLAUSE_PAYLOAD:
		return rule == RULE_VALUE ? ROLE_PAYLOAD : ROLE_STRUCTURAL;
	default:
		return rule == RULE_VALUE || rule == RULE_DROP ? ROLE_UNKNOWN : ROLE_STRUCTURAL;
	}
}

/* What the grammar says about the value at hand, or NULL. */
static const struct sqltree_slot *tree_slot(const struct roles *r)
{
	const struct sqlshape_source *s = r->source;
	const struct sqltree_slot *slot = s->tree ? &s->tree[s->stand_ins[r->value]] : NULL;

	return slot && slot->is_seen ? slot : NULL;
}

static uint8_t role_of(struct roles *r, const struct sqltree_slot *tree, uint8_t rule)
{
	static const uint8_t clauses[] = {
		[ROLE_UNKNOWN] = CLAUSE_NONE,
		[ROLE_PREDICATE] = CLAUSE_PREDICATE,
		[ROLE_PAYLOAD] = CLAUSE_PAYLOAD,
	};
	uint8_t clause = level_of(r)->clause;

	return role_in(tree && clause != CLAUSE_COUNT ? clauses[tree->role] : clause, rule);
}

/* Where the grammar names no column the lexer's guess may still tighten, never loosen. */
static struct sqlcolumn column_for(struct roles *r, const struct sqltree_slot *tree, size_t i)
{
	struct sqlcolumn column = { 0 };

	if (tree && tree->is_known)
		return (struct sqlcolumn){ tree->place, tree->action, true };
	if (tree && !policy_has(r->policy, POLICY_COLUMN))
		return column;
	size_t item = column_of(r, i);
	if (item)
		column = column_at(r, item - 1);
	if (tree && column.action <= POLICY_KEEP)
		return (struct sqlcolumn){ 0 };
	return column;
}

/* Units, names, formats and counts stand beside a column, they are not its values. */
static bool may_be_of_column(uint8_t rule)
{
	return rule == RULE_VALUE || rule == RULE_PATTERN || rule == RULE_BOOLEAN ||
	       rule == RULE_DATE || rule == RULE_INTERVAL;
}

static struct slot slot_of(struct roles *r, size_t i)
{
	const struct sqltree_slot *tree = tree_slot(r);
	struct slot slot = { .rule = rule_of(r, i) };

	slot.role = role_of(r, tree, slot.rule);
	if (may_be_of_column(slot.rule)) {
		struct sqlcolumn column = column_for(r, tree, i);

		slot.action = column.action;
		slot.place = column.place;
	}
	if (slot.action == POLICY_NONE)
		slot.action = (uint8_t)policy_other_columns(r->policy);
	return slot;
}

static void open_level(struct roles *r, size_t i)
{
	const struct sql_token *prior = before(r, i, 1);
	struct level was = *level_of(r);

	r->depth++;
	struct level *level = level_of(r);
	*level = (struct level){
		.clause = was.clause, .column = was.column, .is_list = was.is_list
	};
	if (is_name(prior) || sets_of(prior) & (WORDS_NAMED | WORDS_FIRST_UNIT)) {
		level->is_call = true;
		level->is_list = false;
		level->function = i;
	}
	if (item_word_is(prior, "in") || item_word_is(prior, "any") || item_word_is(prior, "all") ||
		item_word_is(prior, "array")) {
		if (!item_word_is(prior, "array"))
			level->column = column_before(r, i - 1);
		level->is_list = level->column != 0;
	}
	if (item_word_is(prior, "values") ||
		(item_is_sign(prior, ',') && was.clause == CLAUSE_PAYLOAD && r->is_insert &&
			!was.is_call)) {
		level->is_row = true;
		level->clause = r->is_insert ? CLAUSE_PAYLOAD : CLAUSE_NONE;
	}
	/* INSERT INTO a.b (...): between the table and VALUES or SELECT */
	if (r->is_insert && r->depth == 1 && !r->insert_columns && was.clause == CLAUSE_FROM) {
		r->insert_columns = i + 1;
		level->is_call = false;
	}
}

static void follow_word(struct roles *r, size_t i)
{
	const struct sql_token *item = &r->items[i], *prior = before(r, i, 1);
	struct level *level = level_of(r);

	if (item_word_is(item, "select")) {
		level->clause = r->is_insert ? CLAUSE_PAYLOAD : CLAUSE_LIST;
		level->is_call = level->is_list = false;
	} else if (item_word_is(item, "where") || item_word_is(item, "having") ||
		   (item_word_is(item, "on") && !item_word_is(item_at(r, i + 1), "conflict"))) {
		level->clause = CLAUSE_PREDICATE;
	} else if (item_word_is(item, "insert") || item_word_is(item, "merge")) {
		r->is_insert = true;
		r->insert_columns = 0;
	} else if (item_word_is(item, "into") || item_word_is(item, "join") ||
		   (item_word_is(item, "from") && !level->is_call)) {
		level->clause = CLAUSE_FROM;
	} else if (item_word_is(item, "set")) {
		level->clause = CLAUSE_PAYLOAD;
	} else if (item_word_is(item, "values")) {
		level->clause = r->is_insert ? CLAUSE_PAYLOAD : CLAUSE_NONE;
	} else if (item_word_is(item, "limit") || item_word_is(item, "offset") ||
		   (item_word_is(item, "fetch") && !r->is_set) ||
		   (item_word_is(item, "move") && i == r->start)) {
		level->clause = CLAUSE_COUNT;
	} else if (item_word_is(item, "returning") || item_word_is(item, "order") ||
		   item_word_is(item, "group") || item_word_is(item, "union") ||
		   item_word_is(item, "window") || item_word_is(item, "conflict")) {
		level->clause = CLAUSE_NONE;
	} else if (item_word_is(item, "for") && level->clause == CLAUSE_COUNT) {
		level->clause = CLAUSE_NONE;
	} else if (item_word_is(item, "is") && item_word_is(item_at(r, r->start), "comment")) {
		level->clause = CLAUSE_PAYLOAD;
	} else if (item_word_is(item, "from") && level->is_call &&
		   !item_word_is(prior, "distinct")) {
		level->argument++;
	}
}

/* CREATE or ALTER FUNCTION and PROCEDURE, DO, SET and its kin, COPY. */
static void begin_statement(struct roles *r, size_t i)
{
	const struct sql_token *verb = item_at(r, i);
	bool is_definition = item_word_is(verb, "create") || item_word_is(verb, "alter");

	*r = (struct roles){ .source = r->source,
		.policy = r->policy,
		.items = r->items,
		.n = r->n,
		.value = r->value,
		.start = i };
	r->is_set = item_word_is(verb, "set") || item_word_is(verb, "reset");
	r->is_copy = item_word_is(verb, "copy");
	r->is_body = item_word_is(verb, "do");
	for (size_t w = i + 1; is_definition && w < i + 5; w++) {
		const struct sql_token *word = item_at(r, w);

		r->is_body |= item_word_is(word, "function") || item_word_is(word, "procedure") ||
			      item_word_is(word, "aggregate");
		r->is_set |= item_word_is(word, "system") || item_word_is(word, "database") ||
			     item_word_is(word, "role") || item_word_is(word, "user");
	}
	note_tables(r);
}

/* One $n in several places: a predicate goes first, the stricter rule holds, and a place
 * without a column ($1 IS NULL OR status = $1) says nothing against one with. */
static void merge_slot(struct slot *into, struct slot more)
{
	struct slot was = *into;

	if (was.role == ROLE_UNKNOWN || more.role == ROLE_PREDICATE)
		*into = more;
	if (was.place && more.place)
		into->action = sqlplaces_stricter(was.action, more.action);
	else if (was.place)
		into->action = was.action;
	if (was.place)
		into->place = was.place;
	else if (more.place) {
		into->place = more.place;
		into->action = more.action;
	}
}

static void follow_item(struct roles *r, size_t i)
{
	const struct sql_token *item = &r->items[i];

	if (item->kind == SQL_WORD)
		follow_word(r, i);
	else if (item_is_sign(item, '(') || item_is_sign(item, '['))
		open_level(r, i);
	else if ((item_is_sign(item, ')') || item_is_sign(item, ']')) && r->depth)
		r->depth--;
	else if (item_is_sign(item, ','))
		level_of(r)->argument++;
}

bool sqlrole_assign(const struct sqlshape_source *source, struct slot *slots, struct slot *params,
	size_t param_count)
{
	CLEANUP(roles_free) struct roles *r = malloc(sizeof(*r));
	bool is_start = true;

	if (!r)
		return false;
	*r = (struct roles){
		.source = source, .policy = source->policy, .items = source->items, .n = source->n
	};
	for (size_t i = 0; i < r->n; i++) {
		const struct sql_token *item = &r->items[i];

		if (is_start)
			begin_statement(r, i);
		is_start = item_is_sign(item, ';');
		if (item_is_literal(item)) {
			*slots++ = slot_of(r, i);
			r->value++;
		} else if (item->kind == SQL_PARAM) {
			uint32_t p = sqlitem_param(item);

			if (p && p <= param_count)
				merge_slot(&params[p - 1], slot_of(r, i));
			r->value++;
		} else {
			follow_item(r, i);
		}
	}
	return true;
}
