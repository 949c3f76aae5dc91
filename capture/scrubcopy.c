#include "capture/scrubcopy.h"

#include <stdlib.h>

#include "core/model/sqllex.h"

enum { COLUMNS_MAX = 1600, NAME_MAX_BYTES = 64 }; /* the server's own limits */

/* COPY t (a, b) FROM STDIN */
struct copy {
	struct slice table;
	struct sqlcolumn columns[COLUMNS_MAX];
	size_t column_count; /* 0: all of the table, in its order */
};

/* As the catalog spells it. */
static struct slice fold(struct slice name, char to[NAME_MAX_BYTES])
{
	size_t n = 0;

	if (name.n >= 2 && name.p[0] == '"')
		return (struct slice){ name.p + 1, name.n - 2 };
	for (; n < name.n && n < NAME_MAX_BYTES; n++)
		to[n] = name.p[n] >= 'A' && name.p[n] <= 'Z' ? (char)(name.p[n] | 0x20) : name.p[n];
	return (struct slice){ to, n };
}

/* Any option beyond FREEZE means that the bytes may not be what we take them for. */
static bool is_other_format(const struct sql_token *t)
{
	static const char *const words[] = { "csv", "binary", "delimiter", "delimiters", "null",
		"quote", "escape", "encoding", "header", "format", "default" };

	for (size_t i = 0; t->kind == SQL_WORD && i < LENGTH(words); i++)
		if (sql_word_is(t, words[i]))
			return true;
	return false;
}

static bool is_sign(const struct sql_token *t, char c)
{
	return t->kind == SQL_PUNCTUATION && t->text.p[0] == c;
}

static bool is_name(const struct sql_token *t)
{
	return t->kind == SQL_WORD || t->kind == SQL_NAME;
}

/* From the parenthesis to its end. False when it is no list of names: a query. */
static bool read_columns(struct sqlscrub *sql, struct sqllex *lex, struct copy *c)
{
	char table_name[NAME_MAX_BYTES], name[NAME_MAX_BYTES];
	struct slice table = fold(c->table, table_name);
	struct sql_token t;

	while (sqllex_next(lex, &t) == STEP_ITEM && is_name(&t)) {
		if (c->column_count == COLUMNS_MAX)
			return false;
		c->columns[c->column_count++] = sqlscrub_column(sql, table, fold(t.text, name));
		if (sqllex_next(lex, &t) != STEP_ITEM)
			return false;
		if (is_sign(&t, ')'))
			return true;
		if (!is_sign(&t, ','))
			return false;
	}
	return false;
}

/* COPY [schema.]table [(columns)] FROM ... in text format with its defaults. */
static bool read_statement(struct sqlscrub *sql, struct slice statement, struct copy *c)
{
	char name[NAME_MAX_BYTES];
	struct sqllex lex;
	struct sql_token t;
	enum step step;

	sqllex_init(&lex, statement);
	if (sqllex_next(&lex, &t) != STEP_ITEM || !sql_word_is(&t, "copy"))
		return false;
	while ((step = sqllex_next(&lex, &t)) == STEP_ITEM && (is_name(&t) || is_sign(&t, '.'))) {
		if (sql_word_is(&t, "from") || sql_word_is(&t, "to"))
			break;
		if (is_name(&t))
			c->table = t.text;
	}
	if (step == STEP_ITEM && is_sign(&t, '(') && !read_columns(sql, &lex, c))
		return false;
	for (; step == STEP_ITEM; step = sqllex_next(&lex, &t))
		if (is_other_format(&t))
			return false;
	return step == STEP_END && c->table.n &&
	       (c->column_count || !sqlscrub_needs_columns(sql, fold(c->table, name)));
}

static char unescaped(char c)
{
	switch (c) {
	case 'b':
		return '\b';
	case 'f':
		return '\f';
	case 'n':
		return '\n';
	case 'r':
		return '\r';
	case 't':
		return '\t';
	case 'v':
		return '\v';
	default:
		return c;
	}
}

/* False for \x41 and \101: rare, and we need not understand them. */
static bool unescape(struct slice field, struct buf *out)
{
	for (size_t i = 0; i < field.n; i++) {
		char c = field.p[i];

		if (c == '\\' && ++i < field.n) {
			if (field.p[i] == 'x' || (field.p[i] >= '0' && field.p[i] <= '7'))
				return false;
			c = unescaped(field.p[i]);
		}
		buf_add_byte(out, (unsigned char)c);
	}
	return true;
}

static void escape(struct slice field, struct buf *out)
{
	static const char special[] = "\b\f\n\r\t\v\\", letter[] = "bfnrtv\\";

	for (size_t i = 0; i < field.n; i++) {
		const char *at = field.p[i] ? strchr(special, field.p[i]) : NULL;

		if (at)
			buf_add_byte(out, '\\');
		buf_add_byte(out, (unsigned char)(at ? letter[at - special] : field.p[i]));
	}
}

static bool scrub_field(struct sqlscrub *sql, struct sqlcolumn column, struct slice field,
	struct buf *plain, struct buf *out)
{
	struct value v = { 0 };

	if (slice_is(field, "\\N") || slice_is(field, "\\.") || !field.n) {
		buf_add_slice(out, field);
		return true;
	}
	buf_reset(plain);
	if (memchr(field.p, '\\', field.n)) {
		if (!unescape(field, plain))
			return false;
		field = buf_slice(plain);
	}
	/* The rule for a text bind in the column's place, so that a copied key and the
	 * same key in a later statement stay equal. */
	sqlscrub_field(sql, column, field, &v);
	if (v.action == VALUE_DROPPED)
		return false;
	escape(v.bytes, out);
	return true;
}

static bool scrub_rows(
	struct sqlscrub *sql, const struct copy *c, struct slice data, struct buf *out)
{
	CLEANUP(buf_free) struct buf plain = { 0 };
	const struct sqlcolumn unknown = sqlscrub_column(sql, SLICE(""), SLICE(""));
	const char *end = data.p + data.n;
	size_t field = 0;

	for (const char *at = data.p; at < end;) {
		const char *stop = at;

		while (stop < end && *stop != '\t' && *stop != '\n')
			stop++;
		struct sqlcolumn column = field < c->column_count ? c->columns[field] : unknown;
		if (!scrub_field(
			    sql, column, (struct slice){ at, (size_t)(stop - at) }, &plain, out))
			return false;
		field = stop < end && *stop == '\t' ? field + 1 : 0;
		if (stop < end)
			buf_add_byte(out, (unsigned char)*stop);
		at = stop + 1;
	}
	return !out->is_full;
}

bool scrubcopy_rows(
	struct sqlscrub *sql, struct slice statement, struct slice data, struct buf *out)
{
	struct copy *c = calloc(1, sizeof(*c));
	bool ok = c && read_statement(sql, statement, c) && scrub_rows(sql, c, data, out);

	free(c);
	return ok;
}
