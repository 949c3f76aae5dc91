/* Frames: RFC 9113, 4 and 6. */
#include "capture/wire/http2.h"

#include "capture/wire/bigendian.h"

enum { PREFACE_N = sizeof HTTP2_PREFACE - 1, HEAD_N = 9 };

void http2_cutter_init(struct http2_cutter *c, enum http2_phase phase)
{
	*c = (struct http2_cutter){ .phase = phase };
	buf_init(&c->partial, HTTP2_FRAME_MAX + 1);
}

void http2_cutter_free(struct http2_cutter *c)
{
	buf_free(&c->partial);
}

static void take(struct slice *in, size_t n)
{
	in->p += n;
	in->n -= n;
}

static enum step refuse(struct http2_cutter *c)
{
	c->phase = HTTP2_REFUSED;
	buf_free(&c->partial);
	return STEP_FAIL;
}

/* ---- recognising */

static uint32_t length_of(const unsigned char *head)
{
	return (uint32_t)head[0] << 16 | (uint32_t)head[1] << 8 | head[2];
}

/* The rules that a frame's header alone can break (RFC 9113, 6). */
static bool is_plausible(const unsigned char *head)
{
	static const uint8_t flags[] = { 0x09, 0x2d, 0, 0, 0x01, 0x0c, 0x01, 0, 0, 0x04 };
	uint32_t n = length_of(head), stream = be32_at(head + 5);

	if (head[3] > HTTP2_CONTINUATION || stream >> 31 || head[4] & ~flags[head[3]])
		return false;
	switch (head[3]) {
	case HTTP2_SETTINGS:
		return !stream && n % 6 == 0 && n <= 600 && (!head[4] || !n);
	case HTTP2_PING:
		return !stream && n == 8;
	case HTTP2_GOAWAY:
		return !stream && n >= 8 && n <= 16384;
	case HTTP2_WINDOW_UPDATE:
		return n == 4;
	case HTTP2_RST_STREAM:
		return stream && n == 4;
	case HTTP2_PRIORITY:
		return stream && n == 5;
	case HTTP2_DATA:
		return stream && n <= HTTP2_FRAME_MAX && (n || head[4] & HTTP2_END_STREAM);
	default:
		return stream && n && n <= HTTP2_FRAME_MAX;
	}
}

bool http2_is_frames(struct slice b)
{
	bool is_any = false;

	while (b.n >= HEAD_N) {
		uint32_t n = length_of((const unsigned char *)b.p);

		if (!is_plausible((const unsigned char *)b.p))
			return false;
		if (b.n < HEAD_N + (size_t)n)
			return true;
		take(&b, HEAD_N + n);
		is_any = true;
	}
	return is_any;
}

/* Most requests begin with an indexed :method, :scheme or :path and answers with an
 * indexed :status (RFC 7541, appendix A). */
static int sender_by(unsigned char first)
{
	if (first >= 0x82 && first <= 0x87)
		return 0;
	return first >= 0x88 && first <= 0x8e ? 1 : -1;
}

int http2_sender(struct slice b)
{
	while (b.n > HEAD_N) {
		const unsigned char *head = (const unsigned char *)b.p;
		uint32_t n = length_of(head);
		size_t at = HEAD_N + (head[4] & HTTP2_PADDED ? 1 : 0) +
			    (head[4] & HTTP2_HAS_PRIORITY ? 5 : 0);

		if (head[3] == HTTP2_HEADERS && at < b.n && at < HEAD_N + (size_t)n)
			return sender_by(head[at]);
		if (b.n < HEAD_N + (size_t)n)
			break;
		take(&b, HEAD_N + n);
	}
	return -1;
}

/* ---- cutting */

static bool preface(struct http2_cutter *c, struct slice *in)
{
	size_t n = PREFACE_N - c->head_n < in->n ? PREFACE_N - c->head_n : in->n;

	if (memcmp(in->p, &HTTP2_PREFACE[c->head_n], n) != 0)
		return false;
	take(in, n);
	c->head_n += (uint32_t)n;
	if (c->head_n == PREFACE_N) {
		c->head_n = 0;
		c->phase = HTTP2_IN_FRAMES;
	}
	return true;
}

static bool open_frame(struct http2_cutter *c)
{
	struct http2_frame *f = &c->frame;

	c->left = length_of(c->head);
	c->pad = 0;
	c->counted_n = HEAD_N;
	f->type = c->head[3];
	f->flags = c->head[4];
	f->stream = be32_at(c->head + 5) & 0x7fffffff;
	c->wants_pad = f->type == HTTP2_DATA && f->flags & HTTP2_PADDED;
	buf_reset(&c->partial);
	if (f->type == HTTP2_DATA)
		return f->stream && !(c->wants_pad && !c->left);
	return c->left <= HTTP2_FRAME_MAX;
}

