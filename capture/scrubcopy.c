#include "capture/scrubcopy.h"

#include "core/model/sqllex.h"

/* Any option beyond FREEZE means that the bytes may not be what we take them for. */
static bool is_plain_text_copy(struct slice statement)
{
	static const char *const words[] = { "csv", "binary", "delimiter", "delimiters", "null",
		"quote", "escape", "encoding", "header", "format", "default" };
	struct sqllex lex;
	struct sql_token t;
	enum step step;
	bool is_copy = false;

	sqllex_init(&lex, statement);
	while ((step = sqllex_next(&lex, &t)) == STEP_ITEM) {
		if (t.kind != SQL_WORD)
			continue;
		is_copy |= sql_word_is(&t, "copy");
		for (size_t i = 0; i < LENGTH(words); i++)
			if (sql_word_is(&t, words[i]))
				return false;
	}
	return is_copy && step == STEP_END;
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

static bool scrub_field(
	struct sqlscrub *sql, struct slice field, struct buf *plain, struct buf *out)
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
	/* The rule for a text bind of unknown type, so that a copied key and the same
	 * key in a later statement stay equal. */
	sqlscrub_bind(sql, field, 0, 0, false, &v);
	if (v.flags & VALUE_IS_UNKNOWN)
		return false;
	escape(v.bytes, out);
	return true;
}

bool scrubcopy_rows(
	struct sqlscrub *sql, struct slice statement, struct slice data, struct buf *out)
{
	CLEANUP(buf_free) struct buf plain = { 0 };
	const char *end = data.p + data.n;

	if (!is_plain_text_copy(statement))
		return false;
	for (const char *at = data.p; at < end;) {
		const char *stop = at;

		while (stop < end && *stop != '\t' && *stop != '\n')
			stop++;
		if (!scrub_field(sql, (struct slice){ at, (size_t)(stop - at) }, &plain, out))
			return false;
		if (stop < end)
			buf_add_byte(out, (unsigned char)*stop);
		at = stop + 1;
	}
	return !out->is_full;
}
