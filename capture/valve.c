#include "capture/valve.h"

static bool pass_session(void *data, const struct raw_session *raw, struct err *e)
{
	struct valve *v = data;
	struct raw_session s = *raw;

	if (v->is_cutting)
		s.flags |= SESSION_UNCLOSED;
	return v->next.session(v->next.data, &s, e);
}

static bool has_detail(const struct raw_request *q)
{
	return q->bind_count || q->copy_data.n || q->edge_count || (q->http && q->http->body.n);
}

static bool pass_less(struct valve *v, const struct raw_request *raw, struct err *e)
{
	struct raw_request q = *raw;
	struct raw_http http;

	v->flagged++;
	q.flags |= REQUEST_SHED;
	if (has_detail(raw))
		q.flags |= REQUEST_VALUE_LOST;
	q.binds = NULL;
	q.bind_count = q.edge_count = 0;
	q.copy_data = (struct slice){ 0 };
	if (q.http) {
		http = *q.http;
		http.is_body_cut |= http.body.n != 0;
		http.body = (struct slice){ 0 };
		q.http = &http;
	}
	/* Its end was not looked for: the age it has by chance is no latency. */
	if (v->is_cutting && q.flags & REQUEST_UNANSWERED) {
		q.flags |= REQUEST_GAP;
		q.end_ns = q.start_ns;
	}
	return v->next.request(v->next.data, &q, e);
}

static bool pass_request(void *data, const struct raw_request *q, struct err *e)
{
	struct valve *v = data;

	if (v->tap.request)
		v->tap.request(v->tap.data, q, v->hash);
	if (v->is_cutting || (v->level && has_detail(q)))
		return pass_less(v, q, e);
	return v->next.request(v->next.data, q, e);
}

struct request_sink valve_sink(struct valve *v)
{
	return (struct request_sink){ pass_session, pass_request, v };
}
