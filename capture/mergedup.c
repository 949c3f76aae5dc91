#include <stdlib.h>

#include "capture/merge.h"

enum {
	SLACK_MS = 50, /* between what two places saw of one session */
	NUMBER_MAX = 1 << 28, /* highest session number that can be left out */
	CONTENT_MIN = 3, /* requests that make a session's content its own */
	VOTES_SAME_CLIENT = 2,
	VOTES_ANY_CLIENT = 5,
};

bool merge_is_dropped(const struct merge_input *in, uint64_t session)
{
	return session / 8 < in->dropped_bytes && in->dropped[session / 8] >> session % 8 & 1;
}

static bool drop(struct merge_input *in, uint64_t session)
{
	size_t bytes = session / 8 + 1;

	if (session > NUMBER_MAX || merge_is_dropped(in, session))
		return true;
	if (bytes > in->dropped_bytes) {
		bytes += bytes / 2;
		unsigned char *p = realloc(in->dropped, bytes);
		if (!p)
			return false;
		memset(p + in->dropped_bytes, 0, bytes - in->dropped_bytes);
		in->dropped = p;
		in->dropped_bytes = bytes;
	}
	in->dropped[session / 8] |= (unsigned char)(1 << session % 8);
	return true;
}

static int64_t distance(int64_t a, int64_t b)
{
	return a > b ? a - b : b - a;
}

/* ---- sessions with the same content from end to end */

static int by_content(const void *a, const void *b)
{
	const struct mergesession *x = a, *y = b;

	if (x->content != y->content)
		return x->content < y->content ? -1 : 1;
	if (x->requests != y->requests)
		return x->requests < y->requests ? -1 : 1;
	return (x->first_ns > y->first_ns) - (x->first_ns < y->first_ns);
}

/* Without a skew known from content the same addresses are asked for. */
static bool is_same(const struct merge_input *a, const struct mergesession *x,
	const struct merge_input *b, const struct mergesession *y)
{
	int64_t shift = b->skew_ns - a->skew_ns;
	int64_t slack = SLACK_MS * NS_PER_MS + b->found.spread_ns;
	bool same_client = x->client && x->client == y->client;
	bool is_known = b->how == MERGE_BY_CONTENT && x->requests >= CONTENT_MIN;

	return (is_known || (same_client && x->server == y->server)) &&
	       distance(y->first_ns - x->first_ns, shift) <= slack &&
	       distance(y->last_ns - x->last_ns, shift) <= slack;
}

static const struct mergesession *lower_bound(
	const struct mergemarks *m, const struct mergesession *of)
{
	size_t low = 0, high = m->session_count;
	struct mergesession key = *of;

	key.first_ns = INT64_MIN;
	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (by_content(&m->sessions[middle], &key) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return m->sessions + low;
}

/* In b, those that a has from end to end. At most so many twins of one content are
 * looked at: a health check is not worth more. */
static bool drop_equal(const struct merge_input *a, struct merge_input *b)
{
	enum { TWINS_MAX = 4096 };
	const struct mergesession *end = a->marks.sessions + a->marks.session_count;

	for (size_t i = 0; i < b->marks.session_count; i++) {
		const struct mergesession *y = &b->marks.sessions[i];
		const struct mergesession *x = lower_bound(&a->marks, y);

		for (size_t n = 0; n < TWINS_MAX && x < end && x->content == y->content &&
				   x->requests == y->requests;
			n++, x++)
			if (!merge_is_dropped(a, x->id) && is_same(a, x, b, y)) {
				if (!drop(b, y->id))
					return false;
				break;
			}
	}
	return true;
}

/* ---- sessions of which one capture missed something: their marks tell */

struct vote {
	uint64_t a, b; /* sessions */
	uint32_t votes;
	bool same_client;
};

static int by_pair(const void *p, const void *q)
{
	const struct vote *x = p, *y = q;

	if (x->b != y->b)
		return x->b < y->b ? -1 : 1;
	return (x->a > y->a) - (x->a < y->a);
}

static size_t collect(const struct merge_input *a, const struct merge_input *b, struct vote *to)
{
	int64_t shift = b->skew_ns - a->skew_ns;
	int64_t slack = SLACK_MS * NS_PER_MS + b->found.spread_ns;
	size_t n = 0;

	for (size_t i = 0; i < a->marks.room; i++) {
		const struct mergemark *x = &a->marks.marks[i], *y;

		if (!x->content || x->is_repeated ||
			!(y = mergemarks_find(&b->marks, x->content)) ||
			distance(y->start_ns - x->start_ns, shift) > slack ||
			merge_is_dropped(a, x->session) || merge_is_dropped(b, y->session))
			continue;
		to[n++] = (struct vote){ x->session, y->session, 1,
			x->client && x->client == y->client };
	}
	return n;
}

static int by_id(const void *a, const void *b)
{
	const struct mergesession *x = a, *y = b;

	return (x->id > y->id) - (x->id < y->id);
}

static uint64_t requests_of(const struct mergemarks *m, uint64_t id)
{
	struct mergesession key = { .id = id };
	const struct mergesession *s =
		m->session_count ? bsearch(&key, m->sessions, m->session_count, sizeof(key), by_id)
				 : NULL;

	return s ? s->requests : 0;
}

static bool decide(struct merge_input *a, struct merge_input *b, const struct vote *v)
{
	if (v->votes < (v->same_client ? VOTES_SAME_CLIENT : VOTES_ANY_CLIENT))
		return true;
	if (merge_is_dropped(a, v->a) || merge_is_dropped(b, v->b))
		return true;
	return requests_of(&b->marks, v->b) > requests_of(&a->marks, v->a) ? drop(a, v->a)
									   : drop(b, v->b);
}

static bool drop_voted(struct merge_input *a, struct merge_input *b)
{
	struct vote *votes = calloc(a->marks.count + 1, sizeof(*votes));
	bool ok = votes != NULL;

	if (!ok)
		return false;
	size_t n = collect(a, b, votes);
	qsort(votes, n, sizeof(*votes), by_pair);
	for (size_t i = 0; ok && i < n;) {
		struct vote sum = votes[i];

		while (++i < n && votes[i].a == sum.a && votes[i].b == sum.b) {
			sum.votes++;
			sum.same_client = sum.same_client && votes[i].same_client;
		}
		ok = decide(a, b, &sum);
	}
	free(votes);
	return ok;
}

static void sort_sessions(struct merge *m, int (*order)(const void *, const void *))
{
	for (size_t i = 0; i < m->count; i++)
		if (m->inputs[i].marks.session_count)
			qsort(m->inputs[i].marks.sessions, m->inputs[i].marks.session_count,
				sizeof(struct mergesession), order);
}

bool merge_find_doubles(struct merge *m)
{
	bool ok = true;

	sort_sessions(m, by_content);
	for (size_t i = 1; ok && i < m->count; i++)
		for (size_t k = 0; ok && k < i; k++)
			ok = drop_equal(&m->inputs[k], &m->inputs[i]);
	sort_sessions(m, by_id);
	for (size_t i = 1; ok && i < m->count; i++)
		for (size_t k = 0; ok && k < i; k++)
			ok = drop_voted(&m->inputs[k], &m->inputs[i]);
	return ok;
}
