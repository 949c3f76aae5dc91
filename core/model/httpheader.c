#include "core/model/httpscrub_parts.h"
#include "core/model/sqldate.h"

enum {
	NAME_MAX_BYTES = 64,
	FORM_DIGITS_MAX = 16, /* a form with more is a slot: its numbers are its own */
	RUN_DIGITS_MAX = 8,
	VALUE_MAX_BYTES = 16384,
	DAYS_PER_WEEK = 7,
	ISO_DATE = 19,
	ISO_ROOM = 48,
};

/* Words of headers have no control bytes, and a template no slot byte in its text. */
static bool is_printable(struct slice s)
{
	for (size_t i = 0; i < s.n; i++)
		if ((unsigned char)s.p[i] < ' ' && s.p[i] != '\t')
			return false;
	return true;
}

static void put(struct httpscrub *s, struct sheet *to, const struct http_place *place,
	enum value_action action, size_t raw_n)
{
	if (action == VALUE_DROPPED || s->out.is_full || !is_printable(buf_slice(&s->out)))
		http_drop(s, to, place, raw_n, false);
	else
		http_put(s, to, place, action, buf_slice(&s->out));
}

/* ---- forms: words of a closed list with marks and short numbers between */

static bool is_digits(struct slice s)
{
	for (size_t i = 0; i < s.n; i++)
		if (s.p[i] < '0' || s.p[i] > '9')
			return false;
	return true;
}

static bool is_language(struct slice run)
{
	return (run.n == 2 || run.n == 4) && !is_digits(run) && (run.p[0] | 0x20) >= 'a';
}

static bool keeps_run(const struct httpscrub *s, enum header_kind kind, struct slice run)
{
	if (is_digits(run))
		return run.n <= RUN_DIGITS_MAX;
	if (wordset_has(&s->headers, run))
		return true;
	if (kind == HEADER_AGENT)
		return wordset_has(&s->agents, run);
	return kind == HEADER_LANGUAGE && is_language(run);
}

/* Into s->out; *ret_digits counts those of runs that stay. */
static enum value_action scrub_form(
	struct httpscrub *s, enum header_kind kind, struct slice value, size_t *ret_digits)
{
	enum value_action action = VALUE_KEPT;

	buf_reset(&s->out);
	*ret_digits = 0;
	for (size_t i = 0; i < value.n;) {
		size_t n = 0;

		while (i + n < value.n &&
			(http_is_alnum(value.p[i + n]) || (unsigned char)value.p[i + n] >= 0x80))
			n++;
		if (n == 0) {
			buf_add_byte(&s->out, (unsigned char)value.p[i++]);
			continue;
		}
		struct slice run = { value.p + i, n };
		if (keeps_run(s, kind, run)) {
			buf_add_slice(&s->out, run);
			*ret_digits += is_digits(run) ? n : 0;
		} else {
			token_of(s->value.key, run, &s->out);
			action = VALUE_TOKEN;
		}
		i += n;
	}
	return action;
}

static void put_form(struct httpscrub *s, struct sheet *to, enum header_kind kind,
	const struct http_place *place, struct slice value)
{
	size_t digits;
	enum value_action action = scrub_form(s, kind, value, &digits);
	bool is_literal = (kind == HEADER_FORM || kind == HEADER_LANGUAGE) &&
			  digits <= FORM_DIGITS_MAX && action == VALUE_KEPT && !s->out.is_full &&
			  is_printable(buf_slice(&s->out));

	if (!is_literal) {
		put(s, to, place, action, value.n);
		return;
	}
	http_text(to, buf_slice(&s->out));
	s->literal_place = http_count(s, place, VALUE_KEPT);
}

/* The boundary is the client's own: a slot. The rest of a Content-Type is a form. */
static void put_content_type(
	struct httpscrub *s, struct sheet *to, const struct http_place *place, struct slice value)
{
	struct slice boundary = http_boundary(value);

	if (boundary.n == 0) {
		put_form(s, to, HEADER_FORM, place, value);
		return;
	}
	put_form(s, to, HEADER_FORM, place,
		(struct slice){ value.p, (size_t)(boundary.p - value.p) });
	buf_reset(&s->out);
	token_of(s->value.key, boundary, &s->out);
	put(s, to, place, VALUE_TOKEN, boundary.n);
	put_form(s, to, HEADER_FORM, place,
		http_cut(value, (size_t)(boundary.p - value.p) + boundary.n));
}

/* ---- lists */

static bool is_list_word(struct slice s)
{
	static const char *const words[] = { "for", "by", "proto", "host", "http", "https", "W",
		"unknown", "HTTP/1.1", "HTTP/1.0", "HTTP/2", "Root", "Parent", "Self", "Sampled" };

	for (size_t i = 0; i < LENGTH(words); i++)
		if (slice_is(s, words[i]))
			return true;
	return false;
}

