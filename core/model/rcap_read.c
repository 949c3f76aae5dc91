#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <zstd.h>

#include "core/base/arena.h"
#include "core/model/rcap.h"
#include "core/model/rcap_block.h"
#include "core/model/rcap_code.h"

static const size_t text_bytes_max = (size_t)512 << 20;
static const size_t hist_slots_max = (size_t)128 << 20; /* 1 GiB */

struct rcap {
	int fd;
	char name[256];
	uint64_t size;
	uint64_t whole_end; /* behind the last whole block */
	uint64_t uncounted; /* first block of records without counts, or 0 */
	uint64_t damaged_blocks;
	bool is_finished;
	struct json *head;
	struct arena texts;
	struct rcap_route *routes;
	struct slice *templates;
	size_t route_count, route_room, template_count, template_room;
	size_t hist_slots;
	struct hist scratch;
	struct rcap_totals totals;
	struct buf stored, raw;
	ZSTD_DCtx *zstd;
	/* Where rcap_next() is */
	uint64_t next_block;
	uint64_t block_offset;
	struct cursor block;
	struct rcap_decoder decoder;
};

static bool bad_block(const struct rcap *r, uint64_t offset, const char *what, struct err *e)
{
	err_set(e, ERR_INPUT, "%s", what);
	return err_in(e, "%s: block at offset %llu", r->name, (unsigned long long)offset);
}

/* ---- bytes */

static bool read_at(struct rcap *r, uint64_t offset, void *to, size_t n, struct err *e)
{
	char *p = to;

	while (n) {
		ssize_t k = pread(r->fd, p, n, (off_t)offset);

		if (k < 0 && errno == EINTR)
			continue;
		if (k <= 0) {
			if (k < 0)
				err_os(e, ERR_INPUT, errno, "could not read");
			else
				err_set(e, ERR_INPUT, "the file became shorter while it was read");
			return err_in(e, "%s: offset %llu", r->name, (unsigned long long)offset);
		}
		p += k;
		offset += (uint64_t)k;
		n -= (size_t)k;
	}
	return true;
}

/* ITEM, END when no whole block stands there, FAIL. */
static enum step read_header(
	struct rcap *r, uint64_t offset, struct rcap_block_header *ret, struct err *e)
{
	unsigned char bytes[RCAP_BLOCK_HEADER];

	if (offset > r->size || r->size - offset < RCAP_BLOCK_HEADER)
		return STEP_END;
	if (!read_at(r, offset, bytes, sizeof(bytes), e))
		return STEP_FAIL;
	if (!rcap_read_block_header(ret, bytes) ||
		r->size - offset - RCAP_BLOCK_HEADER < ret->stored_bytes)
		return STEP_END;
	return STEP_ITEM;
}

static uint64_t block_end(uint64_t offset, const struct rcap_block_header *h)
{
	return offset + RCAP_BLOCK_HEADER + h->stored_bytes;
}

/* Reads the stored payload; ret_is_intact is what the checksum says. */
static bool read_payload(struct rcap *r, uint64_t offset, const struct rcap_block_header *h,
	bool *ret_is_intact, struct err *e)
{
	*ret_is_intact = false;
	buf_reset(&r->stored);
	char *to = buf_room(&r->stored, h->stored_bytes);
	if (!to)
		return err_set(e, ERR_ENV, "out of memory");
	if (!read_at(r, offset + RCAP_BLOCK_HEADER, to, h->stored_bytes, e))
		return false;
	r->stored.n = h->stored_bytes;
	*ret_is_intact = rcap_crc(to, h->stored_bytes) == h->payload_crc;
	return true;
}

/* The payload as it was before compression; p is NULL when it does not unpack. */
static struct slice unpack(struct rcap *r, const struct rcap_block_header *h)
{
	struct slice none = { NULL, 0 };

