/*
 * Values made of values: JSON documents, array and range literals. Each part is
 * scrubbed on its own, so that an id has the same token inside and outside. Keys of
 * JSON objects stay when they read like names, as they do behind -> and ->>.
 */
#include "core/model/jsonscrub.h"
#include "core/model/sqlvalue.h"

enum { DEPTH_MAX = 64 };

struct walk {
	const struct sqlvalue *v;
	const char *at, *end;
	struct buf *out;
	struct buf plain; /* one decoded element */
	enum value_action action;
	unsigned depth;
};

static void note(struct walk *w, enum value_action action)
{
	if (action == VALUE_TOKEN || w->action == VALUE_KEPT)
		w->action = action;
}

static void copy_spaces(struct walk *w)
{
	while (w->at < w->end &&
		(*w->at == ' ' || *w->at == '\t' || *w->at == '\n' || *w->at == '\r'))
		buf_add_byte(w->out, (unsigned char)*w->at++);
}

static bool eat(struct walk *w, char c)
{
	copy_spaces(w);
	if (w->at == w->end || *w->at != c)
		return false;
	buf_add_byte(w->out, (unsigned char)c);
	w->at++;
	return true;
}

static bool keeps_key(void *data, struct slice key)
{
	(void)data;
	return sqlform_keeps(RULE_NAME, key);
}

/* The rule of its whole path, else of its key anywhere. */
static enum policy_rule json_rule(const struct policy *policy, const struct json_part *part)
{
	if (part->is_key || !policy_has(policy, POLICY_JSON))
		return POLICY_NONE;
	enum policy_rule rule = policy_rule(policy, POLICY_JSON, part->path);
	return rule ? rule : policy_rule(policy, POLICY_JSON, part->key);
}

static enum value_action json_part(void *data, const struct json_part *part, struct buf *out)
{
	const struct sqlvalue *v = data;
	const struct slot slot = { .action = (uint8_t)json_rule(v->policy, part) };
	uint8_t flags = 0;

	if (slot.action)
		return sqlvalue_scrub(v, part->plain, &slot, out, &flags);
	return sqlvalue_plain(v, part->plain, out);
}

static bool json_value(struct walk *w)
{
	struct jsonscrub j = { .keeps_key = keeps_key,
		.part = json_part,
		.data = (void *)(uintptr_t)w->v,
		.has_paths = policy_has(w->v->policy, POLICY_JSON) };
	struct slice text = { w->at, (size_t)(w->end - w->at) };

	if (!jsonscrub_walk(&j, text, w->out, &w->action))
		return false;
	w->at = w->end;
	return true;
}

static bool is_null_word(struct slice s)
{
	return s.n == 4 && (s.p[0] | 0x20) == 'n' && (s.p[1] | 0x20) == 'u' &&
	       (s.p[2] | 0x20) == 'l' && (s.p[3] | 0x20) == 'l';
}

static bool array_element(struct walk *w)
{
	bool is_quoted = w->at < w->end && *w->at == '"';
	size_t from;

	buf_reset(&w->plain);
	w->at += is_quoted;
	while (w->at < w->end && (is_quoted ? *w->at != '"' : !strchr(",}", *w->at))) {
		if (!is_quoted && strchr("{\"", *w->at))
			return false;
		if (*w->at == '\\' && ++w->at == w->end)
			return false;
		buf_add_byte(&w->plain, (unsigned char)*w->at++);
	}
	if (w->at == w->end || w->plain.is_full)
		return false;
	w->at += is_quoted;
	struct slice plain = buf_slice(&w->plain);
	if (!is_quoted && (is_null_word(plain) || plain.n == 0)) {
		buf_add_slice(w->out, plain);
		return plain.n > 0;
	}
	from = w->out->n;
	note(w, sqlvalue_plain(w->v, plain, w->out));
	if (w->out->is_full)
		return false;
	struct slice token = { w->out->p + from, w->out->n - from };
	bool needs_quotes = is_quoted || is_null_word(token);
	for (size_t i = 0; i < token.n; i++)
		needs_quotes |= strchr(",{}\"\\ ", token.p[i]) != NULL;
	if (!needs_quotes)
		return true;
	buf_reset(&w->plain);
	buf_add_slice(&w->plain, token);
	w->out->n = from;
	if (w->plain.is_full)
		return false;
	buf_add_byte(w->out, '"');
	for (size_t i = 0; i < w->plain.n; i++) {
		if (w->plain.p[i] == '"' || w->plain.p[i] == '\\')
			buf_add_byte(w->out, '\\');
		buf_add_byte(w->out, (unsigned char)w->plain.p[i]);
	}
	buf_add_byte(w->out, '"');
	return true;
}

