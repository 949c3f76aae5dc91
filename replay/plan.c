#include "replay/plan.h"

#include <stdlib.h>

#include "replay/plan_index.h"
#include "replay/plan_item.h"
#include "replay/plan_units.h"

/* A pass is read ahead while fewer items than this wait: enough for seconds. */
enum { AHEAD_ITEMS = 10000 };

enum unit { UNIT_NONE, UNIT_KEPT, UNIT_LEFT_OUT };

struct plan {
	struct rcap *capture;
	struct plan_options o;
	struct schedule schedule;
	struct replay_window whole;
	struct plan_index index;
	struct plan_units units; /* serial */
	struct plan_lane serial;
	struct plan_lane *touched, *touched_tail;
	struct plan_totals totals;
	uint64_t route; /* fingerprint wanted, with has_route */
	bool has_route;
	bool is_done, is_full;
	int64_t pass_offset_ns;
	uint64_t pass_requests;
	uint64_t bytes, cap_bytes;
	size_t items;
};

static bool out_of_memory(struct err *e)
{
	return err_set(e, ERR_ENV, "could not allocate memory for the plan");
}

static bool check_windows(const struct plan_options *o, struct err *e)
{
	for (size_t i = 0; i < o->window_count; i++) {
		if (o->windows[i].from_ns >= o->windows[i].to_ns)
			return err_set(e, ERR_USAGE, "window %zu ends before it starts", i + 1);
		if (i && o->windows[i].from_ns < o->windows[i - 1].to_ns)
			return err_set(
				e, ERR_USAGE, "window %zu begins before window %zu ends", i + 1, i);
	}
	return true;
}

static bool find_route(struct plan *p, struct err *e)
{
	const char *text = p->o.route;
	char *end = NULL;

	if (!text)
		return true;
	p->has_route = true;
	p->route = strtoull(text, &end, 16);
	if (strlen(text) == 16 && !*end)
		return true;
	const struct rcap_route *route = rcap_find_route(p->capture, slice_of(text));
	if (!route) {
		err_set(e, ERR_USAGE, "no route of the capture holds '%s'", text);
		return err_hint(e, "reprod capture show FILE lists the routes");
	}
	p->route = route->fingerprint;
	return true;
}

static void place_lanes(struct plan *p)
{
	size_t at = 0;
	struct slice key;
	void *value;

	while (table_next(&p->index.lanes, &at, &key, &value)) {
		struct plan_lane *lane = value;
		bool is_inside;

		if (lane->opened_ns)
			lane->open_ns = schedule_at(&p->schedule, lane->opened_ns, &is_inside);
	}
}

static bool prepare(struct plan *p, struct err *e)
{
	if (!plan_index_read(&p->index, p->capture, e) || !find_route(p, e))
		return false;
	if (!p->index.requests) {
		err_set(e, ERR_INPUT, "%s holds no requests", p->o.path);
		return err_hint(e, "reprod capture show FILE says what it holds and what was lost");
	}
	p->whole = (struct replay_window){ p->index.first_ns, p->index.last_ns + 1 };
	p->schedule = (struct schedule){
		.windows = p->o.window_count ? p->o.windows : &p->whole,
		.window_count = p->o.window_count ? p->o.window_count : 1,
		.speed = p->o.speed > 0 ? p->o.speed : 1,
		.is_closed = p->o.is_closed,
	};
	place_lanes(p);
	p->totals.cells_refused = p->index.cells_refused;
	p->totals.sessions_refused = p->index.sessions_refused;
	return true;
}

struct plan *plan_open(const struct plan_options *o, struct err *e)
{
	struct plan *p = check_windows(o, e) ? calloc(1, sizeof(*p)) : NULL;

	if (!p) {
		if (!e->kind)
			out_of_memory(e);
		return NULL;
	}
	p->o = *o;
	p->cap_bytes = o->cap_bytes ? o->cap_bytes : PLAN_BYTES_MAX;
	plan_index_init(&p->index);
	p->index.own = o->own;
	p->index.own_count = o->own_count;
	p->capture = rcap_open(o->path, e);
	if (!p->capture || !prepare(p, e)) {
		plan_close(p);
		return NULL;
	}
	return p;
}