	if (h->codec == RCAP_RAW)
		return h->raw_bytes == h->stored_bytes ? buf_slice(&r->stored) : none;
	if (h->codec != RCAP_ZSTD)
		return none;
	buf_reset(&r->raw);
	char *to = buf_room(&r->raw, h->raw_bytes);
	if (!to)
		return none;
	size_t n = ZSTD_decompressDCtx(r->zstd, to, h->raw_bytes, r->stored.p, r->stored.n);
	if (ZSTD_isError(n) || n != h->raw_bytes)
		return none;
	r->raw.n = n;
	return buf_slice(&r->raw);
}

/* ---- dictionaries and counts */

static bool grow(void **items, size_t *room, size_t count, size_t size)
{
	if (count < *room)
		return true;
	size_t n = *room ? 2 * *room : 64;
	void *p = realloc(*items, n * size);
	if (!p)
		return false;
	*items = p;
	*room = n;
	return true;
}

static bool add_route(struct rcap *r, struct rcap_route route)
{
	if (route.id != r->route_count || r->route_count >= RCAP_ROUTES_MAX ||
		!grow((void **)&r->routes, &r->route_room, r->route_count, sizeof(*r->routes)))
		return false;
	route.text = arena_copy(&r->texts, route.text);
	r->routes[r->route_count] = route;
	r->route_count += route.text.p != NULL;
	return route.text.p != NULL;
}

static bool add_template(struct rcap *r, uint64_t id, struct slice text)
{
	if (id != r->template_count || r->template_count >= RCAP_TEMPLATES_MAX ||
		!grow((void **)&r->templates, &r->template_room, r->template_count,
			sizeof(*r->templates)))
		return false;
	text = arena_copy(&r->texts, text);
	r->templates[r->template_count] = text;
	r->template_count += text.p != NULL;
	return text.p != NULL;
}

static bool read_route(struct rcap *r, struct cursor *c)
{
	struct rcap_route route = { 0 };
	uint64_t id = cursor_varint(c);

	route.id = (uint32_t)id;
	uint8_t protocol = cursor_u8(c);
	route.protocol = (enum protocol)protocol;
	route.fingerprint = cursor_u64le(c);
	route.text = cursor_counted(c);
	return !c->is_short && id < RCAP_ROUTES_MAX &&
	       (protocol == PROTOCOL_PG || protocol == PROTOCOL_HTTP) && add_route(r, route);
}

static bool read_template(struct rcap *r, struct cursor *c)
{
	uint64_t id = cursor_varint(c);
	struct slice text = cursor_counted(c);

	return !c->is_short && add_template(r, id, text);
}

static bool merge_latency(struct rcap *r, struct rcap_route *route, const struct hist *from)
{
	size_t slots = route->latency_us.length;
	bool ok = hist_merge(&route->latency_us, from);

	r->hist_slots += route->latency_us.length - slots;
	return ok && r->hist_slots <= hist_slots_max;
}

static bool read_route_counts(struct rcap *r, struct cursor *c)
{
	uint64_t id = cursor_varint(c);

	if (c->is_short || id >= r->route_count)
		return false;
	struct rcap_route *route = &r->routes[id];
	route->requests += cursor_varint(c);
	route->errors += cursor_varint(c);
	route->rows += cursor_varint(c);
	route->bytes_in += cursor_varint(c);
	route->bytes_out += cursor_varint(c);
	return hist_read(&r->scratch, c) && merge_latency(r, route, &r->scratch);
}

static bool read_totals(struct rcap *r, struct cursor *c)
{
	struct rcap_totals t = { 0 };

	t.sessions = cursor_varint(c);
	t.requests = cursor_varint(c);
	t.errors = cursor_varint(c);
	t.stored = cursor_varint(c);
	if (c->is_short)
		return false;
	r->totals = t;
	return true;
}

