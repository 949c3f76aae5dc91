#include "core/model/httpscrub.h"

#include <stdlib.h>

#include "core/model/httpscrub_parts.h"
#include "core/model/httpwords.h"
#include "core/model/places.h"
#include "core/model/sqlcache.h"

enum { HEAD_BYTES_MAX = 1 << 20, BODY_BYTES_MAX = 8 << 20, TARGET_CACHED_MAX = 1024 };

static const struct slice unreadable = { "(unreadable request)", 20 };

void httpscrub_free(struct httpscrub *s)
{
	if (!s)
		return;
	wordset_free(&s->headers);
	wordset_free(&s->agents);
	wordset_free(&s->methods);
	httpcache_free(&s->cache);
	httpcache_free(&s->targets);
	httproutes_free(s->own_routes);
	buf_free(&s->head.text);
	buf_free(&s->body.text);
	free(s->head.pieces);
	free(s->body.pieces);
	buf_free(&s->bytes);
	buf_free(&s->plain);
	buf_free(&s->out);
	buf_free(&s->route);
	buf_free(&s->prefix);
	free(s->values);
	free(s);
}

struct httpscrub *httpscrub_new(
	const struct policy *policy, const struct token_key *key, const struct httproutes *routes)
{
	struct httpscrub *s = calloc(1, sizeof(*s));
	struct err e = { 0 };

	if (!s)
		return NULL;
	s->policy = policy;
	s->value = (struct sqlvalue){ .policy = policy, .key = key };
	if (!routes)
		routes = s->own_routes = httproutes_load(NULL, &e);
	s->routes = routes;
	buf_init(&s->head.text, HEAD_BYTES_MAX);
	buf_init(&s->body.text, BODY_BYTES_MAX);
	buf_init(&s->bytes, BODY_BYTES_MAX);
	buf_init(&s->plain, BODY_BYTES_MAX);
	buf_init(&s->out, BODY_BYTES_MAX);
	if (!routes || !wordset_init(&s->headers, httpwords_header, httpwords_header_count) ||
		!wordset_init(&s->agents, httpwords_agent, httpwords_agent_count) ||
		!wordset_init(&s->methods, httpwords_methods, httpwords_methods_count) ||
		!httpcache_init(&s->cache, token_hash(key, SLICE("http cache"))) ||
		!httpcache_init(&s->targets, token_hash(key, SLICE("http targets")))) {
		httpscrub_free(s);
		return NULL;
	}
	return s;
}

void httpscrub_set_places(struct httpscrub *s, struct places *places)
{
	s->places = places;
}

/* ---- a sheet */

void http_text(struct sheet *to, struct slice text)
{
	buf_add_slice(&to->text, text);
}

static struct http_piece *piece_room(struct sheet *to)
{
	if (to->count == to->room) {
		size_t room = to->room ? 2 * to->room : 64;
		struct http_piece *more =
			room > HTTP_PIECES_MAX ? NULL : realloc(to->pieces, room * sizeof(*more));

		if (!more) {
			to->is_full = true;
			return NULL;
		}
		to->pieces = more;
		to->room = room;
	}
	return &to->pieces[to->count];
}

static uint32_t place_id(struct httpscrub *s, const struct http_place *place)
{
	if (!s->places)
		return 0;
	return places_id(s->places, place->scope, place->is_unnamed ? SLICE("{}") : place->name);
}

static void put_piece(struct httpscrub *s, struct sheet *to, const struct http_place *place,
	struct http_piece piece)
{
	struct http_piece *room = piece_room(to);

	if (!room)
		return;
	piece.role = place->role;
	piece.place = place_id(s, place);
	*room = piece;
	to->count++;
	buf_add_byte(&to->text, TEMPLATE_SLOT);
	if (s->places)
		places_count(s->places, piece.place, piece.action);
}

void http_put(struct httpscrub *s, struct sheet *to, const struct http_place *place,
	enum value_action action, struct slice bytes)
{
	if (bytes.n == 0)
		return;
	put_piece(s, to, place,
		(struct http_piece){
			.action = (uint8_t)action, .at = s->bytes.n, .n = (uint32_t)bytes.n });
	buf_add_slice(&s->bytes, bytes);
}

