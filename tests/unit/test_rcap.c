#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/base/rng.h"
#include "core/model/rcap.h"
#include "core/model/rcap_block.h"

/* A request with everything it points at. */
struct sample {
	struct request_record q;
	struct value values[6];
	struct edge edges[3];
	char bytes[8][40];
};

static char folder[64];

static int make_folder(void **state)
{
	(void)state;
	snprintf(folder, sizeof(folder), "/tmp/test_rcap.XXXXXX");
	return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state)
{
	char command[100];

	(void)state;
	snprintf(command, sizeof(command), "rm -rf '%s'", folder);
	return system(command);
}

static const char *path_of(const char *name, char path[128])
{
	snprintf(path, 128, "%s/%s", folder, name);
	return path;
}

static struct json *head_of(int n)
{
	struct json *head = json_object();

	json_set_text(head, "format", "rcap");
	json_set_int(head, "n", n);
	return head;
}

static uint64_t any_size(struct rng *r)
{
	return rng_u64(r) >> rng_below(r, 64);
}

static struct slice any_bytes(struct rng *r, char to[40])
{
	size_t n = rng_below(r, 40);

	for (size_t i = 0; i < n; i++)
		to[i] = (char)rng_below(r, 256);
	return (struct slice){ to, n };
}

static void add_values(struct rng *r, struct sample *s)
{
	s->q.value_count = rng_below(r, 7);
	s->q.values = s->values;
	for (size_t i = 0; i < s->q.value_count; i++)
		s->values[i] = (struct value){ .place = (uint16_t)any_size(r),
			.is_bind = rng_below(r, 2),
			.role = (uint8_t)rng_below(r, 4),
			.format = (uint8_t)rng_below(r, 2),
			.action = (uint8_t)rng_below(r, 4),
			.flags = (uint8_t)rng_below(r, 16),
			.type_oid = (uint32_t)any_size(r),
			.bytes = any_bytes(r, s->bytes[i]) };
	s->q.edge_count = s->q.value_count ? rng_below(r, 4) : 0;
	s->q.edges = s->edges;
	for (size_t i = 0; i < s->q.edge_count; i++)
		s->edges[i] = (struct edge){ .from_seq = any_size(r),
			.row = (uint32_t)any_size(r),
			.column = (uint16_t)any_size(r),
			.value = (uint16_t)rng_below(r, s->q.value_count),
			.is_strong = rng_below(r, 2) };
}

static void make_sample(struct rng *r, struct sample *s, uint32_t routes, uint32_t templates)
{
	int64_t start = (int64_t)(any_size(r) >> 4);

	*s = (struct sample){ .q = { .session = any_size(r),
				      .seq = any_size(r),
				      .start_ns = start,
				      .end_ns = start + (int64_t)(any_size(r) >> 4),
				      .think_ns = (int64_t)(any_size(r) >> 4) - 1,
				      .route = (uint32_t)rng_below(r, routes),
				      .template_id = (uint32_t)rng_below(r, templates),
				      .form = (uint8_t)(1 + rng_below(r, 9)),
				      .state_before = "?ITE"[rng_below(r, 4)],
				      .state_after = "?ITE"[rng_below(r, 4)],
				      .in_flight = (uint32_t)any_size(r),
				      .flags = (uint32_t)any_size(r),
				      .rows = any_size(r),
				      .bytes_in = any_size(r),
				      .bytes_out = any_size(r) } };
	if (rng_below(r, 3))
		s->q.first_byte_ns = start + 1 + (int64_t)rng_below(r, 1000000);
	if (rng_below(r, 4) == 0)
		s->q.statement = (uint32_t)any_size(r);
	if (rng_below(r, 4) == 0)
		s->q.portal = (uint32_t)any_size(r);
	if (rng_below(r, 4) == 0)
		s->q.row_limit = (uint32_t)any_size(r);
	if (rng_below(r, 4) == 0)
		memcpy(s->q.sqlstate, "40P01", 6);
	if (rng_below(r, 4) == 0)
		s->q.status = (uint16_t)rng_below(r, 600);
	if (rng_below(r, 8) == 0)
		s->q.copy_data = any_bytes(r, s->bytes[7]);
	add_values(r, s);
	record_seal_request(&s->q);
}