static bool read_tables(struct rcap *r, struct slice payload, uint64_t offset, struct err *e)
{
	struct cursor block = cursor_of(payload.p, payload.n);
	uint8_t kind;
	struct slice record;
	enum step step;

	while ((step = rcap_next_record(&block, &kind, &record)) == STEP_ITEM) {
		struct cursor c = cursor_of(record.p, record.n);
		bool ok = kind == RCAP_RECORD_ROUTE          ? read_route(r, &c)
			  : kind == RCAP_RECORD_TEMPLATE     ? read_template(r, &c)
			  : kind == RCAP_RECORD_TOTALS       ? read_totals(r, &c)
			  : kind == RCAP_RECORD_ROUTE_COUNTS ? read_route_counts(r, &c)
							     : true;
		if (!ok)
			return bad_block(r, offset, "an entry is damaged or out of order", e);
	}
	return step == STEP_END || bad_block(r, offset, "an entry ends outside its block", e);
}

static bool read_head(struct rcap *r, struct slice payload, uint64_t offset, struct err *e)
{
	struct err why = { 0 };
	struct json *head = json_parse(payload, "head", &why);

	if (!head)
		return bad_block(r, offset, "the head is not JSON", e);
	json_free(r->head);
	r->head = head;
	return true;
}

/* ---- the scan at open */

static bool take_block(
	struct rcap *r, uint64_t offset, const struct rcap_block_header *h, struct err *e)
{
	if (h->kind == RCAP_BLOCK_RECORDS) {
		if (!r->uncounted)
			r->uncounted = offset;
		return true;
	}
	if (h->kind == RCAP_BLOCK_END)
		r->is_finished = true;
	if (h->kind != RCAP_BLOCK_DICTIONARY && h->kind != RCAP_BLOCK_COUNTS &&
		h->kind != RCAP_BLOCK_HEAD)
		return true;
	struct slice payload = unpack(r, h);
	if (!payload.p)
		return bad_block(r, offset, "it does not decompress", e);
	if (h->kind == RCAP_BLOCK_HEAD)
		return read_head(r, payload, offset, e);
	if (h->kind == RCAP_BLOCK_COUNTS)
		r->uncounted = 0;
	return read_tables(r, payload, offset, e);
}

/* A block of records whose checksum is wrong is left out when the file goes on
 * behind it; any other damage ends what can be read. */
static bool goes_on(struct rcap *r, const struct rcap_block_header *h, uint64_t end)
{
	struct rcap_block_header next;
	struct err e = { 0 };

	return h->kind == RCAP_BLOCK_RECORDS && read_header(r, end, &next, &e) == STEP_ITEM &&
	       next.number == h->number + 1;
}

static bool scan(struct rcap *r, struct err *e)
{
	struct rcap_block_header h;
	uint64_t offset = RCAP_FILE_HEADER;
	uint32_t number = 0;
	enum step step = STEP_END;

	while (!r->is_finished && (step = read_header(r, offset, &h, e)) == STEP_ITEM) {
		bool is_intact;

		if (h.number != number++)
			break;
		if (!read_payload(r, offset, &h, &is_intact, e))
			return false;
		if (!is_intact && !goes_on(r, &h, block_end(offset, &h)))
			break;
		if (!is_intact)
			r->damaged_blocks++;
		else if (!take_block(r, offset, &h, e))
			return false;
		offset = block_end(offset, &h);
	}
	r->whole_end = offset;
	return step != STEP_FAIL;
}

static bool count_request(struct rcap *r, const struct request_record *q)
{
	struct rcap_route *route = &r->routes[q->route];
	int64_t us = rcap_latency_us(q);
	bool has_failed = rcap_is_error(q);

	r->totals.stored++;
	if (q->form == FORM_PREPARE)
		return true;
	r->totals.requests++;
	r->totals.errors += has_failed;
	route->requests++;
	route->errors += has_failed;
	route->rows += q->rows;
	route->bytes_in += q->bytes_in;
	route->bytes_out += q->bytes_out;
	return us < 0 || hist_add(&route->latency_us, us, 1);
}

/* A file that was cut between a block of records and its counts: these come from
 * the records. */
