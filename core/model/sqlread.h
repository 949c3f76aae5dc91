/*
 * sqlread.h - a statement as items: the lexer's tokens with the sign joined to its
 * number, continued strings joined, and bare words that are values called SQL_BARE
 * (SET application_name = checkout).
 *
 * Private to the SQL scrubber. Two readings of one text give the same items, and
 * which items are literals depends on nothing inside a literal: the cache of
 * shapes rests on that. Borrows the text.
 */
#ifndef REPROD_SQLREAD_H
#define REPROD_SQLREAD_H

#include "core/model/sqllex.h"

static inline bool item_is_literal(const struct sql_token *i)
{
	const unsigned literals = 1u << SQL_STRING | 1u << SQL_BITS | 1u << SQL_DOLLAR |
				  1u << SQL_NUMBER | 1u << SQL_BARE;

	return 1u << i->kind & literals;
}

struct sqlread {
	struct sqllex lex;
	/* The last item, as scalars: a struct copied right after it was written costs a
	 * stalled load each (a third of the whole reading, measured). */
	const char *last_at;
	uint32_t last_n;
	uint8_t last_kind;
	bool has_last;
	uint8_t words; /* of the current statement, up to 3 */
	uint8_t mode; /* private: what bare words mean here */
};

void sqlread_init(struct sqlread *r, struct slice text);
enum step sqlread_next(struct sqlread *r, struct sql_token *ret);

static inline bool item_word_is(const struct sql_token *i, const char *lower)
{
	return sql_word_is(i, lower);
}

static inline bool item_is_sign(const struct sql_token *i, char c)
{
	return i->kind == SQL_PUNCTUATION && i->text.p[0] == c;
}

static inline bool item_is_operator(const struct sql_token *i, const char *text)
{
	return i->kind == SQL_OPERATOR && slice_is(i->text, text);
}

#endif