void http_drop(struct httpscrub *s, struct sheet *to, const struct http_place *place, size_t size,
	bool loses)
{
	if (size == 0)
		return;
	put_piece(s, to, place,
		(struct http_piece){ .action = VALUE_DROPPED,
			.flags = VALUE_IS_UNKNOWN,
			.size = size > UINT32_MAX ? UINT32_MAX : (uint32_t)size });
	if (loses)
		s->flags |= REQUEST_VALUE_LOST;
}

uint32_t http_count(struct httpscrub *s, const struct http_place *place, enum value_action action)
{
	uint32_t id = place_id(s, place);

	if (s->places)
		places_count(s->places, id, action);
	return id;
}

void http_recall(struct httpscrub *s, struct sheet *to, const struct httpcache_entry *entry)
{
	size_t base = s->bytes.n;

	http_text(to, entry->text);
	buf_add_slice(&s->bytes, entry->bytes);
	for (size_t i = 0; i < entry->piece_count; i++) {
		struct http_piece *room = piece_room(to);

		if (!room)
			return;
		*room = entry->pieces[i];
		room->at += base;
		to->count++;
		if (s->places)
			places_count(s->places, room->place, room->action);
	}
	if (s->places && entry->literal_place)
		places_count(s->places, entry->literal_place, VALUE_KEPT);
}

struct http_key http_key(struct httpscrub *s, struct slice name)
{
	uint32_t h = UINT32_C(0x811c9dc5);

	if (name.n == 0 || name.n > sizeof(s->keys[0].name))
		return (struct http_key){ .is_key = httpname_is_key(name),
			.is_secret = httpname_is_secret(name) };
	for (size_t i = 0; i < name.n; i++)
		h = (h ^ (unsigned char)name.p[i]) * UINT32_C(0x01000193);
	struct http_key *known = &s->keys[(h ^ h >> 15) % HTTP_KEYS];
	if (known->n == name.n && memcmp(known->name, name.p, name.n) == 0)
		return *known;
	*known = (struct http_key){ .n = (uint8_t)name.n,
		.is_key = httpname_is_key(name),
		.is_secret = httpname_is_secret(name) };
	memcpy(known->name, name.p, name.n);
	return *known;
}

/* ---- a value */

enum policy_rule http_rule(const struct httpscrub *s, const struct http_place *place)
{
	if (s->route_rule)
		return s->route_rule;
	return policy_has(s->policy, place->scope)
		       ? policy_rule(s->policy, place->scope, place->name)
		       : POLICY_NONE;
}

static enum value_action tokenise(struct httpscrub *s, struct slice plain, struct buf *out)
{
	token_of(s->value.key, plain, out);
	return VALUE_TOKEN;
}

enum value_action http_value(
	struct httpscrub *s, const struct http_place *place, struct slice plain, struct buf *out)
{
	enum value_action action;

	if (place->is_secret || httpname_is_secret_value(place->name, plain))
		return VALUE_DROPPED;
	switch (http_rule(s, place)) {
	case POLICY_KEEP:
		buf_add_slice(out, plain);
		return VALUE_KEPT;
	case POLICY_DROP:
		return VALUE_DROPPED;
	case POLICY_SHIFT:
		if (token_class_of(plain) == TOKEN_DATE)
			return sqlvalue_plain(&s->value, plain, out);
		return tokenise(s, plain, out);
	case POLICY_TOKEN:
	case POLICY_PERMUTE:
		return tokenise(s, plain, out);
	case POLICY_NONE:
		break;
	}
	/* Documents may hold secrets by name. */
	if (plain.n > 1 && (plain.p[0] == '{' || plain.p[0] == '[') &&
		http_json(s, place, plain, out, &action))
		return action;
	return sqlvalue_plain(&s->value, plain, out);
}

/* ---- the request */

static void sheet_reset(struct sheet *to)
{
	buf_reset(&to->text);
	to->count = 0;
	to->is_full = false;
}

static void begin(struct httpscrub *s)
{
	sheet_reset(&s->head);
	sheet_reset(&s->body);
	buf_reset(&s->bytes);
	buf_reset(&s->route);
	buf_reset(&s->prefix);
	s->flags = 0;
}

static void put_method(struct httpscrub *s, struct slice method)
{
	const struct http_place place = {
		.scope = POLICY_HEADER, .name = SLICE("(method)"), .role = ROLE_STRUCTURAL
	};

	if (wordset_has(&s->methods, method)) {
		http_text(&s->head, method);
		buf_add_slice(&s->route, method);
	} else {
		buf_reset(&s->out);
		http_put(s, &s->head, &place, tokenise(s, method, &s->out), buf_slice(&s->out));
		buf_add_text(&s->route, "{}");
	}
}

