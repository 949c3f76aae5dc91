#include "core/model/sqlbinary.h"

#include <arpa/inet.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/model/sqldate.h"

/* Type OIDs never change (pg_type.dat of 10 to 18). */
enum oid {
	OID_BOOL = 16,
	OID_BYTEA = 17,
	OID_CHAR = 18,
	OID_NAME = 19,
	OID_INT8 = 20,
	OID_INT2 = 21,
	OID_INT4 = 23,
	OID_TEXT = 25,
	OID_OID = 26,
	OID_XID = 28,
	OID_JSON = 114,
	OID_XML = 142,
	OID_CIDR = 650,
	OID_FLOAT4 = 700,
	OID_FLOAT8 = 701,
	OID_UNKNOWN = 705,
	OID_MACADDR = 829,
	OID_INET = 869,
	OID_BPCHAR = 1042,
	OID_VARCHAR = 1043,
	OID_DATE = 1082,
	OID_TIME = 1083,
	OID_TIMESTAMP = 1114,
	OID_TIMESTAMPTZ = 1184,
	OID_INTERVAL = 1186,
	OID_NUMERIC = 1700,
	OID_REGCLASS = 2205,
	OID_UUID = 2950,
	OID_JSONB = 3802,
};

static const struct {
	uint32_t array, element;
} arrays[] = {
	{ 199, OID_JSON },
	{ 651, OID_CIDR },
	{ 1000, OID_BOOL },
	{ 1001, OID_BYTEA },
	{ 1003, OID_NAME },
	{ 1005, OID_INT2 },
	{ 1007, OID_INT4 },
	{ 1009, OID_TEXT },
	{ 1014, OID_BPCHAR },
	{ 1015, OID_VARCHAR },
	{ 1016, OID_INT8 },
	{ 1021, OID_FLOAT4 },
	{ 1022, OID_FLOAT8 },
	{ 1028, OID_OID },
	{ 1040, OID_MACADDR },
	{ 1041, OID_INET },
	{ 1115, OID_TIMESTAMP },
	{ 1182, OID_DATE },
	{ 1183, OID_TIME },
	{ 1185, OID_TIMESTAMPTZ },
	{ 1187, OID_INTERVAL },
	{ 1231, OID_NUMERIC },
	{ 2951, OID_UUID },
	{ 3807, OID_JSONB },
};

static const int64_t us_per_day = INT64_C(86400000000);

uint32_t sqlbinary_element(uint32_t array_oid)
{
	for (size_t i = 0; i < LENGTH(arrays); i++)
		if (arrays[i].array == array_oid)
			return arrays[i].element;
	return 0;
}

static size_t width_of(uint32_t oid)
{
	switch (oid) {
	case OID_BOOL:
		return 1;
	case OID_INT2:
		return 2;
	case OID_INT4:
	case OID_OID:
	case OID_XID:
	case OID_REGCLASS:
	case OID_FLOAT4:
	case OID_DATE:
		return 4;
	case OID_INT8:
	case OID_FLOAT8:
	case OID_TIME:
	case OID_TIMESTAMP:
	case OID_TIMESTAMPTZ:
		return 8;
	case OID_UUID:
	case OID_INTERVAL:
		return 16;
	case OID_MACADDR:
		return 6;
	default:
		return 0;
	}
}

static int64_t read_signed(struct slice raw)
{
	uint64_t v = 0;

	for (size_t i = 0; i < raw.n; i++)
		v = v << 8 | (unsigned char)raw.p[i];
	unsigned unused = 64 - 8 * (unsigned)raw.n;
	return (int64_t)(v << unused) >> unused;
}

static void write_signed(struct buf *out, size_t width, uint64_t v)
{
	for (size_t i = width; i > 0; i--)
		buf_add_byte(out, (unsigned char)(v >> (8 * (i - 1))));
}

/* The fewest digits that read back the same, like the server's since 12. */
static void add_float(struct buf *out, double v, bool is_single)
{
	char text[40];

	for (int digits = 1; digits <= 17; digits++) {
		snprintf(text, sizeof(text), "%.*g", digits, v);
		double back = strtod(text, NULL);
		if (is_single ? (float)back == (float)v : back == v)
			break;
	}
	buf_add_text(out, text);
}

static bool float_to_text(struct slice raw, struct buf *out)
{
	uint64_t bits = (uint64_t)read_signed(raw);
	double v;

	if (raw.n == 4) {
		uint32_t low = (uint32_t)bits;
		float single;

		memcpy(&single, &low, 4);
		v = (double)single;
	} else {
		memcpy(&v, &bits, 8);
	}
	if (!isfinite(v))
		return false;
	add_float(out, v, raw.n == 4);
	return true;
}