static void assert_same_slice(struct slice a, struct slice b)
{
	assert_int_equal(a.n, b.n);
	if (a.n)
		assert_memory_equal(a.p, b.p, a.n);
}

static void assert_same_values(const struct request_record *a, const struct request_record *b)
{
	assert_int_equal(a->value_count, b->value_count);
	for (size_t i = 0; i < a->value_count; i++) {
		const struct value *v = &a->values[i], *w = &b->values[i];

		assert_int_equal(v->place, w->place);
		assert_int_equal(v->is_bind, w->is_bind);
		assert_int_equal(v->role, w->role);
		assert_int_equal(v->format, w->format);
		assert_int_equal(v->action, w->action);
		assert_int_equal(v->flags, w->flags);
		assert_int_equal(v->type_oid, w->type_oid);
		assert_same_slice(v->bytes, w->bytes);
	}
	assert_int_equal(a->edge_count, b->edge_count);
	for (size_t i = 0; i < a->edge_count; i++) {
		assert_int_equal(a->edges[i].from_seq, b->edges[i].from_seq);
		assert_int_equal(a->edges[i].row, b->edges[i].row);
		assert_int_equal(a->edges[i].column, b->edges[i].column);
		assert_int_equal(a->edges[i].value, b->edges[i].value);
		assert_int_equal(a->edges[i].is_strong, b->edges[i].is_strong);
	}
}

static void assert_same_request(const struct request_record *a, const struct request_record *b)
{
	assert_int_equal(a->session, b->session);
	assert_int_equal(a->seq, b->seq);
	assert_int_equal(a->start_ns, b->start_ns);
	assert_int_equal(a->first_byte_ns, b->first_byte_ns);
	assert_int_equal(a->end_ns, b->end_ns);
	assert_int_equal(a->think_ns, b->think_ns);
	assert_int_equal(a->route, b->route);
	assert_int_equal(a->template_id, b->template_id);
	assert_int_equal(a->statement, b->statement);
	assert_int_equal(a->portal, b->portal);
	assert_int_equal(a->row_limit, b->row_limit);
	assert_int_equal(a->form, b->form);
	assert_int_equal(a->state_before, b->state_before);
	assert_int_equal(a->state_after, b->state_after);
	assert_int_equal(a->in_flight, b->in_flight);
	assert_int_equal(a->flags, b->flags);
	assert_int_equal(a->rows, b->rows);
	assert_int_equal(a->bytes_in, b->bytes_in);
	assert_int_equal(a->bytes_out, b->bytes_out);
	assert_string_equal(a->sqlstate, b->sqlstate);
	assert_int_equal(a->status, b->status);
	assert_same_slice(a->copy_data, b->copy_data);
	assert_same_values(a, b);
}

static struct session_record make_session(uint64_t id)
{
	struct session_record s = { .id = id,
		.protocol = PROTOCOL_PG,
		.open_ns = NS_PER_S * 5,
		.flags = SESSION_UNCLOSED,
		.client = SLICE("client"),
		.server = SLICE("127.0.0.1:5432"),
		.user = SLICE("u"),
		.database = SLICE(""),
		.application = SLICE("app") };

	record_seal_session(&s);
	return s;
}

/* Writes count random requests with a flush after each `every`. */
static void write_random(const char *path, uint64_t seed, int count, int every)
{
	struct err e = { 0 };
	struct rng r;
	struct sample s;

	rng_seed(&r, seed);
	struct rcap_writer *w = rcap_create(path, true, &e);
	assert_non_null(w);
	struct session_record session = make_session(1);
	assert_true(rcap_put_session(w, &session, &e));
	for (uint32_t i = 1; i < 20; i++) {
		char text[40];

		snprintf(text, sizeof(text), "select %u from t where a = ?", i);
		assert_int_equal(rcap_add_route(w, PROTOCOL_PG, i * 77, slice_of(text)), i);
		text[0] = 'S';
		assert_int_equal(rcap_add_template(w, slice_of(text)), i);
	}
	for (int i = 0; i < count; i++) {
		make_sample(&r, &s, count < 1000 ? 3 : 20, 20);
		if (count < 1000) /* narrow histograms: these tests open thousands of files */
			s.q.end_ns = s.q.start_ns + (int64_t)rng_below(&r, NS_PER_MS);
		assert_true(rcap_put_request(w, &s.q, &e));
		if (every && i % every == every - 1) {
			struct json *head = head_of(i);

			assert_true(rcap_flush(w, head, &e));
			json_free(head);
		}
	}
	struct json *head = head_of(count);
	assert_true(rcap_finish(w, head, &e));
	json_free(head);
}

