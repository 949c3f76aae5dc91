#include "capture/blockread.h"

#include <stdlib.h>

#include "core/model/rcap_block.h"

void blockread_init(struct blockread *b, struct rcap *r)
{
	*b = (struct blockread){ .rcap = r };
}

void blockread_free(struct blockread *b)
{
	rcap_decoder_free(&b->decoder);
	free(b->offsets);
	free(b->spans);
	*b = (struct blockread){ 0 };
}

static bool grow(void **items, size_t *room, size_t count, size_t size)
{
	size_t n = *room ? 2 * *room : 256;

	if (count < *room)
		return true;
	void *p = realloc(*items, n * size);
	if (!p)
		return false;
	*items = p;
	*room = n;
	return true;
}

static bool out_of_memory(struct err *e)
{
	return err_set(e, ERR_ENV, "out of memory");
}

static enum step bad_record(uint64_t offset, struct err *e)
{
	err_set(e, ERR_INPUT, "a record of the block at offset %llu is damaged",
		(unsigned long long)offset);
	return STEP_FAIL;
}

/* The block of records at *at or behind it; *at is then behind that block. */
static enum step open_block(struct blockread *b, uint64_t *at, uint64_t *ret_offset, struct err *e)
{
	struct rcap_block block;
	enum step step;

	while ((step = rcap_next_block(b->rcap, at, &block, e)) == STEP_ITEM) {
		if (block.kind != RCAP_BLOCK_RECORDS || block.is_damaged)
			continue;
		b->block = cursor_of(block.payload.p, block.payload.n);
		b->decoder.state = (struct rcap_state){ 0 };
		*ret_offset = block.offset;
		return STEP_ITEM;
	}
	return step;
}

static bool decode(struct blockread *b, uint8_t kind, struct slice record, struct rcap_item *ret)
{
	if (kind == RCAP_RECORD_SESSION) {
		ret->kind = RCAP_SESSION;
		return rcap_decode_session(record, &ret->session);
	}
	ret->kind = RCAP_REQUEST;
	return rcap_decode_request(&b->decoder, record, &ret->request) &&
	       ret->request.route < rcap_route_count(b->rcap) &&
	       ret->request.template_id < rcap_template_count(b->rcap);
}

/* The next record of the open block. */
static enum step next_record(struct blockread *b, struct rcap_item *ret, struct err *e)
{
	uint8_t kind;
	struct slice record;
	enum step step;

	do
		step = rcap_next_record(&b->block, &kind, &record);
	while (step == STEP_ITEM && kind != RCAP_RECORD_SESSION && kind != RCAP_RECORD_REQUEST);
	if (step == STEP_END || (step == STEP_ITEM && decode(b, kind, record, ret)))
		return step;
	return bad_record(b->count ? b->offsets[b->count - 1] : 0, e);
}

enum step blockread_next(struct blockread *b, struct rcap_item *ret, struct err *e)
{
	for (;;) {
		enum step step = next_record(b, ret, e);
		uint64_t offset;

		if (step != STEP_END)
			return step;
		step = open_block(b, &b->at, &offset, e);
		if (step != STEP_ITEM)
			return step;
		if (!grow((void **)&b->offsets, &b->room, b->count, sizeof(*b->offsets))) {
			out_of_memory(e);
			return STEP_FAIL;
		}
		b->offsets[b->count++] = offset;
	}
}

static bool keep_span(struct blockread *b, const struct request_record *q)
{
	if (q->form == FORM_PREPARE)
		return true;
	if (!grow((void **)&b->spans, &b->span_room, b->span_count, sizeof(*b->spans)))
		return false;
	b->spans[b->span_count++] = (struct span){ q->start_ns, q->end_ns, q->route };
	return true;
}

/* The spans of the last block that was not read backwards yet. */
static enum step fill(struct blockread *b, struct err *e)
{
	uint64_t at = b->offsets[b->count - 1], offset;
	struct rcap_item item;
	enum step step = open_block(b, &at, &offset, e);

	while (step == STEP_ITEM && (step = next_record(b, &item, e)) == STEP_ITEM)
		if (item.kind == RCAP_REQUEST && !keep_span(b, &item.request)) {
			out_of_memory(e);
			return STEP_FAIL;
		}
	b->count--;
	return step;
}

enum step blockread_back(struct blockread *b, struct span *ret, struct err *e)
{
	while (!b->span_count) {
		if (!b->count)
			return STEP_END;
		if (fill(b, e) == STEP_FAIL)
			return STEP_FAIL;
	}
	*ret = b->spans[--b->span_count];
	return STEP_ITEM;
}