static void free_items(struct plan_item *item)
{
	while (item) {
		struct plan_item *next = item->next;

		free(item);
		item = next;
	}
}

void plan_close(struct plan *p)
{
	size_t at = 0;
	struct slice key;
	void *value;

	if (!p)
		return;
	while (table_next(&p->index.lanes, &at, &key, &value)) {
		free_items(((struct plan_lane *)value)->head);
		free_items(((struct plan_lane *)value)->unit_head);
	}
	free_items(p->serial.head);
	plan_units_free(&p->units);
	plan_index_free(&p->index);
	rcap_close(p->capture);
	free(p);
}

static void touch(struct plan *p, struct plan_lane *lane)
{
	if (lane->is_touched)
		return;
	lane->is_touched = true;
	lane->next_touched = NULL;
	if (p->touched)
		p->touched_tail->next_touched = lane;
	else
		p->touched = lane;
	p->touched_tail = lane;
}

static void append(struct plan_item **head, struct plan_item **tail, struct plan_item *first,
	struct plan_item *last)
{
	if (*head)
		(*tail)->next = first;
	else
		*head = first;
	*tail = last;
}

static void drop_items(struct plan *p, struct plan_item *item)
{
	while (item) {
		struct plan_item *next = item->next;

		plan_release(p, item);
		item = next;
	}
}

static void count_lane(struct plan *p, struct plan_lane *lane, const struct plan_item *item)
{
	for (; item; item = item->next) {
		if (item->kind != PLAN_REQUEST)
			continue;
		p->totals.requests++;
		p->pass_requests++;
		p->totals.busy_ns += item->q.end_ns - item->q.start_ns;
		if (!lane->is_counted)
			p->totals.sessions++;
		lane->is_counted = true;
	}
}

/* Hands the transaction (or what there is of it) on to be run. */
static bool hand_on(struct plan *p, struct plan_lane *lane, struct err *e)
{
	struct plan_item *head = lane->unit_head, *tail = lane->unit_tail;

	lane->unit_head = lane->unit_tail = NULL;
	if (!head)
		return true;
	if (p->has_route && !lane->is_unit_wanted) {
		drop_items(p, head);
		return true;
	}
	lane->is_unit_wanted = false;
	count_lane(p, lane, head);
	if (!p->o.is_serial) {
		append(&lane->head, &lane->tail, head, tail);
		touch(p, lane);
		return true;
	}
	touch(p, &p->serial);
	if (plan_units_put(&p->units, head, tail))
		return true;
	drop_items(p, head);
	return out_of_memory(e);
}

static uint64_t fingerprint_of(const struct plan *p, const struct request_record *q)
{
	const struct rcap_route *route = rcap_route(p->capture, q->route);

	return route ? route->fingerprint : 0;
}

static bool is_extended(const struct request_record *q)
{
	return q->form == FORM_UNNAMED || q->form == FORM_NAMED || q->form == FORM_PREPARE ||
	       q->form == FORM_FETCH;
}

/* The one before went out without a Sync and without waiting: same pipeline. */
static bool is_piped(const struct plan_item *before, const struct request_record *q)
{
	const struct request_record *b = &before->q;

	return before->kind != PLAN_CLOSE && is_extended(b) && is_extended(q) &&
	       !(b->flags & (REQUEST_SYNC | REQUEST_DERIVED)) && q->start_ns < b->end_ns;
}

static struct plan_item *last_of(struct plan_lane *lane)
{
	if (lane->unit_tail)
		return lane->unit_tail;
	return lane->head ? lane->tail : NULL;
}

/* Is this request the first of a transaction (or alone), by what the capture says or
 * by the verbs seen so far? */
static bool starts_unit(const struct plan_lane *lane, const struct request_record *q)
{
	if (q->state_before == 'T' || q->state_before == 'E')
		return false;
	return q->state_before == 'I' || !lane->is_open;
}

