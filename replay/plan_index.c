#include "replay/plan_index.h"

#include <stdlib.h>

#include "replay/plan_item.h"

static int compare_cells(const void *pa, const void *pb)
{
	const struct plan_cell *a = pa, *b = pb;

	if (a->session != b->session)
		return a->session < b->session ? -1 : 1;
	if (a->seq != b->seq)
		return a->seq < b->seq ? -1 : 1;
	if (a->row != b->row)
		return a->row < b->row ? -1 : 1;
	return (a->column > b->column) - (a->column < b->column);
}

static bool grow(void **items, size_t *room, size_t used, size_t size)
{
	if (used < *room)
		return true;
	size_t more = *room ? 2 * *room : 64;
	void *p = realloc(*items, more * size);
	if (!p)
		return false;
	*items = p;
	*room = more;
	return true;
}

static bool out_of_memory(struct err *e)
{
	return err_set(e, ERR_ENV, "could not allocate memory for the plan");
}

static struct slice session_key(const uint64_t *session)
{
	return (struct slice){ (const char *)session, sizeof(*session) };
}

/* NULL at the cap (counted) and, with *e set, out of memory. */
static struct plan_lane *lane_for(struct plan_index *x, uint64_t session, struct err *e)
{
	struct plan_lane *lane = plan_index_lane(x, session);

	if (lane)
		return lane;
	if (x->lanes.count >= PLAN_SESSIONS_MAX) {
		x->sessions_refused++;
		return NULL;
	}
	lane = malloc(sizeof(*lane));
	if (lane)
		*lane = (struct plan_lane){ .session = session,
			.protocol = PROTOCOL_PG,
			.ordinal = (uint32_t)x->lanes.count };
	if (!lane || !table_put(&x->lanes, session_key(&lane->session), lane)) {
		free(lane);
		out_of_memory(e);
		return NULL;
	}
	return lane;
}

static bool index_session(struct plan_index *x, const struct session_record *s, struct err *e)
{
	struct plan_lane *lane = lane_for(x, s->id, e);

	if (!lane)
		return !e->kind;
	lane->flags |= s->flags;
	lane->protocol = s->protocol;
	if (!(s->flags & SESSION_JOINED_LATE))
		lane->opened_ns = s->open_ns;
	if (s->close_ns)
		lane->closes_ns = s->close_ns;
	return true;
}

static bool index_edges(struct plan_index *x, const struct request_record *q, struct err *e)
{
	for (size_t i = 0; i < q->edge_count; i++) {
		if (!q->edges[i].is_strong)
			continue;
		if (x->cell_count >= PLAN_CELLS_MAX) {
			x->cells_refused++;
			continue;
		}
		if (!grow((void **)&x->cells, &x->cell_room, x->cell_count, sizeof(*x->cells)))
			return out_of_memory(e);
		x->cells[x->cell_count++] = (struct plan_cell){ .session = q->session,
			.seq = q->edges[i].from_seq,
			.row = q->edges[i].row,
			.column = q->edges[i].column };
	}
	return true;
}

static bool is_own(const struct plan_index *x, uint64_t fingerprint)
{
	for (size_t i = 0; i < x->own_count; i++)
		if (x->own[i] == fingerprint)
			return true;
	return false;
}

/* BEGIN and COMMIT are everybody's. */
static void index_owner(const struct plan_index *x, struct plan_lane *lane,
	const struct rcap *capture, const struct request_record *q)
{
	const struct rcap_route *route = rcap_route(capture, q->route);

	if (q->form == FORM_PREPARE || plan_item_verb(rcap_template(capture, q->template_id)))
		return;
	if (route && is_own(x, route->fingerprint))
		lane->has_own = true;
	else
		lane->has_other = true;
}

static bool index_request(struct plan_index *x, const struct rcap *capture,
	const struct request_record *q, struct err *e)
{
	struct plan_lane *lane = lane_for(x, q->session, e);

	if (!lane)
		return !e->kind;
	if (x->own_count)
		index_owner(x, lane, capture, q);
	if (!x->requests || q->start_ns < x->first_ns)
		x->first_ns = q->start_ns;
	if (!x->requests || q->end_ns > x->last_ns)
		x->last_ns = q->end_ns;
	x->requests++;
	return index_edges(x, q, e);
}

static void sort_cells(struct plan_index *x)
{
	size_t kept = 0;

	if (!x->cell_count)
		return;
	qsort(x->cells, x->cell_count, sizeof(*x->cells), compare_cells);
	for (size_t i = 1; i < x->cell_count; i++)
		if (compare_cells(&x->cells[kept], &x->cells[i]) != 0)
			x->cells[++kept] = x->cells[i];
	x->cell_count = kept + 1;
}

void plan_index_init(struct plan_index *x)
{
	*x = (struct plan_index){ 0 };
	table_init(&x->lanes, PLAN_SESSIONS_MAX);
}

bool plan_index_read(struct plan_index *x, struct rcap *capture, struct err *e)
{
	struct rcap_item item;
	enum step step;

	while ((step = rcap_next(capture, &item, e)) == STEP_ITEM) {
		bool ok = item.kind == RCAP_SESSION ? index_session(x, &item.session, e)
						    : index_request(x, capture, &item.request, e);
		if (!ok)
			return false;
	}
	if (step != STEP_END)
		return false;
	sort_cells(x);
	rcap_rewind(capture);
	return true;
}

struct plan_lane *plan_index_lane(const struct plan_index *x, uint64_t session)
{
	return table_get(&x->lanes, session_key(&session));
}

const struct plan_cell *plan_index_cells(
	const struct plan_index *x, uint64_t session, uint64_t seq, size_t *ret_count)
{
	struct plan_cell key = { .session = session, .seq = seq };
	size_t low = 0, high = x->cell_count;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (compare_cells(&x->cells[mid], &key) < 0)
			low = mid + 1;
		else
			high = mid;
	}
	size_t end = low;
	while (end < x->cell_count && x->cells[end].session == session && x->cells[end].seq == seq)
		end++;
	*ret_count = end - low;
	return end > low ? &x->cells[low] : NULL;
}

void plan_index_free(struct plan_index *x)
{
	free(x->cells);
	struct slice key;
	void *lane;
	for (size_t at = 0; table_next(&x->lanes, &at, &key, &lane);)
		free(lane);
	table_free(&x->lanes);
	*x = (struct plan_index){ 0 };
}
