#include "core/base/hex.h"
#include "core/model/httpscrub_parts.h"

enum { SEGMENT_MAX = 1024, IDENTIFIER_MAX = 128, ID_HEX_MIN = 8 };

/* ---- percent-encoding (RFC 3986, section 2.1; "+" is a blank in forms) */

static void decode(struct slice raw, bool is_form, struct buf *out)
{
	buf_reset(out);
	for (size_t i = 0; i < raw.n; i++) {
		char c = raw.p[i];

		if (c == '%' && i + 2 < raw.n && hex_value(raw.p[i + 1]) >= 0 &&
			hex_value(raw.p[i + 2]) >= 0) {
			c = (char)(hex_value(raw.p[i + 1]) << 4 | hex_value(raw.p[i + 2]));
			i += 2;
		} else if (c == '+' && is_form) {
			c = ' ';
		}
		buf_add_byte(out, (unsigned char)c);
	}
}

static void encode(struct slice plain, bool is_form, struct buf *out)
{
	const char *safe = is_form ? "-._~!$'()*,:@/?" : "-._~!$'()*,:@";

	for (size_t i = 0; i < plain.n; i++) {
		unsigned char c = (unsigned char)plain.p[i];

		if (http_is_alnum((char)c) || (c && strchr(safe, c)))
			buf_add_byte(out, c);
		else
			buf_addf(out, "%%%02X", c);
	}
}

static bool is_plain(struct slice raw)
{
	for (size_t i = 0; i < raw.n; i++)
		if (!http_is_alnum(raw.p[i]) && raw.p[i] != '-' && raw.p[i] != '_' &&
			raw.p[i] != '.')
			return false;
	return true;
}

/* A slot for raw, which is percent-encoded. What is kept keeps its spelling. */
static void put_encoded(struct httpscrub *s, struct sheet *to, const struct http_place *place,
	struct slice raw, bool is_form)
{
	struct slice plain = raw;

	if (!is_plain(raw)) {
		decode(raw, is_form, &s->plain);
		plain = buf_slice(&s->plain);
	}
	buf_reset(&s->out);
	enum value_action action = http_value(s, place, plain, &s->out);
	if (action == VALUE_DROPPED || s->out.is_full || s->plain.is_full) {
		http_drop(s, to, place, raw.n, true);
		return;
	}
	if (action == VALUE_KEPT) {
		/* A keep rule may hold any byte; only what is encoded may stand in a line. */
		buf_reset(&s->out);
		if (is_plain(raw))
			buf_add_slice(&s->out, raw);
		else
			encode(plain, is_form, &s->out);
	} else if (!is_plain(buf_slice(&s->out))) {
		buf_reset(&s->plain);
		encode(buf_slice(&s->out), is_form, &s->plain);
		buf_reset(&s->out);
		buf_add_slice(&s->out, buf_slice(&s->plain));
	}
	if (s->out.is_full || s->plain.is_full)
		http_drop(s, to, place, raw.n, true);
	else
		http_put(s, to, place, action, buf_slice(&s->out));
}

/* ---- keys and their values */

/* A key that reads like a name stays; *place gets what it says. */
static void put_key(struct httpscrub *s, struct sheet *to, struct http_place *place,
	struct slice raw, bool is_form)
{
	struct slice key = raw;

	if (!is_plain(raw)) {
		decode(raw, is_form, &s->plain);
		key = buf_slice(&s->plain);
	}
	struct http_key facts = http_key(s, key);
	place->is_secret = facts.is_secret;
	place->is_unnamed = !facts.is_key;
	if (place->is_unnamed) {
		const struct http_place key_place = {
			.scope = place->scope, .is_unnamed = true, .role = ROLE_STRUCTURAL
		};

		put_encoded(s, to, &key_place, raw, is_form);
		place->name = (struct slice){ NULL, 0 };
	} else if (is_plain(raw)) {
		http_text(to, raw);
		place->name = raw;
	} else {
		/* Encoded again: the raw bytes were not looked at. The name lives in prefix. */
		encode(key, is_form, &to->text);
		buf_reset(&s->prefix);
		buf_add_slice(&s->prefix, key);
		place->name = buf_slice(&s->prefix);
	}
}

static void put_pair(struct httpscrub *s, struct sheet *to, enum policy_scope scope,
	struct slice pair, uint8_t role)
{
	const char *sign = memchr(pair.p, '=', pair.n);
	struct http_place place = { .scope = scope, .role = role };

