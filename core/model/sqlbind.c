#include "core/base/cursor.h"
#include "core/model/sqlbinary.h"
#include "core/model/sqlscrub_parts.h"

enum { DIMENSIONS_MAX = 6, FORMAT_BINARY = 1 };
enum { OID_INT8 = 20, OID_INT2 = 21, OID_INT4 = 23, OID_JSON = 114, OID_JSONB = 3802 };

static enum value_action drop(struct buf *out, size_t at, uint8_t *ret_flags)
{
	*ret_flags |= VALUE_IS_UNKNOWN;
	if (out->n > at)
		out->n = at;
	return VALUE_DROPPED;
}

static enum value_action scrub_scalar(const struct sqlvalue *v, struct slice raw, uint32_t oid,
	const struct slot *slot, struct buf scratch[2], struct buf *out, uint8_t *ret_flags)
{
	struct buf *plain = &scratch[0], *scrubbed = &scratch[1];
	size_t at = out->n;

	if (sqlbinary_is_harmless(oid, raw) && slot->action <= POLICY_KEEP) {
		buf_add_slice(out, raw);
		return VALUE_KEPT;
	}
	buf_reset(plain);
	buf_reset(scrubbed);
	if (!sqlbinary_to_text(oid, raw, plain) || plain->is_full)
		return drop(out, at, ret_flags);
	enum value_action action = sqlvalue_scrub(v, buf_slice(plain), slot, scrubbed, ret_flags);
	switch (action) {
	case VALUE_DROPPED:
		return action;
	case VALUE_KEPT:
		buf_add_slice(out, raw);
		return action;
	default:
		break;
	}
	if (scrubbed->is_full || !sqlbinary_from_text(oid, buf_slice(scrubbed), raw, out))
		return drop(out, at, ret_flags);
	return action;
}

static void patch_u32be(struct buf *out, size_t at, uint32_t v)
{
	for (size_t i = 0; i < 4 && !out->is_full; i++)
		out->p[at + i] = (char)(v >> (8 * (3 - i)));
}

/* array_send: dimensions, has-null flag, element type, then length and bytes each. */
static enum value_action scrub_array(const struct sqlvalue *v, struct slice raw, uint32_t element,
	const struct slot *slot, struct buf scratch[2], struct buf *out, uint8_t *ret_flags)
{
	struct cursor c = cursor_of(raw.p, raw.n);
	size_t from = out->n;
	enum value_action action = VALUE_KEPT;
	uint32_t dimensions = cursor_u32be(&c);

	cursor_u32be(&c);
	if (cursor_u32be(&c) != element || dimensions > DIMENSIONS_MAX)
		return drop(out, from, ret_flags);
	cursor_skip(&c, 8 * (size_t)dimensions);
	if (c.is_short)
		return drop(out, from, ret_flags);
	buf_add(out, raw.p, raw.n - cursor_left(&c));
	while (cursor_left(&c)) {
		int32_t length = (int32_t)cursor_u32be(&c);
		size_t at = out->n;

		buf_add(out, "\xff\xff\xff\xff", 4);
		if (length == -1)
			continue;
		struct slice item = cursor_bytes(&c, length < 0 ? SIZE_MAX : (size_t)length);
		if (c.is_short)
			return drop(out, from, ret_flags);
		enum value_action one =
			scrub_scalar(v, item, element, slot, scratch, out, ret_flags);
		if (one == VALUE_DROPPED)
			return drop(out, from, ret_flags);
		if (one != VALUE_KEPT)
			action = one;
		patch_u32be(out, at, (uint32_t)(out->n - at - 4));
	}
	return out->is_full ? drop(out, from, ret_flags) : action;
}

bool sqlbind_is_small(struct slice raw, uint32_t type_oid, unsigned digits)
{
	static const uint64_t tens[] = { 1, 10, 100, 1000, 10000, 100000, 1000000, 10000000,
		100000000, 1000000000 };
	size_t width = type_oid == OID_INT8   ? 8
		       : type_oid == OID_INT4 ? 4
		       : type_oid == OID_INT2 ? 2
					      : 0;
	uint64_t v = 0;

	if (!width || raw.n != width)
		return false;
	for (size_t i = 0; i < width; i++)
		v = v << 8 | (unsigned char)raw.p[i];
	if (v >> (8 * width - 1))
		v = (0 - v) & (UINT64_MAX >> (64 - 8 * width));
	return digits > 0 && v < tens[digits < LENGTH(tens) ? digits : LENGTH(tens) - 1];
}

/* Rules of JSON paths may say something about parts of it. */
static bool has_parts(const struct sqlvalue *v, uint8_t format, uint32_t type_oid)
{
	uint32_t element = sqlbinary_element(type_oid);

	if (!policy_has(v->policy, POLICY_JSON))
		return false;
	return format != FORMAT_BINARY || type_oid == OID_JSON || type_oid == OID_JSONB ||
	       element == OID_JSON || element == OID_JSONB;
}

enum value_action sqlbind_scrub(const struct sqlvalue *v, struct slice raw, uint8_t format,
	uint32_t type_oid, const struct slot *slot, struct buf scratch[2], struct buf *out,
	uint8_t *ret_flags)
{
	if (slot->action == POLICY_DROP)
		return drop(out, out->n, ret_flags);
	/* A column's rule says so: then of any type. */
	if (slot->action == POLICY_KEEP && slot->rule != RULE_DROP &&
		!has_parts(v, format, type_oid)) {
		buf_add_slice(out, raw);
		return VALUE_KEPT;
	}
	if (format != FORMAT_BINARY)
		return sqlvalue_scrub(v, raw, slot, out, ret_flags);
	uint32_t element = sqlbinary_element(type_oid);
	if (element)
		return scrub_array(v, raw, element, slot, scratch, out, ret_flags);
	return scrub_scalar(v, raw, type_oid, slot, scratch, out, ret_flags);
}
