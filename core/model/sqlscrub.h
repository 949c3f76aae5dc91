/*
 * sqlscrub.h - a statement text taken apart: template, values, route.
 *
 * Route and template are rebuilt from our own lexer's tokens, never from the raw
 * text: comments dropped, every literal replaced in every statement kind, IN lists
 * and VALUES rows collapsed in the route. Results are cached by text; all slices
 * are borrowed until the next call. A text that does not lex gives REQUEST_UNLEXABLE
 * and the route "(unreadable statement)"; a statement that carries a secret (passwords, connection
 * strings, user mapping options) gives REQUEST_SECRET, an empty template and no
 * values. Kept values are slices of the text or the bind given. One thread at a time. Nothing
 * here reads or writes anything but memory.
 */
#ifndef REPROD_SQLSCRUB_H
#define REPROD_SQLSCRUB_H

#include "core/base/err.h"
#include "core/model/policy.h"
#include "core/model/record.h"
#include "core/model/sqlplaces.h"
#include "core/model/token.h"

struct sqlscrub;

/* Longer texts are treated like those that do not lex. */
#define SQLSCRUB_TEXT_MAX ((size_t)4 << 20)

struct sqlscrub_statement {
	struct slice template_text; /* with TEMPLATE_SLOT for each literal */
	struct slice
		route; /* literals and $n are "?", lists collapsed to "(...)", one blank between words */
	uint64_t fingerprint; /* hash of the route, unquoted words folded to lower case */
	const struct value *values; /* literals in slot order, scrubbed */
	size_t value_count;
	uint32_t flags; /* REQUEST_USES_NOW, _WRITES, _EXTERNAL, _SECRET, _UNLEXABLE, _VALUE_LOST */
	uint32_t param_count; /* highest $n */
	bool has_strong_result; /* RETURNING, nextval, lastval, currval: edges from it are strong */
	/* The transaction verb: 0, or one of 'B' begin, 'C' commit/end, 'R' rollback */
	char transaction;
	/* Role of bind $n (n-1 is the index), param_count entries. */
	const uint8_t *param_roles;
};

/* Both outlive it. cache_bytes: 0 for 16 MiB. NULL when out of memory. */
struct sqlscrub *sqlscrub_new(
	const struct policy *policy, const struct token_key *key, size_t cache_bytes);
void sqlscrub_limit_cache(struct sqlscrub *s, size_t cache_bytes); /* no higher than it was */
void sqlscrub_free(struct sqlscrub *s);
void sqlscrub_text(struct sqlscrub *s, struct slice text, struct sqlscrub_statement *ret);
/* For the texts that follow: true for sessions whose server reports
 * standard_conforming_strings off (ParameterStatus). Read wrongly, such a text
 * would show the tail of a literal as words. */
void sqlscrub_set_backslash_escape(struct sqlscrub *s, bool is_on);
/*
 * The bind of $(place + 1) of the last text given to sqlscrub_text(): as
 * sqlscrub_bind(), with place and role filled in, by the rules of its column and
 * place; all binds of a statement with a secret are dropped. Prefer it. After a
 * statement whose text is unknown call sqlscrub_text() with an empty text first.
 * Bytes of all binds live until the next sqlscrub_text().
 */
void sqlscrub_param(struct sqlscrub *s, uint16_t place, struct slice raw, uint8_t format,
	uint32_t type_oid, bool is_null, struct value *ret);
/* A bind value, text or binary (docs/scrubbing.md lists the binary types known;
 * others are dropped with VALUE_IS_UNKNOWN). role and place are the caller's. */
void sqlscrub_bind(struct sqlscrub *s, struct slice raw, uint8_t format, uint32_t type_oid,
	bool is_null, struct value *ret);
/* A column by its names as the catalog spells them; both may be empty. For fields of
 * COPY and for rows: sqlscrub_field() takes a value of it in text form, unescaped, and
 * gives what a text bind in its place would become. */
struct sqlcolumn sqlscrub_column(struct sqlscrub *s, struct slice table, struct slice column);
void sqlscrub_field(
	struct sqlscrub *s, struct sqlcolumn column, struct slice raw, struct value *ret);
/* Whether a value of the table must not be read without knowing its column. */
bool sqlscrub_needs_columns(const struct sqlscrub *s, struct slice table);
/*
 * The column that a literal or bind of the last text belongs to, as a number from 1 to
 * sqlscrub_place_count(); 0 when none is known. Numbers stay for the scrubber's life, so
 * that "what did each column become" is an array of counters:
 *
 *   counts[sqlscrub_place(s, &v)][v.action]++; ... sqlscrub_place_name(s, n)
 *
 * Names are "table.column", or "column" when it is not clear which table's. At most
 * PLACES_MAX (16384) are told apart, the others are 0.
 */
uint16_t sqlscrub_place(const struct sqlscrub *s, const struct value *v);
struct slice sqlscrub_place_name(const struct sqlscrub *s, uint16_t place);
size_t sqlscrub_place_count(const struct sqlscrub *s);
/* Plain text outside SQL: names, addresses. Appends the scrubbed form. */
void sqlscrub_word(struct sqlscrub *s, struct slice raw, struct buf *out);
uint64_t sqlscrub_cache_hits(const struct sqlscrub *s);

#endif