/* array_out: {1,2}, {{1,2},{3,4}}, {"a b",NULL} */
static bool array_value(struct walk *w)
{
	if (w->depth == DEPTH_MAX || !eat(w, '{'))
		return false;
	if (eat(w, '}'))
		return true;
	w->depth++;
	do {
		copy_spaces(w);
		bool is_nested = w->at < w->end && *w->at == '{';

		if (is_nested ? !array_value(w) : !array_element(w))
			return false;
	} while (eat(w, ','));
	w->depth--;
	return eat(w, '}');
}

static bool is_bound(struct slice s)
{
	enum token_class class = token_class_of(s);

	return s.n == 0 || class == TOKEN_DIGITS || class == TOKEN_NUMBER || class == TOKEN_DATE;
}

static void range_bound(struct walk *w, struct slice bound, bool is_quoted)
{
	if (is_quoted)
		buf_add_byte(w->out, '"');
	if (bound.n)
		note(w, sqlvalue_plain(w->v, bound, w->out));
	if (is_quoted)
		buf_add_byte(w->out, '"');
}

static struct slice unquoted(struct slice s, bool *ret_is_quoted)
{
	*ret_is_quoted = s.n >= 2 && s.p[0] == '"' && s.p[s.n - 1] == '"';
	return *ret_is_quoted ? (struct slice){ s.p + 1, s.n - 2 } : s;
}

/* range_out of numbers and dates: [1,5) */
static bool range_value(struct walk *w)
{
	struct slice inside = { w->at + 1, (size_t)(w->end - w->at) - 2 };
	const char *comma = memchr(inside.p, ',', inside.n);
	bool is_low_quoted, is_high_quoted;

	if (!comma || !strchr("[(", w->at[0]) || !strchr("])", w->end[-1]))
		return false;
	struct slice low =
		unquoted((struct slice){ inside.p, (size_t)(comma - inside.p) }, &is_low_quoted);
	struct slice high =
		unquoted((struct slice){ comma + 1, inside.n - (size_t)(comma + 1 - inside.p) },
			&is_high_quoted);
	if (!is_bound(low) || !is_bound(high) || low.n + high.n == 0)
		return false;
	buf_add_byte(w->out, (unsigned char)w->at[0]);
	range_bound(w, low, is_low_quoted);
	buf_add_byte(w->out, ',');
	range_bound(w, high, is_high_quoted);
	buf_add_byte(w->out, (unsigned char)w->end[-1]);
	w->at = w->end;
	return true;
}

bool sqlcompound_scrub(
	const struct sqlvalue *v, struct slice plain, struct buf *out, enum value_action *ret)
{
	static bool (*const readers[])(struct walk *) = { json_value, array_value, range_value };
	size_t from = out->n;
	bool ok = false;

	if (plain.n < 2 || !strchr("{[(", plain.p[0]))
		return false;
	struct walk w = { .v = v, .out = out };
	for (size_t i = 0; !ok && i < LENGTH(readers); i++) {
		w.at = plain.p;
		w.end = plain.p + plain.n;
		w.action = VALUE_KEPT;
		w.depth = 0;
		ok = readers[i](&w);
		copy_spaces(&w);
		ok = ok && w.at == w.end;
		if (!ok && out->n > from)
			out->n = from;
	}
	buf_free(&w.plain);
	*ret = w.action;
	return ok;
}