/* 192.0.2.1:8080 */
static size_t port_at(struct slice item)
{
	const char *colon = item.n ? memrchr(item.p, ':', item.n) : NULL;

	if (!colon || memchr(item.p, ':', (size_t)(colon - item.p)))
		return item.n;
	struct slice port = http_cut(item, (size_t)(colon - item.p) + 1);
	return port.n && port.n <= 5 && is_digits(port) ? (size_t)(colon - item.p) : item.n;
}

static enum value_action scrub_item(
	struct httpscrub *s, const struct http_place *place, struct slice item)
{
	size_t n = port_at(item);

	if (is_list_word(item)) {
		buf_add_slice(&s->out, item);
		return VALUE_KEPT;
	}
	enum value_action action = http_value(s, place, (struct slice){ item.p, n }, &s->out);
	if (action != VALUE_DROPPED)
		buf_add(&s->out, item.p + n, item.n - n);
	return action;
}

/* Each item by itself, so that an address has the token that it has elsewhere. */
static void put_list(
	struct httpscrub *s, struct sheet *to, const struct http_place *place, struct slice value)
{
	enum value_action worst = VALUE_KEPT;

	buf_reset(&s->out);
	for (size_t i = 0; i < value.n && worst != VALUE_DROPPED;) {
		size_t n = 0;

		while (i + n < value.n && !memchr(" \t,;=\"/[]()", value.p[i + n], 11))
			n++;
		if (n == 0) {
			buf_add_byte(&s->out, (unsigned char)value.p[i++]);
			continue;
		}
		enum value_action action = scrub_item(s, place, (struct slice){ value.p + i, n });
		if (action != VALUE_KEPT)
			worst = action;
		i += n;
	}
	put(s, to, place, worst, value.n);
}

/* ---- dates (RFC 9110, section 5.6.7): "Tue, 15 Nov 1994 08:12:31 GMT" */

static const char months[] = "JanFebMarAprMayJunJulAugSepOctNovDec";
static const char days[] = "MonTueWedThuFriSatSun";

static int index_of(const char *names, const char *p)
{
	for (int i = 0; names[3 * i]; i++)
		if (memcmp(names + 3 * i, p, 3) == 0)
			return i;
	return -1;
}

/* As ISO; false when it is no such date. */
static bool read_date(struct slice v, char iso[ISO_ROOM])
{
	struct sqldate date;

	if (v.n != 29 || memcmp(v.p + 3, ", ", 2) != 0 || memcmp(v.p + 25, " GMT", 4) != 0 ||
		index_of(days, v.p) < 0 || v.p[7] != ' ' || v.p[11] != ' ' || v.p[16] != ' ')
		return false;
	int month = index_of(months, v.p + 8);
	if (month < 0)
		return false;
	snprintf(iso, ISO_ROOM, "%.4s-%02d-%.2s %.8s", v.p + 12, month + 1, v.p + 5, v.p + 17);
	return sqldate_read((struct slice){ iso, ISO_DATE }, &date);
}

/* By whole weeks the day of the week stays. */
static void put_date(
	struct httpscrub *s, struct sheet *to, const struct http_place *place, struct slice value)
{
	enum policy_rule rule = http_rule(s, place);
	char iso[ISO_ROOM];

	buf_reset(&s->out);
	if (!read_date(value, iso) || (rule != POLICY_NONE && rule != POLICY_SHIFT)) {
		put(s, to, place, http_value(s, place, value, &s->out), value.n);
		return;
	}
	if (s->policy->shift_weeks == 0) {
		buf_add_slice(&s->out, value);
		put(s, to, place, VALUE_KEPT, value.n);
		return;
	}
	struct buf *moved = &s->plain;
	buf_reset(moved);
	sqldate_shift((struct slice){ iso, ISO_DATE },
		(int64_t)s->policy->shift_weeks * DAYS_PER_WEEK, moved);
	if (moved->n != ISO_DATE) {
		http_drop(s, to, place, value.n, false);
		return;
	}
	int month = 10 * (moved->p[5] - '0') + moved->p[6] - '0';
	buf_addf(&s->out, "%.3s, %.2s %.3s %.4s %.8s GMT", value.p, moved->p + 8,
		months + 3 * (month - 1), moved->p, moved->p + 11);
	put(s, to, place, VALUE_SHIFTED, value.n);
}

/* ---- identifiers of requests: tokens, also where they are numbers */

static void put_trace(
	struct httpscrub *s, struct sheet *to, const struct http_place *place, struct slice value)
{
	struct slice rest = value;

	buf_reset(&s->out);
	if (http_rule(s, place) != POLICY_NONE || token_class_of(value) == TOKEN_UUID) {
		enum value_action action = http_value(s, place, value, &s->out);

		put(s, to, place, action, value.n);
		return;
	}
	/* 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01: version and flags stay. */
	while (rest.n) {
		const char *dash = memchr(rest.p, '-', rest.n);
		struct slice part = { rest.p, dash ? (size_t)(dash - rest.p) : rest.n };

		if (part.n <= 2 && is_digits(part))
			buf_add_slice(&s->out, part);
		else
			token_of(s->value.key, part, &s->out);
		if (dash)
			buf_add_byte(&s->out, '-');
		rest = http_cut(rest, part.n + (dash ? 1 : 0));
	}
	put(s, to, place, VALUE_TOKEN, value.n);
}

