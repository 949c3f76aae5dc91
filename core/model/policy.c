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
	NAMES_BYTES_MAX = 64 << 20,
};

static const char *const rule_names[] = {
	[POLICY_NONE] = "",
	[POLICY_KEEP] = "keep",
	[POLICY_TOKEN] = "token",
	[POLICY_SHIFT] = "shift",
	[POLICY_DROP] = "drop",
	[POLICY_PERMUTE] = "permute",
};

/* Key in the document, and the word of the digest's lines. */
static const struct {
	const char *key, *digest;
} scopes[POLICY_SCOPES] = {
	[POLICY_COLUMN] = { "columns", "column" },
	[POLICY_BIND] = { "binds", "bind" },
	[POLICY_JSON] = { "json", "json" },
	[POLICY_HEADER] = { "headers", "header" },
	[POLICY_QUERY] = { "query", "query" },
	[POLICY_FORM] = { "form", "form" },
	[POLICY_SEGMENT] = { "segments", "segment" },
	[POLICY_ROUTE] = { "routes", "route" },
};

const char *policy_rule_name(enum policy_rule rule)
{
	return rule_names[rule];
}

bool policy_defaults(struct policy *p, struct err *e)
{
	(void)e;
	*p = (struct policy){ .keep_digits = KEEP_DIGITS_DEFAULT };
	for (size_t scope = 0; scope < POLICY_SCOPES; scope++)
		table_init(&p->rules[scope], RULES_MAX);
	table_init(&p->words, RULES_MAX);
	arena_init(&p->names, NAMES_BYTES_MAX);
	policy_seal(p);
	return true;
}

/* Header names in lower case (RFC 9110, section 5.1). */
static struct slice own_name(struct policy *p, enum policy_scope scope, struct slice name)
{
	char *copy = arena_take(&p->names, name.n + 1);

	if (!copy)
		return (struct slice){ NULL, 0 };
	for (size_t i = 0; i < name.n; i++) {
		char c = name.p[i];

		copy[i] = scope == POLICY_HEADER && c >= 'A' && c <= 'Z' ? (char)(c | 0x20) : c;
	}
	return (struct slice){ copy, name.n };
}