static void follow_verb(struct plan *p, struct plan_lane *lane, const struct request_record *q)
{
	if (q->state_after == 'I' || q->state_after == 'T' || q->state_after == 'E') {
		lane->is_open = q->state_after != 'I';
		return;
	}
	char verb = plan_item_verb(rcap_template(p->capture, q->template_id));
	if (verb)
		lane->is_open = verb == 'B' && !q->sqlstate[0];
}

static bool add_item(struct plan *p, struct plan_lane *lane, struct plan_item *item, struct err *e)
{
	if (!item)
		return out_of_memory(e);
	p->bytes += item->size_bytes;
	p->items++;
	append(&lane->unit_head, &lane->unit_tail, item, item);
	bool is_whole =
		!lane->is_open && (item->kind == PLAN_CLOSE || item->q.form == FORM_SIMPLE ||
					  item->q.flags & REQUEST_SYNC);
	bool is_held = p->o.is_serial || p->has_route;
	return is_held && !is_whole ? true : hand_on(p, lane, e);
}

static bool add_request(
	struct plan *p, struct plan_lane *lane, const struct request_record *q, struct err *e)
{
	struct plan_item *before = last_of(lane);
	bool has_pipe = before && is_piped(before, q);
	bool is_first = !has_pipe && starts_unit(lane, q);
	bool is_inside;
	int64_t offset_ns = schedule_at(&p->schedule, q->start_ns, &is_inside);

	if (is_first) {
		if (!hand_on(p, lane, e))
			return false;
		lane->unit = is_inside ? UNIT_KEPT : UNIT_LEFT_OUT;
	} else if (lane->unit == UNIT_NONE) {
		lane->unit = UNIT_LEFT_OUT;
	}
	follow_verb(p, lane, q);
	if (lane->unit != UNIT_KEPT) {
		p->totals.left_out += q->form != FORM_PREPARE;
		return true;
	}
	if (has_pipe)
		before->is_piped = true;
	if (p->has_route && (fingerprint_of(p, q) == p->route || q->form == FORM_PREPARE))
		lane->is_unit_wanted = true;
	struct plan_item *item = plan_item_new(q);
	if (item) {
		size_t cells;
		item->skip = plan_item_skip(q, lane);
		item->offset_ns = offset_ns + p->pass_offset_ns;
		item->is_chained = !is_first;
		item->has_cells = plan_index_cells(&p->index, q->session, q->seq, &cells) != NULL;
	}
	return add_item(p, lane, item, e);
}

static bool is_lane_wanted(const struct plan *p, const struct plan_lane *lane)
{
	return !p->o.max_sessions || lane->ordinal < p->o.max_sessions;
}

static bool is_lane_own(const struct plan_lane *lane)
{
	return lane->has_own && !lane->has_other;
}

static bool add_close(
	struct plan *p, struct plan_lane *lane, const struct session_record *s, struct err *e)
{
	bool is_inside;

	if (!s->close_ns || p->o.is_serial)
		return true;
	if (!hand_on(p, lane, e))
		return false;
	lane->is_open = false;
	struct plan_item *item = plan_item_close(s->id);
	if (item)
		item->offset_ns =
			schedule_at(&p->schedule, s->close_ns, &is_inside) + p->pass_offset_ns;
	lane->is_unit_wanted = true;
	return add_item(p, lane, item, e);
}

static bool add(struct plan *p, const struct rcap_item *item, struct err *e)
{
	bool is_session = item->kind == RCAP_SESSION;
	uint64_t session = is_session ? item->session.id : item->request.session;
	struct plan_lane *lane = plan_index_lane(&p->index, session);

	if (lane && is_lane_own(lane)) {
		p->totals.own += !is_session;
		return true;
	}
	if (!lane || !is_lane_wanted(p, lane))
		return true;
	return is_session ? add_close(p, lane, &item->session, e)
			  : add_request(p, lane, &item->request, e);
}