static void put_plain(
	struct httpscrub *s, struct sheet *to, const struct http_place *place, struct slice value)
{
	buf_reset(&s->out);
	enum value_action action = http_value(s, place, value, &s->out);
	put(s, to, place, action, value.n);
}

void http_header_value(struct httpscrub *s, struct sheet *to, enum header_kind kind,
	const struct http_place *place, struct slice value)
{
	bool is_form = kind == HEADER_FORM || kind == HEADER_NUMBERS || kind == HEADER_LANGUAGE ||
		       kind == HEADER_AGENT;

	if (value.n == 0)
		return;
	if (kind == HEADER_DROP || value.n > VALUE_MAX_BYTES ||
		httpname_is_secret_value(place->name, value))
		http_drop(s, to, place, value.n, false);
	else if (is_form && http_rule(s, place) != POLICY_NONE)
		put_plain(s, to, place, value);
	else if (is_form && slice_is(place->name, "content-type"))
		put_content_type(s, to, place, value);
	else if (is_form)
		put_form(s, to, kind, place, value);
	else if (kind == HEADER_LIST)
		put_list(s, to, place, value);
	else if (kind == HEADER_URL)
		http_url(s, to, place, value);
	else if (kind == HEADER_DATE)
		put_date(s, to, place, value);
	else if (kind == HEADER_TRACE)
		put_trace(s, to, place, value);
	else if (kind == HEADER_HOST)
		http_authority(s, to, place, value);
	else
		put_plain(s, to, place, value);
}

/* ---- a whole header */

static struct slice fold(struct slice name, char to[NAME_MAX_BYTES])
{
	size_t n = name.n < NAME_MAX_BYTES ? name.n : NAME_MAX_BYTES;

	for (size_t i = 0; i < n; i++)
		to[i] = (char)(name.p[i] >= 'A' && name.p[i] <= 'Z' ? name.p[i] | 0x20 : name.p[i]);
	return (struct slice){ to, n };
}

/* A name of more bytes than any header has is data. */
static void put_name(struct httpscrub *s, struct sheet *to, struct slice name, bool is_kept)
{
	const struct http_place place = {
		.scope = POLICY_HEADER, .is_unnamed = true, .role = ROLE_STRUCTURAL
	};

	if (is_kept) {
		http_text(to, name);
		return;
	}
	buf_reset(&s->out);
	token_of(s->value.key, name, &s->out);
	put(s, to, &place, VALUE_TOKEN, name.n);
}

/* False when it carries credentials, which no cache may hold. */
static bool scrub_header(struct httpscrub *s, struct sheet *to, const struct raw_field *field)
{
	char folded[NAME_MAX_BYTES];
	struct slice name = fold(field->name, folded);
	bool is_long = field->name.n > NAME_MAX_BYTES;
	bool is_name = !is_long && http_key(s, name).is_key;
	enum header_kind kind = httpname_header(name);
	struct http_place place = { .scope = POLICY_HEADER,
		.name = name,
		.is_unnamed = !is_name,
		.role = ROLE_STRUCTURAL };
	struct slice value = http_trim(field->value);

	if (kind == HEADER_VALUE)
		place.role = ROLE_UNKNOWN;
	put_name(s, to, field->name, is_name);
	http_text(to, SLICE(": "));
	http_header_value(s, to, is_long ? HEADER_DROP : kind, &place, value);
	http_text(to, SLICE("\r\n"));
	return kind != HEADER_DROP && !httpname_is_secret_value(name, value);
}

void http_header(struct httpscrub *s, struct sheet *to, const struct raw_field *field)
{
	bool is_cacheable = s->route_rule == POLICY_NONE &&
			    field->name.n + field->value.n <= HTTPCACHE_ENTRY_MAX;
	uint64_t hash = is_cacheable ? httpcache_hash(&s->cache, field) : 0;
	const struct httpcache_entry *known =
		is_cacheable ? httpcache_find(&s->cache, hash, field) : NULL;

	if (known) {
		http_recall(s, to, known);
		return;
	}
	size_t text_n = to->text.n, bytes_n = s->bytes.n, count = to->count;
	uint32_t flags = s->flags;
	s->literal_place = 0;
	bool is_open = scrub_header(s, to, field);
	/* Replay leaves out a header that misses something: the request is none the worse. */
	s->flags = flags;
	if (!is_open || !is_cacheable || to->is_full || to->text.is_full || s->bytes.is_full)
		return;
	const struct httpcache_entry made = {
		.text = buf_since(&to->text, text_n),
		.bytes = buf_since(&s->bytes, bytes_n),
		.pieces = to->pieces ? to->pieces + count : NULL,
		.piece_count = to->count - count,
		.literal_place = s->literal_place,
	};
	httpcache_put(&s->cache, hash, field, &made, bytes_n);
}