	/* Without a sign it is a flag, or a value: a word of an API at most. */
	if (!sign) {
		if (httproutes_is_word(s->routes, pair)) {
			http_text(to, pair);
			return;
		}
		place.is_unnamed = true;
		put_encoded(s, to, &place, pair, true);
		return;
	}
	put_key(s, to, &place, (struct slice){ pair.p, (size_t)(sign - pair.p) }, true);
	http_text(to, SLICE("="));
	put_encoded(s, to, &place, http_cut(pair, (size_t)(sign - pair.p) + 1), true);
}

void http_pairs(struct httpscrub *s, struct sheet *to, enum policy_scope scope, struct slice text)
{
	uint8_t role = scope == POLICY_FORM ? ROLE_PAYLOAD : ROLE_PREDICATE;

	while (text.n) {
		const char *stop = memchr(text.p, '&', text.n);
		size_t n = stop ? (size_t)(stop - text.p) : text.n;

		if (to->count + 8 > HTTP_PIECES_MAX / 2) {
			const struct http_place rest = {
				.scope = scope, .is_unnamed = true, .role = role
			};

			http_drop(s, to, &rest, text.n, true);
			return;
		}
		if (n)
			put_pair(s, to, scope, (struct slice){ text.p, n }, role);
		if (stop)
			http_text(to, SLICE("&"));
		text = http_cut(text, stop ? n + 1 : n);
	}
}

/* ---- the path */

static bool is_all(struct slice s, bool is_hex)
{
	for (size_t i = 0; i < s.n; i++)
		if (is_hex ? hex_value(s.p[i]) < 0 : s.p[i] < '0' || s.p[i] > '9')
			return false;
	return s.n > 0;
}

static bool has_digit(struct slice s)
{
	for (size_t i = 0; i < s.n; i++)
		if (s.p[i] >= '0' && s.p[i] <= '9')
			return true;
	return false;
}

static bool is_id(struct slice s)
{
	return is_all(s, false) || (s.n >= ID_HEX_MIN && is_all(s, true) && has_digit(s)) ||
	       token_class_of(s) == TOKEN_UUID;
}

/* /pkg.v1.Service/Method, for application/grpc alone. */
static bool is_identifier(struct slice s)
{
	struct slice part = s;

	if (s.n == 0 || s.n > IDENTIFIER_MAX)
		return false;
	while (part.n) {
		const char *dot = memchr(part.p, '.', part.n);
		size_t n = dot ? (size_t)(dot - part.p) : part.n;

		if (!httpname_is_key((struct slice){ part.p, n }))
			return false;
		part = http_cut(part, dot ? n + 1 : n);
	}
	return s.p[s.n - 1] != '.';
}

/* Where the path goes: only the target's makes the route. */
struct path {
	struct sheet *to;
	struct slice pattern; /* of the routes file, from the segment at hand on */
	bool is_target;
};

static void add_route(
	struct httpscrub *s, const struct path *p, struct slice text, struct slice shape)
{
	if (!p->is_target)
		return;
	buf_add_slice(&s->route, text);
	if (policy_has(s->policy, POLICY_SEGMENT) || s->places)
		buf_add_slice(&s->prefix, shape);
}

static void put_word(struct httpscrub *s, const struct path *p, struct slice word)
{
	http_text(p->to, word);
	add_route(s, p, word, word);
}

static void put_slot(
	struct httpscrub *s, const struct path *p, struct slice raw, struct slice shown)
{
	struct http_place place = { .scope = POLICY_SEGMENT, .role = ROLE_PREDICATE };

	if (shown.n == 0)
		shown = is_id(raw) ? SLICE("{id}") : SLICE("{}");
	add_route(s, p, shown, SLICE("{}"));
	if (p->is_target)
		place.name = buf_slice(&s->prefix);
	else
		place.is_unnamed = true;
	if (raw.n > SEGMENT_MAX)
		http_drop(s, p->to, &place, raw.n, true);
	else
		put_encoded(s, p->to, &place, raw, false);
}

