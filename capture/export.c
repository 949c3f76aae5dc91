#include "capture/export.h"

#include <errno.h>
#include <inttypes.h>

#include "capture/cat_line.h"
#include "core/format/gor.h"

/* ---- what the formats share */

enum step export_next(
	struct export *x, enum protocol protocol, struct request_record *ret, struct err *e)
{
	struct rcap_item item;
	enum step step;

	while ((step = rcap_next(x->rcap, &item, e)) == STEP_ITEM) {
		if (run_stopped(x->run)) {
			err_set(e, ERR_INTERRUPTED, "interrupted");
			return STEP_FAIL;
		}
		if (item.kind != RCAP_REQUEST || item.request.form == FORM_PREPARE)
			continue;
		if (protocol && rcap_route(x->rcap, item.request.route)->protocol != protocol) {
			x->other_protocol++;
			continue;
		}
		*ret = item.request;
		if (!x->first_ns || ret->start_ns < x->first_ns)
			x->first_ns = ret->start_ns;
		if (ret->end_ns > x->last_ns)
			x->last_ns = ret->end_ns;
		return STEP_ITEM;
	}
	return step;
}

static void count_dropped(struct export *x, const struct request_record *q)
{
	for (size_t i = 0; i < q->value_count; i++)
		x->dropped_values += q->values[i].action == VALUE_DROPPED;
}

bool export_http_text(struct export *x, const struct request_record *q)
{
	buf_reset(&x->text);
	if (!q->template_id || !record_http_text(rcap_template(x->rcap, q->template_id), q->values,
				       q->value_count, &x->text)) {
		x->no_text++;
		return false;
	}
	count_dropped(x, q);
	return true;
}

bool export_put(struct export *x, const struct buf *bytes, struct err *e)
{
	if (bytes->is_full)
		return err_set(e, ERR_ENV, "out of memory");
	return fwrite(buf_text(bytes), 1, bytes->n, x->to) == bytes->n ||
	       err_os(e, ERR_ENV, errno, "could not write '%s'", x->output);
}

/* RFC 4648, section 4. */
void export_base64(struct buf *to, struct slice b)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	const unsigned char *p = (const unsigned char *)b.p;

	for (size_t i = 0; i < b.n; i += 3) {
		size_t n = b.n - i < 3 ? b.n - i : 3;
		uint32_t v = (uint32_t)p[i] << 16 | (n > 1 ? (uint32_t)p[i + 1] << 8 : 0) |
			     (n > 2 ? p[i + 2] : 0);

		buf_add_byte(to, (unsigned char)digits[v >> 18]);
		buf_add_byte(to, (unsigned char)digits[v >> 12 & 63]);
		buf_add_byte(to, n > 1 ? (unsigned char)digits[v >> 6 & 63] : '=');
		buf_add_byte(to, n > 2 ? (unsigned char)digits[v & 63] : '=');
	}
}

/* ---- HTTP in parts */

bool export_http_parts(const struct export *x, struct export_http *ret)
{
	struct slice all = buf_slice(&x->text);
	const char *line_end = memmem(all.p, all.n, "\r\n", 2);
	const char *head_end = memmem(all.p, all.n, "\r\n\r\n", 4);
	struct slice rest, name, value;

	if (!line_end || !head_end)
		return false;
	const char *first = memchr(all.p, ' ', (size_t)(line_end - all.p));
	const char *last = memrchr(all.p, ' ', (size_t)(line_end - all.p));
	if (!first || last <= first)
		return false;
	*ret = (struct export_http){ .method = { all.p, (size_t)(first - all.p) },
		.target = { first + 1, (size_t)(last - first - 1) },
		.body = { head_end + 4, all.n - (size_t)(head_end + 4 - all.p) } };
	if (head_end > line_end)
		ret->head = (struct slice){ line_end + 2, (size_t)(head_end - line_end) };
	rest = ret->head;
	while (export_next_header(&rest, &name, &value))
		if (name.n == 4 && strncasecmp(name.p, "host", 4) == 0)
			ret->host = value;
	return true;
}

static bool is_framing(struct slice name)
{
	static const char *const names[] = { "content-length", "transfer-encoding", "connection",
		"keep-alive", "expect", "te", "trailer", "upgrade", "proxy-connection" };

	for (size_t i = 0; i < LENGTH(names); i++)
		if (name.n == strlen(names[i]) && strncasecmp(name.p, names[i], name.n) == 0)
			return true;
	return false;
}

