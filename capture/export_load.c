/* Requests for load generators that take a rate and a list: k6 and vegeta. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "capture/export.h"
#include "core/base/json.h"
#include "core/base/rng.h"
#include "core/base/utf8.h"

static const char *path_of(const struct export_http *h, size_t *ret_n)
{
	const char *p = h->target.p, *end = h->target.p + h->target.n;
	const char *scheme = memmem(p, h->target.n, "://", 3);

	/* An absolute URI (RFC 9112, 3.2.2): the server asked is the one given. */
	if (scheme && *p != '/') {
		p = memchr(scheme + 3, '/', (size_t)(end - scheme - 3));
		p = p ? p : end;
	}
	*ret_n = (size_t)(end - p);
	return p;
}

static void add_url(const struct export *x, const struct export_http *h, struct buf *url)
{
	size_t n;
	const char *path = path_of(h, &n);

	buf_add_text(url, x->base);
	if (n && *path == '/')
		while (url->n && url->p[url->n - 1] == '/')
			url->n--;
	buf_add(url, path, n);
}

/* ---- vegeta: "attack -format=json", one target a line */

static void add_target(const struct export *x, const struct export_http *h, struct buf *to)
{
	CLEANUP(buf_free) struct buf url = { 0 };
	struct slice rest = h->head, name, value;
	const char *comma = "";

	add_url(x, h, &url);
	buf_add_text(to, "{\"method\":");
	json_write_string(h->method, to);
	buf_add_text(to, ",\"url\":");
	json_write_string(buf_slice(&url), to);
	buf_add_text(to, ",\"header\":{");
	while (export_next_header(&rest, &name, &value)) {
		buf_add_text(to, comma);
		json_write_string(name, to);
		buf_add_text(to, ":[");
		json_write_string(value, to);
		buf_add_text(to, "]");
		comma = ",";
	}
	buf_add_text(to, "}");
	if (h->body.n) {
		buf_add_text(to, ",\"body\":\"");
		export_base64(to, h->body);
		buf_add_text(to, "\"");
	}
	buf_add_text(to, "}\n");
}

bool export_vegeta(struct export *x, struct err *e)
{
	CLEANUP(buf_free) struct buf line = { 0 };
	struct request_record q;
	struct export_http h;
	enum step step;

	while ((step = export_next(x, PROTOCOL_HTTP, &q, e)) == STEP_ITEM) {
		if (!export_http_text(x, &q))
			continue;
		if (!export_http_parts(x, &h)) {
			x->no_text++;
			continue;
		}
		buf_reset(&line);
		add_target(x, &h, &line);
		if (!export_put(x, &line, e))
			return false;
		x->written++;
	}
	return step == STEP_END;
}

/* ---- k6: one script, arrival rate of the capture, requests picked from a list */

struct reservoir {
	char **items; /* one object of JavaScript each */
	size_t count, room;
	uint64_t seen;
	struct rng rng;
	unsigned in_flight_max;
};

static void add_script_request(const struct export_http *h, struct buf *to)
{
	struct slice rest = h->head, name, value;
	const char *comma = "";
	size_t n;
	const char *path = path_of(h, &n);

	buf_add_text(to, "{method: ");
	json_write_string(h->method, to);
	buf_add_text(to, ", path: ");
	json_write_string((struct slice){ path, n }, to);
	buf_add_text(to, ", headers: {");
	while (export_next_header(&rest, &name, &value)) {
		buf_add_text(to, comma);
		json_write_string(name, to);
		buf_add_text(to, ": ");
		json_write_string(value, to);
		comma = ", ";
	}
	buf_add_text(to, "}, body: ");
	if (!h->body.n) {
		buf_add_text(to, "null");
	} else if (utf8_is(h->body)) {
		json_write_string(h->body, to);
	} else {
		buf_add_text(to, "encoding.b64decode(\"");
		export_base64(to, h->body);
		buf_add_text(to, "\")");
	}
	buf_add_text(to, "}");
}

