/*
 * sqlword.h - the words that mean something to the scrubber, as sets.
 *
 * Private to the SQL scrubber. Words are given as spelled; case does not matter.
 */
#ifndef REPROD_SQLWORD_H
#define REPROD_SQLWORD_H

#include "core/base/base.h"

enum word_set {
	WORDS_RESERVED = 1, /* a keyword, not a name: a blank stands before its parenthesis */
	WORDS_NOW = 2, /* reads the clock: now, current_date, ... */
	WORDS_SECRET = 4, /* functions whose arguments hold secrets */
	WORDS_EXTERNAL = 8, /* functions with effects outside the database */
	WORDS_UNIT = 16, /* units of date_trunc, extract and interval */
	WORDS_SETTING = 32, /* harmless values of settings and of COPY options */
	WORDS_NAMED = 64, /* functions whose first argument names an object or a setting */
	WORDS_REGTYPE = 128, /* types whose input is a name in the catalog */
	WORDS_CLOCKED = 256, /* date and time types */
	WORDS_BOOLEAN = 512, /* spellings of booleans */
	WORDS_FORMAT = 1024, /* functions whose second argument is a template pattern */
	WORDS_UNTRUSTED = 2048, /* languages that can leave the database */
	WORDS_WRITE = 4096, /* first words of statements that write */
	WORDS_FIRST_UNIT = 8192, /* functions whose first argument is a unit */
	WORDS_ZONE = 16384, /* time zone names without a slash */
	WORDS_COMPARE = 32768, /* operators spelled as words: LIKE, IN, BETWEEN */
	WORDS_SECRET_SETTING = 65536, /* settings whose value may hold a password or a command */
	WORDS_SPECIAL_DATE = 131072, /* now, today, infinity: kept in a cast to a date */
	WORDS_KEYED = 262144, /* functions whose odd arguments are JSON keys */
	WORDS_TYPMOD = 524288, /* types with a length or precision behind */
};

/* The sets a word is in; 0 when it is in none. */
uint32_t word_sets(struct slice word);

#endif
