/*
 * sqllex.h - PostgreSQL's lexical rules, as far as literals, names and comments
 * need them (chapter 4.1 of the manual; scan.l of 10-18).
 *
 * Pulls tokens from borrowed text without copying. Comments (nested ones too) and
 * white space are skipped. FAIL means that the text does not lex: an unterminated
 * quote, comment or dollar quote, a NUL or other control byte, or a number with
 * letters behind it; such text must be dropped by callers.
 * Touching adjacent string constants separated by a newline are separate tokens.
 */
#ifndef REPROD_SQLLEX_H
#define REPROD_SQLLEX_H

#include "core/base/base.h"

enum sql_kind {
	SQL_WORD, /* keyword or plain identifier, as spelled */
	SQL_NAME, /* "quoted identifier" or U&"...", quotes included */
	SQL_STRING, /* '...', E'...', U&'...', N'...', with prefix and quotes */
	SQL_BITS, /* B'...' or X'...' */
	SQL_DOLLAR, /* $tag$...$tag$ */
	SQL_NUMBER, /* 12, 1.5e3, 0xFF, 1_000; sign not included */
	SQL_PARAM, /* $1 */
	SQL_OPERATOR, /* a run of operator characters, or :: */
	SQL_PUNCTUATION, /* one of ( ) [ ] , ; . : */
	SQL_BARE, /* never from here: a word that core/model/sqlread.h found to be a value */
};

struct sql_token {
	enum sql_kind kind;
	struct slice text; /* as spelled */
	bool has_gap; /* white space or a comment stood before it */
};

struct sqllex {
	const char *at, *end;
	bool has_gap;
	/* standard_conforming_strings off: backslashes escape in '...' */
	bool is_backslash_escape;
	bool is_after_escape; /* private: the last token was E'...' */
};

void sqllex_init(struct sqllex *lex, struct slice text);
enum step sqllex_next(struct sqllex *lex, struct sql_token *ret);
/* Case-insensitive comparison of a SQL_WORD with a lower-case ASCII word. */
bool sql_word_is(const struct sql_token *t, const char *lower);

/* Splits a script at top-level semicolons: ITEM per non-empty statement, without
 * the semicolon. psql's backslash commands are FAIL. */
enum step sql_split_next(struct slice *rest, struct slice *ret_statement);

#endif