bool policy_put(struct policy *p, enum policy_scope scope, struct slice name, enum policy_rule rule)
{
	struct slice own = own_name(p, scope, name);

	if (!own.p)
		return false;
	if (rule != POLICY_NONE)
		return table_put(&p->rules[scope], own, (void *)(uintptr_t)rule);
	table_remove(&p->rules[scope], own);
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

/* "$2", or 16 hex digits of a fingerprint, a colon and "$2". */
static bool is_bind(const char *name)
{
	size_t hex = strspn(name, "0123456789abcdef");
	const char *at = hex == 16 && name[16] == ':' ? name + 17 : name;
	size_t digits = at[0] == '$' ? strspn(at + 1, "0123456789") : 0;

	return digits > 0 && digits <= 5 && at[1] != '0' && at[1 + digits] == '\0';
}

/* "$.a.b", "$.a[*].b", "$[*]", or a key alone. */
static bool is_json_place(const char *name)
{
	if (name[0] != '$')
		return name[0] != '\0';
	for (const char *at = name + 1; *at;) {
		if (strncmp(at, "[*]", 3) == 0) {
			at += 3;
			continue;
		}
		size_t n = *at == '.' ? strcspn(at + 1, ".[") : 0;
		if (n == 0)
			return false;
		at += 1 + n;
	}
	return name[1] != '\0';
}

/* A misspelled name would never be met, and its value come out as if there was no rule. */
static bool check_name(enum policy_scope scope, const char *name, struct err *e)
{
	static const char *const hints[POLICY_SCOPES] = {
		[POLICY_BIND] = "binds are named \"$2\", or \"0123456789abcdef:$2\" with the "
				"fingerprint of a route",
		[POLICY_JSON] = "a path is \"$.user.email\" or \"$.items[*].sku\", a key alone "
				"\"email\"",
		[POLICY_SEGMENT] = "a segment is a path up to it, as \"/users/{}\"",
	};
	bool ok = name[0] != '\0';

	if (scope == POLICY_BIND)
		ok = is_bind(name);
	else if (scope == POLICY_JSON)
		ok = is_json_place(name);
	else if (scope == POLICY_SEGMENT)
		ok = name[0] == '/' && strstr(name, "{}");
	if (ok)
		return true;
	err_set(e, ERR_INPUT, "'%s' of '%s' names no place", name, scopes[scope].key);
	return hints[scope] ? err_hint(e, "%s", hints[scope]) : false;
}

static bool read_rule(struct policy *p, enum policy_scope scope, const char *name, const char *text,
	struct err *e)
{
	size_t rule = POLICY_KEEP;

	while (rule < LENGTH(rule_names) && strcmp(text, rule_names[rule]) != 0)
		rule++;
	if (rule == LENGTH(rule_names)) {
		err_set(e, ERR_INPUT, "no such action '%s' for '%s' of '%s'", text, name,
			scopes[scope].key);
		return err_hint(e, "actions are keep, token, shift, drop and permute");
	}
	if (!check_name(scope, name, e))
		return false;
	if (!policy_put(p, scope, slice_of(name), (enum policy_rule)rule))
		return err_set(
			e, ERR_INPUT, "more than %d rules in '%s'", RULES_MAX, scopes[scope].key);
	return true;
}

static bool read_rules(struct policy *p, enum policy_scope scope, struct err *e)
{
	const struct json *map = json_get(p->document, scopes[scope].key);
	struct json *value;
	const char *name;

	if (json_type(map) == JSON_MISSING)
		return true;
	if (json_type(map) != JSON_MAP)
		return err_set(e, ERR_INPUT, "'%s' must be an object of names", scopes[scope].key);
	struct json_walk w = json_walk_of(map);
	while ((name = json_walk_next(&w, &value)))
		if (!read_rule(p, scope, name, json_text(value, ""), e))
			return false;
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

static bool is_scope(const char *key)
{
	for (size_t scope = 0; scope < POLICY_SCOPES; scope++)
		if (strcmp(key, scopes[scope].key) == 0)
			return true;
	return false;
}

/* A misspelled rule would scrub less than its author believes. */
static bool check_keys(const struct policy *p, struct err *e)
{
	static const char *const known[] = { "format", "version", "keep_digits", "ids",
		"shift_weeks", "keep_words", "comment", "comments", "digest", "source" };

	for (size_t i = 0; i < json_count(p->document); i++) {
		struct json *value;
		const char *key = json_key_at(p->document, i, &value);
		size_t at = 0;

		while (at < LENGTH(known) && strcmp(key, known[at]) != 0)
			at++;
		if (at == LENGTH(known) && !is_scope(key)) {
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
		!read_ids(p, e) || !read_words(p, e))
		return false;
	for (enum policy_scope scope = 0; scope < POLICY_SCOPES; scope++)
		if (!read_rules(p, scope, e))
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
	if (!p->document) {
		policy_free(p);
		return false;
	}
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

static void add_line(struct buf *canonical, const char *word, struct slice name, const char *rule)
{
	buf_addf(canonical, "%s %zu ", word, name.n);
	buf_add_slice(canonical, name);
	buf_addf(canonical, "%s%s\n", *rule ? " " : "", rule);
}

/* False when out of memory. */
static bool add_rules(const struct policy *p, enum policy_scope scope, struct buf *canonical)
{
	const struct table *rules = &p->rules[scope];
	struct slice *names = sorted_keys(rules);

	for (size_t i = 0; names && i < rules->count; i++)
		add_line(canonical, scopes[scope].digest, names[i],
			policy_rule_name(policy_rule(p, scope, names[i])));
	free(names);
	return names;
}

static bool add_words(const struct policy *p, struct buf *canonical)
{
	struct slice *words = sorted_keys(&p->words);

	for (size_t i = 0; words && i < p->words.count; i++)
		add_line(canonical, "word", words[i], "");
	free(words);
	return words;
}

/* Out of memory leaves an empty digest, which equals no other policy's. Columns and words
 * come first, so that a policy of before the other scopes has the digest it had. */
void policy_seal(struct policy *p)
{
	struct buf canonical = { .max = (size_t)256 << 20 };

	buf_addf(&canonical, "reprod-policy 1\nkeep_digits %u\nids %s\nshift_weeks %d\n",
		p->keep_digits, p->is_permuting_ids ? "permute" : "keep", p->shift_weeks);
	bool ok = add_rules(p, POLICY_COLUMN, &canonical) && add_words(p, &canonical);
	for (enum policy_scope scope = POLICY_COLUMN + 1; ok && scope < POLICY_SCOPES; scope++)
		ok = add_rules(p, scope, &canonical);
	p->digest[0] = '\0';
	if (ok && !canonical.is_full)
		file_sha256_bytes(buf_slice(&canonical), p->digest);
	buf_free(&canonical);
}

static struct json *rules_json(const struct policy *p, enum policy_scope scope)
{
	struct json *map = json_object();
	struct slice name;
	void *rule;

	for (size_t at = 0; table_next(&p->rules[scope], &at, &name, &rule);)
		json_set_text(map, name.p, policy_rule_name((enum policy_rule)(uintptr_t)rule));
	return map;
}

struct json *policy_json(const struct policy *p)
{
	struct json *j = json_object();
	struct json *words = json_array();
	struct slice key;

	json_set_text(j, "format", "reprod-policy");
	json_set_int(j, "version", POLICY_VERSION);
	json_set_int(j, "keep_digits", p->keep_digits);
	json_set_text(j, "ids", p->is_permuting_ids ? "permute" : "keep");
	json_set_int(j, "shift_weeks", p->shift_weeks);
	for (enum policy_scope scope = 0; scope < POLICY_SCOPES; scope++)
		if (scope == POLICY_COLUMN || policy_has(p, scope))
			json_set(j, scopes[scope].key, rules_json(p, scope));
	for (size_t at = 0; table_next(&p->words, &at, &key, NULL);)
		json_append_text(words, key.p);
	json_set(j, "keep_words", words);
	json_set_text(j, "digest", p->digest);
	return j;
}

enum policy_rule policy_rule(const struct policy *p, enum policy_scope scope, struct slice name)
{
	return (enum policy_rule)(uintptr_t)table_get(&p->rules[scope], name);
}

enum policy_rule policy_other_columns(const struct policy *p)
{
	if (!policy_has(p, POLICY_COLUMN))
		return POLICY_NONE;
	return policy_rule(p, POLICY_COLUMN, SLICE("*"));
}

void policy_free(struct policy *p)
{
	for (size_t scope = 0; scope < POLICY_SCOPES; scope++)
		table_free(&p->rules[scope]);
	table_free(&p->words);
	arena_free(&p->names);
	json_free(p->document);
	p->document = NULL;
}
