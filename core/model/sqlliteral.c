#include <stdio.h>

#include "core/base/hex.h"
#include "core/base/utf8.h"
#include "core/model/sqlvalue.h"

static void add_code_point(struct buf *out, uint32_t c)
{
	char bytes[UTF8_MAX];

	buf_add(out, bytes, (size_t)(utf8_put(bytes, c) - bytes));
}

/* Up to max digits of the base at *at; -1 when there is none. */
static int64_t read_code(struct slice s, size_t *at, size_t max, int base)
{
	int64_t v = 0;
	size_t n = 0;

	for (; n < max && *at < s.n; n++, ++*at) {
		int digit = hex_value(s.p[*at]);

		if (digit < 0 || digit >= base)
			break;
		v = v * base + digit;
	}
	return n ? v : -1;
}

/* After the backslash at *at - 1 (manual, 4.1.2.2). */
static void decode_escape(struct slice s, size_t *at, struct buf *out)
{
	static const char from[] = "bfnrt", to[] = "\b\f\n\r\t";
	char c = s.p[(*at)++];
	const char *known = c ? strchr(from, c) : NULL;
	int64_t code;

	if (known) {
		buf_add_byte(out, (unsigned char)to[known - from]);
		return;
	}
	switch (c) {
	case 'x':
		code = read_code(s, at, 2, 16);
		buf_add_byte(out, code < 0 ? 'x' : (unsigned char)code);
		return;
	case 'u':
	case 'U':
		code = read_code(s, at, c == 'u' ? 4 : 8, 16);
		add_code_point(out, code < 0 ? '?' : (uint32_t)code);
		return;
	}
	if (c >= '0' && c <= '7') {
		--*at;
		buf_add_byte(out, (unsigned char)read_code(s, at, 3, 8));
		return;
	}
	buf_add_byte(out, (unsigned char)c);
}

enum quoting { QUOTING_PLAIN, QUOTING_ESCAPES, QUOTING_UNICODE };

/* One 'segment' without its quotes. */
static void decode_segment(struct slice s, enum quoting quoting, struct buf *out)
{
	for (size_t i = 0; i < s.n;) {
		char c = s.p[i++];

		if (c == '\'') {
			i++; /* doubled */
			buf_add_byte(out, '\'');
		} else if (c != '\\' || quoting == QUOTING_PLAIN || i == s.n) {
			buf_add_byte(out, (unsigned char)c);
		} else if (quoting == QUOTING_ESCAPES) {
			decode_escape(s, &i, out);
		} else if (s.p[i] == '\\') {
			buf_add_byte(out, '\\');
			i++;
		} else {
			bool is_long = s.p[i] == '+';

			i += is_long;
			int64_t code = read_code(s, &i, is_long ? 6 : 4, 16);
			add_code_point(out, code < 0 ? '?' : (uint32_t)code);
		}
	}
}

/* The value of '...', E'...', U&'...', N'...' and their continuations. */
static void decode_string(struct slice text, bool is_backslash_escape, struct buf *out)
{
	struct sqllex lex;
	struct sql_token t;
	enum quoting quoting = is_backslash_escape ? QUOTING_ESCAPES : QUOTING_PLAIN;

	sqllex_init(&lex, text);
	lex.is_backslash_escape = is_backslash_escape;
	for (bool is_first = true; sqllex_next(&lex, &t) == STEP_ITEM; is_first = false) {
		size_t prefix = t.text.p[0] == '\'' ? 0 : t.text.p[1] == '&' ? 2 : 1;

		if (is_first && prefix == 2)
			quoting = QUOTING_UNICODE;
		else if (is_first && prefix == 1 && (t.text.p[0] | 0x20) == 'e')
			quoting = QUOTING_ESCAPES;
		decode_segment((struct slice){ t.text.p + prefix + 1, t.text.n - prefix - 2 },
			quoting, out);
	}
}

static struct slice dollar_body(struct slice text)
{
	const char *second = memchr(text.p + 1, '$', text.n - 1);
	size_t tag = (size_t)(second - text.p) + 1;

	return (struct slice){ text.p + tag, text.n - 2 * tag };
}

/* E'' with doubled backslashes reads the same whatever standard_conforming_strings. */
static void spell(struct slice plain, struct buf *out)
{
	bool has_backslash = plain.n && memchr(plain.p, '\\', plain.n);

	if (has_backslash)
		buf_add_byte(out, 'E');
	buf_add_byte(out, '\'');
	for (size_t i = 0; i < plain.n; i++) {
		/* NUL cannot be in a text; an escape made it, and the server refused it. */
		if (plain.p[i] == '\0')
			continue;
		if (plain.p[i] == '\'' || plain.p[i] == '\\')
			buf_add_byte(out, (unsigned char)plain.p[i]);
		buf_add_byte(out, (unsigned char)plain.p[i]);
	}
	buf_add_byte(out, '\'');
}

/* Decimal digits of 0x1F, 0o17, 0b1, 1_000; too large ones keep their spelling. */
static struct slice canonical_number(struct slice text, struct buf *scratch)
{
	bool is_negative = text.p[0] == '-';
	size_t at = is_negative;
	char base = text.n > at + 2 && text.p[at] == '0' ? text.p[at + 1] | 0x20 : 0;
	unsigned radix = base == 'x' ? 16 : base == 'o' ? 8 : base == 'b' ? 2 : 10;
	uint64_t v = 0;