/* Vitter's algorithm R (1985): each request is kept with the same chance. */
static bool keep_request(struct reservoir *r, const struct buf *text)
{
	size_t at = r->count;

	r->seen++;
	if (r->count == r->room) {
		at = rng_below(&r->rng, r->seen);
		if (at >= r->room)
			return true;
	}
	char *copy = strdup(buf_text(text));
	if (!copy || text->is_full) {
		free(copy);
		return false;
	}
	if (at == r->count)
		r->count++;
	else
		free(r->items[at]);
	r->items[at] = copy;
	return true;
}

static bool collect(struct export *x, struct reservoir *r, struct err *e)
{
	CLEANUP(buf_free) struct buf text = { 0 };
	struct request_record q;
	struct export_http h;
	enum step step;

	while ((step = export_next(x, PROTOCOL_HTTP, &q, e)) == STEP_ITEM) {
		if (q.in_flight > r->in_flight_max)
			r->in_flight_max = q.in_flight;
		if (!export_http_text(x, &q))
			continue;
		if (!export_http_parts(x, &h)) {
			x->no_text++;
			continue;
		}
		buf_reset(&text);
		add_script_request(&h, &text);
		if (!keep_request(r, &text))
			return err_set(e, ERR_ENV, "out of memory");
		x->written++;
	}
	return step == STEP_END;
}

static bool print_script(const struct export *x, const struct reservoir *r, struct err *e)
{
	double seconds = (double)(x->last_ns - x->first_ns) / (double)NS_PER_S;
	double rate = seconds > 0 ? (double)r->seen / seconds : 1;
	unsigned users = r->in_flight_max < 10 ? 10 : 2 * r->in_flight_max;

	/* k6 wants whole numbers: a rate per minute keeps two digits of a slow one. */
	fprintf(x->to,
		"// k6 run -e BASE=%s THIS\n"
		"// %zu requests picked evenly from %" PRIu64 " of the capture, %.3g a second.\n"
		"// Not in here: sessions and their order, the times between requests (arrivals are\n"
		"// evenly spaced at the mean rate), headers that were dropped (credentials,\n"
		"// cookies): add yours to PARAMS. What a dropped body part held is as many 'x'.\n"
		"import http from 'k6/http';\n"
		"import encoding from 'k6/encoding';\n\n"
		"const BASE = __ENV.BASE || '%s';\n"
		"const PARAMS = {};\n\n"
		"export const options = {\n"
		"  scenarios: {\n"
		"    capture: {\n"
		"      executor: 'constant-arrival-rate',\n"
		"      rate: %.0f,\n"
		"      timeUnit: '1m',\n"
		"      duration: '%.0fs',\n"
		"      preAllocatedVUs: %u,\n"
		"      maxVUs: %u,\n"
		"    },\n"
		"  },\n"
		"};\n\n"
		"const requests = [\n",
		x->base, r->count, r->seen, rate, x->base, rate * 60 < 1 ? 1 : rate * 60,
		seconds < 1 ? 1 : seconds, users, 10 * users);
	for (size_t i = 0; i < r->count; i++)
		fprintf(x->to, "  %s,\n", r->items[i]);
	fputs("];\n\n"
	      "export default function () {\n"
	      "  const q = requests[Math.floor(Math.random() * requests.length)];\n"
	      "  http.request(q.method, BASE + q.path, q.body,\n"
	      "    Object.assign({ headers: q.headers }, PARAMS));\n"
	      "}\n",
		x->to);
	return !ferror(x->to) || err_os(e, ERR_ENV, errno, "could not write '%s'", x->output);
}

bool export_k6(struct export *x, struct err *e)
{
	struct reservoir r = { .room = x->samples ? (size_t)x->samples : 1000 };
	bool ok;

	rng_seed(&r.rng, 1);
	r.items = calloc(r.room, sizeof *r.items);
	if (!r.items)
		return err_set(e, ERR_ENV, "out of memory");
	ok = collect(x, &r, e) && print_script(x, &r, e);
	for (size_t i = 0; i < r.count; i++)
		free(r.items[i]);
	free(r.items);
	return ok;
}
