/*
 * http2.h - the bytes of one side of an HTTP/2 connection cut into frames
 * (RFC 9113), and header blocks decoded (RFC 7541, by libnghttp2).
 *
 * DATA comes in pieces as it arrives; every other frame whole, its padding and
 * priority cut off. Kept is at most one frame of HTTP2_FRAME_MAX and one header block
 * of HTTP2_BLOCK_MAX bytes. Decoding that begins in the middle of a connection, or
 * after missing frames, knows which fields refer to what it did not see: they are
 * told as unknown, never guessed. All slices are borrowed until the next call.
 */
#ifndef REPROD_HTTP2_H
#define REPROD_HTTP2_H

#include "core/base/buf.h"

#define HTTP2_FRAME_MAX (1 << 20) /* but DATA, of which nothing is kept */
#define HTTP2_BLOCK_MAX (256 << 10)
#define HTTP2_TABLE_MAX 65536 /* HPACK tables that are followed */
#define HTTP2_PREFACE "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"

enum http2_type {
	HTTP2_DATA,
	HTTP2_HEADERS,
	HTTP2_PRIORITY,
	HTTP2_RST_STREAM,
	HTTP2_SETTINGS,
	HTTP2_PUSH_PROMISE,
	HTTP2_PING,
	HTTP2_GOAWAY,
	HTTP2_WINDOW_UPDATE,
	HTTP2_CONTINUATION,
};

enum { HTTP2_END_STREAM = 1, HTTP2_ACK = 1, HTTP2_END_HEADERS = 4, HTTP2_PADDED = 8 };
enum { HTTP2_HAS_PRIORITY = 32 };

struct http2_frame {
	uint8_t type, flags;
	uint32_t stream;
	struct slice payload;
	uint32_t wire_n; /* bytes of the connection it stands for */
	bool is_last; /* of the frame's pieces */
	int64_t start_ns; /* the frame's first byte */
};

enum http2_phase { HTTP2_IN_PREFACE, HTTP2_IN_FRAMES, HTTP2_OUT_OF_STEP, HTTP2_REFUSED };

struct http2_cutter {
	enum http2_phase phase;
	unsigned char head[9];
	uint32_t head_n; /* of head, or of the preface */
	uint32_t left; /* of the frame's payload */
	uint32_t pad; /* of left, the padding */
	uint32_t counted_n; /* of the frame, not told in wire_n yet */
	bool wants_pad;
	struct http2_frame frame;
	struct buf partial;
};

void http2_cutter_init(struct http2_cutter *c, enum http2_phase phase);
void http2_cutter_free(struct http2_cutter *c);
/* STEP_ITEM: a frame, or a piece of DATA. STEP_MORE: all bytes were taken.
 * STEP_FAIL: not HTTP/2; the side is refused from there on. */
enum step http2_cut(
	struct http2_cutter *c, struct slice *in, int64_t time_ns, struct http2_frame *ret);
/* False: the boundary is lost; frames go on where bytes begin with a chain of them.
 * True: all of them were DATA of cutter.frame.stream, or nothing is read any more. */
bool http2_cutter_gap(struct http2_cutter *c, uint64_t missing_n) MUST_USE;
/* Do these bytes begin with a plausible chain of frames? */
bool http2_is_frames(struct slice bytes);
/* Of such a chain: 0 when its first HEADERS can only be a request, 1 when an answer,
 * -1 when there is nothing to tell by. */
int http2_sender(struct slice bytes);

/* ---- header blocks */

struct http2_field {
	struct slice name, value;
	bool is_unknown; /* it refers to what was not seen */
};

struct http2_fields; /* the decoder of one side's blocks */

/* is_late: what was sent before is not known. NULL: out of memory. */
struct http2_fields *http2_fields_new(bool is_late);
void http2_fields_free(struct http2_fields *f);
/* From now on nothing that was sent before is known. */
bool http2_fields_restart(struct http2_fields *f) MUST_USE;
/* The peer acknowledged this SETTINGS_HEADER_TABLE_SIZE. */
void http2_fields_set_table(struct http2_fields *f, uint32_t size);
/* False: the block is broken; what the calls said of it so far is no whole. */
bool http2_fields_decode(struct http2_fields *f, struct slice block,
	void (*field)(void *data, const struct http2_field *field), void *data) MUST_USE;

#endif
