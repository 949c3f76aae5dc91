#include "capture/wire/pgdetect.h"

#include "capture/wire/proto_pg.h"

enum {
	HEADER_N = 5,
	STARTUP_MAX = 10000, /* MAX_STARTUP_PACKET_LENGTH of the server */
	LENGTH_MAX = 1 << 30,
	CODE_CANCEL = 80877102,
	CODE_SSL = 80877103,
	CODE_GSS = 80877104,
};

static bool is_http(struct slice b)
{
	static const char *const words[] = { "GET ", "POST", "PUT ", "HEAD", "DELE", "OPTI", "PATC",
		"CONN", "PRI ", "TRAC", "HTTP" };

	for (size_t i = 0; b.n >= 4 && i < LENGTH(words); i++)
		if (memcmp(b.p, words[i], 4) == 0)
			return true;
	return false;
}

static bool is_tls(struct slice b)
{
	return b.n >= 3 && b.p[0] == 0x16 && b.p[1] == 3 && (unsigned char)b.p[2] <= 4;
}

enum pg_startup pg_startup_kind(struct slice b, const char **ret_other)
{
	uint32_t length, code;

	*ret_other = "other";
	if (b.n < 1 || (b.n < 8 && (b.p[0] == 0 || b.p[0] == 0x16)))
		return PG_STARTUP_SHORT;
	if (is_tls(b))
		return PG_STARTUP_TLS;
	if (is_http(b)) {
		*ret_other = "http";
		return PG_STARTUP_NONE;
	}
	if (b.n < 8)
		return b.n < 4 ? PG_STARTUP_SHORT : PG_STARTUP_NONE;
	length = be32_at(b.p);
	code = be32_at(b.p + 4);
	if (length < 8 || length > STARTUP_MAX)
		return PG_STARTUP_NONE;
	if (code == CODE_CANCEL)
		return PG_STARTUP_CANCEL;
	if (code == CODE_SSL || code == CODE_GSS)
		return length == 8 ? PG_STARTUP_ASKS : PG_STARTUP_NONE;
	if (code >> 16 != 3)
		return PG_STARTUP_NONE;
	return b.n < length ? PG_STARTUP_SHORT : PG_STARTUP_SESSION;
}

#define ANY LENGTH_MAX

const struct pg_rule pg_rules[2][256] = {
	{
		['1'] = { 4, 4, 0, false },
		['2'] = { 4, 4, 0, false },
		['3'] = { 4, 4, 0, false },
		['A'] = { 10, 65536, 0, true },
		['C'] = { 5, 1024, 1024, false },
		['D'] = { 6, ANY, PG_ROW_MAX, false },
		['E'] = { 5, 1 << 24, 16384, true },
		['G'] = { 7, 65536, 3, true },
		['H'] = { 7, 65536, 3, true },
		['I'] = { 4, 4, 0, false },
		['K'] = { 12, 264, 264, false },
		['N'] = { 5, 1 << 24, 0, true },
		['R'] = { 8, 65536, 4, true },
		['S'] = { 6, 65536, 1024, false },
		['T'] = { 6, 1 << 20, 65536, false },
		['V'] = { 8, ANY, 0, true },
		['W'] = { 7, 65536, 0, true },
		['Z'] = { 5, 5, 1, false },
		['c'] = { 4, 4, 0, false },
		['d'] = { 4, ANY, 0, true },
		['n'] = { 4, 4, 0, false },
		['s'] = { 4, 4, 0, false },
		['t'] = { 6, 1 << 20, 1 << 18, false },
		['v'] = { 12, 65536, 0, true },
	},
	{
		['B'] = { 10, ANY, PG_BODY_MAX, true },
		['C'] = { 6, 65536, 65536, false },
		['D'] = { 6, 65536, 65536, false },
		['E'] = { 9, 65536, 65536, false },
		['F'] = { 12, ANY, 4, true },
		['H'] = { 4, 4, 0, false },
		['P'] = { 8, ANY, PG_BODY_MAX, true },
		['Q'] = { 5, ANY, PG_BODY_MAX, true },
		['S'] = { 4, 4, 0, false },
		['X'] = { 4, 4, 0, false },
		['c'] = { 4, 4, 0, false },
		['d'] = { 4, ANY, PG_COPY_MAX, false },
		['f'] = { 5, 65536, 0, true },
		['p'] = { 4, 65539, 0, true },
	},
};

/* How many valid headers follow each other from the chunk's start; *ret_is_exact:
 * the last message ends with the chunk. 0 when the chain breaks. */
static size_t chain(struct slice c, bool from_client, bool *ret_is_exact, size_t *ret_last)
{
	size_t at = 0, headers = 0;

	*ret_is_exact = false;
	while (c.n - at >= HEADER_N) {
		if (!pg_header_is_valid(c.p + at, from_client))
			return 0;
		headers++;
		*ret_last = at;
		if (be32_at(c.p + at + 1) + 1 > c.n - at)
			return headers;
		at += be32_at(c.p + at + 1) + 1;
	}
	*ret_is_exact = at == c.n;
	return headers;
}

static bool is_ready(const char *p)
{
	return memcmp(p, "Z\0\0\0\5", 5) == 0 && (p[5] == 'I' || p[5] == 'T' || p[5] == 'E');
}

static size_t ready_offset(struct slice c)
{
	const char *at = c.p, *end = c.p + c.n;

	while (at && end - at >= 6) {
		at = memchr(at, 'Z', (size_t)(end - at) - 5);
		if (at && is_ready(at))
			return (size_t)(at - c.p);
		if (at)
			at++;
	}
	return SIZE_MAX;
}

size_t pg_boundary(struct slice c, bool from_client)
{
	bool is_exact;
	size_t last = 0, headers = chain(c, from_client, &is_exact, &last);

	if (headers >= 2 || (headers == 1 && is_exact))
		return 0;
	/* One long message: inside text the length's first byte would not be 0. */
	if (headers == 1 && from_client && c.p[1] == 0)
		return 0;
	return from_client ? SIZE_MAX : ready_offset(c);
}

int pg_guess_sender(struct slice c, const char **ret_other)
{
	const char *other;
	enum pg_startup kind = pg_startup_kind(c, &other);
	bool is_exact;
	size_t last = 0;

	*ret_other = NULL;
	if (kind == PG_STARTUP_SESSION || kind == PG_STARTUP_ASKS || kind == PG_STARTUP_CANCEL)
		return 0;
	if (c.n >= 6 && is_ready(c.p + c.n - 6))
		return 1;
	if (chain(c, true, &is_exact, &last) && is_exact) {
		char type = c.p[last];

		if (type == 'S' || (type == 'Q' && c.p[c.n - 1] == '\0'))
			return 0;
	}
	if (is_http(c))
		*ret_other = "http";
	if (kind == PG_STARTUP_TLS)
		*ret_other = "tls";
	return -1;
}
