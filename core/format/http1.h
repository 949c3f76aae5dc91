/*
 * http1.h - the bytes of one side of a connection cut into HTTP/1.x messages.
 *
 * Framing by parser alone (RFC 9112): heads, bodies by length, chunks or the end of
 * the connection; one event a call, whatever the bytes' cutting. Slices and spans
 * are borrowed until the next call. Kept is at most an unfinished head, HTTP1_HEAD_MAX
 * bytes. Lengths that are not plain numbers, or conflict, are refused and never
 * guessed: the head is told, and the side is bad from there on. Tolerated: bare LF,
 * empty lines before a message, folded fields, blanks around names and in targets,
 * and start lines that servers and clients read though they are not well formed. A
 * memo makes heads quick whose fields are, byte for byte, those of the head before.
 * One thread.
 */
#ifndef REPROD_HTTP1_H
#define REPROD_HTTP1_H

#include "core/base/buf.h"

#define HTTP1_HEAD_MAX 65536 /* of a head, of a trailer section */
#define HTTP1_FIELDS_MAX 256
#define HTTP1_CHUNK_LINE_MAX 4096
#define HTTP1_MEMO_BYTES 1024
#define HTTP1_MEMO_FIELDS 32

/* A field, as offsets into the head's bytes. */
struct http_span {
	uint32_t name_at, name_n, value_at, value_n;
};

enum http1_phase {
	HTTP1_BETWEEN, /* messages */
	HTTP1_IN_HEAD,
	HTTP1_IN_LENGTH,
	HTTP1_IN_CHUNK_LINE,
	HTTP1_IN_CHUNK,
	HTTP1_IN_CHUNK_END,
	HTTP1_IN_TRAILER,
	HTTP1_UNTIL_CLOSE,
	HTTP1_ENDING, /* the next event is HTTP1_END */
	HTTP1_REFUSING, /* the next event is HTTP1_BAD */
	HTTP1_OPAQUE, /* another protocol took over */
	HTTP1_LOST, /* waits for bytes that begin with a message */
	HTTP1_REFUSED, /* http1.refusal says why */
};

enum http1_event {
	HTTP1_MORE, /* all bytes were taken */
	HTTP1_HEAD,
	HTTP1_BODY, /* http1.piece, without the framing */
	HTTP1_END, /* of the message */
	HTTP1_LOSING, /* no message begins here: the rest of the bytes was dropped */
	HTTP1_BAD,
};

struct http1_head {
	struct slice bytes; /* start line, fields and the empty line */
	struct slice method, target; /* of a request */
	struct slice host, content_type, upgrade; /* values; empty: absent */
	uint16_t status; /* of an answer */
	uint8_t version; /* 10, 11 */
	bool is_chunked, has_length, has_fold, is_upgrade;
	bool is_cut; /* its rest never came: http1_cut_head() */
	uint32_t field_count; /* at most HTTP1_FIELDS_MAX */
	uint64_t length;
};

/* The fields of one head and what they say. Zeroed: none. May serve several
 * connections in turn, but either requests or answers. */
struct http1_memo {
	uint32_t n; /* bytes from behind the start line to the empty line's end */
	bool has_spans, has_coding;
	struct http1_head head; /* without what the start line says */
	uint32_t host_at, content_type_at, upgrade_at;
	struct http_span spans[HTTP1_MEMO_FIELDS]; /* offsets in bytes */
	char bytes[HTTP1_MEMO_BYTES];
};

struct http1 {
	bool is_answer;
	struct http1_memo *memo; /* the caller's; NULL: none */
	enum http1_phase phase;
	struct http_span *spans; /* room for HTTP1_FIELDS_MAX; NULL: fields are not listed */
	struct buf partial; /* an unfinished head */
	uint64_t left; /* of the body or chunk */
	uint32_t line_n; /* of the line being read, its CR among them */
	uint32_t lines_n; /* of the trailer */
	bool was_cr, has_digit, is_past_digits;
	int64_t start_ns; /* the message's first byte */
	struct http1_head head;
	struct slice piece;
	const char *refusal;
};

void http1_init(struct http1 *p, bool is_answer);
void http1_free(struct http1 *p);
/* Takes bytes off the front of *in. Call again until HTTP1_MORE. */
enum http1_event http1_next(struct http1 *p, struct slice *in, int64_t time_ns);
/* Right after HTTP1_HEAD: the answer to HEAD has no body whatever its fields say. */
void http1_no_body(struct http1 *p);
/* Right after HTTP1_HEAD: CONNECT or Upgrade was granted. */
void http1_opaque(struct http1 *p);
/* Bytes inside of a head are missing. True: enough of it came to tell the message. The
 * head is then what whole lines said; a request cut in its first line has no target.
 * Call before http1_gap(). */
bool http1_cut_head(struct http1 *p);
/* False: a message boundary is lost, and what was being read ends here. */
bool http1_gap(struct http1 *p, uint64_t missing_n) MUST_USE;
/* Waits for the next message (the connection was joined late). */
void http1_lose(struct http1 *p);
/* The side was closed. True: that ended a body. */
bool http1_close(struct http1 *p) MUST_USE;
/* Inside a message, its head's end or not yet. */
bool http1_is_inside(const struct http1 *p);

/* Does a message of that kind begin with these bytes (at least the first line's
 * recognisable part of it)? */
bool http1_is_request_line(struct slice bytes);
bool http1_is_status_line(struct slice bytes);

#endif
