/* What hello messages say (RFC 5246, section 7.4.1; RFC 8446, section 4.1). */
#include "capture/wire/tls_parts.h"
#include "core/base/cursor.h"

enum { EXTENSION_ALPN = 16, EXTENSION_EARLY_DATA = 42, EXTENSION_VERSIONS = 43 };

/* RFC 8446, section 4.1.3: SHA-256 of "HelloRetryRequest". */
static const unsigned char retry_random[TLS_RANDOM_N] = { 0xcf, 0x21, 0xad, 0x74, 0xe5, 0x9a, 0x61,
	0x11, 0xbe, 0x1d, 0x8c, 0x02, 0x1e, 0x65, 0xb8, 0x91, 0xc2, 0xa2, 0x11, 0x16, 0x7a, 0xbb,
	0x8c, 0x5e, 0x07, 0x9e, 0x09, 0xe2, 0xc8, 0xa8, 0x33, 0x9c };

static void keep_random(struct cursor *c, struct tls_hello *h)
{
	struct slice random = cursor_bytes(c, TLS_RANDOM_N);

	if (random.n == TLS_RANDOM_N)
		memcpy(h->random, random.p, TLS_RANDOM_N);
}

/* A list of one name, when it is the server's choice. */
static void keep_alpn(struct slice body, struct tls_hello *h)
{
	struct cursor c = cursor_of(body.p, body.n);
	struct slice name;

	cursor_skip(&c, 2);
	name = cursor_bytes(&c, cursor_u8(&c));
	if (c.is_short || name.n >= sizeof h->alpn)
		return;
	memcpy(h->alpn, name.p, name.n);
	h->alpn[name.n] = '\0';
}

static bool read_extensions(struct cursor *c, bool is_client, struct tls_hello *h)
{
	/* TLS 1.2 may come without any. */
	if (!cursor_left(c))
		return !c->is_short;
	struct slice all = cursor_bytes(c, cursor_u16be(c));
	struct cursor each = cursor_of(all.p, all.n);

	while (cursor_left(&each) && !each.is_short) {
		uint16_t type = cursor_u16be(&each);
		struct slice body = cursor_bytes(&each, cursor_u16be(&each));
		struct cursor inside = cursor_of(body.p, body.n);

		h->has_early |= type == EXTENSION_EARLY_DATA;
		if (is_client)
			continue;
		if (type == EXTENSION_ALPN)
			keep_alpn(body, h);
		if (type == EXTENSION_VERSIONS)
			h->version = cursor_u16be(&inside);
	}
	return !c->is_short && !each.is_short;
}

bool tls_read_client_hello(struct slice body, struct tls_hello *h)
{
	struct cursor c = cursor_of(body.p, body.n);

	*h = (struct tls_hello){ .version = cursor_u16be(&c) };
	keep_random(&c, h);
	cursor_skip(&c, cursor_u8(&c)); /* session id */
	cursor_skip(&c, cursor_u16be(&c)); /* suites */
	cursor_skip(&c, cursor_u8(&c)); /* compression methods */
	return !c.is_short && read_extensions(&c, true, h);
}

bool tls_read_server_hello(struct slice body, struct tls_hello *h)
{
	struct cursor c = cursor_of(body.p, body.n);

	*h = (struct tls_hello){ .version = cursor_u16be(&c) };
	keep_random(&c, h);
	cursor_skip(&c, cursor_u8(&c));
	h->suite = cursor_u16be(&c);
	h->is_compressed = cursor_u8(&c) != 0;
	h->is_retry = memcmp(h->random, retry_random, TLS_RANDOM_N) == 0;
	return !c.is_short && read_extensions(&c, false, h);
}

bool tls_read_extensions(struct slice body, struct tls_hello *h)
{
	struct cursor c = cursor_of(body.p, body.n);

	*h = (struct tls_hello){ 0 };
	return read_extensions(&c, false, h);
}
