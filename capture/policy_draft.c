#include "capture/policy_draft.h"

#include "core/model/policy.h"
#include "core/model/sqllex.h"
#include "core/model/sqlplaces.h"

enum { FEW_VALUES = 50, COMMENT_MAX = 200 };

#define USER_SCHEMA(n)                                                                             \
	n ".nspname NOT IN ('pg_catalog', 'information_schema', 'reprod') AND " n                  \
	  ".nspname !~ '^pg_(toast|temp)'"

/* Labels of the enums that columns have, arrays of them too. */
static const char labels_sql[] = "SELECT DISTINCT e.enumlabel FROM pg_catalog.pg_enum e"
				 " JOIN pg_catalog.pg_type t ON t.oid = e.enumtypid"
				 " JOIN pg_catalog.pg_namespace n ON n.oid = t.typnamespace"
				 " WHERE " USER_SCHEMA("n") " ORDER BY 1";

/* A domain is its base type, an array its element. Of pg_stats only n_distinct is read. */
static const char columns_sql[] =
	"SELECT c.relname, a.attname, t.typcategory, format_type(a.atttypid, NULL),"
	" EXISTS (SELECT FROM pg_catalog.pg_constraint k WHERE k.conrelid = c.oid"
	"  AND k.contype = 'p' AND a.attnum = ANY (k.conkey)),"
	" EXISTS (SELECT FROM pg_catalog.pg_constraint k WHERE k.conrelid = c.oid"
	"  AND k.contype = 'f' AND a.attnum = ANY (k.conkey)),"
	" EXISTS (SELECT FROM pg_catalog.pg_index i WHERE i.indrelid = c.oid AND i.indisunique"
	"  AND i.indnkeyatts = 1 AND i.indkey[0] = a.attnum),"
	" (SELECT s.n_distinct FROM pg_catalog.pg_stats s WHERE s.schemaname = n.nspname"
	"  AND s.tablename = c.relname AND s.attname = a.attname ORDER BY s.inherited LIMIT 1),"
	" (SELECT string_agg(pg_get_constraintdef(k.oid), '; ' ORDER BY k.conname)"
	"  FROM pg_catalog.pg_constraint k WHERE k.conrelid = c.oid AND k.contype = 'c'"
	"  AND k.conkey = ARRAY[a.attnum])"
	" FROM pg_catalog.pg_class c"
	" JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace"
	" JOIN pg_catalog.pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0"
	"  AND NOT a.attisdropped"
	" JOIN pg_catalog.pg_type d ON d.oid = a.atttypid"
	" JOIN pg_catalog.pg_type b ON b.oid = CASE d.typtype WHEN 'd' THEN d.typbasetype ELSE d.oid END"
	" JOIN pg_catalog.pg_type t ON t.oid ="
	"  CASE WHEN b.typcategory = 'A' AND b.typelem <> 0 THEN b.typelem ELSE b.oid END"
	" WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f') AND " USER_SCHEMA(
		"n") " ORDER BY c.relname COLLATE \"C\", a.attnum, n.nspname COLLATE \"C\"";

struct draft {
	struct policy policy;
	struct json *comments;
	struct arena names;
	size_t columns;
};

struct column {
	const char *table, *name, *type, *check;
	char category;
	bool is_primary, is_foreign, is_unique;
	double distinct; /* as in pg_stats; 0 when not known */
};

/* 'a' of  CHECK ((state = ANY (ARRAY['a'::text, 'b'::text]))) : each becomes a word.
 * False when the constraint is no list of values. */
static bool add_checked_words(struct draft *d, const char *check)
{
	struct sqllex lex;
	struct sql_token t;
	size_t count = 0;

	if (!check || !strstr(check, "= ANY (") || strchr(check, ';') || strchr(check, '\\'))
		return false;
	sqllex_init(&lex, slice_of(check));
	while (sqllex_next(&lex, &t) == STEP_ITEM) {
		if (t.kind != SQL_STRING)
			continue;
		struct slice word = { t.text.p + 1, t.text.n - 2 };
		struct slice own = memchr(word.p, '\'', word.n) ? (struct slice){ 0 }
								: arena_copy(&d->names, word);
		if (!own.p || !table_put(&d->policy.words, own, d))
			return false;
		count++;
	}
	return count > 0;
}

/* Names that speak of secrets, in any spelling: my_PassWord, cardNo. */
static const char *secret_in(const char *name)
{
	static const char *const words[] = { "passw", "secret", "token", "apikey", "api_key", "ssn",
		"iban", "card", "cvv", "cvc", "pin", "credential", "salt", "hash", "private" };

	for (size_t i = 0; i < LENGTH(words); i++)
		if (strcasestr(name, words[i]))
			return words[i];
	return NULL;
}

static const char *key_word(const struct column *c)
{
	if (c->is_primary)
		return "primary key, ";
	if (c->is_foreign)
		return "foreign key, ";
	return c->is_unique ? "unique, " : "";
}

/* Few values of a text: worth a look, since keeping them keeps plans. */
static void say_text(const struct column *c, char comment[COMMENT_MAX])
{
	const char *secret = secret_in(c->name);

	if (secret)
		snprintf(comment, COMMENT_MAX,
			"%s%s; its name has '%s' in it: 'drop' if nothing is looked up by it",
			key_word(c), c->type, secret);
	else if (c->distinct >= 1 && c->distinct <= FEW_VALUES)
		snprintf(comment, COMMENT_MAX,
			"%s%s of about %.0f distinct values; 'keep' if none of them is personal",
			key_word(c), c->type, c->distinct);
	else
		snprintf(comment, COMMENT_MAX, "%s%s", key_word(c), c->type);
}

