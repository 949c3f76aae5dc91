#include "core/model/sqlshape.h"
#include "core/model/sqlword.h"

/* One statement of a text, without its semicolon. */
struct statement {
	const struct sql_token *items;
	size_t n;
};

static bool is_word_at(const struct statement *s, size_t i, const char *lower)
{
	return i < s->n && item_word_is(&s->items[i], lower);
}

static bool has_word(const struct statement *s, const char *lower)
{
	for (size_t i = 0; i < s->n; i++)
		if (item_word_is(&s->items[i], lower))
			return true;
	return false;
}

static bool has_literal(const struct statement *s, size_t from)
{
	for (; from < s->n; from++)
		if (item_is_literal(&s->items[from]))
			return true;
	return false;
}

/* Where the statement proper begins behind EXPLAIN (...) and PREPARE ... AS. */
static size_t verb_at(const struct statement *s)
{
	size_t at = 0;

	if (is_word_at(s, 0, "explain")) {
		unsigned depth = 0;

		for (at = 1; at < s->n; at++) {
			if (item_is_sign(&s->items[at], '('))
				depth++;
			else if (item_is_sign(&s->items[at], ')') && depth)
				depth--;
			else if (depth == 0 && !is_word_at(s, at, "analyze") &&
				 !is_word_at(s, at, "verbose"))
				break;
		}
	} else if (is_word_at(s, 0, "prepare") && !is_word_at(s, 1, "transaction")) {
		for (at = 1; at < s->n && !is_word_at(s, at, "as"); at++)
			;
		at++;
	}
	while (at < s->n && item_is_sign(&s->items[at], '('))
		at++;
	return at < s->n ? at : 0;
}

static char transaction_of(const struct statement *s)
{
	if (is_word_at(s, 0, "begin") ||
		(is_word_at(s, 0, "start") && is_word_at(s, 1, "transaction")))
		return 'B';
	if (is_word_at(s, 1, "prepared"))
		return 0;
	if (is_word_at(s, 0, "commit") || is_word_at(s, 0, "end"))
		return 'C';
	if (is_word_at(s, 0, "abort") || (is_word_at(s, 0, "rollback") && !has_word(s, "to")))
		return 'R';
	return 0;
}

/* INSERT, UPDATE ... inside WITH: behind a parenthesis, not as in FOR UPDATE. */
static bool writes_inside(const struct statement *s)
{
	for (size_t i = 1; i < s->n; i++)
		if (s->items[i - 1].kind == SQL_PUNCTUATION && s->items[i].kind == SQL_WORD &&
			(is_word_at(s, i, "insert") || is_word_at(s, i, "update") ||
				is_word_at(s, i, "delete") || is_word_at(s, i, "merge")))
			return true;
	return false;
}

static uint32_t functions_of(const struct statement *s, bool *ret_is_strong)
{
	uint32_t flags = 0;

	for (size_t i = 0; i < s->n; i++) {
		const struct sql_token *item = &s->items[i];
		struct slice name = item->text;

		if (item->kind == SQL_NAME && name.n > 2 && name.p[0] == '"')
			name = (struct slice){ name.p + 1, name.n - 2 };
		else if (item->kind != SQL_WORD)
			continue;
		uint32_t sets = word_sets(name);
		bool is_call = i + 1 < s->n && item_is_sign(&s->items[i + 1], '(');
		if (is_call && sets & WORDS_SECRET)
			flags |= REQUEST_SECRET;
		if (is_call && sets & WORDS_EXTERNAL)
			flags |= REQUEST_EXTERNAL;
		if (sets & WORDS_NOW && (is_call || item->text.n > 6))
			flags |= REQUEST_USES_NOW;
		if (is_call && (is_word_at(s, i, "nextval") || is_word_at(s, i, "currval") ||
				       is_word_at(s, i, "lastval")))
			*ret_is_strong = true;
		if (is_call && (is_word_at(s, i, "nextval") || is_word_at(s, i, "setval")))
			flags |= REQUEST_WRITES;
		if (is_word_at(s, i, "returning"))
			*ret_is_strong = true;
	}
	return flags;
}

static bool is_untrusted(const struct statement *s)
{
	for (size_t i = 0; i + 1 < s->n; i++)
		if (is_word_at(s, i, "language")) {
			const struct sql_token *name = &s->items[i + 1];
			bool is_quoted = name->kind != SQL_WORD && name->text.n > 2;
			struct slice text = { name->text.p + is_quoted,
				name->text.n - 2 * is_quoted };

			return word_sets(text) & WORDS_UNTRUSTED;
		}
	return false;
}

