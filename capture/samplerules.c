#include "capture/samplerules.h"

#include <stdlib.h>

#include "core/base/file.h"
#include "core/model/rcap.h"

enum { RULES_BYTES_MAX = 1 << 20 };

static bool fail(struct err *e, const char *name, const char *what, size_t i)
{
	err_set(e, ERR_INPUT, "%s", what);
	return i == SIZE_MAX ? err_in(e, "%s", name) : err_in(e, "%s: rules[%zu]", name, i);
}

/* A misspelled key would keep more or less than was meant, and nobody would notice. */
static bool knows_keys(const struct json *map, const char *const *known, const char **ret_key)
{
	struct json_walk w = json_walk_of(map);

	while ((*ret_key = json_walk_next(&w, NULL))) {
		size_t i = 0;

		while (known[i] && strcmp(known[i], *ret_key) != 0)
			i++;
		if (!known[i])
			return false;
	}
	return true;
}

static bool read_rate(const struct json *value, double *ret_rate)
{
	*ret_rate = json_number(value, -1);
	return json_type(value) == JSON_NUMBER && *ret_rate >= 0 && *ret_rate <= 1;
}

static bool read_fingerprint(const char *text, uint64_t *ret)
{
	char *end;

	if (strlen(text) != 16 || strspn(text, "0123456789abcdef") != 16)
		return false;
	*ret = strtoull(text, &end, 16);
	return true;
}

static bool read_rule(
	struct sample_rules *r, const struct json *map, const char *name, size_t i, struct err *e)
{
	static const char *const known[] = { "route", "fingerprint", "rate", "comment", NULL };
	const char *route = json_text(json_get(map, "route"), NULL), *key;
	const char *fingerprint = json_text(json_get(map, "fingerprint"), NULL);
	struct sample_rule *rule = &r->items[r->count];
	struct buf folded = { 0 };

	if (json_type(map) != JSON_MAP)
		return fail(e, name, "a rule is an object {\"route\", \"rate\"}", i);
	if (!knows_keys(map, known, &key)) {
		err_set(e, ERR_INPUT, "unknown key '%s'", key);
		err_hint(e, "a rule has 'route' or 'fingerprint', 'rate' and 'comment'");
		return err_in(e, "%s: rules[%zu]", name, i);
	}
	if (!route == !fingerprint)
		return fail(e, name, "one of 'route' and 'fingerprint' is needed", i);
	if (!read_rate(json_get(map, "rate"), &rule->rate))
		return fail(e, name, "'rate' is a number from 0 to 1", i);
	if (fingerprint && !read_fingerprint(fingerprint, &rule->fingerprint))
		return fail(e, name,
			"'fingerprint' is 16 hex digits, as `capture show --json` tells", i);
	if (route) {
		rcap_fold_text(slice_of(route), &folded);
		buf_add_slice(&r->texts, buf_slice(&folded));
		rule->fragment.n = folded.n; /* the pointer comes last, see point_texts() */
		buf_free(&folded);
		if (!rule->fragment.n)
			return fail(e, name, "'route' is empty", i);
	}
	r->count++;
	return true;
}

/* While the texts grew they moved: offsets become pointers now. */
static void point_texts(struct sample_rules *r)
{
	size_t at = 0;

	for (size_t i = 0; i < r->count; i++) {
		r->items[i].fragment.p = buf_text(&r->texts) + at;
		at += r->items[i].fragment.n;
	}
}

static void seal(struct sample_rules *r)
{
	CLEANUP(buf_free) struct buf text = { 0 };

	json_write(r->document, false, &text);
	file_sha256_bytes(buf_slice(&text), r->digest);
	r->highest = r->baseline;
	for (size_t i = 0; i < r->count; i++)
		if (r->items[i].rate > r->highest)
			r->highest = r->items[i].rate;
}

static bool read_top(struct sample_rules *r, const char *name, struct err *e)
{
	static const char *const known[] = { "format", "version", "seed", "baseline", "rules",
		"comment", NULL };
	const struct json *d = r->document, *seed = json_get(d, "seed");
	const char *key;

	if (json_type(d) != JSON_MAP ||
		strcmp(json_text(json_get(d, "format"), ""), "sampling") != 0)
		return fail(e, name, "not sampling rules: \"format\": \"sampling\" is missing",
			SIZE_MAX);
	if (json_int(json_get(d, "version"), 0) != 1)
		return fail(e, name, "only version 1 of sampling rules is known", SIZE_MAX);
	if (!knows_keys(d, known, &key)) {
		err_set(e, ERR_INPUT, "unknown key '%s'", key);
		return err_in(e, "%s", name);
	}
	if (!read_rate(json_get(d, "baseline"), &r->baseline))
		return fail(e, name,
			"'baseline', the rate of all other routes, is a number from 0 to 1",
			SIZE_MAX);
	if (seed && (!json_is_whole(seed) || json_int(seed, -1) < 0))
		return fail(e, name, "'seed' is a whole number", SIZE_MAX);
	r->seed = (uint64_t)json_int(seed, 0);
	return true;
}

bool sample_rules_of(struct sample_rules *r, struct json *document, const char *name, struct err *e)
{
	const struct json *list;

	*r = (struct sample_rules){ .document = document };
	if (!read_top(r, name, e))
		return false;
	list = json_get(document, "rules");
	if (list && json_type(list) != JSON_LIST)
		return fail(e, name, "'rules' is a list", SIZE_MAX);
	if (json_count(list) > SAMPLE_RULES_MAX) {
		err_set(e, ERR_INPUT, "at most %d rules", SAMPLE_RULES_MAX);
		return err_in(e, "%s", name);
	}
	for (size_t i = 0; i < json_count(list); i++)
		if (!read_rule(r, json_at(list, i), name, i, e))
			return false;
	if (r->texts.is_full)
		return err_set(e, ERR_ENV, "out of memory");
	point_texts(r);
	seal(r);
	return true;
}

bool sample_rules_parse(struct sample_rules *r, struct slice text, const char *name, struct err *e)
{
	struct json *document = json_parse(text, name, e);

	*r = (struct sample_rules){ 0 };
	return document && sample_rules_of(r, document, name, e);
}

bool sample_rules_load(struct sample_rules *r, const char *path, struct err *e)
{
	struct json *document = json_load(path, RULES_BYTES_MAX, e);

	*r = (struct sample_rules){ 0 };
	return document && sample_rules_of(r, document, path, e);
}

int sample_rules_find(const struct sample_rules *r, uint64_t fingerprint, struct slice route)
{
	CLEANUP(buf_free) struct buf folded = { 0 };

	rcap_fold_text(route, &folded);
	for (size_t i = 0; i < r->count; i++) {
		const struct sample_rule *rule = &r->items[i];

		if (rule->fragment.n ? memmem(buf_text(&folded), folded.n, rule->fragment.p,
					       rule->fragment.n) != NULL
				     : rule->fingerprint == fingerprint)
			return (int)i;
	}
	return SAMPLE_BASELINE;
}

double sample_rules_rate(const struct sample_rules *r, int rule)
{
	return rule < 0 ? r->baseline : r->items[rule].rate;
}

const char *sample_rules_name(const struct sample_rules *r, int rule)
{
	const struct json *map;

	if (rule < 0)
		return "baseline";
	map = json_at(json_get(r->document, "rules"), (size_t)rule);
	return json_text(json_get(map, "route"), json_text(json_get(map, "fingerprint"), "?"));
}

void sample_rules_free(struct sample_rules *r)
{
	json_free(r->document);
	buf_free(&r->texts);
	*r = (struct sample_rules){ 0 };
}
