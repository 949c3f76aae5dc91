#include "core/model/jsonscrub.h"

#include "core/base/hex.h"
#include "core/base/utf8.h"
#include "core/model/token.h"

enum { DEPTH_MAX = 64, PATH_MAX_BYTES = 256 };

struct walk {
	const struct jsonscrub *j;
	const char *at, *end;
	struct buf *out;
	struct buf plain; /* one decoded string */
	char path[PATH_MAX_BYTES]; /* a longer one ends in "..." and stays so */
	size_t path_n;
	struct slice key; /* in path */
	enum value_action action;
	unsigned depth;
	bool is_secret;
};

static void note(struct walk *w, enum value_action action)
{
	if (action == VALUE_TOKEN || action == VALUE_DROPPED)
		w->action = VALUE_TOKEN;
	else if (w->action == VALUE_KEPT)
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

/* ---- strings */

static bool read_hex4(struct walk *w, uint32_t *ret)
{
	if (w->end - w->at < 4 || !hex_value4(w->at, ret))
		return false;
	w->at += 4;
	return true;
}

static void add_utf8(struct buf *out, uint32_t c)
{
	char bytes[UTF8_MAX];

	buf_add(out, bytes, (size_t)(utf8_put(bytes, c) - bytes));
}

/* Behind the backslash (RFC 8259, section 7). */
static bool read_escape(struct walk *w)
{
	static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
	uint32_t code, low;

	if (w->at == w->end)
		return false;
	char c = *w->at++;
	const char *known = c ? strchr(from, c) : NULL;
	if (known) {
		buf_add_byte(&w->plain, (unsigned char)to[known - from]);
		return true;
	}
	if (c != 'u' || !read_hex4(w, &code) || code == 0 || (code >= 0xdc00 && code <= 0xdfff))
		return false;
	if (code >= 0xd800 && code <= 0xdbff) {
		if (w->end - w->at < 6 || w->at[0] != '\\' || w->at[1] != 'u')
			return false;
		w->at += 2;
		if (!read_hex4(w, &low) || low < 0xdc00 || low > 0xdfff)
			return false;
		code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
	}
	add_utf8(&w->plain, code);
	return true;
}

/* Into plain; the opening quote is eaten. */
static bool decode(struct walk *w)
{
	buf_reset(&w->plain);
	while (w->at < w->end) {
		char c = *w->at++;

		if (c == '"')
			return !w->plain.is_full;
		if ((unsigned char)c < ' ')
			return false;
		if (c != '\\')
			buf_add_byte(&w->plain, (unsigned char)c);
		else if (!read_escape(w))
			return false;
	}
	return false;
}

/* What was appended since from becomes the inside of a JSON string. */
static void encode(struct buf *out, size_t from, struct buf *scratch)
{
	buf_reset(scratch);
	if (out->is_full)
		return;
	buf_add(scratch, out->p ? out->p + from : "", out->n - from);
	out->n = from;
	/* Half a value is none: the caller sees a full buffer and drops it. */
	if (scratch->is_full)
		(void)buf_room(out, SIZE_MAX);
	for (size_t i = 0; i < scratch->n; i++) {
		unsigned char c = (unsigned char)scratch->p[i];

		if (c < ' ') {
			buf_addf(out, "\\u%04x", c);
			continue;
		}
		if (c == '"' || c == '\\')
			buf_add_byte(out, '\\');
		buf_add_byte(out, c);
	}
}

/* ---- where we are */

static void path_add(struct walk *w, const char *mark, struct slice name)
{
	size_t mark_n = strlen(mark);

	if (!w->j->has_paths || w->path_n + 4 > PATH_MAX_BYTES)
		return;
	if (w->path_n + mark_n + name.n + 4 > PATH_MAX_BYTES) {
		mark = "...";
		mark_n = 3;
		name.n = 0;
	}
	memcpy(w->path + w->path_n, mark, mark_n);
	if (name.n)
		memcpy(w->path + w->path_n + mark_n, name.p, name.n);
	w->path_n += mark_n + name.n;
	w->key = (struct slice){ w->path + w->path_n - name.n, name.n };
}

static struct json_part part_of(const struct walk *w, struct slice plain)
{
	return (struct json_part){ .path = { w->path, w->path_n },
		.key = w->key,
		.plain = plain,
		.is_secret = w->is_secret };
}

static void scrub_part(struct walk *w, const struct json_part *part)
{
	enum value_action action = w->j->part(w->j->data, part, w->out);

	if (action == VALUE_DROPPED)
		buf_add_text(w->out, part->is_text ? "dropped" : "0");
	note(w, action);
}

/* ---- values */

static bool read_string(struct walk *w)
{
	if (!decode(w))
		return false;
	size_t from = w->out->n;
	struct json_part part = part_of(w, buf_slice(&w->plain));
	part.is_text = true;
	scrub_part(w, &part);
	encode(w->out, from, &w->plain);
	buf_add_byte(w->out, '"');
	return true;
}

static bool read_key(struct walk *w)
{
	if (!eat(w, '"') || !decode(w))
		return false;
	struct slice plain = buf_slice(&w->plain);
	size_t from = w->out->n;
	bool is_kept = w->j->keeps_key(w->j->data, plain);
	if (is_kept) {
		buf_add_slice(w->out, plain);
	} else {
		struct json_part part = part_of(w, plain);

		part.is_text = part.is_key = true;
		scrub_part(w, &part);
	}
	if (w->j->is_secret_key && w->j->is_secret_key(w->j->data, plain))
		w->is_secret = true;
	path_add(w, ".", is_kept ? plain : SLICE("{}"));
	encode(w->out, from, &w->plain);
	buf_add_byte(w->out, '"');
	return true;
}

/* A number or one of true, false, null. */
static bool read_bare(struct walk *w)
{
	const char *from = w->at;

	while (w->at < w->end && !memchr(" \t\r\n,]}", *w->at, 7))
		w->at++;
	struct slice bare = { from, (size_t)(w->at - from) };
	if (bare.n == 0)
		return false;
	if (slice_is(bare, "null") || slice_is(bare, "true") || slice_is(bare, "false")) {
		buf_add_slice(w->out, bare);
		return true;
	}
	enum token_class class = token_class_of(bare);
	if (class != TOKEN_DIGITS && class != TOKEN_NUMBER)
		return false;
	struct json_part part = part_of(w, bare);
	scrub_part(w, &part);
	return true;
}

static bool read_value(struct walk *w);

static bool read_members(struct walk *w, bool is_object)
{
	char close = is_object ? '}' : ']';
	size_t path_n = w->path_n;
	struct slice key = w->key;
	bool is_secret = w->is_secret, ok;

	if (eat(w, close))
		return true;
	if (!is_object && w->j->has_paths && w->path_n + 7 <= PATH_MAX_BYTES) {
		memcpy(w->path + w->path_n, "[*]", 3);
		w->path_n += 3;
	}
	size_t member_n = w->path_n;
	do {
		w->path_n = member_n;
		w->key = key;
		w->is_secret = is_secret;
		ok = (!is_object || (read_key(w) && eat(w, ':'))) && read_value(w);
	} while (ok && eat(w, ','));
	w->path_n = path_n;
	w->key = key;
	w->is_secret = is_secret;
	return ok && eat(w, close);
}

static bool read_value(struct walk *w)
{
	bool ok;

	copy_spaces(w);
	if (w->at == w->end || w->depth == DEPTH_MAX)
		return false;
	w->depth++;
	if (eat(w, '{'))
		ok = read_members(w, true);
	else if (eat(w, '['))
		ok = read_members(w, false);
	else
		ok = eat(w, '"') ? read_string(w) : read_bare(w);
	w->depth--;
	return ok;
}

bool jsonscrub_walk(
	const struct jsonscrub *j, struct slice text, struct buf *out, enum value_action *ret)
{
	size_t from = out->n;
	struct walk w = { .j = j, .at = text.p, .end = text.p + text.n, .out = out };

	if (text.n == 0 || out->is_full)
		return false;
	if (j->has_paths)
		w.path[w.path_n++] = '$';
	bool ok = read_value(&w);
	copy_spaces(&w);
	ok = ok && w.at == w.end && !out->is_full;
	if (!ok && out->n > from)
		out->n = from;
	buf_free(&w.plain);
	*ret = w.action;
	return ok;
}
