#include "core/model/sqloutline.h"

#include <stdlib.h>

/* Also the steps of recursion that a parser may need. */
enum { NESTING_MAX = 400 };

static bool is_value(const struct sql_token *item)
{
	return item_is_literal(item) || item->kind == SQL_PARAM;
}

static bool push(uint32_t **array, size_t *count, size_t *cap, uint32_t v)
{
	if (*count == *cap) {
		size_t wanted = *cap ? 2 * *cap : 64;
		uint32_t *p =
			*count < OUTLINE_VALUES_MAX ? realloc(*array, wanted * sizeof(*p)) : NULL;

		if (!p)
			return false;
		*array = p;
		*cap = wanted;
	}
	(*array)[(*count)++] = v;
	return true;
}

/* The text that stands for it: of a kind that the grammar takes in its place. */
static const char *stand_in_of(const struct sql_token *item)
{
	switch (item->kind) {
	case SQL_NUMBER:
		return "1";
	case SQL_BITS:
		return "B'0'";
	case SQL_BARE:
		return "x";
	case SQL_PARAM:
		return "$1";
	default:
		return "''";
	}
}

static bool add_stand_in(struct sqloutline *o, const struct sql_token *item)
{
	if (!push(&o->offsets, &o->count, &o->cap, (uint32_t)o->text.n))
		return false;
	buf_add_text(&o->text, stand_in_of(item));
	return true;
}

static bool add_value(struct sqloutline *o, uint32_t stand_in)
{
	return push(&o->stand_ins, &o->value_count, &o->value_cap, stand_in);
}

/* NULL and DEFAULT in a row: another row may have a value there. */
static bool is_element(const struct sql_token *item)
{
	return is_value(item) || item_word_is(item, "null") || item_word_is(item, "default");
}

/* From the item behind the bracket: how many elements "a, b, c" up to its end; 0 when
 * there is anything else. */
static size_t elements(
	const struct sql_token *items, size_t n, size_t from, char close, bool is_row)
{
	size_t count = 0;

	for (size_t i = from; i + 1 < n; i += 2) {
		if (!(is_row ? is_element(&items[i]) : is_value(&items[i])))
			return 0;
		count++;
		if (item_is_sign(&items[i + 1], close))
			return count;
		if (!item_is_sign(&items[i + 1], ','))
			return 0;
	}
	return 0;
}

/* The list whose bracket is item i; the items that it took, 0 when it is none. */
static size_t take_list(struct sqloutline *o, const struct sql_token *items, size_t n, size_t i)
{
	char close = items[i].text.p[0] == '[' ? ']' : ')';
	size_t count = elements(items, n, i + 1, close, false);
	uint32_t first = (uint32_t)o->count;

	if (count < 2)
		return 0;
	buf_add_slice(&o->text, items[i].text);
	if (!add_stand_in(o, &items[i + 1]))
		return 0;
	for (size_t e = 0; e < count; e++)
		if (!add_value(o, first))
			return 0;
	buf_add_byte(&o->text, (unsigned char)close);
	return 2 * count + 1;
}

static bool take_row(struct sqloutline *o, const struct sql_token *items, size_t count,
	uint32_t first, bool is_first)
{
	for (size_t e = 0; e < count; e++) {
		const struct sql_token *item = &items[2 * e];

		if (is_first) {
			buf_add_text(&o->text, e ? ", " : "");
			if (!add_stand_in(o, item))
				return false;
		}
		if (is_value(item) && !add_value(o, first + (uint32_t)e))
			return false;
	}
	return true;
}

/* VALUES (a, b), (c, d): the rows of plain values from the bracket at i on. */
static size_t take_rows(struct sqloutline *o, const struct sql_token *items, size_t n, size_t i)
{
	size_t count = elements(items, n, i + 1, ')', true);
	uint32_t first = (uint32_t)o->count;
	size_t at = i;

	if (!count)
		return 0;
	buf_add_byte(&o->text, '(');
	for (;;) {
		if (!take_row(o, &items[at + 1], count, first, at == i))
			return 0;
		at += 2 * count + 1;
		if (at + 1 >= n || !item_is_sign(&items[at], ',') ||
			!item_is_sign(&items[at + 1], '(') ||
			elements(items, n, at + 2, ')', true) != count)
			break;
		at++;
	}
	buf_add_byte(&o->text, ')');
	return at - i;
}