static bool float_from_text(struct slice text, size_t width, struct buf *out)
{
	char copy[64];
	uint64_t bits;

	if (text.n >= sizeof(copy))
		return false;
	memcpy(copy, text.p, text.n);
	copy[text.n] = '\0';
	double v = strtod(copy, NULL);
	if (width == 4) {
		float single = (float)v;
		uint32_t low;

		memcpy(&low, &single, 4);
		bits = low;
	} else {
		memcpy(&bits, &v, 8);
	}
	write_signed(out, width, bits);
	return true;
}

static void add_hex(struct buf *out, struct slice raw)
{
	for (size_t i = 0; i < raw.n; i++) {
		buf_add_byte(out, (unsigned char)"0123456789abcdef"[(unsigned char)raw.p[i] >> 4]);
		buf_add_byte(out, (unsigned char)"0123456789abcdef"[raw.p[i] & 15]);
	}
}

/* Pairs of hex digits, whatever stands between them; exactly bytes of them. */
static bool hex_to_bytes(struct slice text, size_t bytes, struct buf *out)
{
	unsigned v = 0, digits = 0;
	size_t at = out->n;

	for (size_t i = 0; i < text.n; i++) {
		char c = text.p[i];
		unsigned digit;

		if (c >= '0' && c <= '9')
			digit = (unsigned)(c - '0');
		else if ((c | 0x20) >= 'a' && (c | 0x20) <= 'f')
			digit = (unsigned)((c | 0x20) - 'a' + 10);
		else
			continue;
		v = v << 4 | digit;
		if (++digits % 2 == 0)
			buf_add_byte(out, (unsigned char)v);
	}
	return out->n - at == bytes;
}

static void uuid_to_text(struct slice raw, struct buf *out)
{
	static const uint8_t groups[] = { 4, 2, 2, 2, 6 };

	for (size_t g = 0, at = 0; g < LENGTH(groups); at += groups[g++]) {
		if (g)
			buf_add_byte(out, '-');
		add_hex(out, (struct slice){ raw.p + at, groups[g] });
	}
}

static void add_clock(struct buf *out, int64_t us)
{
	int64_t second = us / 1000000, fraction = us % 1000000;

	buf_addf(out, "%02d:%02d:%02d", (int)(second / 3600), (int)(second / 60 % 60),
		(int)(second % 60));
	if (!fraction)
		return;
	buf_addf(out, ".%06d", (int)fraction);
	while (!out->is_full && out->p[out->n - 1] == '0')
		out->p[--out->n] = '\0';
}

static bool add_day(struct buf *out, int64_t day)
{
	int64_t year;
	unsigned month, of_month;

	if (day < sqldate_day(1, 1, 1) || day > sqldate_day(9999, 12, 31))
		return false;
	sqldate_civil(day, &year, &month, &of_month);
	buf_addf(out, "%04d-%02u-%02u", (int)year, month, of_month);
	return true;
}

static bool timestamp_to_text(int64_t us, struct buf *out)
{
	int64_t day = us / us_per_day, rest = us % us_per_day;

	if (rest < 0) {
		rest += us_per_day;
		day--;
	}
	if (!add_day(out, day))
		return false;
	buf_add_byte(out, ' ');
	add_clock(out, rest);
	return true;
}

static bool clock_from_text(struct slice text, struct buf *out, uint32_t oid)
{
	struct sqldate d;
	int64_t us = 0, unit = 100000;

	if (!sqldate_read(text, &d))
		return false;
	if (oid == OID_DATE) {
		write_signed(out, 4, (uint64_t)d.day);
		return true;
	}
	for (size_t i = d.tail_at + 1; i < text.n && unit; i++, unit /= 10)
		us += unit * (text.p[i] - '0');
	us += (int64_t)d.second * 1000000 + (oid == OID_TIME ? 0 : d.day * us_per_day);
	write_signed(out, 8, (uint64_t)us);
	return true;
}

/* network_send: family (2 is IPv4, 3 is IPv6), bits, is_cidr, length, address. */
static bool inet_to_text(struct slice raw, struct buf *out)
{
	char text[INET6_ADDRSTRLEN];

	if (raw.n < 4)
		return false;
	bool is_v6 = raw.p[0] == 3;
	size_t length = is_v6 ? 16 : 4;
	unsigned bits = (unsigned char)raw.p[1];
	if ((raw.p[0] != 2 && !is_v6) || (size_t)(unsigned char)raw.p[3] != length ||
		raw.n != 4 + length || bits > 8 * length ||
		!inet_ntop(is_v6 ? AF_INET6 : AF_INET, raw.p + 4, text, sizeof(text)))
		return false;
	buf_add_text(out, text);
	if (bits != 8 * length || raw.p[2])
		buf_addf(out, "/%u", bits);
	return true;
}

