#include "core/model/sqlread.h"

enum mode {
	MODE_PLAIN,
	MODE_SET, /* SET: a value comes after TO, = or ROLE */
	MODE_ALTER, /* ALTER SYSTEM, ROLE, DATABASE ...: the same once SET was seen */
	MODE_ROLE, /* CREATE, ALTER, DROP ROLE, USER, GROUP: a name comes */
	MODE_VALUE, /* every word up to the end of the statement is a value */
	MODE_DDL, /* CREATE, ALTER or DROP was the first word */
};

void sqlread_init(struct sqlread *r, struct slice text)
{
	*r = (struct sqlread){ .mode = MODE_PLAIN };
	sqllex_init(&r->lex, text);
}

static bool is_number_at(const struct sqllex *lex)
{
	const char *p = lex->at;

	if (p < lex->end && *p == '.')
		p++;
	return p < lex->end && *p >= '0' && *p <= '9';
}

/* Words behind which a minus is a sign. */
static bool is_before_operand(const struct sql_token *word)
{
	static const char *const words[] = { "select", "where", "and", "or", "not", "then", "else",
		"when", "limit", "offset", "between", "values", "set", "returning", "by", "to",
		"in", "having", "on", "distinct", "all", "case", "like", "return", "default",
		"from" };

	for (size_t i = 0; i < LENGTH(words); i++)
		if (item_word_is(word, words[i]))
			return true;
	return false;
}

static bool is_sign_place(const struct sqlread *r)
{
	if (!r->has_last)
		return true;
	const struct sql_token last = { .kind = r->last_kind, .text = { r->last_at, r->last_n } };

	switch (last.kind) {
	case SQL_OPERATOR:
		return true;
	case SQL_PUNCTUATION:
		return strchr("([,:;", *r->last_at) != NULL;
	case SQL_WORD:
		return is_before_operand(&last);
	default:
		return false;
	}
}

/* A string goes on in a string behind white space (manual, 4.1.2.1). */
static bool join_strings(struct sqlread *r, struct sql_token *item)
{
	for (;;) {
		struct sqllex ahead = r->lex;
		struct sql_token t;
		const char *p = ahead.at;

		if (p == ahead.end ||
			(*p != '-' && *p != '/' && *p != ' ' && (*p < '\t' || *p > '\r')))
			return true;
		switch (sqllex_next(&ahead, &t)) {
		case STEP_ITEM:
			break;
		case STEP_FAIL:
			return false;
		default:
			return true;
		}
		if (t.kind != SQL_STRING || t.text.p[0] != '\'')
			return true;
		r->lex = ahead;
		item->text.n = (size_t)(t.text.p + t.text.n - item->text.p);
	}
}

static bool is_role_word(const struct sql_token *i)
{
	return item_word_is(i, "role") || item_word_is(i, "user") || item_word_is(i, "group");
}

/* Bare values: what SET and its kin assign, and names of roles. */
static void follow_modes(struct sqlread *r, struct sql_token *item)
{
	bool is_word = item->kind == SQL_WORD || item->kind == SQL_NAME;
	unsigned count = r->words;

	if (item_is_sign(item, ';')) {
		r->words = 0;
		r->mode = MODE_PLAIN;
		return;
	}
	if (is_word && r->words < 3)
		r->words++;
	if (count == 0 && is_word) {
		if (item_word_is(item, "set"))
			r->mode = MODE_SET;
		else if (item_word_is(item, "alter") || item_word_is(item, "create") ||
			 item_word_is(item, "drop"))
			r->mode = MODE_DDL;
		return;
	}
	switch (r->mode) {
	case MODE_PLAIN:
		return;
	case MODE_DDL:
		r->mode = MODE_PLAIN;
		if (is_role_word(item))
			r->mode = MODE_ROLE;
		else if (item_word_is(item, "system") || item_word_is(item, "database"))
			r->mode = MODE_ALTER;
		return;
	case MODE_ROLE:
		if (item_word_is(item, "if") || item_word_is(item, "exists") ||
			item_word_is(item, "mapping") || item_word_is(item, "not")) {
			r->mode = item_word_is(item, "mapping") ? MODE_PLAIN : MODE_ROLE;
			return;
		}
		r->mode = MODE_ALTER;
		if (is_word)
			item->kind = SQL_BARE;
		return;
	case MODE_ALTER:
		if (item_word_is(item, "set"))
			r->mode = MODE_SET;
		else if (item_is_sign(item, ','))
			r->mode = MODE_ROLE;
		return;
	case MODE_SET:
		if (item_is_operator(item, "=") || item_word_is(item, "to") ||
			(count <= 2 && item_word_is(item, "role")) ||
			item_word_is(item, "authorization") || item_word_is(item, "zone"))
			r->mode = MODE_VALUE;
		/* SET TRANSACTION ISOLATION LEVEL ... and its like are keywords. */
		else if (item_word_is(item, "transaction") ||
			 item_word_is(item, "characteristics") || item_word_is(item, "constraints"))
			r->mode = MODE_PLAIN;
		return;
	case MODE_VALUE:
		if (is_word)
			item->kind = SQL_BARE;
		return;
	}
}

/* Control bytes in a quoted name could pass for our own marks. */
static bool is_clean(struct slice name)
{
	for (size_t i = 0; i < name.n; i++)
		if ((unsigned char)name.p[i] < ' ')
			return false;
	return true;
}

static bool join_sign(struct sqlread *r, struct sql_token *minus)
{
	struct sql_token number;

	if (!is_number_at(&r->lex) || !is_sign_place(r))
		return true;
	if (sqllex_next(&r->lex, &number) != STEP_ITEM)
		return false;
	minus->kind = SQL_NUMBER;
	minus->text.n = (size_t)(number.text.p + number.text.n - minus->text.p);
	return true;
}

enum step sqlread_next(struct sqlread *r, struct sql_token *ret)
{
	enum step step = sqllex_next(&r->lex, ret);

	if (step != STEP_ITEM)
		return step;
	switch (ret->kind) {
	case SQL_STRING:
		if (!join_strings(r, ret))
			return STEP_FAIL;
		break;
	case SQL_NAME:
		if (!is_clean(ret->text))
			return STEP_FAIL;
		break;
	case SQL_OPERATOR:
		if (ret->text.n == 1 && ret->text.p[0] == '-' && !join_sign(r, ret))
			return STEP_FAIL;
		break;
	default:
		break;
	}
	if (r->mode != MODE_PLAIN || r->words == 0 || item_is_sign(ret, ';'))
		follow_modes(r, ret);
	r->last_kind = (uint8_t)ret->kind;
	r->last_at = ret->text.p;
	r->last_n = (uint32_t)ret->text.n;
	r->has_last = true;
	return STEP_ITEM;
}