static void what_is_written_is_read(void **state)
{
	char path[128];
	struct err e = { 0 };
	struct rcap_item item;
	struct rng rng;
	struct sample s;

	(void)state;
	write_random(path_of("same", path), 1, 20000, 700);
	struct rcap *r = rcap_open(path, &e);
	assert_non_null(r);
	assert_false(rcap_is_torn(r));
	assert_int_equal(json_int(json_get(rcap_head(r), "n"), 0), 20000);
	assert_int_equal(rcap_next(r, &item, &e), STEP_ITEM);
	assert_int_equal(item.kind, RCAP_SESSION);
	struct session_record session = make_session(1);
	assert_int_equal(item.session.open_ns, session.open_ns);
	assert_int_equal(item.session.close_ns, 0);
	assert_int_equal(item.session.flags, session.flags);
	assert_same_slice(item.session.server, session.server);
	assert_same_slice(item.session.application, session.application);
	for (int pass = 0; pass < 2; pass++) {
		rng_seed(&rng, 1);
		for (int i = 0; i < 20000; i++) {
			make_sample(&rng, &s, 20, 20);
			assert_int_equal(rcap_next(r, &item, &e), STEP_ITEM);
			assert_int_equal(item.kind, RCAP_REQUEST);
			assert_same_request(&s.q, &item.request);
		}
		assert_int_equal(rcap_next(r, &item, &e), STEP_END);
		rcap_rewind(r);
		assert_int_equal(rcap_next(r, &item, &e), STEP_ITEM);
	}
	rcap_close(r);
}

static void the_same_calls_give_the_same_bytes(void **state)
{
	char a[128], b[128], command[300];

	(void)state;
	write_random(path_of("a", a), 5, 3000, 100);
	write_random(path_of("b", b), 5, 3000, 100);
	snprintf(command, sizeof(command), "cmp -s '%s' '%s'", a, b);
	assert_int_equal(system(command), 0);
}

static uint64_t file_size(const char *path)
{
	struct stat st;

	assert_int_equal(stat(path, &st), 0);
	return (uint64_t)st.st_size;
}

/* Whatever is cut off: the sum of the route counts is the number of requests that
 * can be read. */
static void a_file_cut_anywhere_is_readable_and_its_counts_fit(void **state)
{
	char path[128], cut[128], command[300];
	struct rcap_item item;

	(void)state;
	write_random(path_of("whole", path), 9, 40, 6);
	uint64_t size = file_size(path);
	uint64_t most = 0;
	path_of("cut", cut);
	snprintf(command, sizeof(command), "cp '%s' '%s'", path, cut);
	assert_int_equal(system(command), 0);
	for (uint64_t n = size - 1; n >= RCAP_FILE_HEADER; n--) {
		struct err e = { 0 };
		uint64_t requests = 0, counted = 0, prepares = 0;
		enum step step;

		assert_int_equal(truncate(cut, (off_t)n), 0);
		struct rcap *r = rcap_open(cut, &e);
		assert_non_null(r);
		assert_true(rcap_is_torn(r));
		while ((step = rcap_next(r, &item, &e)) == STEP_ITEM) {
			requests += item.kind == RCAP_REQUEST;
			prepares += item.kind == RCAP_REQUEST && item.request.form == FORM_PREPARE;
		}
		assert_int_equal(step, STEP_END);
		for (uint32_t i = 0; i < rcap_route_count(r); i++)
			counted += rcap_route(r, i)->requests;
		assert_int_equal(counted + prepares, requests);
		assert_int_equal(rcap_totals(r).requests, counted);
		if (requests > most)
			most = requests;
		rcap_close(r);
	}
	assert_int_equal(most, 40);
}

