#include "core/model/policy.h"

#include <stdlib.h>

#include "core/base/file.h"

enum {
	POLICY_VERSION = 1,
	POLICY_FILE_MAX = 16 << 20,
	RULES_MAX = 200000,
	DIGITS_MAX = 1000,
	WEEKS_MAX = 52 * 400,
	KEEP_DIGITS_DEFAULT = 8,
};

static const char *const action_names[] = {
	[VALUE_KEPT] = "keep",
	[VALUE_TOKEN] = "token",
	[VALUE_SHIFTED] = "shift",
	[VALUE_DROPPED] = "drop",
};

bool policy_defaults(struct policy *p, struct err *e)
{
	(void)e;
	*p = (struct policy){ .keep_digits = KEEP_DIGITS_DEFAULT };
	table_init(&p->columns, RULES_MAX);
	table_init(&p->words, RULES_MAX);
	policy_seal(p);
	return true;
}

static bool read_int(const struct json *document, const char *key, int64_t low, int64_t high,
	int64_t *ret, struct err *e)
{
	const struct json *j = json_get(document, key);

	if (json_type(j) == JSON_MISSING)
		return true;
	double exact = json_number(j, 0);
	int64_t v = json_int(j, INT64_MIN);
	if (json_type(j) != JSON_NUMBER || v < low || v > high || (double)v != exact)
		return err_set(e, ERR_INPUT, "'%s' must be a whole number from %lld to %lld", key,
			(long long)low, (long long)high);
	*ret = v;
	return true;
}

static bool read_ids(struct policy *p, struct err *e)
{
	const struct json *j = json_get(p->document, "ids");
	const char *text = json_text(j, "");

	if (json_type(j) == JSON_MISSING)
		return true;
	p->is_permuting_ids = strcmp(text, "permute") == 0;
	if (p->is_permuting_ids || strcmp(text, "keep") == 0)
		return true;
	return err_set(e, ERR_INPUT, "'ids' must be \"keep\" or \"permute\"");
}

static bool read_columns(struct policy *p, struct err *e)
{
	const struct json *map = json_get(p->document, "columns");

	if (json_type(map) != JSON_MISSING && json_type(map) != JSON_MAP)
		return err_set(e, ERR_INPUT, "'columns' must be an object of column names");
	for (size_t i = 0; i < json_count(map); i++) {
		struct json *value;
		const char *name = json_key_at(map, i, &value);
		const char *text = json_text(value, "");
		size_t action = 0;

		while (action < LENGTH(action_names) && strcmp(text, action_names[action]) != 0)
			action++;
		if (action == LENGTH(action_names)) {
			err_set(e, ERR_INPUT, "no such action '%s' for column '%s'", text, name);
			return err_hint(e, "actions are keep, token, shift and drop");
		}
		if (!table_put(&p->columns, slice_of(name), (void *)(uintptr_t)(action + 1)))
			return err_set(e, ERR_INPUT, "more than %d columns", RULES_MAX);
	}
	return true;
}

static bool read_words(struct policy *p, struct err *e)
{
	const struct json *list = json_get(p->document, "keep_words");

	if (json_type(list) != JSON_MISSING && json_type(list) != JSON_LIST)
		return err_set(e, ERR_INPUT, "'keep_words' must be a list of texts");
	for (size_t i = 0; i < json_count(list); i++) {
		const char *word = json_text(json_at(list, i), NULL);

		if (!word)
			return err_set(e, ERR_INPUT, "'keep_words' must be a list of texts");
		if (!table_put(&p->words, slice_of(word), p))
			return err_set(e, ERR_INPUT, "more than %d words", RULES_MAX);
	}
	return true;
}

/* A misspelled rule would scrub less than its author believes. */
static bool check_keys(const struct policy *p, struct err *e)
{
	static const char *const known[] = { "format", "version", "keep_digits", "ids",
		"shift_weeks", "columns", "keep_words", "comment", "digest", "source" };

	for (size_t i = 0; i < json_count(p->document); i++) {
		struct json *value;
		const char *key = json_key_at(p->document, i, &value);
		size_t at = 0;

		while (at < LENGTH(known) && strcmp(key, known[at]) != 0)
			at++;
		if (at == LENGTH(known)) {
			err_set(e, ERR_INPUT, "no such rule '%s'", key);
			return err_hint(e, "docs/formats/policy.md lists the rules");
		}
	}
	return true;
}