/* ;jsessionid=... (RFC 3986, section 3.3) */
static void put_matrix(struct httpscrub *s, const struct path *p, struct slice params)
{
	while (params.n) {
		params = http_cut(params, 1);
		const char *stop = params.n ? memchr(params.p, ';', params.n) : NULL;
		size_t n = stop ? (size_t)(stop - params.p) : params.n;
		struct slice pair = { params.p, n };
		const char *sign = n ? memchr(pair.p, '=', n) : NULL;
		struct http_place place = { .scope = POLICY_QUERY, .role = ROLE_PREDICATE };

		http_text(p->to, SLICE(";"));
		/* The key's name must not take the place of the route's beginning. */
		if (sign && is_plain((struct slice){ pair.p, (size_t)(sign - pair.p) })) {
			put_key(s, p->to, &place, (struct slice){ pair.p, (size_t)(sign - pair.p) },
				false);
			http_text(p->to, SLICE("="));
			pair = http_cut(pair, (size_t)(sign - pair.p) + 1);
		} else {
			place.is_unnamed = true;
			place.is_secret = true;
		}
		put_encoded(s, p->to, &place, pair, false);
		params = http_cut(params, n);
	}
}

static void put_segment(
	struct httpscrub *s, const struct path *p, struct slice whole, struct slice want)
{
	const char *semicolon = whole.n ? memchr(whole.p, ';', whole.n) : NULL;
	struct slice segment = { whole.p, semicolon ? (size_t)(semicolon - whole.p) : whole.n };
	struct slice type = { NULL, 0 };

	if (want.n && want.p[0] == '{') {
		put_slot(s, p, segment, want);
	} else if (want.n || segment.n == 0 || slice_is(segment, ".") || slice_is(segment, "..") ||
		   httproutes_is_word(s->routes, segment) ||
		   (s->is_grpc && p->is_target && is_identifier(segment))) {
		put_word(s, p, segment);
	} else {
		type = httproutes_file_type(s->routes, segment);
		if (type.n)
			segment.n -= type.n + 1;
		if (segment.n)
			put_slot(s, p, segment, (struct slice){ NULL, 0 });
		if (type.n)
			put_word(s, p, (struct slice){ type.p - 1, type.n + 1 });
	}
	if (semicolon)
		put_matrix(s, p, http_cut(whole, (size_t)(semicolon - whole.p)));
}

static struct slice until_slash(struct slice s)
{
	const char *slash = s.n ? memchr(s.p, '/', s.n) : NULL;

	return (struct slice){ s.p, slash ? (size_t)(slash - s.p) : s.n };
}

static void put_path(struct httpscrub *s, struct path *p, struct slice path)
{
	for (size_t i = 0; path.n; i++) {
		struct slice want = { NULL, 0 };

		if (i == HTTP_SEGMENTS_MAX) {
			const struct http_place rest = {
				.scope = POLICY_SEGMENT, .is_unnamed = true, .role = ROLE_PREDICATE
			};

			add_route(s, p, SLICE("/..."), SLICE("/..."));
			http_drop(s, p->to, &rest, path.n, true);
			return;
		}
		http_text(p->to, SLICE("/"));
		add_route(s, p, SLICE("/"), SLICE("/"));
		path = http_cut(path, 1);
		if (p->pattern.n) {
			p->pattern = http_cut(p->pattern, 1);
			want = until_slash(p->pattern);
			p->pattern = http_cut(p->pattern, want.n);
		}
		struct slice segment = until_slash(path);
		put_segment(s, p, segment, want);
		path = http_cut(path, segment.n);
	}
}

static void put_path_and_query(struct httpscrub *s, struct sheet *to, struct slice method,
	struct slice text, bool is_target)
{
	const char *mark = memchr(text.p, '?', text.n);
	struct slice path = { text.p, mark ? (size_t)(mark - text.p) : text.n };
	struct path p = { .to = to, .is_target = is_target };

	if (is_target)
		p.pattern = httproutes_match(s->routes, method, path);
	put_path(s, &p, path);
	if (!mark)
		return;
	http_text(to, SLICE("?"));
	http_pairs(s, to, POLICY_QUERY, http_cut(text, path.n + 1));
}

/* ---- hosts and whole addresses */

static struct slice port_of(struct slice s)
{
	const char *colon = s.n ? memrchr(s.p, ':', s.n) : NULL;
	struct slice port = { NULL, 0 };

	if (colon)
		port = http_cut(s, (size_t)(colon - s.p) + 1);
	return port.n <= 5 && is_all(port, false) ? port : (struct slice){ NULL, 0 };
}

void http_authority(
	struct httpscrub *s, struct sheet *to, const struct http_place *place, struct slice text)
{
	const char *at = text.n ? memrchr(text.p, '@', text.n) : NULL;
	struct http_place named = *place;