static void damage_never_reads_as_whole(void **state)
{
	char path[128], bad[128];
	struct rcap_item item;
	struct buf bytes = { 0 };
	int fd;

	(void)state;
	write_random(path_of("good", path), 11, 24, 8);
	uint64_t size = file_size(path);
	char *p = buf_room(&bytes, size);
	fd = open(path, O_RDONLY);
	assert_int_equal(read(fd, p, size), size);
	close(fd);
	for (uint64_t at = 0; at < size; at += 1 + at / 512) {
		struct err e = { 0 };

		p[at] ^= 0x10;
		fd = open(path_of("bad", bad), O_WRONLY | O_CREAT | O_TRUNC, 0600);
		assert_int_equal(write(fd, p, size), size);
		close(fd);
		p[at] ^= 0x10;
		struct rcap *r = rcap_open(bad, &e);
		if (!r) {
			assert_int_equal(e.kind, ERR_INPUT);
			assert_true(e.what[0] != 0);
			continue;
		}
		assert_true(rcap_is_torn(r));
		while (rcap_next(r, &item, &e) == STEP_ITEM)
			;
		rcap_close(r);
	}
	buf_free(&bytes);
}

static void a_damaged_block_of_records_costs_only_itself(void **state)
{
	char path[128];
	struct err e = { 0 };
	struct rcap_block block;
	struct rcap_item item;
	uint64_t at = 0, requests = 0;

	(void)state;
	write_random(path_of("middle", path), 13, 60, 20);
	struct rcap *r = rcap_open(path, &e);
	assert_non_null(r);
	while (rcap_next_block(r, &at, &block, &e) == STEP_ITEM && block.kind != RCAP_BLOCK_RECORDS)
		;
	rcap_close(r);
	int fd = open(path, O_WRONLY);
	assert_int_equal(
		pwrite(fd, "\xff\xff\xff", 3, (off_t)block.offset + RCAP_BLOCK_HEADER + 9), 3);
	close(fd);
	r = rcap_open(path, &e);
	assert_non_null(r);
	assert_true(rcap_is_torn(r));
	assert_true(rcap_is_finished(r));
	assert_int_equal(rcap_damaged_blocks(r), 1);
	while (rcap_next(r, &item, &e) == STEP_ITEM)
		requests += item.kind == RCAP_REQUEST;
	assert_int_equal(requests, 40);
	rcap_close(r);
}

static void a_full_disk_keeps_what_was_written(void **state)
{
	char path[128];
	struct rlimit old, small;
	struct err e = { 0 };
	struct rng rng;
	struct sample s;
	struct rcap_item item;
	uint64_t put = 0, requests = 0;

	(void)state;
	rng_seed(&rng, 3);
	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
	small = (struct rlimit){ 30000, old.rlim_max };
	struct rcap_writer *w = rcap_create(path_of("full", path), true, &e);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
	struct json *head = head_of(0);
	bool ok = true;
	while (ok) {
		for (int i = 0; i < 20; i++, put++) {
			make_sample(&rng, &s, 1, 1);
			s.q.form = FORM_SIMPLE;
			assert_true(rcap_put_request(w, &s.q, &e));
		}
		ok = rcap_flush(w, head, &e);
	}
	assert_int_equal(e.kind, ERR_ENV);
	assert_non_null(strstr(e.where, "full"));
	struct rcap *r = rcap_open(path, &e);
	assert_non_null(r);
	assert_int_equal(rcap_torn_bytes(r), 0);
	rcap_close(r);
	/* Room again: nothing that was put is lost. */
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
	assert_true(rcap_finish(w, head, &e));
	json_free(head);
	r = rcap_open(path, &e);
	assert_non_null(r);
	assert_false(rcap_is_torn(r));
	while (rcap_next(r, &item, &e) == STEP_ITEM)
		requests++;
	assert_int_equal(requests, put);
	assert_int_equal(rcap_route(r, 0)->requests, put);
	rcap_close(r);
}

