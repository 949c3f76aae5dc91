#include "core/model/sqlscrub.h"

#include <stdlib.h>

#include "core/base/arena.h"
#include "core/model/sqlscrub_parts.h"

enum {
	CACHE_DEFAULT = 16 << 20,
	CACHE_SHARE = 16, /* no entry may take more than this part of the cache */
	LITERALS_MAX = 65536, /* value.place has 16 bits */
	ITEMS_MAX = 4 << 20,
	VALUES_BYTES_MAX = 64 << 20,
	TREE_BYTES_MAX = 8 << 20,
};

static const struct slice unreadable = { "(unreadable statement)", 22 };

struct sqlscrub *sqlscrub_new(
	const struct policy *policy, const struct token_key *key, size_t cache_bytes)
{
	struct sqlscrub *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->value = (struct sqlvalue){ .policy = policy, .key = key };
	arena_init(&s->arena, VALUES_BYTES_MAX);
	arena_init(&s->tree_arena, TREE_BYTES_MAX);
	sqlplaces_init(&s->places);
	if (!sqlcache_init(&s->cache, cache_bytes ? cache_bytes : CACHE_DEFAULT,
		    token_hash(key, SLICE("cache")))) {
		free(s);
		return NULL;
	}
	return s;
}

void sqlscrub_free(struct sqlscrub *s)
{
	if (!s)
		return;
	sqlshape_release(s->loose);
	sqlcache_free(&s->cache);
	arena_free(&s->arena);
	arena_free(&s->tree_arena);
	sqlplaces_free(&s->places);
	sqloutline_free(&s->outline);
	buf_free(&s->skeleton);
	for (size_t i = 0; i < LENGTH(s->scratch); i++)
		buf_free(&s->scratch[i]);
	free(s->items);
	free(s->literals);
	free(s->values);
	free(s);
}

void sqlscrub_limit_cache(struct sqlscrub *s, size_t cache_bytes)
{
	if (s->cache.cap_bytes > cache_bytes)
		s->cache.cap_bytes = cache_bytes;
}

uint64_t sqlscrub_cache_hits(const struct sqlscrub *s)
{
	return s->cache.hits;
}

/* The array with room for one more of size bytes; NULL at the cap. */
static void *grown(void *array, size_t *cap, size_t count, size_t size, size_t max)
{
	if (count < *cap)
		return array;
	size_t wanted = *cap ? 2 * *cap : 64;
	void *p = count < max ? realloc(array, wanted * size) : NULL;
	if (p)
		*cap = wanted;
	return p;
}

/* Where the next literal goes; NULL at the cap. */
static struct sql_token *literal_room(struct sqlscrub *s)
{
	struct sql_token *p =
		grown(s->literals, &s->literal_cap, s->literal_count, sizeof(*p), ITEMS_MAX);

	if (!p)
		return NULL;
	s->literals = p;
	return p + s->literal_count;
}

/* One pass: the text without comments and literals, and the literals aside. A mark
 * per kind of literal stands in their place. */
static bool read_skeleton(struct sqlscrub *s, struct slice text)
{
	struct sqlread r;
	struct sql_token *item;
	enum step step = STEP_FAIL;

	s->literal_count = 0;
	buf_reset(&s->skeleton);
	/* An item grows by at most the blank in front of it. */
	char *to = buf_room(&s->skeleton, 2 * text.n + 1);
	if (!to)
		return false;
	sqlread_init(&r, text);
	r.lex.is_backslash_escape = s->value.is_backslash_escape;
	while ((item = literal_room(s)) && (step = sqlread_next(&r, item)) == STEP_ITEM) {
		if (item->has_gap)
			*to++ = ' ';
		if (item_is_literal(item)) {
			*to++ = (char)(1 + item->kind);
			s->literal_count++;
			continue;
		}
		/* Most words are short: one wide store instead of a call. */
		if (item->text.n <= 16 && (size_t)(r.lex.end - item->text.p) >= 16)
			memcpy(to, item->text.p, 16);
		else
			memcpy(to, item->text.p, item->text.n);
		to += item->text.n;
	}
	s->skeleton.n = (size_t)(to - s->skeleton.p);
	return item && step == STEP_END;
}

static bool read_items(struct sqlscrub *s, struct slice text)
{
	struct sqlread r;
	struct sql_token item;
	enum step step;

	s->item_count = 0;
	sqlread_init(&r, text);
	r.lex.is_backslash_escape = s->value.is_backslash_escape;
	while ((step = sqlread_next(&r, &item)) == STEP_ITEM) {
		struct sql_token *p =
			grown(s->items, &s->item_cap, s->item_count, sizeof(item), ITEMS_MAX);

		if (!p)
			return false;
		s->items = p;
		p[s->item_count++] = item;
	}
	return step == STEP_END;
}

