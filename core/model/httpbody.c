#include "core/model/httpscrub_parts.h"
#include "core/model/jsonscrub.h"
#include "core/model/places.h"

enum { BOUNDARY_MAX = 70 /* RFC 2046, section 5.1.1 */ };

static const struct http_place body_place = {
	.scope = POLICY_FORM, .name = { "(body)", 6 }, .role = ROLE_PAYLOAD
};

/* ---- JSON */

struct json_job {
	struct httpscrub *s;
	uint8_t role;
};

static bool keeps_key(void *data, struct slice key)
{
	return http_key(((struct json_job *)data)->s, key).is_key;
}

static bool is_secret_key(void *data, struct slice key)
{
	return http_key(((struct json_job *)data)->s, key).is_secret;
}

/* "$.user.email" goes before "email". */
static enum policy_rule json_rule(const struct httpscrub *s, const struct json_part *part)
{
	if (s->route_rule || !policy_has(s->policy, POLICY_JSON))
		return s->route_rule;
	enum policy_rule rule = policy_rule(s->policy, POLICY_JSON, part->path);
	return rule || !part->key.n ? rule : policy_rule(s->policy, POLICY_JSON, part->key);
}

static enum value_action scrub_by(
	struct httpscrub *s, const struct json_part *part, struct buf *out)
{
	enum policy_rule rule = json_rule(s, part);

	if (part->is_key) {
		token_of(s->value.key, part->plain, out);
		return VALUE_TOKEN;
	}
	if (part->is_secret || httpname_is_secret_value(part->key, part->plain) ||
		rule == POLICY_DROP)
		return VALUE_DROPPED;
	if (rule == POLICY_KEEP) {
		buf_add_slice(out, part->plain);
		return VALUE_KEPT;
	}
	if (rule == POLICY_NONE ||
		(rule == POLICY_SHIFT && token_class_of(part->plain) == TOKEN_DATE)) {
		enum value_action action;

		/* A document within a string, as message queues and logs have it. */
		if (part->is_text && part->plain.n > 1 && strchr("{[", part->plain.p[0]) &&
			http_json(s, &body_place, part->plain, out, &action))
			return action;
		return sqlvalue_plain(&s->value, part->plain, out);
	}
	token_of(s->value.key, part->plain, out);
	return VALUE_TOKEN;
}

static enum value_action json_part(void *data, const struct json_part *part, struct buf *out)
{
	struct json_job *job = data;
	struct httpscrub *s = job->s;
	enum value_action action = scrub_by(s, part, out);

	if (action == VALUE_DROPPED)
		s->flags |= REQUEST_VALUE_LOST;
	if (s->places)
		places_count(s->places, places_id(s->places, POLICY_JSON, part->path), action);
	return action;
}

/* Documents within strings within documents end somewhere: each level doubles its
 * backslashes, and the walker's depth bounds the rest. */
bool http_json(struct httpscrub *s, const struct http_place *place, struct slice text,
	struct buf *out, enum value_action *ret)
{
	struct json_job job = { s, place->role };
	const struct jsonscrub walk = { .keeps_key = keeps_key,
		.is_secret_key = is_secret_key,
		.part = json_part,
		.data = &job,
		.has_paths = s->places || policy_has(s->policy, POLICY_JSON) };

	if (s->json_depth == HTTP_JSON_DEPTH_MAX)
		return false;
	s->json_depth++;
	bool ok = jsonscrub_walk(&walk, text, out, ret);
	s->json_depth--;
	return ok;
}

static bool put_json(struct httpscrub *s, struct sheet *to, struct slice text)
{
	enum value_action action;
	struct http_place place = body_place;

	buf_reset(&s->out);
	if (!http_json(s, &body_place, text, &s->out, &action))
		return false;
	place.name = SLICE("(json)");
	http_put(s, to, &place, action, buf_slice(&s->out));
	return true;
}