static void counts_stay_exact_when_requests_are_not_stored(void **state)
{
	char path[128];
	struct err e = { 0 };
	struct json *head = head_of(1);
	struct request_record q = { .session = 1,
		.end_ns = 5 * NS_PER_MS,
		.form = FORM_SIMPLE,
		.rows = 2,
		.state_before = 'I',
		.state_after = 'I' };

	(void)state;
	record_seal_request(&q);
	struct rcap_writer *w = rcap_create(path_of("counts", path), true, &e);
	q.route = rcap_add_route(w, PROTOCOL_HTTP, 7, SLICE("GET /a"));
	for (int i = 0; i < 1000; i++) {
		q.form = i % 10 == 9 ? FORM_PREPARE : FORM_SIMPLE;
		memcpy(q.sqlstate, i % 100 ? "" : "57014", i % 100 ? 1 : 6);
		assert_true(i % 4 ? rcap_count_request(w, &q, &e) : rcap_put_request(w, &q, &e));
		if (i % 300 == 0)
			assert_true(rcap_flush(w, head, &e));
	}
	assert_true(rcap_finish(w, head, &e));
	json_free(head);
	struct rcap *r = rcap_open(path, &e);
	const struct rcap_route *route = rcap_find_route(r, SLICE("get  /A"));
	assert_non_null(route);
	assert_int_equal(route->protocol, PROTOCOL_HTTP);
	assert_int_equal(route->requests, 900);
	assert_int_equal(route->errors, 10);
	assert_int_equal(route->rows, 1800);
	assert_int_equal(route->latency_us.total, 900);
	assert_int_equal(hist_quantile(&route->latency_us, 0.5), 5000);
	assert_int_equal(rcap_totals(r).stored, 250);
	rcap_close(r);
}

/* What readers would call damage, they must not be handed: 1970 plus and minus 292 years. */
static void absurd_clocks_leave_the_file_readable(void **state)
{
	static const int64_t times[] = { 0, INT64_MAX, INT64_MIN, INT64_C(4294967295) * NS_PER_S, 5,
		INT64_C(1) << 61, -(INT64_C(1) << 61) };
	char path[128];
	struct err e = { 0 };
	struct rcap_item item;
	struct json *head = head_of(1);
	size_t n = LENGTH(times), read = 0;

	(void)state;
	struct rcap_writer *w = rcap_create(path_of("absurd", path), true, &e);
	uint32_t route = rcap_add_route(w, PROTOCOL_HTTP, 7, SLICE("GET /a"));
	for (size_t i = 0; i < n * n; i++) {
		struct request_record q = { .session = 1,
			.route = route,
			.start_ns = times[i % n],
			.first_byte_ns = times[i % n],
			.end_ns = times[i / n],
			.think_ns = times[i / n],
			.form = FORM_SIMPLE,
			.state_before = 'I',
			.state_after = 'I' };
		struct session_record s = make_session(i + 1);

		s.open_ns = times[i % n];
		s.close_ns = times[i / n];
		record_seal_session(&s);
		record_seal_request(&q);
		assert_true(rcap_put_session(w, &s, &e));
		assert_true(rcap_put_request(w, &q, &e));
	}
	assert_true(rcap_finish(w, head, &e));
	json_free(head);
	struct rcap *r = rcap_open(path, &e);
	assert_non_null(r);
	while (rcap_next(r, &item, &e) == STEP_ITEM)
		read++;
	assert_int_equal(read, 2 * n * n);
	rcap_close(r);
}

static void unsealed_and_unknown_are_refused(void **state)
{
	char path[128];
	struct err e = { 0 };
	struct request_record q = { .form = FORM_SIMPLE };
	struct session_record s = { .id = 1, .protocol = PROTOCOL_PG };

	(void)state;
	struct rcap_writer *w = rcap_create(path_of("unsealed", path), true, &e);
	assert_false(rcap_put_request(w, &q, &e));
	assert_int_equal(e.kind, ERR_REFUSED);
	assert_false(rcap_put_session(w, &s, &e));
	record_seal_request(&q);
	q.route = 1;
	assert_false(rcap_put_request(w, &q, &e));
	rcap_abandon(w);
	assert_null(rcap_create(path, false, &e));
	assert_int_equal(e.kind, ERR_USAGE);
}