/* What a text says depends on how backslashes are read. */
static enum cached cached(const struct sqlscrub *s, enum cached kind)
{
	return s->value.is_backslash_escape ? kind + CACHED_ESCAPING : kind;
}

void sqlscrub_set_backslash_escape(struct sqlscrub *s, bool is_on)
{
	s->value.is_backslash_escape = is_on;
}

static struct sqlshape *read_tree(struct sqlscrub *s)
{
	size_t n = s->outline.count;
	struct sqltree_slot *slots = calloc(n + 1, sizeof(*slots));
	bool ok = slots && n && sqltree_is_worth(buf_slice(&s->outline.text)) &&
		  sqltree_read(&s->outline, s->value.policy, &s->places, &s->tree_arena, slots);
	struct sqlshape *tree = slots ? sqlshape_of_tree(slots, ok ? n : 0) : NULL;

	free(slots);
	return tree;
}

/* The grammar's reading, by outline: statements that differ in the lengths of their lists
 * share it. A reference is the caller's. NULL: there is none. */
static struct sqlshape *tree_of(struct sqlscrub *s)
{
	size_t values = 0;

	for (size_t i = 0; i < s->item_count; i++)
		values += item_is_literal(&s->items[i]) || s->items[i].kind == SQL_PARAM;
	if (!values || !sqloutline_make(&s->outline, s->items, s->item_count) ||
		s->outline.value_count != values)
		return NULL;
	struct slice key = buf_slice(&s->outline.text);
	uint64_t hash = sqlcache_hash(&s->cache, key);
	struct sqlcache_entry *entry = sqlcache_find(&s->cache, hash, key, CACHED_TREE);
	if (entry) {
		entry->shape->references++;
		return entry->shape;
	}
	struct sqlshape *tree = read_tree(s);
	if (tree)
		(void)sqlcache_offer(&s->cache, hash, key, CACHED_TREE, tree, NULL, 0);
	return tree;
}

static struct sqlshape *make_shape(struct sqlscrub *s)
{
	struct sqlshape *tree = tree_of(s);
	struct sqlshape *shape = sqlshape_new(
		&(struct sqlshape_source){
			.policy = s->value.policy,
			.places = &s->places,
			.items = s->items,
			.n = s->item_count,
			.tree = tree && tree->slot_count ? tree->tree : NULL,
			.stand_ins = s->outline.stand_ins,
		},
		s->scratch);

	sqlshape_release(tree);
	return shape;
}

/* Found, or made and cached; one too large to cache lives until the next call. */
static struct sqlshape *shape_of(struct sqlscrub *s, struct slice text)
{
	struct slice key = { s->skeleton.p, s->skeleton.n };
	uint64_t hash = sqlcache_hash(&s->cache, key);
	struct sqlcache_entry *entry = sqlcache_find(&s->cache, hash, key, cached(s, CACHED_SHAPE));

	if (entry)
		return entry->shape;
	if (!read_items(s, text))
		return NULL;
	struct sqlshape *shape = make_shape(s);
	if (!shape)
		return NULL;
	if (key.n + shape->size_bytes > s->cache.cap_bytes / CACHE_SHARE ||
		!sqlcache_offer(&s->cache, hash, key, cached(s, CACHED_SHAPE), shape, NULL, 0)) {
		sqlshape_release(s->loose);
		s->loose = shape;
		return shape;
	}
	/* The cache holds its own reference. */
	sqlshape_release(shape);
	return shape;
}

static bool is_plain_digits(struct slice text)
{
	for (size_t i = 0; i < text.n; i++)
		if (text.p[i] < '0' || text.p[i] > '9')
			return false;
	return true;
}

static void scrub_literal(
	struct sqlscrub *s, const struct sql_token *item, const struct slot *slot, struct value *v)
{
	const struct policy *policy = s->value.policy;
	struct buf *out = &s->scratch[2];

