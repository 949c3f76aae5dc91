#include "capture/wire/pgedges.h"

#include "core/base/cursor.h"
#include "core/base/hex.h"
#include "core/model/sqllex.h"

/* Type OIDs of pg_type.dat. */
enum { OID_INT8 = 20, OID_INT2 = 21, OID_INT4 = 23, OID_OID = 26, OID_UUID = 2950 };

static struct pg_scalar uuid_of_text(struct slice s)
{
	struct pg_scalar v = { 2, 0, 0 };
	int digits = 0;

	for (size_t i = 0; i < 36; i++) {
		int d = hex_value(s.p[i]);

		if (i == 8 || i == 13 || i == 18 || i == 23) {
			if (s.p[i] != '-')
				return (struct pg_scalar){ 0 };
			continue;
		}
		if (d < 0)
			return (struct pg_scalar){ 0 };
		if (digits++ < 16)
			v.a = v.a << 4 | (unsigned)d;
		else
			v.b = v.b << 4 | (unsigned)d;
	}
	return v;
}

static struct pg_scalar integer_of_text(struct slice s)
{
	bool is_negative = s.n > 1 && s.p[0] == '-';
	uint64_t v = 0;

	for (size_t i = is_negative; i < s.n; i++) {
		if (s.p[i] < '0' || s.p[i] > '9')
			return (struct pg_scalar){ 0 };
		v = v * 10 + (unsigned)(s.p[i] - '0');
	}
	return (struct pg_scalar){ 1, is_negative ? -v : v, 0 };
}

static struct pg_scalar scalar_of_binary(struct slice s, uint32_t type)
{
	struct cursor c = cursor_of(s.p, s.n);

	if (type == OID_UUID && s.n == 16) {
		uint64_t a = cursor_u64be(&c);

		return (struct pg_scalar){ 2, a, cursor_u64be(&c) };
	}
	if (type == OID_INT8 && s.n == 8)
		return (struct pg_scalar){ 1, cursor_u64be(&c), 0 };
	if (type == OID_INT4 && s.n == 4)
		return (struct pg_scalar){ 1, (uint64_t)(int64_t)(int32_t)cursor_u32be(&c), 0 };
	if (type == OID_OID && s.n == 4)
		return (struct pg_scalar){ 1, cursor_u32be(&c), 0 };
	if (type == OID_INT2 && s.n == 2)
		return (struct pg_scalar){ 1, (uint64_t)(int64_t)(int16_t)cursor_u16be(&c), 0 };
	return (struct pg_scalar){ 0 };
}

struct pg_scalar pg_scalar_of(struct slice s, bool is_binary, uint32_t type_oid)
{
	if (is_binary)
		return scalar_of_binary(s, type_oid);
	if (s.n == 36)
		return uuid_of_text(s);
	return s.n >= 1 && s.n <= 19 ? integer_of_text(s) : (struct pg_scalar){ 0 };
}

static bool is_small(struct pg_scalar v)
{
	return v.kind == 1 && (int64_t)v.a > -100 && (int64_t)v.a < 100;
}

static uint8_t *filter_of(struct pg_edges *e, struct pg_scalar v)
{
	return &e->filter[(v.a ^ v.b) * UINT64_C(0x9e3779b97f4a7c15) >> 54];
}

static void remember(struct pg_edges *e, const struct pg_known *k)
{
	if (e->count == PG_EDGE_MEMORY)
		--*filter_of(e, e->known[e->next].value);
	++*filter_of(e, k->value);
	e->known[e->next] = *k;
	e->next = (e->next + 1) % PG_EDGE_MEMORY;
	if (e->count < PG_EDGE_MEMORY)
		e->count++;
	if (e->result_at < PG_EDGE_MEMORY)
		e->result_at++;
}

void pg_edges_row(struct pg_edges *e, struct slice row, uint32_t row_number, uint64_t from_seq,
	uint32_t binary_columns, const uint32_t *types, bool is_strong)
{
	struct cursor c = cursor_of(row.p, row.n);
	unsigned columns = cursor_u16be(&c);

	for (unsigned i = 0; i < columns && i < PG_EDGE_COLUMNS; i++) {
		int32_t n = (int32_t)cursor_u32be(&c);
		struct pg_known k = { .from_seq = from_seq,
			.row = row_number,
			.column = (uint16_t)i,
			.is_strong = is_strong };

		if (n < 0)
			continue;
		k.value = pg_scalar_of(
			cursor_bytes(&c, (size_t)n), binary_columns >> i & 1, types ? types[i] : 0);
		if (c.is_short)
			return;
		if (k.value.kind && (is_strong || !is_small(k.value)))
			remember(e, &k);
	}
}

