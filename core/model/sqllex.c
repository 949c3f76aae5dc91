#include "core/model/sqllex.h"

#include "core/base/hex.h"

/* What a byte may begin or continue. */
enum byte_class {
	B_SPACE = 1,
	B_WORD_START = 2,
	B_WORD = 4,
	B_DIGIT = 8,
	B_OPERATOR = 16,
	B_PUNCTUATION = 32,
};

#define C B_WORD
#define W (B_WORD_START | B_WORD)
#define D (B_DIGIT | B_WORD)
#define O B_OPERATOR
#define P B_PUNCTUATION
#define S B_SPACE
#define H W, W, W, W, W, W, W, W, W, W, W, W, W, W, W, W

/* clang-format off */
static const uint8_t class_of[256] = {
	0, 0, 0, 0, 0, 0, 0, 0, 0, S, S, S, S, S, 0, 0, /* 00 */
	0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, /* 10 */
	S, O, 0, O, C, O, O, 0, P, P, O, O, P, O, P, O, /* 20 */
	D, D, D, D, D, D, D, D, D, D, P, P, O, O, O, O, /* 30 */
	O, W, W, W, W, W, W, W, W, W, W, W, W, W, W, W, /* 40 */
	W, W, W, W, W, W, W, W, W, W, W, P, 0, P, O, W, /* 50 */
	O, W, W, W, W, W, W, W, W, W, W, W, W, W, W, W, /* 60 */
	W, W, W, W, W, W, W, W, W, W, W, 0, O, 0, O, 0, /* 70 */
	H, H, H, H, H, H, H, H, /* 80 to ff: letters */
};
/* clang-format on */

#undef C
#undef W
#undef D
#undef O
#undef P
#undef S
#undef H

static bool is(char c, unsigned class)
{
	return (class_of[(unsigned char)c] & class) != 0;
}

void sqllex_init(struct sqllex *lex, struct slice text)
{
	*lex = (struct sqllex){ .at = text.p, .end = text.n ? text.p + text.n : text.p };
}

static bool has(const struct sqllex *lex, const char *p, size_t n)
{
	return (size_t)(lex->end - p) >= n;
}

/* Nested, as in scan.l and unlike C. False when it does not end. */
static bool skip_block_comment(struct sqllex *lex)
{
	const char *p = lex->at + 2;
	unsigned depth = 1;

	while (has(lex, p, 2)) {
		if (p[0] == '*' && p[1] == '/') {
			p += 2;
			if (--depth == 0) {
				lex->at = p;
				return true;
			}
		} else if (p[0] == '/' && p[1] == '*') {
			p += 2;
			depth++;
		} else if (*p++ == '\0') {
			return false;
		}
	}
	return false;
}

static bool skip_line_comment(struct sqllex *lex)
{
	for (; lex->at < lex->end; lex->at++) {
		if (*lex->at == '\n' || *lex->at == '\r')
			return true;
		if (*lex->at == '\0')
			return false;
	}
	return true;
}

static bool skip_gap(struct sqllex *lex)
{
	lex->has_gap = false;
	for (;;) {
		const char *p = lex->at;

		if (p == lex->end)
			return true;
		if (is(*p, B_SPACE)) {
			lex->has_gap = true;
			lex->at++;
		} else if (*p == '-' && has(lex, p, 2) && p[1] == '-') {
			lex->has_gap = true;
			if (!skip_line_comment(lex))
				return false;
		} else if (*p == '/' && has(lex, p, 2) && p[1] == '*') {
			lex->has_gap = true;
			if (!skip_block_comment(lex))
				return false;
		} else {
			return true;
		}
	}
}

static enum step give(
	struct sqllex *lex, struct sql_token *ret, enum sql_kind kind, const char *end)
{
	ret->kind = kind;
	ret->text = (struct slice){ lex->at, (size_t)(end - lex->at) };
	ret->has_gap = lex->has_gap;
	lex->at = end;
	lex->is_after_escape = false;
	return STEP_ITEM;
}

/* open is the opening quote; NULL when there is no closing one. */
static const char *quoted_end(const struct sqllex *lex, const char *open, bool is_escaping)
{
	const char *p = open + 1;

	for (; p < lex->end; p++) {
		if (*p == *open) {
			if (has(lex, p, 2) && p[1] == *open)
				p++;
			else
				return p + 1;
		} else if (*p == '\\' && is_escaping) {
			if (++p == lex->end)
				return NULL;
		}
		if (*p == '\0')
			return NULL;
	}
	return NULL;
}

