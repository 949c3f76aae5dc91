/*
 * sqlread.h - a statement as items: the lexer's tokens with the sign joined to its
 * number, continued strings joined, and bare words that are values called so.
 *
 * Private to the SQL scrubber. Two readings of one text give the same items, and
 * which items are literals depends on nothing inside a literal: the cache of
 * shapes rests on that. Borrows the text.
 */
#ifndef REPROD_SQLREAD_H
#define REPROD_SQLREAD_H

#include "core/model/sqllex.h"

enum item_kind {
	ITEM_WORD,
	ITEM_NAME,
	ITEM_PARAM,
	ITEM_OPERATOR,
	ITEM_PUNCTUATION,
	/* literals from here on */
	ITEM_NUMBER,
	ITEM_STRING,
	ITEM_BITS,
	ITEM_DOLLAR,
	ITEM_BARE, /* an unquoted word that is a value: SET application_name = checkout */
};

struct sqlitem {
	uint8_t kind; /* enum item_kind */
	bool has_gap;
	struct slice text;
};

static inline bool item_is_literal(const struct sqlitem *i)
{
	return i->kind >= ITEM_NUMBER;
}

struct sqlread {
	struct sqllex lex;
	struct sqlitem last;
	bool has_last;
	uint8_t words; /* of the current statement, up to 3 */
	uint8_t mode; /* private: what bare words mean here */
};

void sqlread_init(struct sqlread *r, struct slice text);
enum step sqlread_next(struct sqlread *r, struct sqlitem *ret);

static inline bool item_word_is(const struct sqlitem *i, const char *lower)
{
	struct sql_token t = { .kind = SQL_WORD, .text = i->text };

	return i->kind == ITEM_WORD && sql_word_is(&t, lower);
}

static inline bool item_is_sign(const struct sqlitem *i, char c)
{
	return i->kind == ITEM_PUNCTUATION && i->text.p[0] == c;
}

static inline bool item_is_operator(const struct sqlitem *i, const char *text)
{
	return i->kind == ITEM_OPERATOR && slice_is(i->text, text);
}

#endif
