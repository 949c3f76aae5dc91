/*
 * Laws of the scrubber: whatever stands in single quotes of the input as a word of
 * ten and more letters and is not structural does not come out; a template has as
 * many slots as there are values; the same text gives the same answer, cached or
 * not; binds of any bytes come back kept, of a known type, or not at all.
 */
#include <stdlib.h>

#include "core/model/sqlscrub.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

/* A secret that no closed list knows, planted at the place of each '@'. */
static const char secret[] = "'zeisigvogel'";

static void must(bool is_true)
{
	if (!is_true)
		abort();
}

static bool holds_secret(struct slice s)
{
	return s.n && memmem(s.p, s.n, "zeisigvogel", 11);
}

static void plant(const uint8_t *bytes, size_t size, struct buf *out)
{
	for (size_t i = 0; i < size; i++) {
		if (bytes[i] == '@')
			buf_add(out, secret, sizeof(secret) - 1);
		else
			buf_add_byte(out, bytes[i]);
	}
}

static size_t slots_of(struct slice template_text)
{
	size_t n = 0;

	for (size_t i = 0; i < template_text.n; i++)
		n += template_text.p[i] == TEMPLATE_SLOT;
	return n;
}

/* Where names are kept from quotes by design (settings, keys, casts to reg*) the
 * planted word may stay: those have role structural and were kept. */
static void check(struct sqlscrub *s, struct slice text, struct sqlscrub_statement *st)
{
	sqlscrub_text(s, text, st);
	must(st->template_text.n == 0 || slots_of(st->template_text) == st->value_count);
	for (size_t i = 0; i < st->value_count; i++) {
		const struct value *v = &st->values[i];

		must(v->place == i && !v->is_bind);
		must(v->action == VALUE_DROPPED ? v->bytes.n == 0 : v->bytes.n > 0);
		must(v->action == VALUE_KEPT || !holds_secret(v->bytes));
		must(v->action != VALUE_KEPT || v->role == ROLE_STRUCTURAL ||
			!holds_secret(v->bytes));
	}
	if (st->flags & REQUEST_SECRET)
		must(st->value_count == 0 && st->template_text.n == 0);
	if (st->flags & REQUEST_UNLEXABLE)
		must(st->value_count == 0 && st->template_text.n == 0 && st->route.p[0] == '(');
}

static void check_binds(struct sqlscrub *s, struct slice raw)
{
	static const uint32_t oids[] = { 0, 16, 17, 18, 19, 20, 21, 23, 25, 26, 114, 142, 199, 650,
		651, 700, 701, 829, 869, 1000, 1007, 1009, 1016, 1042, 1043, 1082, 1083, 1114, 1184,
		1186, 1231, 1700, 2950, 2951, 3802, 3807 };
	struct value v;

	for (size_t i = 0; i < LENGTH(oids); i++)
		for (uint8_t format = 0; format < 2; format++) {
			sqlscrub_bind(s, raw, format, oids[i], false, &v);
			must(v.action != VALUE_DROPPED || v.bytes.n == 0);
			must(v.action != VALUE_KEPT || slice_same(v.bytes, raw));
		}
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	const unsigned char key[32] = "fuzz";
	struct policy policy;
	struct err e = { 0 };
	struct buf text = { 0 };
	struct sqlscrub_statement a, b;

	if (size > 1 << 16 || !policy_defaults(&policy, &e))
		return 0;
	struct token_key *k = token_key_of(key, &e);
	struct sqlscrub *s = k ? sqlscrub_new(&policy, k, 1 << 16) : NULL;
	if (s) {
		plant(bytes, size, &text);
		check(s, buf_slice(&text), &a);
		uint64_t fingerprint = a.fingerprint;
		size_t count = a.value_count, length = a.template_text.n;
		check(s, buf_slice(&text), &b);
		must(b.fingerprint == fingerprint && b.value_count == count &&
			b.template_text.n == length);
		check_binds(s, (struct slice){ (const char *)bytes, size });
		buf_reset(&text);
		sqlscrub_word(s, (struct slice){ (const char *)bytes, size }, &text);
	}
	buf_free(&text);
	sqlscrub_free(s);
	token_key_free(k);
	policy_free(&policy);
	return 0;
}