	/* user:password@ (RFC 9110, section 4.2.4) */
	if (at) {
		struct http_place user = *place;

		user.is_secret = true;
		http_drop(s, to, &user, (size_t)(at - text.p), false);
		http_text(to, SLICE("@"));
		text = http_cut(text, (size_t)(at - text.p) + 1);
	}
	struct slice port = port_of(text);
	/* A bare IPv6 address ends in what looks like a port. */
	if (port.n && text.p[0] != '[' && memchr(text.p, ':', text.n) != port.p - 1)
		port.n = 0;
	struct slice host = { text.p, text.n - (port.n ? port.n + 1 : 0) };
	bool is_bracketed = host.n > 2 && host.p[0] == '[' && host.p[host.n - 1] == ']';
	if (is_bracketed)
		host = (struct slice){ host.p + 1, host.n - 2 };
	buf_reset(&s->out);
	if (is_bracketed)
		buf_add_byte(&s->out, '[');
	enum value_action action = VALUE_KEPT;
	if (slice_is(host, "localhost")) {
		buf_add_slice(&s->out, host);
	} else if (http_rule(s, &named) != POLICY_NONE) {
		action = http_value(s, &named, host, &s->out);
	} else if (host.n) {
		token_of(s->value.key, host, &s->out);
		action = VALUE_TOKEN;
	}
	if (is_bracketed)
		buf_add_byte(&s->out, ']');
	if (port.n)
		buf_add(&s->out, port.p - 1, port.n + 1);
	for (size_t i = 0; i < s->out.n; i++)
		if ((unsigned char)s->out.p[i] <= ' ' || s->out.p[i] == 0x7f)
			action = VALUE_DROPPED;
	if (action == VALUE_DROPPED || s->out.is_full)
		http_drop(s, to, &named, text.n, false);
	else
		http_put(s, to, &named, action, buf_slice(&s->out));
}

/* The scheme with its "://" when it is one of the known. */
static struct slice scheme_of(struct slice url)
{
	static const char *const schemes[] = { "http://", "https://", "ws://", "wss://" };

	for (size_t i = 0; i < LENGTH(schemes); i++) {
		size_t n = strlen(schemes[i]);

		if (url.n >= n && http_same_folded((struct slice){ url.p, n }, schemes[i]))
			return (struct slice){ url.p, n };
	}
	return (struct slice){ NULL, 0 };
}

static struct slice authority_of(struct slice s)
{
	size_t n = 0;

	while (n < s.n && !memchr("/?#", s.p[n], 3))
		n++;
	return (struct slice){ s.p, n };
}

void http_url(
	struct httpscrub *s, struct sheet *to, const struct http_place *place, struct slice url)
{
	struct slice scheme = scheme_of(url);
	const char *hash = url.n ? memchr(url.p, '#', url.n) : NULL;

	if (hash)
		url.n = (size_t)(hash - url.p);
	if (scheme.n) {
		http_text(to, scheme);
		url = http_cut(url, scheme.n);
		struct slice authority = authority_of(url);
		http_authority(s, to, place, authority);
		url = http_cut(url, authority.n);
	}
	if (url.n == 0)
		return;
	if (url.p[0] == '/' || url.p[0] == '?') {
		put_path_and_query(s, to, (struct slice){ NULL, 0 }, url, false);
		return;
	}
	put_encoded(s, to, place, url, false);
}

void http_target(struct httpscrub *s, struct slice method, struct slice target)
{
	const struct http_place host = {
		.scope = POLICY_HEADER, .name = SLICE("host"), .role = ROLE_STRUCTURAL
	};
	const struct http_place other = { .scope = POLICY_SEGMENT, .is_unnamed = true };
	struct slice scheme = scheme_of(target);
	const char *hash = memchr(target.p, '#', target.n);

	if (hash)
		target.n = (size_t)(hash - target.p);
	if (scheme.n) {
		http_text(&s->head, scheme);
		target = http_cut(target, scheme.n);
		struct slice authority = authority_of(target);
		http_authority(s, &s->head, &host, authority);
		target = http_cut(target, authority.n);
		if (target.n == 0)
			buf_add_byte(&s->route, '/');
	}
	if (slice_is(target, "*")) {
		http_text(&s->head, target);
		buf_add_byte(&s->route, '*');
	} else if (target.n && (target.p[0] == '/' || target.p[0] == '?')) {
		put_path_and_query(s, &s->head, method, target, true);
	} else if (target.n && slice_is(method, "CONNECT")) {
		http_authority(s, &s->head, &host, target);
		buf_add_text(&s->route, "{}");
	} else if (target.n) {
		http_drop(s, &s->head, &other, target.n, true);
		buf_add_text(&s->route, "{}");
	}
}