static enum step give(struct http2_cutter *c, struct slice payload, struct http2_frame *ret)
{
	c->frame.payload = payload;
	c->frame.wire_n = c->counted_n;
	c->frame.is_last = !c->left;
	c->counted_n = 0;
	if (!c->left)
		c->head_n = 0;
	*ret = c->frame;
	return STEP_ITEM;
}

static enum step data_piece(struct http2_cutter *c, struct slice *in, struct http2_frame *ret)
{
	size_t n = c->left < in->n ? c->left : in->n, data_n;
	struct slice piece;

	if (c->wants_pad) {
		if (!in->n)
			return STEP_MORE;
		c->pad = (unsigned char)*in->p;
		take(in, 1);
		c->left--;
		c->counted_n++;
		c->wants_pad = false;
		if (c->pad > c->left)
			return refuse(c);
		return c->left ? STEP_MORE : give(c, (struct slice){ 0 }, ret);
	}
	if (!n && c->left)
		return STEP_MORE;
	data_n = c->left - c->pad < n ? c->left - c->pad : n;
	piece = (struct slice){ in->p, data_n };
	take(in, n);
	c->left -= (uint32_t)n;
	c->pad -= (uint32_t)(n - data_n);
	c->counted_n += (uint32_t)n;
	return give(c, piece, ret);
}

/* Cuts off padding and priority of HEADERS, padding of PUSH_PROMISE. */
static bool strip(const struct http2_frame *f, struct slice *payload)
{
	size_t pad = 0;

	if (f->type != HTTP2_HEADERS && f->type != HTTP2_PUSH_PROMISE)
		return true;
	if (f->flags & HTTP2_PADDED) {
		if (!payload->n)
			return false;
		pad = (unsigned char)*payload->p;
		take(payload, 1);
	}
	if (f->type == HTTP2_HEADERS && f->flags & HTTP2_HAS_PRIORITY) {
		if (payload->n < 5)
			return false;
		take(payload, 5);
	}
	if (pad > payload->n)
		return false;
	payload->n -= pad;
	return true;
}

static enum step whole_frame(struct http2_cutter *c, struct slice *in, struct http2_frame *ret)
{
	size_t n = c->left < in->n ? c->left : in->n;
	struct slice payload = { in->p, n };
	bool is_whole = !c->partial.n && n == c->left;

	if (!is_whole) {
		buf_add(&c->partial, in->p, n);
		payload = buf_slice(&c->partial);
	}
	take(in, n);
	c->left -= (uint32_t)n;
	c->counted_n += (uint32_t)n;
	if (c->partial.is_full)
		return refuse(c);
	if (c->left)
		return STEP_MORE;
	return strip(&c->frame, &payload) ? give(c, payload, ret) : refuse(c);
}

static bool frame_head(struct http2_cutter *c, struct slice *in, int64_t time_ns)
{
	size_t n = HEAD_N - c->head_n < in->n ? HEAD_N - c->head_n : in->n;

	if (!c->head_n)
		c->frame.start_ns = time_ns;
	memcpy(c->head + c->head_n, in->p, n);
	take(in, n);
	c->head_n += (uint32_t)n;
	return c->head_n < HEAD_N || open_frame(c);
}

static enum step cut_frames(
	struct http2_cutter *c, struct slice *in, int64_t time_ns, struct http2_frame *ret)
{
	for (;;) {
		enum step step;

		if (c->head_n < HEAD_N) {
			if (!in->n)
				return STEP_MORE;
			if (!frame_head(c, in, time_ns))
				return refuse(c);
			if (c->head_n < HEAD_N)
				return STEP_MORE;
		}
		step = c->frame.type == HTTP2_DATA ? data_piece(c, in, ret)
						   : whole_frame(c, in, ret);
		if (step != STEP_MORE || !in->n)
			return step;
	}
}

enum step http2_cut(
	struct http2_cutter *c, struct slice *in, int64_t time_ns, struct http2_frame *ret)
{
	if (c->phase == HTTP2_IN_PREFACE && in->n && !preface(c, in))
		return refuse(c);
	if (c->phase == HTTP2_OUT_OF_STEP && in->n && http2_is_frames(*in)) {
		c->phase = HTTP2_IN_FRAMES;
		c->head_n = 0;
	}
	if (c->phase == HTTP2_IN_FRAMES)
		return cut_frames(c, in, time_ns, ret);
	take(in, in->n);
	return STEP_MORE;
}

bool http2_cutter_gap(struct http2_cutter *c, uint64_t missing_n)
{
	bool is_data = c->phase == HTTP2_IN_FRAMES && c->head_n == HEAD_N &&
		       c->frame.type == HTTP2_DATA && !c->wants_pad;

	/* All of it is data, and some of the frame is still to come. */
	if (is_data && missing_n < c->left - c->pad) {
		c->left -= (uint32_t)missing_n;
		c->counted_n += (uint32_t)missing_n;
		return true;
	}
	if (c->phase == HTTP2_REFUSED)
		return true;
	c->phase = HTTP2_OUT_OF_STEP;
	buf_reset(&c->partial);
	return false;
}