/* One document a line. */
static bool put_json_lines(struct httpscrub *s, struct sheet *to, struct slice text)
{
	enum value_action worst = VALUE_KEPT, action;
	struct http_place place = body_place;

	buf_reset(&s->out);
	while (text.n) {
		const char *stop = memchr(text.p, '\n', text.n);
		struct slice line = { text.p, stop ? (size_t)(stop - text.p) : text.n };

		if (http_trim(line).n) {
			if (!http_json(s, &body_place, line, &s->out, &action))
				return false;
			worst = action == VALUE_KEPT ? worst : action;
		}
		if (stop)
			buf_add_byte(&s->out, '\n');
		text = http_cut(text, line.n + (stop ? 1 : 0));
	}
	place.name = SLICE("(json)");
	http_put(s, to, &place, worst, buf_slice(&s->out));
	return true;
}

/* ---- text and markup */

static bool is_text(struct slice s)
{
	for (size_t i = 0; i < s.n; i++)
		if ((unsigned char)s.p[i] < ' ' && !memchr("\t\n\r\f", s.p[i], 4))
			return false;
	return true;
}

/* Letters for letters, digits for digits: of the same length, and no word of it left. */
static bool put_text(
	struct httpscrub *s, struct sheet *to, const struct http_place *place, struct slice text)
{
	if (!is_text(text) || httpname_is_secret_value(place->name, text))
		return false;
	buf_reset(&s->out);
	enum policy_rule rule = http_rule(s, place);
	if (rule == POLICY_DROP)
		return false;
	if (rule == POLICY_KEEP)
		buf_add_slice(&s->out, text);
	else
		token_of(s->value.key, text, &s->out);
	if (s->out.is_full)
		return false;
	http_put(s, to, place, rule == POLICY_KEEP ? VALUE_KEPT : VALUE_TOKEN, buf_slice(&s->out));
	return true;
}

/* ---- multipart (RFC 2046, section 5.1; RFC 7578) */

struct slice http_boundary(struct slice type)
{
	struct slice none = { NULL, 0 };

	if (type.n < 10 || !http_same_folded((struct slice){ type.p, 10 }, "multipart/"))
		return none;
	for (size_t i = 10; i + 9 < type.n; i++) {
		if (!http_same_folded((struct slice){ type.p + i, 9 }, "boundary=") ||
			!memchr(" ;\t", type.p[i - 1], 3))
			continue;
		struct slice rest = http_cut(type, i + 9);
		bool is_quoted = rest.p[0] == '"';
		if (is_quoted)
			rest = http_cut(rest, 1);
		size_t n = 0;
		while (n < rest.n && !memchr(is_quoted ? "\"\"" : "; ", rest.p[n], 2))
			n++;
		return n && n <= BOUNDARY_MAX ? (struct slice){ rest.p, n } : none;
	}
	return none;
}

/* name="..." of a Content-Disposition. */
static struct slice parameter(struct slice value, const char *name)
{
	size_t n = strlen(name);

	for (size_t i = 1; i + n < value.n; i++) {
		if (!memchr(" ;\t", value.p[i - 1], 3) || memcmp(value.p + i, name, n) != 0)
			continue;
		struct slice rest = http_cut(value, i + n);
		const char *stop = memchr(rest.p, '"', rest.n);
		return stop ? (struct slice){ rest.p, (size_t)(stop - rest.p) }
			    : (struct slice){ NULL, 0 };
	}
	return (struct slice){ NULL, 0 };
}

struct part {
	struct slice name; /* empty when it does not read like one */
	bool is_unnamed, is_file, is_encoded;
};

static void put_quoted(
	struct httpscrub *s, struct sheet *to, const char *name, struct slice value, bool is_kept)
{
	const struct http_place place = {
		.scope = POLICY_FORM, .is_unnamed = true, .role = ROLE_STRUCTURAL
	};

	http_text(to, slice_of(name));
	if (is_kept) {
		http_text(to, value);
	} else if (value.n) {
		buf_reset(&s->out);
		token_of(s->value.key, value, &s->out);
		http_put(s, to, &place, VALUE_TOKEN, buf_slice(&s->out));
	}
	http_text(to, SLICE("\""));
}

