#include "capture/wire/detect.h"

#include "capture/wire/http2.h"
#include "capture/wire/pgdetect.h"
#include "core/format/http1.h"

enum { METHOD_MAX = 32 };

static bool begins(struct slice b, const char *word)
{
	size_t n = strlen(word);

	return b.n >= n && memcmp(b.p, word, n) == 0;
}

static bool is_tls(struct slice b, unsigned char type)
{
	return b.n >= 3 && (unsigned char)b.p[0] == type && b.p[1] == 3 &&
	       (unsigned char)b.p[2] <= 4;
}

/* ---- HTTP: a request line (RFC 9112, section 3), also of methods nobody knows */

static size_t method_n(struct slice b)
{
	size_t n = 0;

	/* Any token (RFC 9110, 5.6.2). */
	while (n < b.n && n <= METHOD_MAX && b.p[n] > ' ' && b.p[n] < 127 &&
		!strchr("()<>@,;:\\\"/[]?={}", b.p[n]))
		n++;
	return n;
}

static bool is_known_method(struct slice word)
{
	static const char *const words[] = { "GET", "POST", "PUT", "HEAD", "DELETE", "OPTIONS",
		"PATCH", "CONNECT", "TRACE" };

	for (size_t i = 0; i < LENGTH(words); i++)
		if (slice_is(word, words[i]))
			return true;
	return false;
}

static struct slice first_line(struct slice b)
{
	const char *end = memchr(b.p, '\n', b.n < DETECT_MAX ? b.n : DETECT_MAX);

	return (struct slice){ b.p, end ? (size_t)(end - b.p) : 0 };
}

static bool ends_with_version(struct slice line)
{
	while (line.n && (line.p[line.n - 1] == '\r' || line.p[line.n - 1] == ' '))
		line.n--;
	return line.n > 9 && memcmp(line.p + line.n - 9, " HTTP/", 6) == 0;
}

static bool names_a_version(struct slice line)
{
	return memmem(line.p, line.n, "HTTP/", 5) != NULL;
}

static enum detect request_line(struct slice b)
{
	size_t n;
	struct slice line;

	/* A line break before the request line is to be ignored (section 2.2). */
	while (b.n && (b.p[0] == '\r' || b.p[0] == '\n'))
		b.p++, b.n--;
	if (!b.n)
		return DETECT_MORE;
	n = method_n(b);
	if (n == b.n && n <= METHOD_MAX)
		return DETECT_MORE;
	if (!n || b.p[n] != ' ')
		return DETECT_NONE;
	if (is_known_method((struct slice){ b.p, n }))
		return DETECT_HTTP;
	line = first_line(b);
	if (!line.n)
		return b.n < DETECT_MAX ? DETECT_MORE : DETECT_NONE;
	return names_a_version(line) ? DETECT_HTTP : DETECT_NONE;
}

static bool is_status_line(struct slice b)
{
	return begins(b, "HTTP/1.") && b.n >= 12 && b.p[8] == ' ' && b.p[9] >= '1' && b.p[9] <= '9';
}

/* ---- first bytes */

enum detect detect_client(struct slice b)
{
	const char *other;

	if (!b.n)
		return DETECT_MORE;
	if (b.p[0] == 0x16) {
		if (b.n < 3)
			return DETECT_MORE;
		return is_tls(b, 0x16) ? DETECT_TLS : DETECT_NONE;
	}
	if (b.p[0] != 0)
		return request_line(b);
	if (b.n < 8)
		return DETECT_MORE;
	/* A startup packet that goes on is Postgres by its first words. */
	return pg_startup_kind(b, &other) == PG_STARTUP_NONE ? DETECT_NONE : DETECT_PG;
}

enum detect detect_server(struct slice b)
{
	size_t n = b.n < 7 ? b.n : 7;

	/* Its SETTINGS need not wait for the client's preface (RFC 9113, section 3.4). */
	if (b.n >= 9 && b.p[3] == HTTP2_SETTINGS && http2_is_frames(b))
		return DETECT_HTTP;
	if (!n || memcmp(b.p, "HTTP/1.", n) != 0)
		return DETECT_NONE;
	return b.n < 12 ? DETECT_MORE : is_status_line(b) ? DETECT_HTTP : DETECT_NONE;
}

/* ---- in the middle */

/* Its line may go on in the next packet, or have been cut by the snapshot length. */
static bool is_request_chunk(struct slice chunk)
{
	size_t n = method_n(chunk);
	struct slice line = first_line(chunk);

	if (line.n)
		return n && ends_with_version(line);
	return n < chunk.n && is_known_method((struct slice){ chunk.p, n }) &&
	       http1_is_request_line(chunk);
}

/* HTTP/2 has no words to go by: a chain of frames, and a HEADERS that tells its sender
 * when nothing else does. */
static bool is_http2_chunk(struct slice chunk, int side, int client, bool *ret_is_client)
{
	int sender;

	if (!http2_is_frames(chunk))
		return false;
	sender = client >= 0 ? side != client : http2_sender(chunk);
	*ret_is_client = sender == 0;
	return sender >= 0;
}

static enum detect pg_chunk(struct slice chunk, int side, int client, bool *ret_is_client)
{
	const char *other;
	enum pg_startup kind = pg_startup_kind(chunk, &other);
	int guess;

	if (client >= 0 && kind != PG_STARTUP_SESSION && kind != PG_STARTUP_ASKS &&
		kind != PG_STARTUP_CANCEL) {
		*ret_is_client = side == client;
		return pg_boundary(chunk, *ret_is_client) == SIZE_MAX ? DETECT_NONE : DETECT_PG;
	}
	guess = pg_guess_sender(chunk, &other);
	*ret_is_client = guess == 0;
	return guess < 0 ? DETECT_NONE : DETECT_PG;
}

enum detect detect_chunk(struct slice chunk, int side, int client, bool *ret_is_client)
{
	if (!chunk.n)
		return DETECT_NONE;
	*ret_is_client = true;
	if (is_tls(chunk, 0x16) && chunk.n > 5)
		return chunk.p[5] == 1 ? DETECT_TLS : DETECT_TLS_LATE;
	if (is_tls(chunk, 0x17) && chunk.n > 5 && chunk.p[2] == 3)
		return DETECT_TLS_LATE;
	if (is_request_chunk(chunk))
		return DETECT_HTTP;
	if (is_status_line(chunk)) {
		*ret_is_client = false;
		return DETECT_HTTP;
	}
	if (is_http2_chunk(chunk, side, client, ret_is_client))
		return DETECT_HTTP;
	return pg_chunk(chunk, side, client, ret_is_client);
}

bool detect_hello_is_pg(struct slice hello)
{
	return memmem(hello.p, hello.n, "\x0apostgresql", 11) != NULL;
}