static enum step lex_quoted(struct sqllex *lex, struct sql_token *ret, enum sql_kind kind,
	size_t prefix, bool is_escaping)
{
	const char *end = quoted_end(lex, lex->at + prefix, is_escaping);

	if (!end)
		return STEP_FAIL;
	give(lex, ret, kind, end);
	lex->is_after_escape = is_escaping && kind == SQL_STRING;
	return STEP_ITEM;
}

static enum step lex_word(struct sqllex *lex, struct sql_token *ret)
{
	const char *p = lex->at;

	if (has(lex, p, 2) && p[1] == '\'') {
		switch (*p | 0x20) {
		case 'e':
			return lex_quoted(lex, ret, SQL_STRING, 1, true);
		case 'n':
			return lex_quoted(lex, ret, SQL_STRING, 1, lex->is_backslash_escape);
		case 'b':
		case 'x':
			return lex_quoted(lex, ret, SQL_BITS, 1, false);
		}
	}
	if ((*p | 0x20) == 'u' && has(lex, p, 3) && p[1] == '&') {
		if (p[2] == '\'')
			return lex_quoted(lex, ret, SQL_STRING, 2, false);
		if (p[2] == '"')
			return lex_quoted(lex, ret, SQL_NAME, 2, false);
	}
	for (p++; p < lex->end && is(*p, B_WORD); p++)
		;
	return give(lex, ret, SQL_WORD, p);
}

static const char *skip_digits(const struct sqllex *lex, const char *p)
{
	while (p < lex->end &&
		(is(*p, B_DIGIT) || (*p == '_' && has(lex, p, 2) && is(p[1], B_DIGIT))))
		p++;
	return p;
}

static bool is_digit_of(char c, int base)
{
	int v = hex_value(c);

	return v >= 0 && v < base;
}

/* 0x1F, 0o17, 0b11 (16 and later); p when it is none of them. */
static const char *skip_based(const struct sqllex *lex, const char *p)
{
	const char *at = p + 2;
	int base = 0;

	if (!has(lex, p, 3) || p[0] != '0')
		return p;
	switch (p[1] | 0x20) {
	case 'x':
		base = 16;
		break;
	case 'o':
		base = 8;
		break;
	case 'b':
		base = 2;
		break;
	default:
		return p;
	}
	while (at < lex->end && (is_digit_of(*at, base) || (*at == '_' && has(lex, at, 2) &&
								   is_digit_of(at[1], base))))
		at++;
	return at == p + 2 ? p : at;
}

/* Servers before 15 let a keyword touch a number ("id=1AND"); anything else that
 * does may be a value somebody forgot to quote, and is refused like 15 does. */
static bool may_touch_number(const struct sqllex *lex, const char *p)
{
	static const char *const words[] = { "and", "or", "from", "where", "then", "else", "end",
		"when", "limit", "offset", "order", "group", "union", "as", "desc", "asc" };
	const char *end = p;

	while (end < lex->end && is(*end, B_WORD))
		end++;
	struct sql_token t = { .kind = SQL_WORD, .text = { p, (size_t)(end - p) } };
	for (size_t i = 0; i < LENGTH(words); i++)
		if (sql_word_is(&t, words[i]))
			return true;
	return false;
}

static enum step lex_number(struct sqllex *lex, struct sql_token *ret)
{
	const char *p = skip_based(lex, lex->at);

	if (p == lex->at) {
		p = skip_digits(lex, p);
		/* "1..2" is a range in PL/pgSQL, not "1." and ".2". */
		if (p < lex->end && *p == '.' && !(has(lex, p, 2) && p[1] == '.'))
			p = skip_digits(lex, p + 1);
		if (p < lex->end && (*p | 0x20) == 'e') {
			const char *digit = p + 1;

			if (digit < lex->end && (*digit == '+' || *digit == '-'))
				digit++;
			if (digit < lex->end && is(*digit, B_DIGIT))
				p = skip_digits(lex, digit);
		}
	}
	if (p < lex->end && is(*p, B_WORD) && !may_touch_number(lex, p))
		return STEP_FAIL;
	return give(lex, ret, SQL_NUMBER, p);
}

static enum step lex_dollar(struct sqllex *lex, struct sql_token *ret)
{
	const char *p = lex->at + 1;

	if (p < lex->end && is(*p, B_DIGIT)) {
		while (p < lex->end && is(*p, B_DIGIT))
			p++;
		if (p < lex->end && is(*p, B_WORD) && !may_touch_number(lex, p))
			return STEP_FAIL;
		return give(lex, ret, SQL_PARAM, p);
	}
	if (p < lex->end && is(*p, B_WORD_START))
		while (p < lex->end && is(*p, B_WORD) && *p != '$')
			p++;
	if (p == lex->end || *p != '$')
		return STEP_FAIL;
	p++;
	size_t tag = (size_t)(p - lex->at);
	const char *close = memmem(p, (size_t)(lex->end - p), lex->at, tag);
	if (!close || memchr(p, '\0', (size_t)(close - p)))
		return STEP_FAIL;
	return give(lex, ret, SQL_DOLLAR, close + tag);
}