/* By the category of pg_type (manual, chapter 53, "typcategory Codes"). POLICY_NONE: the
 * spelling decides, which does for numbers and documents what is wanted. */
static enum policy_rule rule_of(struct draft *d, const struct column *c, char comment[COMMENT_MAX])
{
	snprintf(comment, COMMENT_MAX, "%s%s", key_word(c), c->type);
	switch (c->category) {
	case 'B':
		return POLICY_KEEP;
	case 'E':
		snprintf(comment, COMMENT_MAX, "%s, an enum: its labels are in the catalog",
			c->type);
		return POLICY_KEEP;
	case 'D':
		snprintf(comment, COMMENT_MAX, "%s%s; 'shift_weeks' says by how much", key_word(c),
			c->type);
		return POLICY_SHIFT;
	case 'T':
		return POLICY_KEEP;
	case 'N':
		snprintf(comment, COMMENT_MAX,
			"%s%s: kept up to 'keep_digits' digits, permuted beyond; 'permute' if small ones are personal",
			key_word(c), c->type);
		return POLICY_NONE;
	case 'S':
		if (add_checked_words(d, c->check)) {
			snprintf(comment, COMMENT_MAX, "%s whose CHECK lists its values", c->type);
			return POLICY_KEEP;
		}
		say_text(c, comment);
		return POLICY_TOKEN;
	default:
		snprintf(comment, COMMENT_MAX, "%s%s: part by part, by spelling", key_word(c),
			c->type);
		return POLICY_NONE;
	}
}

/* Two schemas may have the same table: the rule that says less holds. */
static bool add_column(struct draft *d, const struct column *c, struct err *e)
{
	char comment[COMMENT_MAX];
	enum policy_rule rule = rule_of(d, c, comment);
	char *name = arena_printf(&d->names, "%s.%s", c->table, c->name);

	if (!name)
		return err_set(e, ERR_ENV, "more columns than a policy can hold");
	if (json_get(d->comments, name)) {
		rule = (enum policy_rule)sqlplaces_stricter((uint8_t)rule,
			(uint8_t)policy_rule(&d->policy, POLICY_COLUMN, slice_of(name)));
		snprintf(comment, sizeof(comment),
			"several schemas have this column: the stricter rule");
	}
	if (!policy_put(&d->policy, POLICY_COLUMN, slice_of(name), rule))
		return err_set(e, ERR_ENV, "more columns than a policy can hold");
	json_set_text(d->comments, name, comment);
	d->columns++;
	return true;
}

static char first_char(const struct pg_rows *rows, size_t row, size_t column)
{
	const char *text = pg_cell(rows, row, column);

	return text ? *text : '\0';
}

static bool add_columns(struct draft *d, struct pg *c, struct err *e)
{
	CLEANUP(pg_rows_cleanup) struct pg_rows *rows = pg_query(c, e, columns_sql, NULL);

	for (size_t i = 0; rows && i < pg_row_count(rows); i++) {
		struct column column = {
			.table = pg_cell(rows, i, 0),
			.name = pg_cell(rows, i, 1),
			.category = first_char(rows, i, 2),
			.type = pg_cell(rows, i, 3),
			.is_primary = pg_cell_is_true(rows, i, 4),
			.is_foreign = pg_cell_is_true(rows, i, 5),
			.is_unique = pg_cell_is_true(rows, i, 6),
			.distinct = pg_cell_number(rows, i, 7, 0),
			.check = pg_cell(rows, i, 8),
		};

		if (!add_column(d, &column, e))
			return false;
	}
	return rows;
}

static bool add_labels(struct draft *d, struct pg *c, struct err *e)
{
	CLEANUP(pg_rows_cleanup) struct pg_rows *rows = pg_query(c, e, labels_sql, NULL);

	for (size_t i = 0; rows && i < pg_row_count(rows); i++) {
		struct slice label = arena_copy(&d->names, slice_of(pg_cell(rows, i, 0)));

		if (!label.p || !table_put(&d->policy.words, label, d))
			return err_set(e, ERR_ENV, "more enum labels than a policy can hold");
	}
	return rows;
}

static struct json *source_json(struct pg *c, const struct draft *d)
{
	struct json *source = json_object();

	json_set_text(source, "from", "catalog");
	json_set_int(source, "server_version_num", pg_version(c));
	json_set_int(source, "columns", (int64_t)d->columns);
	json_set_int(source, "rules", (int64_t)d->policy.rules[POLICY_COLUMN].count);
	json_set_int(source, "words", (int64_t)d->policy.words.count);
	return source;
}

struct json *policy_draft(struct pg *c, struct err *e)
{
	struct draft d = { .comments = json_object() };
	struct json *j = NULL;

	arena_init(&d.names, (size_t)64 << 20);
	if (policy_defaults(&d.policy, e) && add_labels(&d, c, e) && add_columns(&d, c, e)) {
		policy_seal(&d.policy);
		j = policy_json(&d.policy);
		json_set_text(j, "comment",
			"drafted from the catalog, without reading rows: read it, then keep or drop what you know better");
		json_set(j, "comments", d.comments);
		json_set(j, "source", source_json(c, &d));
		d.comments = NULL;
	}
	json_free(d.comments);
	policy_free(&d.policy);
	arena_free(&d.names);
	return j;
}