static void put_disposition(
	struct httpscrub *s, struct sheet *to, struct slice value, struct part *part)
{
	struct slice name = parameter(value, "name=\""), file = parameter(value, "filename=\"");

	part->is_file = file.p || memmem(value.p, value.n, "filename", 8);
	part->is_unnamed = !httpname_is_key(name);
	part->name = part->is_unnamed ? (struct slice){ NULL, 0 } : name;
	http_text(to, SLICE("Content-Disposition: form-data"));
	if (name.p)
		put_quoted(s, to, "; name=\"", name, !part->is_unnamed);
	if (part->is_file)
		put_quoted(s, to, "; filename=\"", file.n ? file : SLICE("file"), false);
	http_text(to, SLICE("\r\n"));
}

/* Of a part's headers only these are known; others are left out, and nothing needs them. */
static void put_part_header(
	struct httpscrub *s, struct sheet *to, struct slice line, struct part *part)
{
	const char *colon = memchr(line.p, ':', line.n);
	struct slice name = { line.p, colon ? (size_t)(colon - line.p) : 0 };

	if (!colon)
		return;
	struct slice value = http_trim(http_cut(line, name.n + 1));
	if (http_same_folded(name, "content-disposition")) {
		put_disposition(s, to, value, part);
	} else if (http_same_folded(name, "content-type")) {
		const struct http_place place = { .scope = POLICY_HEADER,
			.name = SLICE("content-type"),
			.role = ROLE_STRUCTURAL };

		part->is_encoded |=
			value.n < 5 || !http_same_folded((struct slice){ value.p, 5 }, "text/");
		http_text(to, SLICE("Content-Type: "));
		http_header_value(s, to, HEADER_FORM, &place, value);
		http_text(to, SLICE("\r\n"));
	} else {
		part->is_encoded = true;
	}
}

static void put_part(struct httpscrub *s, struct sheet *to, struct slice content)
{
	struct part part = { .is_unnamed = true };

	while (content.n) {
		const char *stop = memmem(content.p, content.n, "\r\n", 2);
		struct slice line = { content.p, stop ? (size_t)(stop - content.p) : content.n };

		content = http_cut(content, line.n + (stop ? 2 : 0));
		if (line.n == 0)
			break;
		put_part_header(s, to, line, &part);
	}
	http_text(to, SLICE("\r\n"));
	struct http_place place = { .scope = POLICY_FORM,
		.name = part.name,
		.is_unnamed = part.is_unnamed,
		.is_secret = httpname_is_secret(part.name),
		.role = ROLE_PAYLOAD };
	buf_reset(&s->out);
	if (part.is_file || part.is_encoded || !is_text(content)) {
		http_drop(s, to, &place, content.n, true);
		return;
	}
	enum value_action action = http_value(s, &place, content, &s->out);
	if (action == VALUE_DROPPED || s->out.is_full)
		http_drop(s, to, &place, content.n, true);
	else
		http_put(s, to, &place, action, buf_slice(&s->out));
}

static void put_delimiter(struct httpscrub *s, struct sheet *to, struct slice boundary)
{
	const struct http_place place = {
		.scope = POLICY_HEADER, .name = SLICE("content-type"), .role = ROLE_STRUCTURAL
	};

	http_text(to, SLICE("--"));
	buf_reset(&s->out);
	token_of(s->value.key, boundary, &s->out);
	http_put(s, to, &place, VALUE_TOKEN, buf_slice(&s->out));
}

/* The next "--boundary" at the start of a line, and what stands before it. */
static bool next_part(struct slice *rest, struct slice boundary, bool is_first, struct slice *ret)
{
	for (size_t at = 0; at + boundary.n + 2 <= rest->n;) {
		const char *p = memmem(rest->p + at, rest->n - at, "--", 2);
		size_t i = p ? (size_t)(p - rest->p) : rest->n;
		bool is_line = i >= 2 && rest->p[i - 2] == '\r' && rest->p[i - 1] == '\n';

		if (i + 2 + boundary.n > rest->n)
			return false;
		at = i + 1;
		if ((!is_line && !(is_first && i == 0)) ||
			memcmp(rest->p + i + 2, boundary.p, boundary.n) != 0)
			continue;
		*ret = (struct slice){ rest->p, is_line ? i - 2 : 0 };
		*rest = http_cut(*rest, i + 2 + boundary.n);
		return true;
	}
	return false;
}