/* What was dropped of it may be a secret: no cache may hold that. */
static bool is_open(const struct http_piece *pieces, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (pieces[i].action == VALUE_DROPPED)
			return false;
	return true;
}

/* http_target(), unless the same was asked for before. */
static void put_target(struct httpscrub *s, const struct raw_http *raw)
{
	const struct raw_field field = { raw->method, raw->target };
	bool is_cacheable = !s->is_grpc && !policy_has(s->policy, POLICY_ROUTE) &&
			    raw->target.n <= TARGET_CACHED_MAX;
	uint64_t hash = is_cacheable ? httpcache_hash(&s->targets, &field) : 0;
	const struct httpcache_entry *known =
		is_cacheable ? httpcache_find(&s->targets, hash, &field) : NULL;
	size_t text_n = s->head.text.n, bytes_n = s->bytes.n, count = s->head.count;
	size_t route_n = s->route.n;

	if (known) {
		http_recall(s, &s->head, known);
		buf_add_slice(&s->route, known->route);
		return;
	}
	http_target(s, raw->method, raw->target);
	if (!is_cacheable || !httpcache_is_again(&s->targets, hash) || s->head.is_full ||
		s->head.text.is_full || s->bytes.is_full || s->route.is_full ||
		(s->head.count > count && !is_open(s->head.pieces + count, s->head.count - count)))
		return;
	const struct httpcache_entry made = {
		.text = buf_since(&s->head.text, text_n),
		.bytes = buf_since(&s->bytes, bytes_n),
		.route = buf_since(&s->route, route_n),
		.pieces = s->head.pieces ? s->head.pieces + count : NULL,
		.piece_count = s->head.count - count,
	};
	httpcache_put(&s->targets, hash, &field, &made, bytes_n);
}

static void put_request_line(struct httpscrub *s, const struct raw_http *raw)
{
	put_method(s, raw->method);
	http_text(&s->head, SLICE(" "));
	buf_add_byte(&s->route, ' ');
	put_target(s, raw);
	http_text(&s->head, raw->version == 20   ? SLICE(" HTTP/2\r\n")
			    : raw->version == 10 ? SLICE(" HTTP/1.0\r\n")
						 : SLICE(" HTTP/1.1\r\n"));
}

static struct slice field_of(const struct raw_http *raw, const char *name)
{
	size_t n = strlen(name);

	for (size_t i = 0; i < raw->field_count; i++)
		if (raw->fields[i].name.n == n && http_same_folded(raw->fields[i].name, name))
			return http_trim(raw->fields[i].value);
	return (struct slice){ NULL, 0 };
}

static bool has_body(const struct raw_http *raw)
{
	return raw->body_n || raw->is_chunked;
}

/* What the template's body is long when it is sent. */
static size_t body_size(const struct httpscrub *s)
{
	size_t n = s->body.text.n;

	for (size_t i = 0; i < s->body.count; i++) {
		const struct http_piece *piece = &s->body.pieces[i];

		n += (piece->action == VALUE_DROPPED ? piece->size : piece->n) - (size_t)1;
	}
	return n;
}

static void put_size(struct httpscrub *s, bool is_hex, size_t n)
{
	const struct http_place place = {
		.scope = POLICY_HEADER, .name = SLICE("content-length"), .role = ROLE_STRUCTURAL
	};
	char text[24];

	snprintf(text, sizeof(text), is_hex ? "%zx" : "%zu", n);
	http_put(s, &s->head, &place, VALUE_KEPT, slice_of(text));
}

static void put_fields(struct httpscrub *s, const struct raw_http *raw)
{
	bool has_host = false, has_length = raw->is_chunked || !has_body(raw);

	for (size_t i = 0; i < raw->field_count && i < HTTP_FIELDS_MAX; i++) {
		const struct raw_field *field = &raw->fields[i];

		if (field->name.n == 14 && http_same_folded(field->name, "content-length")) {
			if (!has_length || (!raw->is_chunked && !has_body(raw))) {
				http_text(&s->head, field->name);
				http_text(&s->head, SLICE(": "));
				put_size(s, false, body_size(s));
				http_text(&s->head, SLICE("\r\n"));
			}
			has_length = true;
			continue;
		}
		has_host |= field->name.n == 4 && http_same_folded(field->name, "host");
		http_header(s, &s->head, field);
	}
	if (raw->field_count > HTTP_FIELDS_MAX)
		s->flags |= REQUEST_VALUE_LOST;
	if (!has_host && raw->authority.n) {
		const struct raw_field host = { SLICE("Host"), raw->authority };

		http_header(s, &s->head, &host);
	}
	if (!has_length) {
		http_text(&s->head, SLICE("Content-Length: "));
		put_size(s, false, body_size(s));
		http_text(&s->head, SLICE("\r\n"));
	}
	http_text(&s->head, SLICE("\r\n"));
}