	buf_reset(scratch);
	if (radix == 10) {
		for (size_t i = 0; i < text.n; i++)
			if (text.p[i] != '_')
				buf_add_byte(scratch, (unsigned char)text.p[i]);
		return buf_slice(scratch);
	}
	for (size_t i = at + 2; i < text.n; i++) {
		if (text.p[i] == '_')
			continue;
		if (v > (UINT64_MAX - 15) / radix)
			return (struct slice){ NULL, 0 };
		v = v * radix + (unsigned)hex_value(text.p[i]);
	}
	buf_addf(scratch, "%s%llu", is_negative ? "-" : "", (unsigned long long)v);
	return buf_slice(scratch);
}

static enum value_action drop(uint8_t *ret_flags)
{
	*ret_flags |= VALUE_IS_UNKNOWN;
	return VALUE_DROPPED;
}

/* B'...' of few bits stays, X'...' is permuted like bytea. */
static enum value_action scrub_bits(const struct sqlvalue *v, struct slice text,
	const struct slot *slot, struct buf *scratch, struct buf *out, uint8_t *ret_flags)
{
	struct slice bits = { text.p + 2, text.n - 3 };
	size_t at = out->n;

	bool is_hex = (text.p[0] | 0x20) == 'x';

	if (slot->action == POLICY_KEEP) {
		buf_add_slice(out, text);
		return VALUE_KEPT;
	}
	for (size_t i = 0; i < bits.n; i++)
		if ((unsigned)hex_value(bits.p[i]) >= (is_hex ? 16u : 2u))
			return drop(ret_flags);
	if (!slot->action && bits.n <= v->policy->keep_digits && !v->policy->is_permuting_ids) {
		buf_add_slice(out, text);
		return VALUE_KEPT;
	}
	buf_reset(scratch);
	buf_add_text(scratch, "\\x");
	buf_add_slice(scratch, bits);
	if (!is_hex || token_class_of(buf_slice(scratch)) != TOKEN_HEX)
		return drop(ret_flags);
	token_of(v->key, buf_slice(scratch), out);
	if (out->is_full)
		return drop(ret_flags);
	out->p[at] = 'X';
	out->p[at + 1] = '\'';
	buf_add_byte(out, '\'');
	return VALUE_TOKEN;
}

static enum value_action scrub_number(const struct sqlvalue *v, const struct sql_token *item,
	const struct slot *slot, struct buf *scratch, struct buf *out, uint8_t *ret_flags)
{
	struct slice number = canonical_number(item->text, scratch);

	enum token_class class = token_class_of(number);

	/* An exponent past four digits is no number of any type. */
	if (class != TOKEN_DIGITS && class != TOKEN_NUMBER)
		return drop(ret_flags);
	return sqlvalue_scrub(v, number, slot, out, ret_flags);
}

/* The bare word of a setting or a role; a quoted name stays one. */
static enum value_action scrub_bare(const struct sqlvalue *v, struct slice text,
	const struct slot *slot, struct buf *scratch, struct buf *out, uint8_t *ret_flags)
{
	bool is_quoted = text.p[text.n - 1] == '"';
	struct slice plain =
		is_quoted && text.p[0] == '"' ? (struct slice){ text.p + 1, text.n - 2 } : text;

	buf_reset(scratch);
	enum value_action action = sqlvalue_scrub(v, plain, slot, scratch, ret_flags);
	if (action == VALUE_DROPPED)
		return action;
	if (scratch->is_full)
		return drop(ret_flags);
	if (action == VALUE_KEPT) {
		buf_add_slice(out, text);
		return action;
	}
	/* A token may spell a keyword: quoted it is a name whatever it spells. */
	buf_add_byte(out, '"');
	buf_add_slice(out, buf_slice(scratch));
	buf_add_byte(out, '"');
	return action;
}

enum value_action sqlliteral_scrub(const struct sqlvalue *v, const struct sql_token *item,
	const struct slot *slot, struct buf scratch[2], struct buf *out, uint8_t *ret_flags)
{
	struct buf *plain = &scratch[0], *scrubbed = &scratch[1];

	if (slot->rule == RULE_DROP || slot->action == POLICY_DROP)
		return drop(ret_flags);
	switch (item->kind) {
	case SQL_NUMBER:
		return scrub_number(v, item, slot, plain, out, ret_flags);
	case SQL_BITS:
		return scrub_bits(v, item->text, slot, plain, out, ret_flags);
	case SQL_BARE:
		return scrub_bare(v, item->text, slot, scrubbed, out, ret_flags);
	default:
		break;
	}
	buf_reset(plain);
	buf_reset(scrubbed);
	if (item->kind == SQL_DOLLAR)
		buf_add_slice(plain, dollar_body(item->text));
	else
		decode_string(item->text, v->is_backslash_escape, plain);
	enum value_action action = sqlvalue_scrub(v, buf_slice(plain), slot, scrubbed, ret_flags);
	if (plain->is_full || scrubbed->is_full)
		return drop(ret_flags);
	if (action != VALUE_DROPPED)
		spell(buf_slice(scrubbed), out);
	return action;
}