static uint64_t resident_bytes(void)
{
	unsigned long long size = 0, resident = 0;
	FILE *f = fopen("/proc/self/statm", "r");

	assert_int_equal(fscanf(f, "%llu %llu", &size, &resident), 2);
	fclose(f);
	return resident * (uint64_t)sysconf(_SC_PAGESIZE);
}

static void dictionaries_overflow_into_other(void **state)
{
	char path[128];
	struct err e = { 0 };

	(void)state;
	struct rcap_writer *w = rcap_create(path_of("overflow", path), true, &e);
	for (uint32_t i = 1; i < RCAP_ROUTES_MAX; i++)
		assert_int_equal(rcap_add_route(w, PROTOCOL_PG, i, SLICE("r")), i);
	assert_int_equal(rcap_add_route(w, PROTOCOL_PG, 999999, SLICE("r")), RCAP_OTHER);
	assert_int_equal(rcap_add_route(w, PROTOCOL_PG, 5, SLICE("r")), 5);
	assert_int_equal(rcap_add_template(w, SLICE("")), 0);
	assert_true(rcap_finish(w, NULL, &e));
	struct rcap *r = rcap_open(path, &e);
	assert_int_equal(rcap_route_count(r), RCAP_ROUTES_MAX);
	assert_int_equal(rcap_route(r, 5)->fingerprint, 5);
	rcap_close(r);
}

static void a_limit_holds_texts_and_histograms_down(void **state)
{
	enum { LIMIT = 1 << 20, ROUTES = 60000 };
	char path[128], text[64];
	struct err e = { 0 };
	struct request_record q = { .form = FORM_SIMPLE };
	uint64_t before = resident_bytes(), other = 0;

	(void)state;
	struct rcap_writer *w = rcap_create(path_of("limit", path), true, &e);
	rcap_limit(w, LIMIT);
	for (uint32_t i = 1; i <= ROUTES; i++) {
		snprintf(text, sizeof text, "SELECT %u AS column_%u FROM t WHERE id = ?", i, i);
		q.route = rcap_add_route(w, PROTOCOL_PG, i, slice_of(text));
		q.template_id = rcap_add_template(w, slice_of(text));
		q.start_ns = i * NS_PER_MS;
		q.end_ns = q.start_ns + (1 + i % 977 * 1000) * NS_PER_US;
		other += q.route == RCAP_OTHER;
		record_seal_request(&q);
		assert_true(rcap_put_request(w, &q, &e));
	}
	/* The buffers of blocks are beside the limit. */
	assert_in_range(resident_bytes() - before, 0, LIMIT + (4 << 20));
	assert_true(other > 0 && rcap_refused_texts(w) > other);
	assert_true(rcap_finish(w, NULL, &e));
	struct rcap *r = rcap_open(path, &e);
	assert_int_equal(rcap_totals(r).requests, ROUTES);
	assert_int_equal(rcap_route(r, RCAP_OTHER)->requests, other);
	assert_int_equal(rcap_route(r, 7)->requests, 1);
	rcap_close(r);
}

static void a_request_too_large_goes_without_its_values(void **state)
{
	char path[128];
	struct err e = { 0 };
	struct rcap_item item;
	size_t n = RCAP_RECORD_MAX + 1;
	char *big = calloc(1, n);
	struct value v = { .bytes = { big, n } };
	struct request_record q = {
		.session = 1, .form = FORM_SIMPLE, .values = &v, .value_count = 1, .rows = 3
	};

	(void)state;
	record_seal_request(&q);
	struct rcap_writer *w = rcap_create(path_of("large", path), true, &e);
	assert_true(rcap_put_request(w, &q, &e));
	assert_true(rcap_finish(w, NULL, &e));
	struct rcap *r = rcap_open(path, &e);
	assert_int_equal(rcap_next(r, &item, &e), STEP_ITEM);
	assert_int_equal(item.request.value_count, 0);
	assert_int_equal(item.request.rows, 3);
	assert_true(item.request.flags & REQUEST_VALUE_LOST);
	rcap_close(r);
	free(big);
}