/* The server takes 63; a run that is cut into signs one by one could be longer, but
 * would be read as often as it has signs. */
enum { OPERATOR_MAX = 256 };

/* The longest run without a comment start; a trailing + or - only belongs to it
 * when one of ~ ! @ # % ^ & | ` ? does too (manual, 4.1.3). */
static enum step lex_operator(struct sqllex *lex, struct sql_token *ret)
{
	const char *p = lex->at;
	bool is_special = false;

	for (; p < lex->end && is(*p, B_OPERATOR); p++) {
		if (has(lex, p, 2) &&
			((p[0] == '-' && p[1] == '-') || (p[0] == '/' && p[1] == '*')))
			break;
		if (p - lex->at == OPERATOR_MAX)
			return STEP_FAIL;
		switch (*p) {
		case '~':
		case '!':
		case '@':
		case '#':
		case '%':
		case '^':
		case '&':
		case '|':
		case '`':
		case '?':
			is_special = true;
		}
	}
	if (!is_special)
		while (p - lex->at > 1 && (p[-1] == '+' || p[-1] == '-'))
			p--;
	return give(lex, ret, SQL_OPERATOR, p);
}

enum step sqllex_next(struct sqllex *lex, struct sql_token *ret)
{
	if (!skip_gap(lex))
		return STEP_FAIL;
	const char *p = lex->at;
	if (p == lex->end)
		return STEP_END;
	unsigned class = class_of[(unsigned char)*p];
	if (class & B_WORD_START)
		return lex_word(lex, ret);
	if (class & B_DIGIT)
		return lex_number(lex, ret);
	if (class & B_OPERATOR)
		return lex_operator(lex, ret);
	switch (*p) {
	case '\'':
		/* A continued E'...' goes on escaping (scan.l, quotecontinue). */
		return lex_quoted(
			lex, ret, SQL_STRING, 0, lex->is_backslash_escape || lex->is_after_escape);
	case '"':
		return lex_quoted(lex, ret, SQL_NAME, 0, false);
	case '$':
		return lex_dollar(lex, ret);
	case '.':
		if (has(lex, p, 2) && is(p[1], B_DIGIT))
			return lex_number(lex, ret);
		break;
	case ':':
		if (has(lex, p, 2) && (p[1] == ':' || p[1] == '='))
			return give(lex, ret, SQL_OPERATOR, p + 2);
		break;
	}
	return class & B_PUNCTUATION ? give(lex, ret, SQL_PUNCTUATION, p + 1) : STEP_FAIL;
}

bool sql_word_is(const struct sql_token *t, const char *lower)
{
	if (t->kind != SQL_WORD)
		return false;
	size_t i = 0;
	for (; i < t->text.n && lower[i]; i++) {
		char c = t->text.p[i];

		if (c >= 'A' && c <= 'Z')
			c |= 0x20;
		if (c != lower[i])
			return false;
	}
	return i == t->text.n && !lower[i];
}

/* Semicolons inside BEGIN ATOMIC ... END and CREATE RULE's parentheses are not at the top. */
enum step sql_split_next(struct slice *rest, struct slice *ret_statement)
{
	struct sqllex lex;
	struct sql_token t;
	const char *start = NULL, *end = NULL;
	unsigned depth = 0, atomic = 0;
	bool was_begin = false;
	enum step step;

	sqllex_init(&lex, *rest);
	while ((step = sqllex_next(&lex, &t)) == STEP_ITEM) {
		char c = t.kind == SQL_PUNCTUATION ? t.text.p[0] : 0;

		if (c == ';' && depth == 0 && atomic == 0) {
			if (start)
				break;
			continue;
		}
		if (!start)
			start = t.text.p;
		end = t.text.p + t.text.n;
		if (c == '(')
			depth++;
		else if (c == ')' && depth)
			depth--;
		if (was_begin && sql_word_is(&t, "atomic"))
			atomic++;
		else if (atomic && sql_word_is(&t, "case"))
			atomic++;
		else if (atomic && sql_word_is(&t, "end"))
			atomic--;
		was_begin = sql_word_is(&t, "begin");
	}
	if (step == STEP_FAIL)
		return STEP_FAIL;
	*rest = (struct slice){ lex.at, (size_t)(lex.end - lex.at) };
	if (!start)
		return STEP_END;
	*ret_statement = (struct slice){ start, (size_t)(end - start) };
	return STEP_ITEM;
}