static size_t take_bracket(struct sqloutline *o, const struct sql_token *items, size_t n, size_t i)
{
	const struct sql_token *prior = i ? &items[i - 1] : NULL;

	if (!prior || items[i].kind != SQL_PUNCTUATION || !strchr("([", items[i].text.p[0]))
		return 0;
	if (item_word_is(prior, "values") && items[i].text.p[0] == '(')
		return take_rows(o, items, n, i);
	if (item_word_is(prior, "in") || item_word_is(prior, "array"))
		return take_list(o, items, n, i);
	return 0;
}

/* How deep a parse tree may become, from above: what stands in a chain since the last
 * sibling (a comma, AND, OR) on top of what the brackets around it hold. */
struct nesting {
	unsigned lasting[NESTING_MAX]; /* up to the bracket, with what spans siblings */
	unsigned chain[NESTING_MAX];
	unsigned level, deepest;
};

static bool spans_siblings(const struct sql_token *item)
{
	static const char *const words[] = { "case", "union", "intersect", "except", "join" };

	for (size_t i = 0; i < LENGTH(words); i++)
		if (item_word_is(item, words[i]))
			return true;
	return false;
}

/* False when it may become deeper than libpg_query's recursion should: some 2 KB of stack
 * for each step, measured. */
static bool follow_nesting(struct nesting *d, const struct sql_token *item)
{
	if (item->kind == SQL_PUNCTUATION && strchr("([", item->text.p[0])) {
		if (d->level + 1 == NESTING_MAX)
			return false;
		d->lasting[d->level + 1] = d->lasting[d->level] + d->chain[d->level] + 1;
		d->chain[++d->level] = 0;
	} else if (item->kind == SQL_PUNCTUATION && strchr(")]", item->text.p[0])) {
		d->level -= d->level > 0;
	} else if (item_is_sign(item, ',') || item_is_sign(item, ';') ||
		   item_word_is(item, "and") || item_word_is(item, "or")) {
		d->chain[d->level] = 0;
	} else if (spans_siblings(item)) {
		d->lasting[d->level]++;
	} else if (item->kind == SQL_OPERATOR) {
		/* "+++" is three. */
		d->chain[d->level] += (unsigned)item->text.n;
	} else if (item->kind == SQL_WORD) {
		d->chain[d->level]++;
	}
	return d->lasting[d->level] + d->chain[d->level] < NESTING_MAX;
}

bool sqloutline_make(struct sqloutline *o, const struct sql_token *items, size_t n)
{
	struct nesting nesting = { 0 };

	buf_reset(&o->text);
	o->text.max = OUTLINE_BYTES_MAX;
	o->count = o->value_count = 0;
	for (size_t i = 0; i < n && !o->text.is_full; i++) {
		const struct sql_token *item = &items[i];

		if (item->has_gap && i > 0)
			buf_add_byte(&o->text, ' ');
		if (!follow_nesting(&nesting, item))
			return false;
		size_t taken = take_bracket(o, items, n, i);
		if (taken) {
			i += taken - 1;
			nesting.level--; /* with its last bracket */
		} else if (is_value(item)) {
			uint32_t stand_in = (uint32_t)o->count;

			if (!add_stand_in(o, item) || !add_value(o, stand_in))
				return false;
		} else {
			buf_add_slice(&o->text, item->text);
		}
	}
	return !o->text.is_full;
}

size_t sqloutline_at(const struct sqloutline *o, uint32_t offset)
{
	size_t low = 0, high = o->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (o->offsets[middle] < offset)
			low = middle + 1;
		else
			high = middle;
	}
	return low < o->count && o->offsets[low] == offset ? low : SIZE_MAX;
}

void sqloutline_free(struct sqloutline *o)
{
	buf_free(&o->text);
	free(o->offsets);
	free(o->stand_ins);
	*o = (struct sqloutline){ 0 };
}