/* Preamble and epilogue are for nobody (RFC 2046) and left out. */
static bool put_multipart(
	struct httpscrub *s, struct sheet *to, struct slice text, struct slice boundary)
{
	struct slice part;

	if (!next_part(&text, boundary, true, &part))
		return false;
	for (size_t i = 0; i < HTTP_PARTS_MAX; i++) {
		put_delimiter(s, to, boundary);
		if (text.n >= 2 && memcmp(text.p, "--", 2) == 0) {
			http_text(to, SLICE("--\r\n"));
			return true;
		}
		const char *line = memmem(text.p, text.n, "\r\n", 2);
		if (!line)
			return false;
		text = http_cut(text, (size_t)(line - text.p) + 2);
		if (!next_part(&text, boundary, false, &part))
			return false;
		http_text(to, SLICE("\r\n"));
		put_part(s, to, part);
		http_text(to, SLICE("\r\n"));
	}
	return false;
}

/* ---- which */

static bool ends_folded(struct slice s, const char *tail)
{
	size_t n = strlen(tail);

	return s.n >= n && http_same_folded(http_cut(s, s.n - n), tail);
}

static bool starts_folded(struct slice s, const char *head)
{
	size_t n = strlen(head);

	return s.n >= n && http_same_folded((struct slice){ s.p, n }, head);
}

static struct slice media_type(struct slice type)
{
	size_t n = 0;

	while (n < type.n && type.p[n] != ';')
		n++;
	return http_trim((struct slice){ type.p, n });
}

static bool begins_json(struct slice body)
{
	size_t i = 0;

	while (i < body.n && memchr(" \t\r\n", body.p[i], 4))
		i++;
	return i < body.n && (body.p[i] == '{' || body.p[i] == '[');
}

static bool is_json_type(struct slice media)
{
	return ends_folded(media, "/json") || ends_folded(media, "+json") ||
	       starts_folded(media, "application/json") || starts_folded(media, "application/csp");
}

static bool put_known(struct httpscrub *s, struct slice type, struct slice body)
{
	struct slice media = media_type(type), boundary = http_boundary(type);
	struct sheet *to = &s->body;

	if (boundary.n)
		return put_multipart(s, to, body, boundary);
	if (http_same_folded(media, "application/x-www-form-urlencoded")) {
		http_pairs(s, to, POLICY_FORM, body);
		return true;
	}
	if (ends_folded(media, "ndjson") || ends_folded(media, "jsonl") ||
		ends_folded(media, "jsonlines"))
		return put_json_lines(s, to, body);
	if (is_json_type(media) || media.n == 0)
		return put_json(s, to, body) || put_json_lines(s, to, body);
	if (starts_folded(media, "text/") || ends_folded(media, "/xml") ||
		ends_folded(media, "+xml") || ends_folded(media, "/graphql"))
		return (begins_json(body) && put_json(s, to, body)) ||
		       put_text(s, to, &body_place, body);
	return false;
}

void http_body(
	struct httpscrub *s, const struct raw_http *raw, struct slice type, struct slice coding)
{
	bool is_coded = coding.n && !http_same_folded(coding, "identity");
	bool is_whole = !raw->is_body_cut && raw->body.n == raw->body_n;
	size_t bytes_n = s->bytes.n;

	if (raw->body_n == 0)
		return;
	if (!is_coded && is_whole && put_known(s, type, raw->body))
		return;
	/* What was begun is taken back. */
	buf_reset(&s->body.text);
	s->body.count = 0;
	s->bytes.n = bytes_n;
	http_drop(s, &s->body, &body_place, (size_t)raw->body_n, true);
}
