#include "capture/log/http_lanes.h"

#include <stdlib.h>

#include "core/base/table.h"

/* One session. Those of one key hang together, the first is in the table. */
struct lane {
	struct lane *next_of_key;
	struct lane *older, *newer; /* by last use */
	uint64_t id, seq;
	int64_t open_ns, last_end_ns;
	bool is_connection, is_late;
	struct slice key, client, user;
	/* their bytes follow */
};

struct http_lanes {
	struct log_order *order;
	struct table by_key;
	struct lane *oldest, *newest;
	size_t count;
	uint64_t last_id;
};

/* A keep-alive connection that says nothing for an hour is closed by any server: its
 * number was given again. */
static const int64_t connection_gap_ns = 3600 * NS_PER_S;

struct http_lanes *http_lanes_new(struct log_order *order)
{
	struct http_lanes *l = calloc(1, sizeof *l);

	if (!l)
		return NULL;
	l->order = order;
	table_init(&l->by_key, HTTP_LANES_OPEN_MAX);
	return l;
}

void http_lanes_free(struct http_lanes *l)
{
	if (!l)
		return;
	for (struct lane *lane = l->oldest, *next; lane; lane = next) {
		next = lane->newer;
		free(lane);
	}
	table_free(&l->by_key);
	free(l);
}

/* ---- the list by last use */

static void unlink_lane(struct http_lanes *l, struct lane *lane)
{
	*(lane->older ? &lane->older->newer : &l->oldest) = lane->newer;
	*(lane->newer ? &lane->newer->older : &l->newest) = lane->older;
	lane->older = lane->newer = NULL;
}

static void link_newest(struct http_lanes *l, struct lane *lane)
{
	lane->older = l->newest;
	*(l->newest ? &l->newest->newer : &l->oldest) = lane;
	l->newest = lane;
}

/* ---- opening and closing */

static bool tell(struct http_lanes *l, const struct lane *lane, bool is_closed, struct err *e)
{
	/* A log does not say when a connection went; its last answer is the last sign. */
	struct raw_session s = { .id = lane->id,
		.protocol = PROTOCOL_HTTP,
		.open_ns = lane->open_ns,
		.close_ns = is_closed ? lane->last_end_ns : 0,
		.flags = (lane->is_late ? SESSION_JOINED_LATE : 0) |
			 (is_closed ? SESSION_UNCLOSED : 0),
		.client = lane->client,
		.user = lane->user };

	return log_order_session(l->order, &s, is_closed ? lane->last_end_ns : lane->open_ns, e);
}

static void keep(struct slice *s, struct slice from, char **to)
{
	*s = (struct slice){ *to, from.n };
	if (from.n)
		memcpy(*to, from.p, from.n);
	*to += from.n;
}

/* The table keeps the key of the first lane: it is put anew when that one goes. */
static void drop_from_key(struct http_lanes *l, struct lane *lane)
{
	struct lane *first = table_get(&l->by_key, lane->key);

	if (first != lane) {
		while (first && first->next_of_key != lane)
			first = first->next_of_key;
		if (first)
			first->next_of_key = lane->next_of_key;
		return;
	}
	table_remove(&l->by_key, lane->key);
	/* It has just left room for this one. */
	if (lane->next_of_key && !table_put(&l->by_key, lane->next_of_key->key, lane->next_of_key))
		lane->next_of_key = NULL;
}

static bool close_lane(struct http_lanes *l, struct lane *lane, struct err *e)
{
	bool ok = tell(l, lane, true, e);

	drop_from_key(l, lane);
	unlink_lane(l, lane);
	l->count--;
	free(lane);
	return ok;
}

static struct lane *open_lane(
	struct http_lanes *l, const struct http_feed_item *i, struct lane *first, struct err *e)
{
	struct lane *lane;

	if (l->count == HTTP_LANES_OPEN_MAX) {
		if (l->oldest == first)
			first = first->next_of_key;
		if (!close_lane(l, l->oldest, e))
			return NULL;
	}
	lane = malloc(sizeof *lane + i->key.n + i->client.n + i->user.n);
	if (!lane) {
		err_set(e, ERR_ENV, "out of memory");
		return NULL;
	}
	*lane = (struct lane){ .id = ++l->last_id,
		.open_ns = i->start_ns,
		.last_end_ns = INT64_MIN,
		.is_connection = i->is_connection,
		.is_late = i->is_connection && !i->is_opening };
	char *to = (char *)(lane + 1);
	keep(&lane->key, i->key, &to);
	keep(&lane->client, i->client, &to);
	keep(&lane->user, i->user, &to);
	l->count++;
	link_newest(l, lane);
	if (first) {
		lane->next_of_key = first->next_of_key;
		first->next_of_key = lane;
	} else if (!table_put(&l->by_key, lane->key, lane)) {
		err_set(e, ERR_ENV, "out of memory");
		return NULL;
	}
	return tell(l, lane, false, e) ? lane : NULL;
}

/* ---- the session of a request */

static bool close_silent(struct http_lanes *l, int64_t now_ns, struct err *e)
{
	while (l->oldest) {
		int64_t gap_ns =
			l->oldest->is_connection ? connection_gap_ns : HTTP_LANES_THINK_GAP_NS;

		if (now_ns - l->oldest->last_end_ns <= gap_ns)
			return true;
		if (!close_lane(l, l->oldest, e))
			return false;
	}
	return true;
}

/* Two stamps cut to their fineness may seem to overlap by so much. */
static struct lane *find_lane(const struct http_feed_item *i, struct lane *first)
{
	struct lane *best = NULL;

	if (i->is_connection)
		return first;
	for (struct lane *lane = first; lane; lane = lane->next_of_key)
		if (lane->last_end_ns - i->start_ns <= i->fineness_ns &&
			(!best || lane->last_end_ns > best->last_end_ns))
			best = lane;
	return best;
}

bool http_lanes_take(struct http_lanes *l, const struct http_feed_item *i, struct err *e)
{
	if (!close_silent(l, i->start_ns, e))
		return false;
	struct lane *first = table_get(&l->by_key, i->key);
	/* A number that begins anew: the server was started again. */
	if (first && i->is_connection && i->is_opening && first->seq) {
		if (!close_lane(l, first, e))
			return false;
		first = NULL;
	}
	struct lane *lane = find_lane(i, first);
	if (!lane)
		lane = open_lane(l, i, first, e);
	if (!lane)
		return false;
	struct raw_request q = { .session = lane->id,
		.seq = lane->seq++,
		.start_ns = i->start_ns,
		.first_byte_ns = i->first_byte_ns,
		.end_ns = i->end_ns,
		.think_ns = lane->last_end_ns == INT64_MIN    ? -1
			    : i->start_ns > lane->last_end_ns ? i->start_ns - lane->last_end_ns
							      : 0,
		.form = FORM_HTTP,
		.state_before = '?',
		.state_after = '?',
		.flags = i->flags,
		.bytes_in = i->bytes_in,
		.bytes_out = i->bytes_out,
		.http = i->http };
	if (i->end_ns > lane->last_end_ns)
		lane->last_end_ns = i->end_ns;
	unlink_lane(l, lane);
	link_newest(l, lane);
	return log_order_request(l->order, &q, e);
}

bool http_lanes_finish(struct http_lanes *l, struct err *e)
{
	while (l->oldest)
		if (!close_lane(l, l->oldest, e))
			return false;
	return true;
}