	v->role = slot->role;
	bool is_small = slot->action == 0 && !policy->is_permuting_ids &&
			item->text.n <= policy->keep_digits && is_plain_digits(item->text);
	if (item->kind == SQL_NUMBER && slot->rule != RULE_DROP &&
		(is_small || slot->action == POLICY_KEEP)) {
		v->action = VALUE_KEPT;
		v->bytes = item->text;
		return;
	}
	buf_reset(out);
	v->action = (uint8_t)sqlliteral_scrub(&s->value, item, slot, s->scratch, out, &v->flags);
	if (v->action == VALUE_DROPPED)
		return;
	v->bytes = arena_copy(&s->arena, buf_slice(out));
	if (!v->bytes.p || out->is_full)
		*v = (struct value){ .place = v->place,
			.role = v->role,
			.action = VALUE_DROPPED,
			.flags = VALUE_IS_UNKNOWN };
}

static bool scrub_literals(struct sqlscrub *s, const struct sqlshape *shape)
{
	if (s->literal_count > LITERALS_MAX)
		return false;
	for (size_t i = 0; i < s->literal_count; i++) {
		struct value *p = grown(s->values, &s->value_cap, i, sizeof(*p), LITERALS_MAX);

		if (!p)
			return false;
		s->values = p;
		struct value *v = &p[i];
		*v = (struct value){ .place = (uint16_t)i };
		scrub_literal(s, &s->literals[i], &shape->slots[i], v);
	}
	return true;
}

static void fill(struct sqlscrub_statement *ret, const struct sqlshape *shape)
{
	*ret = (struct sqlscrub_statement){
		.template_text = shape->template_text,
		.route = shape->route,
		.fingerprint = shape->fingerprint,
		.flags = shape->flags,
		.param_count = shape->param_count,
		.has_strong_result = shape->has_strong_result,
		.transaction = shape->transaction,
		.param_roles = shape->param_roles,
	};
}

static uint32_t lost_flag(const struct value *values, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (values[i].action == VALUE_DROPPED)
			return REQUEST_VALUE_LOST;
	return 0;
}

/* Texts without literals, and those whose literals cost a token each time. */
static bool is_worth_keeping(const struct sqlscrub *s, const struct sqlscrub_statement *st)
{
	for (size_t i = 0; i < st->value_count; i++)
		if (st->values[i].action != VALUE_KEPT || s->literals[i].kind != SQL_NUMBER)
			return true;
	return st->value_count == 0;
}

static void give_nothing(struct sqlscrub *s, struct sqlscrub_statement *ret)
{
	*ret = (struct sqlscrub_statement){ .route = unreadable,
		.flags = REQUEST_UNLEXABLE,
		.fingerprint = sqlcache_fixed_hash(unreadable) };
	s->shape = NULL;
}

void sqlscrub_text(struct sqlscrub *s, struct slice text, struct sqlscrub_statement *ret)
{
	arena_reset(&s->arena);
	s->shape = NULL;
	if (text.n == 0) {
		*ret = (struct sqlscrub_statement){ .fingerprint = sqlcache_fixed_hash(text) };
		return;
	}
	uint64_t hash = sqlcache_hash(&s->cache, text);
	struct sqlcache_entry *entry = sqlcache_find(&s->cache, hash, text, cached(s, CACHED_TEXT));
	if (entry) {
		s->shape = entry->shape;
		fill(ret, entry->shape);
		ret->values = entry->values;
		ret->value_count = entry->value_count;
		ret->flags |= lost_flag(entry->values, entry->value_count);
		return;
	}
	if (text.n > SQLSCRUB_TEXT_MAX || !read_skeleton(s, text) ||
		!(s->shape = shape_of(s, text))) {
		give_nothing(s, ret);
		return;
	}
	fill(ret, s->shape);
	if (s->shape->flags & REQUEST_SECRET)
		return;
	if (!scrub_literals(s, s->shape)) {
		/* Too many to number: a route to count by, nothing to replay. */
		ret->template_text = (struct slice){ NULL, 0 };
		ret->flags |= REQUEST_VALUE_LOST;
		return;
	}
	ret->values = s->values;
	ret->value_count = s->literal_count;
	ret->flags |= lost_flag(ret->values, ret->value_count);
	if (s->shape != s->loose && text.n < s->cache.cap_bytes / CACHE_SHARE &&
		is_worth_keeping(s, ret))
		sqlcache_offer(&s->cache, hash, text, cached(s, CACHED_TEXT), s->shape, ret->values,
			ret->value_count);
}

void sqlscrub_word(struct sqlscrub *s, struct slice raw, struct buf *out)
{
	(void)sqlvalue_plain(&s->value, raw, out);
}