void pg_edges_forget_result(struct pg_edges *e)
{
	while (e->result_at) {
		e->next = (e->next + PG_EDGE_MEMORY - 1) % PG_EDGE_MEMORY;
		--*filter_of(e, e->known[e->next].value);
		e->known[e->next].value.kind = 0;
		e->result_at--;
		e->count--;
	}
}

void pg_edges_end_result(struct pg_edges *e)
{
	e->result_at = 0;
}

const struct pg_known *pg_edges_find(const struct pg_edges *e, struct pg_scalar v)
{
	if (!v.kind || !e->filter[(v.a ^ v.b) * UINT64_C(0x9e3779b97f4a7c15) >> 54])
		return NULL;
	for (uint32_t i = 1; i <= e->count; i++) {
		const struct pg_known *k =
			&e->known[(e->next + PG_EDGE_MEMORY - i) % PG_EDGE_MEMORY];

		if (k->value.a == v.a && k->value.kind == v.kind && k->value.b == v.b)
			return k;
	}
	return NULL;
}

static bool is_word_byte(char c)
{
	return (c >= '0' && c <= '9') || ((c | 32) >= 'a' && (c | 32) <= 'z') || c == '_' ||
	       c == '$' || c & 0x80;
}

static bool word_at(struct slice text, size_t at, const char *lower)
{
	size_t n = strlen(lower);

	if (text.n - at < n || (at && is_word_byte(text.p[at - 1])) ||
		(text.n - at > n && is_word_byte(text.p[at + n])))
		return false;
	for (size_t i = 0; i < n; i++)
		if ((text.p[at + i] | 32) != lower[i])
			return false;
	return true;
}

bool pg_text_generates(struct slice t)
{
	for (size_t i = 0; i + 7 <= t.n; i++) {
		switch (t.p[i] | 32) {
		case 'n':
			if (word_at(t, i, "nextval"))
				return true;
			break;
		case 'l':
			if (word_at(t, i, "lastval"))
				return true;
			break;
		case 'c':
			if (word_at(t, i, "currval"))
				return true;
			break;
		case 'r':
			if (word_at(t, i, "returning"))
				return true;
			break;
		default:
			break;
		}
	}
	return false;
}

/* Is some integer or uuid in the text remembered? Most texts end here. */
static bool may_hold_known(const struct pg_edges *e, struct slice t)
{
	for (size_t i = 0; i < t.n; i++) {
		size_t start = i;

		if (t.p[i] == '-' && i >= 8 && i + 28 <= t.n && hex_value(t.p[i - 1]) >= 0 &&
			pg_edges_find(e, pg_scalar_of((struct slice){ t.p + i - 8, 36 }, false, 0)))
			return true;
		if (t.p[i] < '0' || t.p[i] > '9' || (i && is_word_byte(t.p[i - 1])))
			continue;
		while (i < t.n && t.p[i] >= '0' && t.p[i] <= '9')
			i++;
		if (pg_edges_find(
			    e, pg_scalar_of((struct slice){ t.p + start, i - start }, false, 0)))
			return true;
		i--;
	}
	return false;
}

static struct slice unquoted(struct slice s)
{
	if (s.n >= 2 && s.p[0] == '\'')
		return (struct slice){ s.p + 1, s.n - 2 };
	return s;
}

void pg_edges_literals(const struct pg_edges *e, struct slice text,
	void (*found)(void *data, uint32_t ordinal, const struct pg_known *k), void *data)
{
	struct sqllex lex;
	struct sql_token token;
	uint32_t ordinal = 0;

	if (!e->count || !may_hold_known(e, text))
		return;
	sqllex_init(&lex, text);
	while (sqllex_next(&lex, &token) == STEP_ITEM) {
		const struct pg_known *k = NULL;

		if (token.kind == SQL_NUMBER || token.kind == SQL_STRING)
			k = pg_edges_find(e, pg_scalar_of(unquoted(token.text), false, 0));
		else if (token.kind != SQL_BITS && token.kind != SQL_DOLLAR)
			continue;
		if (k)
			found(data, ordinal, k);
		ordinal++;
	}
}