static void foreign_files_are_told_by_name(void **state)
{
	static const struct {
		const char *bytes;
		size_t n;
		const char *says;
	} cases[] = {
		{ "", 0, "empty" },
		{ "\xd4\xc3\xb2\xa1\x02\x00\x04\x00", 8, "pcap" },
		{ "\x0a\x0d\x0d\x0a\x1c\x00\x00\x00", 8, "pcapng" },
		{ "\x1f\x8b\x08\x00", 4, "compressed" },
		{ "{\"t\": 1}", 8, "JSON" },
		{ "2026-11-30 12:00:00.000 UTC,\"a\"", 31, "log" },
		{ "PGDMP\x01\x0e", 7, "pg_dump" },
		{ "\x89RCAP\r\n", 7, "ends within" },
		{ "\x7f"
		  "ELF",
			4, "not a capture" },
	};
	char path[128];

	(void)state;
	for (size_t i = 0; i < LENGTH(cases); i++) {
		struct err e = { 0 };
		int fd = open(path_of("foreign", path), O_WRONLY | O_CREAT | O_TRUNC, 0600);

		assert_int_equal(write(fd, cases[i].bytes, cases[i].n), cases[i].n);
		close(fd);
		assert_null(rcap_open(path, &e));
		assert_int_equal(e.kind, ERR_INPUT);
		assert_non_null(strstr(e.what, cases[i].says));
		assert_non_null(strstr(e.where, path));
	}
}

static void newer_versions_and_pipes_are_refused(void **state)
{
	unsigned char header[RCAP_FILE_HEADER];
	char path[128];
	struct err e = { 0 };

	(void)state;
	rcap_write_file_header(header);
	header[8] = 2;
	uint32_t crc = rcap_crc(header, 12);
	memcpy(header + 12, &crc, 4);
	int fd = open(path_of("newer", path), O_WRONLY | O_CREAT | O_TRUNC, 0600);
	assert_int_equal(write(fd, header, sizeof(header)), sizeof(header));
	close(fd);
	assert_null(rcap_open(path, &e));
	assert_non_null(strstr(e.what, "version 2"));
	assert_int_equal(mkfifo(path_of("pipe", path), 0600), 0);
	assert_null(rcap_open(path, &e));
	assert_int_equal(e.kind, ERR_INPUT);
	assert_null(rcap_open(path_of("absent", path), &e));
	assert_int_equal(e.kind, ERR_INPUT);
}

static void the_checksum_is_crc32c(void **state)
{
	unsigned char zeros[32] = { 0 };

	(void)state;
	/* RFC 3720, appendix B.4 */
	assert_int_equal(rcap_crc(zeros, 32), 0x8a9136aa);
	assert_int_equal(rcap_crc("123456789", 9), 0xe3069283);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_written_is_read),
		cmocka_unit_test(the_same_calls_give_the_same_bytes),
		cmocka_unit_test(a_file_cut_anywhere_is_readable_and_its_counts_fit),
		cmocka_unit_test(damage_never_reads_as_whole),
		cmocka_unit_test(a_damaged_block_of_records_costs_only_itself),
		cmocka_unit_test(a_full_disk_keeps_what_was_written),
		cmocka_unit_test(counts_stay_exact_when_requests_are_not_stored),
		cmocka_unit_test(absurd_clocks_leave_the_file_readable),
		cmocka_unit_test(unsealed_and_unknown_are_refused),
		cmocka_unit_test(dictionaries_overflow_into_other),
		cmocka_unit_test(a_limit_holds_texts_and_histograms_down),
		cmocka_unit_test(a_request_too_large_goes_without_its_values),
		cmocka_unit_test(foreign_files_are_told_by_name),
		cmocka_unit_test(newer_versions_and_pipes_are_refused),
		cmocka_unit_test(the_checksum_is_crc32c),
	};

	return cmocka_run_group_tests_name("rcap", tests, make_folder, remove_folder);
}