static void append_body(struct httpscrub *s)
{
	buf_add_slice(&s->head.text, buf_slice(&s->body.text));
	for (size_t i = 0; i < s->body.count; i++) {
		struct http_piece *room = piece_room(&s->head);

		if (!room)
			return;
		*room = s->body.pieces[i];
		s->head.count++;
	}
}

/* The whole body as one chunk (RFC 9112, section 7.1). */
static void put_body(struct httpscrub *s, const struct raw_http *raw)
{
	if (!raw->is_chunked) {
		append_body(s);
		return;
	}
	if (body_size(s)) {
		put_size(s, true, body_size(s));
		http_text(&s->head, SLICE("\r\n"));
		append_body(s);
		http_text(&s->head, SLICE("\r\n"));
	}
	http_text(&s->head, SLICE("0\r\n\r\n"));
}

/* A rule for the route needs the route first. */
static void find_route_rule(struct httpscrub *s, const struct raw_http *raw)
{
	struct places *places = s->places;

	s->route_rule = POLICY_NONE;
	if (!policy_has(s->policy, POLICY_ROUTE))
		return;
	s->places = NULL;
	put_request_line(s, raw);
	s->places = places;
	enum policy_rule rule = policy_rule(s->policy, POLICY_ROUTE, buf_slice(&s->route));
	begin(s);
	s->route_rule = rule;
}

static bool point_values(struct httpscrub *s)
{
	struct sheet *head = &s->head;

	if (head->count > s->value_room) {
		struct value *more = realloc(s->values, head->room * sizeof(*more));

		if (!more)
			return false;
		s->values = more;
		s->value_room = head->room;
	}
	for (size_t i = 0; i < head->count; i++) {
		const struct http_piece *p = &head->pieces[i];

		s->values[i] = (struct value){ .place = (uint16_t)i,
			.role = p->role,
			.action = p->action,
			.flags = p->flags,
			.type_oid = p->size,
			.bytes = { p->n ? s->bytes.p + p->at : NULL, p->n } };
	}
	return true;
}

static bool is_safe(struct slice method)
{
	return slice_is(method, "GET") || slice_is(method, "HEAD") || slice_is(method, "OPTIONS") ||
	       slice_is(method, "TRACE");
}

static void give_nothing(struct httpscrub_request *ret)
{
	*ret = (struct httpscrub_request){ .route = unreadable,
		.flags = REQUEST_UNLEXABLE,
		.fingerprint = sqlcache_fixed_hash(unreadable) };
}

void httpscrub_request(
	struct httpscrub *s, const struct raw_http *raw, struct httpscrub_request *ret)
{
	begin(s);
	if (raw->method.n == 0 || raw->target.n == 0) {
		give_nothing(ret);
		return;
	}
	struct slice type = { NULL, 0 };
	if (has_body(raw))
		type = field_of(raw, "content-type");
	s->is_grpc =
		type.n >= 16 && http_same_folded((struct slice){ type.p, 16 }, "application/grpc");
	find_route_rule(s, raw);
	put_request_line(s, raw);
	if (has_body(raw))
		http_body(s, raw, type, field_of(raw, "content-encoding"));
	put_fields(s, raw);
	put_body(s, raw);
	*ret = (struct httpscrub_request){ .route = buf_slice(&s->route),
		.fingerprint = sqlcache_fixed_hash(buf_slice(&s->route)),
		.flags = s->flags | (is_safe(raw->method) ? 0 : REQUEST_WRITES) };
	/* Half a template is none: a route to count by, nothing to replay. */
	if (s->head.is_full || s->body.is_full || s->head.text.is_full || s->body.text.is_full ||
		s->bytes.is_full || !point_values(s)) {
		ret->flags |= REQUEST_VALUE_LOST;
		return;
	}
	ret->template_text = buf_slice(&s->head.text);
	ret->values = s->values;
	ret->value_count = s->head.count;
}