static bool read_document(struct policy *p, struct err *e)
{
	int64_t version = 0, digits = p->keep_digits, weeks = 0;

	if (strcmp(json_text(json_get(p->document, "format"), ""), "reprod-policy") != 0) {
		err_set(e, ERR_INPUT, "not a scrub policy: 'format' is not \"reprod-policy\"");
		return err_hint(e, "docs/formats/policy.md has an example");
	}
	if (!read_int(p->document, "version", 1, INT32_MAX, &version, e))
		return false;
	if (version != POLICY_VERSION)
		return err_set(e, ERR_INPUT,
			"cannot read policy version %lld: this program knows %d",
			(long long)version, POLICY_VERSION);
	if (!check_keys(p, e) || !read_int(p->document, "keep_digits", 0, DIGITS_MAX, &digits, e) ||
		!read_int(p->document, "shift_weeks", -WEEKS_MAX, WEEKS_MAX, &weeks, e) ||
		!read_ids(p, e) || !read_columns(p, e) || !read_words(p, e))
		return false;
	p->keep_digits = (unsigned)digits;
	p->shift_weeks = (int)weeks;
	return true;
}

bool policy_load(struct policy *p, const char *path, struct err *e)
{
	if (!policy_defaults(p, e))
		return false;
	p->document = json_load(path, POLICY_FILE_MAX, e);
	if (!p->document)
		return false;
	if (!read_document(p, e)) {
		policy_free(p);
		return err_in(e, "%s", path);
	}
	policy_seal(p);
	return true;
}

static int compare_slices(const void *a, const void *b)
{
	const struct slice *x = a, *y = b;
	int order = memcmp(x->p, y->p, x->n < y->n ? x->n : y->n);

	return order ? order : (x->n > y->n) - (x->n < y->n);
}

/* The keys in byte order, so that the digest does not depend on the file's order. */
static struct slice *sorted_keys(const struct table *t)
{
	struct slice *keys = calloc(t->count + 1, sizeof(*keys));
	size_t at = 0;

	for (size_t n = 0; keys && table_next(t, &at, &keys[n], NULL); n++)
		;
	if (keys)
		qsort(keys, t->count, sizeof(*keys), compare_slices);
	return keys;
}

static const char *action_name(const struct policy *p, struct slice column)
{
	return action_names[(uintptr_t)table_get(&p->columns, column) - 1];
}

/* Out of memory leaves an empty digest, which equals no other policy's. */
void policy_seal(struct policy *p)
{
	struct buf canonical = { .max = (size_t)256 << 20 };
	struct slice *columns = sorted_keys(&p->columns), *words = sorted_keys(&p->words);

	buf_addf(&canonical, "reprod-policy 1\nkeep_digits %u\nids %s\nshift_weeks %d\n",
		p->keep_digits, p->is_permuting_ids ? "permute" : "keep", p->shift_weeks);
	for (size_t i = 0; columns && i < p->columns.count; i++) {
		buf_addf(&canonical, "column %zu ", columns[i].n);
		buf_add_slice(&canonical, columns[i]);
		buf_addf(&canonical, " %s\n", action_name(p, columns[i]));
	}
	for (size_t i = 0; words && i < p->words.count; i++) {
		buf_addf(&canonical, "word %zu ", words[i].n);
		buf_add_slice(&canonical, words[i]);
		buf_add_byte(&canonical, '\n');
	}
	p->digest[0] = '\0';
	if (columns && words && !canonical.is_full)
		file_sha256_bytes(buf_slice(&canonical), p->digest);
	free(columns);
	free(words);
	buf_free(&canonical);
}

struct json *policy_json(const struct policy *p)
{
	struct json *j = json_object();
	struct json *columns = json_object(), *words = json_array();
	struct slice key;

	json_set_text(j, "format", "reprod-policy");
	json_set_int(j, "version", POLICY_VERSION);
	json_set_int(j, "keep_digits", p->keep_digits);
	json_set_text(j, "ids", p->is_permuting_ids ? "permute" : "keep");
	json_set_int(j, "shift_weeks", p->shift_weeks);
	for (size_t at = 0; table_next(&p->columns, &at, &key, NULL);)
		json_set_text(columns, key.p, action_name(p, key));
	json_set(j, "columns", columns);
	for (size_t at = 0; table_next(&p->words, &at, &key, NULL);)
		json_append_text(words, key.p);
	json_set(j, "keep_words", words);
	json_set_text(j, "digest", p->digest);
	return j;
}

uint8_t policy_other_columns(const struct policy *p)
{
	return (uint8_t)(uintptr_t)table_get(&p->columns, SLICE("*"));
}

void policy_free(struct policy *p)
{
	table_free(&p->columns);
	table_free(&p->words);
	json_free(p->document);
	p->document = NULL;
}
