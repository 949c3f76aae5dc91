#include "core/model/sqlshape.h"
#include "core/model/sqlword.h"

/* Longer routes are cut there; the fingerprint is of the whole. */
enum { ROUTE_MAX = 16 * 1024, LIST_DEPTH_MAX = 16 };

struct route {
	struct buf *out;
	uint64_t hash;
	bool is_cut;
};

/* FNV-1a, 64 bits (Fowler, Noll and Vo). */
static void hash_bytes(struct route *r, const char *p, size_t n, bool is_folded)
{
	for (size_t i = 0; i < n; i++) {
		unsigned char c = (unsigned char)p[i];

		if (is_folded && c >= 'A' && c <= 'Z')
			c |= 0x20;
		r->hash = (r->hash ^ c) * UINT64_C(0x100000001b3);
	}
}

static void put(struct route *r, struct slice text, bool is_folded)
{
	hash_bytes(r, text.p, text.n, is_folded);
	if (r->is_cut)
		return;
	if (r->out->n + text.n > ROUTE_MAX) {
		buf_add_text(r->out, " ...");
		r->is_cut = true;
		return;
	}
	buf_add_slice(r->out, text);
}

/* Spacing does not depend on the writer's: one blank, but none inside brackets,
 * before a comma, around a dot or a cast, or before a function's parenthesis. */
static bool wants_blank(const struct sql_token *before, const struct sql_token *item)
{
	if (before->kind == SQL_PUNCTUATION && strchr("([.", before->text.p[0]))
		return false;
	if (item_is_operator(before, "::") || item_is_operator(item, "::"))
		return false;
	if (item->kind != SQL_PUNCTUATION)
		return true;
	if (strchr("),].;", item->text.p[0]))
		return false;
	bool is_name = before->kind == SQL_NAME ||
		       (before->kind == SQL_WORD && !(word_sets(before->text) & WORDS_RESERVED));
	if (item->text.p[0] == '[')
		return !is_name && !item_word_is(before, "array");
	return item->text.p[0] != '(' || !is_name;
}

static bool is_simple(const struct sql_token *item)
{
	return item_is_literal(item) || item->kind == SQL_PARAM || item_is_operator(item, "::") ||
	       item_is_operator(item, "-") ||
	       (item->kind == SQL_PUNCTUATION && strchr("(),[]", item->text.p[0])) ||
	       (item->kind == SQL_WORD && !(word_sets(item->text) & WORDS_RESERVED)) ||
	       item_word_is(item, "null") || item_word_is(item, "default");
}

/* The bracket that closes the one at i; n when none does, or behind too many others:
 * without that bound "in(in(in(" would cost the square of its length. */
static size_t closing(const struct sql_token *items, size_t n, size_t i, bool *ret_is_simple)
{
	unsigned depth = 0;
	bool has_value = false, has_call = false;

	*ret_is_simple = false;
	for (; i < n; i++) {
		const struct sql_token *item = &items[i];

		if (item->kind == SQL_PUNCTUATION && strchr("([", item->text.p[0])) {
			if (++depth > LIST_DEPTH_MAX)
				return n;
		} else if (item->kind == SQL_PUNCTUATION && strchr(")]", item->text.p[0]) &&
			   --depth == 0)
			break;
		has_value |= item_is_literal(item) || item->kind == SQL_PARAM;
		has_call |= !is_simple(item);
		/* Names may only be the types of casts. */
		has_call |= item->kind == SQL_WORD && !item_is_operator(&items[i - 1], "::") &&
			    !item_word_is(item, "null") && !item_word_is(item, "default");
	}
	*ret_is_simple = has_value && !has_call;
	return i;
}

/* IN (...), ARRAY[...], VALUES (...), (...): how many items are one "(...)"; 0: none. */
static size_t collapsed(const struct sql_token *items, size_t n, size_t i)
{
	bool is_plain;

	if (i == 0 || items[i].kind != SQL_PUNCTUATION || !strchr("([", items[i].text.p[0]))
		return 0;
	const struct sql_token *before = &items[i - 1];
	bool is_values = item_word_is(before, "values");
	if (!is_values && !item_word_is(before, "in") && !item_word_is(before, "array"))
		return 0;
	size_t end = closing(items, n, i, &is_plain);
	if (end == n || (!is_values && !is_plain))
		return 0;
	while (is_values && end + 2 < n && item_is_sign(&items[end + 1], ',') &&
		item_is_sign(&items[end + 2], '(')) {
		size_t next = closing(items, n, end + 2, &is_plain);

		if (next == n)
			break;
		end = next;
	}
	return end - i + 1;
}

void sqlroute_build(
	const struct sql_token *items, size_t n, struct buf *route, uint64_t *ret_fingerprint)
{
	struct route r = { .out = route, .hash = UINT64_C(0xcbf29ce484222325) };
	const struct sql_token *before = NULL;

	while (n && item_is_sign(&items[n - 1], ';'))
		n--;
	for (size_t i = 0; i < n; i++) {
		const struct sql_token *item = &items[i];

		if (before && wants_blank(before, item))
			put(&r, SLICE(" "), false);
		size_t many = collapsed(items, n, i);
		if (many) {
			put(&r, item->text.p[0] == '[' ? SLICE("[...]") : SLICE("(...)"), false);
			i += many - 1;
		} else if (item_is_literal(item) || item->kind == SQL_PARAM) {
			put(&r, SLICE("?"), false);
		} else {
			put(&r, item->text, item->kind == SQL_WORD);
		}
		before = &items[i];
	}
	/* FNV's high bits move little for short texts (the finalizer of MurmurHash3). */
	uint64_t h = r.hash;
	h = (h ^ h >> 33) * UINT64_C(0xff51afd7ed558ccd);
	h = (h ^ h >> 33) * UINT64_C(0xc4ceb9fe1a85ec53);
	*ret_fingerprint = h ^ h >> 33;
}