static bool end_pass(struct plan *p, struct err *e)
{
	size_t at = 0;
	struct slice key;
	void *value;

	while (table_next(&p->index.lanes, &at, &key, &value)) {
		struct plan_lane *lane = value;

		if (!hand_on(p, lane, e))
			return false;
		lane->unit = UNIT_NONE;
		lane->is_open = false;
	}
	p->totals.passes++;
	p->is_done = !p->o.is_looping || !p->pass_requests;
	p->pass_offset_ns += schedule_length(&p->schedule);
	p->pass_requests = 0;
	if (!p->is_done)
		rcap_rewind(p->capture);
	return true;
}

static bool nothing_wanted(const struct plan *p, struct err *e)
{
	if (p->o.route)
		err_set(e, ERR_INPUT, "%s: no request of route '%s' in what was asked for",
			p->o.path, p->o.route);
	else
		err_set(e, ERR_INPUT, "%s: no request in the given windows", p->o.path);
	char from[CLOCK_TEXT_MAX], to[CLOCK_TEXT_MAX];
	return err_hint(e,
		"the capture's requests are from %s to %s; transactions begun before a window are left out",
		clock_text(p->index.first_ns, from), clock_text(p->index.last_ns, to));
}

/* Once full, it stays so until half is free: reading goes in few large strides. */
static bool is_full(struct plan *p)
{
	if (p->bytes >= p->cap_bytes)
		p->totals.was_capped = p->is_full = true;
	else if (p->bytes < p->cap_bytes / 2)
		p->is_full = false;
	return p->is_full;
}

enum step plan_fill(struct plan *p, size_t max_items, struct err *e)
{
	struct rcap_item item;

	for (size_t i = 0; i < max_items; i++) {
		if (p->is_done)
			return STEP_END;
		if (is_full(p))
			return STEP_MORE;
		if (p->totals.passes && !p->pass_requests && p->items >= AHEAD_ITEMS)
			return STEP_MORE;
		enum step step = rcap_next(p->capture, &item, e);
		if (step == STEP_FAIL || (step == STEP_ITEM && !add(p, &item, e)))
			return STEP_FAIL;
		if (step == STEP_END && !end_pass(p, e))
			return STEP_FAIL;
		if (p->is_done && !p->totals.requests) {
			nothing_wanted(p, e);
			return STEP_FAIL;
		}
	}
	return p->is_done ? STEP_END : STEP_ITEM;
}

struct plan_lane *plan_next_touched(struct plan *p)
{
	struct plan_lane *lane = p->touched;

	if (lane) {
		p->touched = lane->next_touched;
		lane->is_touched = false;
	}
	return lane;
}

struct plan_item *plan_peek(struct plan *p, struct plan_lane *lane)
{
	struct plan_unit unit;

	if (!lane->head && lane == &p->serial && plan_units_take(&p->units, &unit)) {
		lane->head = unit.head;
		lane->tail = unit.tail;
	}
	return lane->head;
}

struct plan_item *plan_take(struct plan *p, struct plan_lane *lane)
{
	struct plan_item *item = plan_peek(p, lane);

	if (item) {
		lane->head = item->next;
		item->next = NULL;
		if (!lane->head)
			lane->tail = NULL;
	}
	return item;
}

void plan_release(struct plan *p, struct plan_item *item)
{
	if (!item)
		return;
	p->bytes -= item->size_bytes;
	p->items--;
	free(item);
}

const struct plan_cell *plan_cells(
	const struct plan *p, uint64_t session, uint64_t seq, size_t *ret_count)
{
	return plan_index_cells(&p->index, session, seq, ret_count);
}

const struct rcap *plan_capture(const struct plan *p)
{
	return p->capture;
}

const struct schedule *plan_schedule(const struct plan *p)
{
	return &p->schedule;
}

size_t plan_lane_count(const struct plan *p)
{
	return p->o.is_serial ? 1 : p->index.lanes.count;
}

const struct plan_totals *plan_totals(const struct plan *p)
{
	return &p->totals;
}