bool export_next_header(struct slice *head, struct slice *ret_name, struct slice *ret_value)
{
	while (head->n) {
		const char *end = memmem(head->p, head->n, "\r\n", 2);
		size_t n = end ? (size_t)(end - head->p) : head->n;
		const char *colon = memchr(head->p, ':', n);
		struct slice line = { head->p, n };

		*head = (struct slice){ head->p + n + (end ? 2 : 0), head->n - n - (end ? 2 : 0) };
		if (!colon)
			continue;
		*ret_name = (struct slice){ line.p, (size_t)(colon - line.p) };
		if (is_framing(*ret_name))
			continue;
		const char *from = colon + 1;
		while (from < line.p + line.n && *from == ' ')
			from++;
		*ret_value = (struct slice){ from, (size_t)(line.p + line.n - from) };
		return true;
	}
	return false;
}

/* ---- jsonl and csv */

static bool write_jsonl(struct export *x, struct err *e)
{
	struct request_record q;
	enum step step;

	while ((step = export_next(x, 0, &q, e)) == STEP_ITEM) {
		buf_reset(&x->text);
		cat_request_line(x->rcap, &q, true, &x->text);
		if (!export_put(x, &x->text, e))
			return false;
		x->written++;
	}
	return step == STEP_END;
}

/* RFC 4180. */
static void add_cell(struct buf *to, struct slice text)
{
	buf_add_text(to, ",\"");
	for (size_t i = 0; i < text.n; i++) {
		if (text.p[i] == '"')
			buf_add_byte(to, '"');
		buf_add_byte(to, (unsigned char)text.p[i]);
	}
	buf_add_byte(to, '"');
}

static void add_ms(struct buf *to, int64_t ns, bool is_known)
{
	buf_add_byte(to, ',');
	if (is_known)
		buf_addf(to, "%" PRId64 ".%06" PRId64, ns / NS_PER_MS, ns % NS_PER_MS);
}

static void add_outcome(
	struct buf *to, const struct rcap_route *route, const struct request_record *q)
{
	char text[16] = "";

	if (route->protocol == PROTOCOL_HTTP && q->status)
		snprintf(text, sizeof text, "%u", q->status);
	else if (route->protocol == PROTOCOL_PG)
		snprintf(text, sizeof text, "%s", q->sqlstate[0] ? q->sqlstate : "00000");
	add_cell(to, slice_of(text));
}

static void add_row(const struct export *x, const struct request_record *q, struct buf *to)
{
	const struct rcap_route *route = rcap_route(x->rcap, q->route);
	bool has_no_time = q->flags & REQUEST_GAP && q->end_ns == q->start_ns;
	char t[CLOCK_TEXT_MAX];

	buf_add_text(to, clock_text(q->start_ns, t));
	add_ms(to, q->end_ns - q->start_ns, !has_no_time);
	add_ms(to, q->first_byte_ns - q->start_ns, q->first_byte_ns >= q->start_ns);
	add_ms(to, q->think_ns, q->think_ns >= 0);
	buf_addf(to, ",%" PRIu64 ",%" PRIu64 ",%s", q->session, q->seq,
		route->protocol == PROTOCOL_HTTP ? "http" : "pg");
	add_cell(to, route->text);
	buf_addf(to, ",%016" PRIx64 ",%u", route->fingerprint, q->in_flight);
	add_outcome(to, route, q);
	buf_addf(to, ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu32 "\r\n", q->rows, q->bytes_in,
		q->bytes_out, q->flags);
}

static bool write_csv(struct export *x, struct err *e)
{
	struct request_record q;
	enum step step;

	buf_reset(&x->text);
	buf_add_text(&x->text,
		"t,duration_ms,first_byte_ms,think_ms,session,seq,protocol,route,fingerprint,"
		"in_flight,outcome,rows,bytes_in,bytes_out,flags\r\n");
	if (!export_put(x, &x->text, e))
		return false;
	while ((step = export_next(x, 0, &q, e)) == STEP_ITEM) {
		buf_reset(&x->text);
		add_row(x, &q, &x->text);
		if (!export_put(x, &x->text, e))
			return false;
		x->written++;
	}
	return step == STEP_END;
}

