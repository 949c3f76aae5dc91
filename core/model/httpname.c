#include "core/model/httpname.h"

#include <stdlib.h>

enum { KEY_MAX = 64, WORD_MAX = 40, RUN_MAX = 14, DIGITS_MAX = 3, LONG_VALUE = 16 };

static bool is_letter(char c)
{
	return (c | 0x20) >= 'a' && (c | 0x20) <= 'z';
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool is_capital(char c)
{
	return c >= 'A' && c <= 'Z';
}

/* ---- headers */

struct known_header {
	const char *name;
	enum header_kind kind;
};

/* In byte order. */
static const struct known_header headers[] = {
	{ "accept", HEADER_FORM },
	{ "accept-charset", HEADER_FORM },
	{ "accept-encoding", HEADER_FORM },
	{ "accept-language", HEADER_LANGUAGE },
	{ "access-control-request-headers", HEADER_FORM },
	{ "access-control-request-method", HEADER_FORM },
	{ "api-version", HEADER_VALUE },
	{ "authorization", HEADER_DROP },
	{ "b3", HEADER_TRACE },
	{ "baggage", HEADER_LIST },
	{ "cache-control", HEADER_FORM },
	{ "cf-connecting-ip", HEADER_LIST },
	{ "client-ip", HEADER_LIST },
	{ "connection", HEADER_FORM },
	{ "content-encoding", HEADER_FORM },
	{ "content-language", HEADER_LANGUAGE },
	{ "content-length", HEADER_LENGTH },
	{ "content-location", HEADER_URL },
	{ "content-range", HEADER_NUMBERS },
	{ "content-type", HEADER_FORM },
	{ "cookie", HEADER_DROP },
	{ "cookie2", HEADER_DROP },
	{ "date", HEADER_DATE },
	{ "depth", HEADER_FORM },
	{ "destination", HEADER_URL },
	{ "device-memory", HEADER_NUMBERS },
	{ "dnt", HEADER_FORM },
	{ "expect", HEADER_FORM },
	{ "expires", HEADER_DATE },
	{ "forwarded", HEADER_LIST },
	{ "grpc-accept-encoding", HEADER_FORM },
	{ "grpc-encoding", HEADER_FORM },
	{ "grpc-timeout", HEADER_VALUE },
	{ "host", HEADER_HOST },
	{ "http2-settings", HEADER_DROP },
	{ "if-match", HEADER_LIST },
	{ "if-modified-since", HEADER_DATE },
	{ "if-none-match", HEADER_LIST },
	{ "if-range", HEADER_LIST },
	{ "if-unmodified-since", HEADER_DATE },
	{ "keep-alive", HEADER_FORM },
	{ "last-modified", HEADER_DATE },
	{ "location", HEADER_URL },
	{ "max-forwards", HEADER_FORM },
	{ "origin", HEADER_URL },
	{ "pragma", HEADER_FORM },
	{ "prefer", HEADER_FORM },
	{ "priority", HEADER_FORM },
	{ "proxy-authorization", HEADER_DROP },
	{ "proxy-connection", HEADER_FORM },
	{ "range", HEADER_NUMBERS },
	{ "referer", HEADER_URL },
	{ "request-id", HEADER_TRACE },
	{ "save-data", HEADER_VALUE },
	{ "sec-ch-ua", HEADER_AGENT },
	{ "sec-ch-ua-full-version-list", HEADER_AGENT },
	{ "sec-ch-ua-mobile", HEADER_VALUE },
	{ "sec-ch-ua-platform", HEADER_AGENT },
	{ "sec-fetch-dest", HEADER_FORM },
	{ "sec-fetch-mode", HEADER_FORM },
	{ "sec-fetch-site", HEADER_FORM },
	{ "sec-fetch-user", HEADER_VALUE },
	{ "sec-websocket-extensions", HEADER_FORM },
	{ "sec-websocket-key", HEADER_DROP },
	{ "sec-websocket-version", HEADER_FORM },
	{ "set-cookie", HEADER_DROP },
	{ "set-cookie2", HEADER_DROP },
	{ "soapaction", HEADER_URL },
	{ "te", HEADER_FORM },
	{ "traceparent", HEADER_TRACE },
	{ "tracestate", HEADER_LIST },
	{ "trailer", HEADER_FORM },
	{ "transfer-encoding", HEADER_FORM },
	{ "true-client-ip", HEADER_LIST },
	{ "upgrade", HEADER_FORM },
	{ "upgrade-insecure-requests", HEADER_FORM },
	{ "user-agent", HEADER_AGENT },
	{ "via", HEADER_LIST },
	{ "x-amzn-trace-id", HEADER_LIST },
	{ "x-b3-parentspanid", HEADER_TRACE },
	{ "x-b3-spanid", HEADER_TRACE },
	{ "x-b3-traceid", HEADER_TRACE },
	{ "x-client-ip", HEADER_LIST },
	{ "x-cluster-client-ip", HEADER_LIST },
	{ "x-correlation-id", HEADER_TRACE },
	{ "x-forwarded-for", HEADER_LIST },
	{ "x-forwarded-host", HEADER_HOST },
	{ "x-forwarded-port", HEADER_VALUE },
	{ "x-forwarded-proto", HEADER_FORM },
	{ "x-forwarded-uri", HEADER_URL },
	{ "x-http-method-override", HEADER_FORM },
	{ "x-original-uri", HEADER_URL },
	{ "x-original-url", HEADER_URL },
	{ "x-real-ip", HEADER_LIST },
	{ "x-request-id", HEADER_TRACE },
	{ "x-requested-with", HEADER_FORM },
	{ "x-rewrite-url", HEADER_URL },
	{ "x-trace-id", HEADER_TRACE },
};

static int compare(const void *key, const void *item)
{
	const struct slice *name = key;
	const char *known = ((const struct known_header *)item)->name;
	size_t n = strlen(known);
	int order = memcmp(name->p, known, name->n < n ? name->n : n);

	return order ? order : (name->n > n) - (name->n < n);
}

enum header_kind httpname_header(struct slice name)
{
	const struct known_header *known = NULL;

	if (name.n)
		known = bsearch(&name, headers, LENGTH(headers), sizeof(headers[0]), compare);
	if (known)
		return known->kind;
	return httpname_is_secret(name) ? HEADER_DROP : HEADER_VALUE;
}

/* ---- keys */

/* Letters, and few digits behind them; one digit may stand inside (oauth2token). No run of
 * more than 14 letters between capitals, or of eight consonants: those are rarely words. */
static bool is_word(struct slice s)
{
	size_t digits = 0, inside = 0, humps = 0, dry = 0, run = 0;

	if (s.n > WORD_MAX || (s.n && !is_letter(s.p[0])))
		return false;
	for (size_t i = 0; i < s.n; i++) {
		if (is_digit(s.p[i])) {
			digits++;
			continue;
		}
		inside += i && is_digit(s.p[i - 1]);
		humps += i && is_capital(s.p[i]) && !is_capital(s.p[i - 1]);
		dry = strchr("aeiouyAEIOUY", s.p[i]) ? 0 : dry + 1;
		run = is_capital(s.p[i]) && i && !is_capital(s.p[i - 1]) ? 1 : run + 1;
		if (dry >= 8 || run > RUN_MAX)
			return false;
	}
	return digits <= DIGITS_MAX && (inside == 0 || (inside == 1 && digits <= 2)) && humps <= 4;
}

bool httpname_is_key(struct slice s)
{
	size_t from = 0, digits = 0;
	bool has_letter = false;

	if (s.n == 0 || s.n > KEY_MAX)
		return false;
	for (size_t i = 0; i <= s.n; i++) {
		if (i < s.n && (is_letter(s.p[i]) || is_digit(s.p[i]))) {
			digits += is_digit(s.p[i]);
			has_letter |= is_letter(s.p[i]);
			continue;
		}
		if (i < s.n && !memchr("_-.[]$@:", s.p[i], 8))
			return false;
		struct slice word = { s.p + from, i - from };
		/* An index: items[0]. */
		bool is_index = word.n && word.n <= 2 && is_digit(word.p[0]) &&
				is_digit(word.p[word.n - 1]);
		if (!is_index && !is_word(word))
			return false;
		from = i + 1;
	}
	/* "user@example.org" is no name; "@type" is. */
	return has_letter && digits <= 4 && !memchr(s.p + 1, '@', s.n - 1);
}

/* ---- secrets */

static bool is_one_of(struct slice word, const char *const *list, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (slice_is(word, list[i]))
			return true;
	return false;
}

/* A part of the name, or the whole of it without its marks. */
static bool is_secret_word(struct slice word)
{
	static const char *const words[] = { "pw", "pwd", "pass", "pin", "otp", "totp", "mfa",
		"ssn", "sin", "cvv", "cvc", "csc", "pan", "sig", "hmac", "jwt", "auth", "sid",
		"sess", "cred", "creds", "card", "iban", "nonce", "assertion", "samlresponse",
		"samlrequest", "relaystate", "bearer", "basic" };

	return is_one_of(word, words, LENGTH(words));
}

static bool holds_secret(struct slice name)
{
	static const char *const parts[] = { "passw", "passphrase", "passcode", "secret", "token",
		"apikey", "appkey", "accesskey", "authkey", "privatekey", "signingkey",
		"encryptionkey", "sharedkey", "masterkey", "credential", "session", "sessid",
		"signature", "authorization", "authentic", "cookie", "csrf", "xsrf", "cardnumber",
		"cardno", "ccnum", "creditcard", "securitycode", "socialsecurity", "verifier",
		"onetime", "pincode", "licensekey", "recoverycode", "authcode", "accountnumber" };

	for (size_t i = 0; i < LENGTH(parts); i++)
		if (memmem(name.p, name.n, parts[i], strlen(parts[i])))
			return true;
	return false;
}

bool httpname_is_secret(struct slice name)
{
	char folded[KEY_MAX + 1];
	size_t n = 0, from = 0;

	if (name.n == 0 || name.n > KEY_MAX)
		return false;
	for (size_t i = 0; i < name.n; i++) {
		bool is_part = is_letter(name.p[i]) || is_digit(name.p[i]);
		bool is_hump = i && is_capital(name.p[i]) && !is_capital(name.p[i - 1]);

		if (!is_part || is_hump) {
			if (is_secret_word((struct slice){ folded + from, n - from }))
				return true;
			from = n;
		}
		if (is_part)
			folded[n++] = (char)(is_letter(name.p[i]) ? name.p[i] | 0x20 : name.p[i]);
	}
	struct slice whole = { folded, n };
	return is_secret_word((struct slice){ folded + from, n - from }) || is_secret_word(whole) ||
	       (n && holds_secret(whole));
}

static bool is_base64url(char c)
{
	return is_letter(c) || is_digit(c) || c == '-' || c == '_';
}

/* header.payload.signature, the first beginning with {" in base64 (RFC 7519). */
static bool holds_jwt(struct slice s)
{
	const char *p = s.p, *end = s.p + s.n;

	while (end - p > 20 && (p = memmem(p, (size_t)(end - p), "eyJ", 3))) {
		const char *q = p;
		unsigned dots = 0;

		for (; q < end && (is_base64url(*q) || *q == '.'); q++)
			dots += *q == '.';
		if (dots >= 1 && q - p > 20)
			return true;
		p += 3;
	}
	return false;
}

bool httpname_is_secret_value(struct slice name, struct slice value)
{
	static const char *const starts[] = { "Bearer ", "bearer ", "Basic ", "basic ", "Digest ",
		"AWS4-HMAC", "Negotiate ", "NTLM ", "sk_live_", "sk_test_", "rk_live_", "whsec_",
		"ghp_", "gho_", "ghs_", "github_pat_", "glpat-", "xoxb-", "xoxp-", "xapp-", "AKIA",
		"ASIA", "AIza", "ya29.", "npm_", "-----BEGIN ", "sk-" };
	static const char *const doubtful[] = { "key", "code", "hash", "k", "state", "ticket" };

	if (value.n < 8)
		return false;
	for (size_t i = 0; i < LENGTH(starts); i++) {
		if (starts[i][0] != value.p[0])
			continue;
		size_t n = strlen(starts[i]);

		if (value.n > n + 3 && memcmp(value.p, starts[i], n) == 0)
			return true;
	}
	if (value.n >= LONG_VALUE && !memchr(value.p, ' ', value.n) &&
		is_one_of(name, doubtful, LENGTH(doubtful)))
		return true;
	return holds_jwt(value);
}