static bool inet_from_text(struct slice text, struct slice raw, struct buf *out)
{
	char copy[INET6_ADDRSTRLEN + 4];
	unsigned char address[16];
	bool is_v6 = raw.p[0] == 3;

	if (text.n >= sizeof(copy))
		return false;
	memcpy(copy, text.p, text.n);
	copy[text.n] = '\0';
	copy[strcspn(copy, "/")] = '\0';
	if (inet_pton(is_v6 ? AF_INET6 : AF_INET, copy, address) != 1)
		return false;
	buf_add(out, raw.p, 4);
	buf_add(out, address, is_v6 ? 16 : 4);
	return true;
}

bool sqlbinary_is_harmless(uint32_t oid, struct slice raw)
{
	switch (oid) {
	case OID_BOOL:
		return raw.n == 1;
	case OID_INTERVAL:
		return raw.n == 16;
	default:
		return false;
	}
}

bool sqlbinary_to_text(uint32_t oid, struct slice raw, struct buf *out)
{
	size_t width = width_of(oid);

	if (width && raw.n != width)
		return false;
	switch (oid) {
	case OID_INT2:
	case OID_INT4:
	case OID_INT8:
		buf_addf(out, "%lld", (long long)read_signed(raw));
		return true;
	case OID_OID:
	case OID_XID:
	case OID_REGCLASS:
		buf_addf(out, "%llu", (unsigned long long)(uint32_t)read_signed(raw));
		return true;
	case OID_FLOAT4:
	case OID_FLOAT8:
		return float_to_text(raw, out);
	case OID_NUMERIC:
		return sqlnumeric_to_text(raw, out);
	case OID_BYTEA:
		buf_add_text(out, "\\x");
		add_hex(out, raw);
		return true;
	case OID_UUID:
		uuid_to_text(raw, out);
		return true;
	case OID_MACADDR:
		for (size_t i = 0; i < raw.n; i++)
			buf_addf(out, "%s%02x", i ? ":" : "", (unsigned char)raw.p[i]);
		return true;
	case OID_INET:
	case OID_CIDR:
		return inet_to_text(raw, out);
	case OID_DATE:
		return add_day(out, read_signed(raw));
	case OID_TIME:
		if (read_signed(raw) < 0 || read_signed(raw) >= us_per_day)
			return false;
		add_clock(out, read_signed(raw));
		return true;
	case OID_TIMESTAMP:
	case OID_TIMESTAMPTZ:
		return timestamp_to_text(read_signed(raw), out);
	case OID_JSONB:
		if (raw.n < 1 || raw.p[0] != 1)
			return false;
		buf_add(out, raw.p + 1, raw.n - 1);
		return true;
	case OID_CHAR:
	case OID_NAME:
	case OID_TEXT:
	case OID_JSON:
	case OID_XML:
	case OID_UNKNOWN:
	case OID_BPCHAR:
	case OID_VARCHAR:
		buf_add_slice(out, raw);
		return true;
	default:
		return false;
	}
}

static bool integer_from_text(struct slice text, size_t width, bool is_signed, struct buf *out)
{
	char copy[32];
	char *end;

	if (text.n == 0 || text.n >= sizeof(copy))
		return false;
	memcpy(copy, text.p, text.n);
	copy[text.n] = '\0';
	long long v = strtoll(copy, &end, 10);
	int64_t high = is_signed ? INT64_MAX >> (64 - 8 * width) : UINT32_MAX;
	int64_t low = is_signed ? -high - 1 : 0;
	/* A token that the type cannot hold is no value of it. */
	if (*end || v > high || v < low)
		return false;
	write_signed(out, width, (uint64_t)v);
	return true;
}

bool sqlbinary_from_text(uint32_t oid, struct slice text, struct slice raw, struct buf *out)
{
	switch (oid) {
	case OID_INT2:
	case OID_INT4:
	case OID_INT8:
		return integer_from_text(text, width_of(oid), true, out);
	case OID_OID:
	case OID_XID:
	case OID_REGCLASS:
		return integer_from_text(text, 4, false, out);
	case OID_FLOAT4:
	case OID_FLOAT8:
		return float_from_text(text, width_of(oid), out);
	case OID_NUMERIC:
		return sqlnumeric_from_text(text, out);
	case OID_BYTEA:
		return text.n >= 2 &&
		       hex_to_bytes((struct slice){ text.p + 2, text.n - 2 }, raw.n, out);
	case OID_UUID:
	case OID_MACADDR:
		return hex_to_bytes(text, width_of(oid), out);
	case OID_INET:
	case OID_CIDR:
		return inet_from_text(text, raw, out);
	case OID_DATE:
	case OID_TIME:
	case OID_TIMESTAMP:
	case OID_TIMESTAMPTZ:
		return clock_from_text(text, out, oid);
	case OID_JSONB:
		buf_add_byte(out, 1);
		buf_add_slice(out, text);
		return true;
	default:
		buf_add_slice(out, text);
		return true;
	}
}