/* What a bind's place in the last statement says about it. */
static struct slot param_slot(const struct sqlscrub *s, uint32_t n)
{
	if (s->shape && n < s->shape->param_count)
		return s->shape->params[n];
	return (struct slot){ .rule = RULE_VALUE,
		.action = (uint8_t)policy_other_columns(s->value.policy) };
}

/* The common bind by far: a small whole number. Checked by value, not by spelling,
 * since printing it would cost more than all the rest. */
static bool is_small_bind(
	const struct policy *policy, struct slice raw, uint8_t format, uint32_t type_oid)
{
	if (policy->is_permuting_ids)
		return false;
	if (format == 0)
		return raw.n && raw.n <= policy->keep_digits && is_plain_digits(raw);
	return sqlbind_is_small(raw, type_oid, policy->keep_digits);
}

static void bind(struct sqlscrub *s, struct slice raw, uint8_t format, uint32_t type_oid,
	bool is_null, const struct slot *slot, struct value *ret)
{
	struct buf *out = &s->scratch[2];

	*ret = (struct value){
		.is_bind = true, .format = format, .type_oid = type_oid, .role = slot->role
	};
	if (is_null) {
		ret->flags = VALUE_IS_NULL;
		return;
	}
	if (slot->action == 0 && slot->rule != RULE_DROP && slot->rule != RULE_PATTERN &&
		is_small_bind(s->value.policy, raw, format, type_oid)) {
		ret->action = VALUE_KEPT;
		ret->bytes = raw;
		return;
	}
	buf_reset(out);
	ret->action = (uint8_t)sqlbind_scrub(
		&s->value, raw, format, type_oid, slot, s->scratch, out, &ret->flags);
	if (ret->action == VALUE_DROPPED)
		return;
	ret->bytes = arena_copy(&s->arena, buf_slice(out));
	if (!ret->bytes.p || out->is_full) {
		ret->action = VALUE_DROPPED;
		ret->flags |= VALUE_IS_UNKNOWN;
		ret->bytes = (struct slice){ NULL, 0 };
	}
}

void sqlscrub_bind(struct sqlscrub *s, struct slice raw, uint8_t format, uint32_t type_oid,
	bool is_null, struct value *ret)
{
	const struct slot slot = { .rule = RULE_VALUE,
		.action = (uint8_t)policy_other_columns(s->value.policy) };

	bind(s, raw, format, type_oid, is_null, &slot, ret);
}

struct sqlcolumn sqlscrub_column(struct sqlscrub *s, struct slice table, struct slice column)
{
	struct sqlcolumn known = { 0 };

	if (column.n)
		known = sqlplaces_find(&s->places, s->value.policy, table, column);
	if (!known.action)
		known.action = (uint8_t)policy_other_columns(s->value.policy);
	return known;
}

void sqlscrub_field(
	struct sqlscrub *s, struct sqlcolumn column, struct slice raw, struct value *ret)
{
	const struct slot slot = { .rule = RULE_VALUE, .action = column.action };

	bind(s, raw, 0, 0, false, &slot, ret);
}

/* Rules that say less than the spelling does, of columns that this table may have. */
bool sqlscrub_needs_columns(const struct sqlscrub *s, struct slice table)
{
	const struct table *rules = &s->value.policy->rules[POLICY_COLUMN];
	struct slice name;
	void *rule;

	for (size_t at = 0; table_next(rules, &at, &name, &rule);) {
		const char *dot = memchr(name.p, '.', name.n);
		struct slice of = { name.p, dot ? (size_t)(dot - name.p) : 0 };

		if ((uintptr_t)rule > POLICY_KEEP && !slice_is(name, "*") &&
			(!dot || slice_same(of, table)))
			return true;
	}
	return false;
}

uint16_t sqlscrub_place(const struct sqlscrub *s, const struct value *v)
{
	if (!s->shape)
		return 0;
	if (v->is_bind)
		return v->place < s->shape->param_count ? s->shape->params[v->place].place : 0;
	return v->place < s->shape->slot_count ? s->shape->slots[v->place].place : 0;
}

struct slice sqlscrub_place_name(const struct sqlscrub *s, uint16_t place)
{
	return sqlplaces_name(&s->places, place);
}

size_t sqlscrub_place_count(const struct sqlscrub *s)
{
	return s->places.count;
}

void sqlscrub_param(struct sqlscrub *s, uint16_t place, struct slice raw, uint8_t format,
	uint32_t type_oid, bool is_null, struct value *ret)
{
	const struct slot slot = param_slot(s, place);

	bind(s, raw, format, type_oid, is_null, &slot, ret);
	ret->place = place;
}