static bool count_tail(struct rcap *r, struct err *e)
{
	struct rcap_item item;
	enum step step = STEP_END;
	uint64_t last_session = r->totals.sessions;

	if (!r->uncounted)
		return true;
	r->next_block = r->uncounted;
	while ((step = rcap_next(r, &item, e)) == STEP_ITEM) {
		if (item.kind == RCAP_REQUEST && !count_request(r, &item.request))
			return err_set(e, ERR_ENV, "out of memory");
		if (item.kind == RCAP_SESSION && item.session.id > last_session) {
			last_session = item.session.id;
			r->totals.sessions++;
		}
	}
	rcap_rewind(r);
	return step == STEP_END;
}

static bool open_file(struct rcap *r, const char *path, struct err *e)
{
	unsigned char first[64];
	struct stat st;

	r->fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (r->fd < 0 || fstat(r->fd, &st) != 0) {
		err_os(e, ERR_INPUT, errno, "could not open");
		return err_in(e, "%s", r->name);
	}
	if (!S_ISREG(st.st_mode)) {
		err_set(e, ERR_INPUT, "not a regular file: a capture is read twice");
		err_hint(e, "save it to a file first");
		return err_in(e, "%s", r->name);
	}
	r->size = (uint64_t)st.st_size;
	size_t n = r->size < sizeof(first) ? (size_t)r->size : sizeof(first);
	if (!read_at(r, 0, first, n, e))
		return false;
	return rcap_check_file_header((struct slice){ (const char *)first, n }, e) ||
	       err_in(e, "%s", r->name);
}

static bool prepare(struct rcap *r, struct err *e)
{
	struct rcap_route other = { .protocol = PROTOCOL_PG, .text = SLICE("other") };

	arena_init(&r->texts, text_bytes_max);
	buf_init(&r->stored, RCAP_RAW_MAX);
	buf_init(&r->raw, RCAP_RAW_MAX);
	r->zstd = ZSTD_createDCtx();
	r->head = json_object();
	if (!r->zstd || !r->head || !add_route(r, other) || !add_template(r, 0, SLICE("")))
		return err_set(e, ERR_ENV, "out of memory");
	return true;
}

struct rcap *rcap_open(const char *path, struct err *e)
{
	struct rcap *r = calloc(1, sizeof(*r));

	if (!r) {
		err_set(e, ERR_ENV, "out of memory");
		return NULL;
	}
	r->fd = -1;
	snprintf(r->name, sizeof(r->name), "%s", path);
	if (!open_file(r, path, e) || !prepare(r, e) || !scan(r, e) || !count_tail(r, e)) {
		rcap_close(r);
		return NULL;
	}
	rcap_rewind(r);
	return r;
}

void rcap_close(struct rcap *r)
{
	if (!r)
		return;
	for (size_t i = 0; i < r->route_count; i++)
		hist_free(&r->routes[i].latency_us);
	hist_free(&r->scratch);
	free(r->routes);
	free(r->templates);
	arena_free(&r->texts);
	buf_free(&r->stored);
	buf_free(&r->raw);
	rcap_decoder_free(&r->decoder);
	ZSTD_freeDCtx(r->zstd);
	json_free(r->head);
	if (r->fd >= 0)
		close(r->fd);
	free(r);
}

/* ---- what is known after open */

const struct json *rcap_head(const struct rcap *r)
{
	return r->head;
}

bool rcap_is_finished(const struct rcap *r)
{
	return r->is_finished;
}

bool rcap_is_torn(const struct rcap *r)
{
	return !r->is_finished || rcap_torn_bytes(r) || r->damaged_blocks;
}

uint64_t rcap_torn_bytes(const struct rcap *r)
{
	return r->size - r->whole_end;
}

uint64_t rcap_damaged_blocks(const struct rcap *r)
{
	return r->damaged_blocks;
}

struct rcap_totals rcap_totals(const struct rcap *r)
{
	return r->totals;
}

size_t rcap_route_count(const struct rcap *r)
{
	return r->route_count;
}