/* ---- gor */

/* The session takes the connection's place in the ID, the number in it the Ack's. */
static struct gor_record record_of(const struct request_record *q, enum gor_type type, char id[25])
{
	snprintf(id, 25, "%016" PRIx64 "%08" PRIx32, q->session, (uint32_t)q->seq);
	return (struct gor_record){ .type = type, .id = { id, 24 }, .time_ns = q->start_ns };
}

static bool put_answer(
	struct export *x, const struct request_record *q, struct buf *record, struct err *e)
{
	char id[25];
	struct gor_record r = record_of(q, GOR_RESPONSE, id);

	buf_reset(&x->text);
	buf_reset(record);
	buf_addf(&x->text, "HTTP/1.1 %u \r\nContent-Length: 0\r\n\r\n", q->status);
	r.time_ns = q->first_byte_ns ? q->first_byte_ns : q->end_ns;
	r.length_ns = q->end_ns - r.time_ns;
	r.payload = buf_slice(&x->text);
	gor_write(record, &r);
	return export_put(x, record, e);
}

static bool write_gor(struct export *x, struct err *e)
{
	CLEANUP(buf_free) struct buf record = { 0 };
	struct request_record q;
	enum step step;
	char id[25];

	while ((step = export_next(x, PROTOCOL_HTTP, &q, e)) == STEP_ITEM) {
		if (!export_http_text(x, &q))
			continue;
		struct gor_record r = record_of(&q, GOR_REQUEST, id);

		r.payload = buf_slice(&x->text);
		buf_reset(&record);
		gor_write(&record, &r);
		if (!export_put(x, &record, e) || (q.status && !put_answer(x, &q, &record, e)))
			return false;
		x->written++;
	}
	return step == STEP_END;
}

/* ---- all formats */

const struct export_format export_formats[] = {
	{ "csv", "statement texts and values", false, write_csv },
	{ "jsonl", "sessions (capture cat has them)", false, write_jsonl },
	{ "gor", "answers but their status, addresses, dropped headers; Postgres", false,
		write_gor },
	{ "pgbench", "sessions, transactions, order, times between requests, COPY, fetches; HTTP",
		true, export_pgbench },
	{ "k6", "sessions, order, times between requests (its rate is the mean); Postgres", false,
		export_k6 },
	{ "vegeta", "sessions, times (its rate is given on its command line); Postgres", false,
		export_vegeta },
	{ "wsesslog", "headers, what overlapped within a session; Postgres", false,
		export_wsesslog },
	{ 0 },
};

const struct export_format *export_find(const char *name)
{
	for (const struct export_format *f = export_formats; f->name; f++)
		if (strcmp(f->name, name) == 0)
			return f;
	return NULL;
}

void export_describe_left(const struct export *x, struct buf *to)
{
	const struct {
		uint64_t count;
		const char *what;
	} left[] = {
		{ x->other_protocol, "requests of the other protocol" },
		{ x->no_text, "requests whose text is not whole or not of use there" },
		{ x->over_cap, "requests beyond what it holds" },
		{ x->dropped_values, "values that the capture had dropped" },
	};

	for (size_t i = 0; i < LENGTH(left); i++)
		if (left[i].count)
			buf_addf(to, "%s%" PRIu64 " %s", to->n ? ", " : "", left[i].count,
				left[i].what);
}

bool export_write(struct export *x, const struct export_format *f, struct err *e)
{
	CLEANUP(buf_free) struct buf left = { 0 };
	bool ok = f->write(x, e);

	if (ok && !f->is_folder && fflush(x->to) != 0)
		ok = err_os(e, ERR_ENV, errno, "could not write '%s'", x->output);
	buf_free(&x->text);
	if (!ok)
		return false;
	if (!x->written) {
		err_set(e, ERR_INPUT, "no request of '%s' can be told in %s", x->name, f->name);
		return err_hint(e, "%s leaves out: %s", f->name, f->leaves_out);
	}
	export_describe_left(x, &left);
	run_note(x->run, "%s: %" PRIu64 " requests; %s leaves out: %s%s%s", x->output, x->written,
		f->name, f->leaves_out, left.n ? "; here " : "", buf_text(&left));
	return true;
}