/* CREATE, ALTER, DROP: objects outside the database, and those that hold secrets. */
static uint32_t definition_of(const struct statement *s, size_t at)
{
	size_t kind = at + 1;

	if (is_word_at(s, kind, "or") && is_word_at(s, kind + 1, "replace"))
		kind += 2;
	bool is_role = is_word_at(s, kind, "role") || is_word_at(s, kind, "group") ||
		       is_word_at(s, kind, "user");
	if (is_word_at(s, kind, "subscription") || is_word_at(s, kind, "server") ||
		(is_word_at(s, kind, "user") && is_word_at(s, kind + 1, "mapping")) ||
		(is_word_at(s, kind, "foreign") && !is_word_at(s, kind + 1, "key")))
		return REQUEST_EXTERNAL | (has_literal(s, kind) ? REQUEST_SECRET : 0);
	if (is_role) {
		bool has_secret = has_word(s, "password") && has_literal(s, kind);

		return REQUEST_EXTERNAL | (has_secret ? REQUEST_SECRET : 0);
	}
	if (is_word_at(s, kind, "database") || is_word_at(s, kind, "tablespace") ||
		is_word_at(s, kind, "system"))
		return REQUEST_EXTERNAL;
	if (is_untrusted(s))
		return REQUEST_EXTERNAL;
	return 0;
}

static bool sets_secret(const struct statement *s)
{
	for (size_t i = 0; i < s->n; i++)
		if (s->items[i].kind == SQL_WORD &&
			word_sets(s->items[i].text) & WORDS_SECRET_SETTING)
			return true;
	return false;
}

/* COPY with a file or a program of the server; STDIN and STDOUT are the client's. */
static bool copies_outside(const struct statement *s, size_t at)
{
	unsigned depth = 0;

	for (; at + 1 < s->n; at++) {
		if (item_is_sign(&s->items[at], '('))
			depth++;
		else if (item_is_sign(&s->items[at], ')') && depth)
			depth--;
		else if (depth == 0 && (is_word_at(s, at, "from") || is_word_at(s, at, "to")))
			return !is_word_at(s, at + 1, "stdin") && !is_word_at(s, at + 1, "stdout");
	}
	return false;
}

static void judge_one(const struct statement *s, struct sqlshape *shape)
{
	size_t at = verb_at(s);
	const struct sql_token *verb = &s->items[at];
	bool is_running = !is_word_at(s, 0, "explain") || has_word(s, "analyze");

	shape->flags |= functions_of(s, &shape->has_strong_result);
	if (verb->kind == SQL_WORD && word_sets(verb->text) & WORDS_WRITE && is_running &&
		!(is_word_at(s, at, "copy") && has_word(s, "to") && !has_word(s, "from")))
		shape->flags |= REQUEST_WRITES;
	if ((is_word_at(s, at, "with") || is_word_at(s, at, "declare")) && is_running &&
		writes_inside(s))
		shape->flags |= REQUEST_WRITES;
	if (is_word_at(s, at, "create") || is_word_at(s, at, "alter") || is_word_at(s, at, "drop"))
		shape->flags |= definition_of(s, at);
	if (is_word_at(s, at, "import") || is_word_at(s, at, "load"))
		shape->flags |= REQUEST_EXTERNAL;
	if (is_word_at(s, at, "do") && is_untrusted(s))
		shape->flags |= REQUEST_EXTERNAL;
	if (is_word_at(s, at, "copy") && copies_outside(s, at))
		shape->flags |= REQUEST_EXTERNAL;
	if (sets_secret(s) && has_literal(s, at))
		shape->flags |= REQUEST_SECRET;
}

void sqlverb_judge(const struct sql_token *items, size_t n, struct sqlshape *shape)
{
	size_t statements = 0;
	char transaction = 0;

	/* A text of blanks and comments alone. */
	if (n == 0)
		return;
	for (size_t from = 0, i = 0; i <= n; i++) {
		if (i < n && !item_is_sign(&items[i], ';'))
			continue;
		struct statement s = { items + from, i - from };
		if (s.n) {
			judge_one(&s, shape);
			transaction = transaction_of(&s);
			statements++;
		}
		from = i + 1;
	}
	shape->transaction = statements == 1 ? transaction : 0;
}