const struct rcap_route *rcap_route(const struct rcap *r, uint32_t id)
{
	return id < r->route_count ? &r->routes[id] : NULL;
}

size_t rcap_template_count(const struct rcap *r)
{
	return r->template_count;
}

struct slice rcap_template(const struct rcap *r, uint32_t id)
{
	return id < r->template_count ? r->templates[id] : (struct slice){ NULL, 0 };
}

/* ---- the stream */

void rcap_rewind(struct rcap *r)
{
	r->next_block = RCAP_FILE_HEADER;
	r->block = (struct cursor){ 0 };
}

/* The next block of records that is intact. */
static enum step open_block(struct rcap *r, struct err *e)
{
	while (r->next_block < r->whole_end) {
		struct rcap_block_header h;
		uint64_t offset = r->next_block;
		bool is_intact;
		enum step step = read_header(r, offset, &h, e);

		if (step == STEP_FAIL)
			return STEP_FAIL;
		if (step == STEP_END) {
			bad_block(r, offset, "the file was changed while it was read", e);
			return STEP_FAIL;
		}
		r->next_block = block_end(offset, &h);
		if (h.kind != RCAP_BLOCK_RECORDS)
			continue;
		if (!read_payload(r, offset, &h, &is_intact, e))
			return STEP_FAIL;
		if (!is_intact)
			continue;
		struct slice payload = unpack(r, &h);
		if (!payload.p) {
			bad_block(r, offset, "it does not decompress", e);
			return STEP_FAIL;
		}
		r->block = cursor_of(payload.p, payload.n);
		r->block_offset = offset;
		r->decoder.state = (struct rcap_state){ 0 };
		return STEP_ITEM;
	}
	return STEP_END;
}

static bool decode(struct rcap *r, uint8_t kind, struct slice record, struct rcap_item *ret)
{
	if (kind == RCAP_RECORD_SESSION) {
		ret->kind = RCAP_SESSION;
		return rcap_decode_session(record, &ret->session);
	}
	ret->kind = RCAP_REQUEST;
	return rcap_decode_request(&r->decoder, record, &ret->request) &&
	       ret->request.route < r->route_count && ret->request.template_id < r->template_count;
}

enum step rcap_next(struct rcap *r, struct rcap_item *ret, struct err *e)
{
	for (;;) {
		uint8_t kind;
		struct slice record;
		enum step step = rcap_next_record(&r->block, &kind, &record);

		if (step == STEP_END) {
			step = open_block(r, e);
			if (step != STEP_ITEM)
				return step;
			continue;
		}
		if (step == STEP_ITEM && kind != RCAP_RECORD_SESSION && kind != RCAP_RECORD_REQUEST)
			continue;
		if (step == STEP_ITEM && decode(r, kind, record, ret))
			return STEP_ITEM;
		if (r->decoder.is_out_of_memory)
			err_set(e, ERR_ENV, "out of memory");
		else
			bad_block(r, r->block_offset, "a record is damaged", e);
		return STEP_FAIL;
	}
}

enum step rcap_next_block(struct rcap *r, uint64_t *at, struct rcap_block *ret, struct err *e)
{
	struct rcap_block_header h;
	bool is_intact;

	if (*at < RCAP_FILE_HEADER)
		*at = RCAP_FILE_HEADER;
	if (*at >= r->whole_end)
		return STEP_END;
	enum step step = read_header(r, *at, &h, e);
	if (step != STEP_ITEM)
		return step;
	if (!read_payload(r, *at, &h, &is_intact, e))
		return STEP_FAIL;
	*ret = (struct rcap_block){
		.offset = *at, .kind = h.kind, .kind_name = rcap_block_kind_name(h.kind)
	};
	if (is_intact)
		ret->payload = unpack(r, &h);
	ret->is_damaged = ret->payload.p == NULL;
	*at = block_end(*at, &h);
	r->block = (struct cursor){ 0 };
	return STEP_ITEM;
}
