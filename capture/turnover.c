#include "capture/turnover.h"

#include <stdlib.h>

#include "core/base/clock.h"

enum {
	REQUESTS_MIN = 10,
	MISSED_MIN = 12, /* at its own pace: by chance one time in 160,000 (exp -12) */
	SILENCE_PART = 20, /* of the capture */
	GAP_PART = 10, /* the successor comes within this part of the capture */
};

bool turnover_init(struct turnover *t, size_t routes, struct err *e)
{
	*t = (struct turnover){ .count = routes };
	t->routes = calloc(routes + 1, sizeof *t->routes);
	return t->routes || err_set(e, ERR_ENV, "out of memory");
}

void turnover_free(struct turnover *t)
{
	free(t->routes);
	*t = (struct turnover){ 0 };
}

static void stretch(int64_t *first_ns, int64_t *last_ns, int64_t from_ns, int64_t to_ns)
{
	if (!*first_ns || from_ns < *first_ns)
		*first_ns = from_ns;
	if (to_ns > *last_ns)
		*last_ns = to_ns;
}

void turnover_add(struct turnover *t, const struct request_record *q)
{
	struct turnover_route *r = &t->routes[q->route < t->count ? q->route : t->count];

	r->requests++;
	stretch(&r->first_ns, &r->last_ns, q->start_ns, q->start_ns);
	stretch(&t->start_ns, &t->end_ns, q->start_ns, q->start_ns);
}

static uint32_t find(const struct rcap *r, uint64_t fingerprint)
{
	for (uint32_t i = 0; i < rcap_route_count(r); i++)
		if (rcap_route(r, i)->requests && rcap_route(r, i)->fingerprint == fingerprint)
			return i;
	return RCAP_OTHER;
}

void turnover_take_sampling(struct turnover *t, const struct rcap *r)
{
	const struct json *list = json_path(rcap_head(r), "sampling.routes");

	for (size_t i = 0; i < json_count(list); i++) {
		const struct json *one = json_at(list, i);
		uint32_t id =
			find(r, strtoull(json_text(json_get(one, "fingerprint"), "0"), NULL, 16));
		int64_t first, last;

		if (id == RCAP_OTHER || id >= t->count ||
			!clock_parse(slice_of(json_text(json_get(one, "first"), "")), &first) ||
			!clock_parse(slice_of(json_text(json_get(one, "last"), "")), &last))
			continue;
		t->routes[id] = (struct turnover_route){ first, last,
			(uint64_t)json_int(json_get(one, "seen"), 0) };
		stretch(&t->start_ns, &t->end_ns, first, last);
	}
}

static bool is_silence(const struct turnover *t, const struct turnover_route *r, int64_t ns)
{
	double span = (double)(r->last_ns - r->first_ns);

	return r->requests >= REQUESTS_MIN && ns >= (t->end_ns - t->start_ns) / SILENCE_PART &&
	       (double)ns * (double)r->requests >= MISSED_MIN * span;
}

bool turnover_is_gone(const struct turnover *t, uint32_t route)
{
	const struct turnover_route *r = &t->routes[route];

	return is_silence(t, r, t->end_ns - r->last_ns);
}

bool turnover_is_succession(const struct turnover *t, uint32_t gone, uint32_t came)
{
	const struct turnover_route *old = &t->routes[gone], *new = &t->routes[came];

	return turnover_is_gone(t, gone) && is_silence(t, new, new->first_ns - t->start_ns) &&
	       new->first_ns > old->first_ns &&new->last_ns >
		       old->last_ns &&new->first_ns - old->last_ns <=
		       (t->end_ns - t->start_ns) / GAP_PART;
}
