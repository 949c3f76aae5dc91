#include "correlate/watch_server.h"

#include <inttypes.h>
#include <stdlib.h>

#include "core/driver/pg.h"
#include "correlate/watch_change.h"
#include "correlate/watch_sql.h"

enum {
	QUERIES_MAX = STATS_SECTIONS_MAX,
	BACKOFF_MAX = 64, /* rounds */
	SHARE = 50, /* a section takes at most one part of so many of the time */
	CHOSEN_MAX = 1000, /* rows of a section that is chosen by change */
	LOCK_TIMEOUT_MS = 200,
	KEY_MAX = 4 * STATS_KEY_MAX,
};

struct section {
	bool is_prepared, is_off;
	uint64_t wait_rounds, backoff; /* after timeouts */
	int64_t due_ns; /* monotonic */
};

struct watch_server {
	struct watch_server_options o;
	struct pg *pg;
	int version;
	bool is_local, is_told;
	long backend_pid;
	int64_t backend_cpu_ns; /* at the last look */
	char *schema; /* of pg_stat_statements, quoted; or NULL */
	struct section sections[QUERIES_MAX];
	struct watch_changes settings, activity; /* by setting; by statement */
	int64_t conf_loaded; /* as the server last said */
	struct watch_server_cost cost;
};

struct watch_server *watch_server_new(const struct watch_server_options *o)
{
	struct watch_server *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->o = *o;
	watch_changes_init(&s->settings);
	watch_changes_init(&s->activity);
	return s;
}

static void disconnect(struct watch_server *s)
{
	pg_close(s->pg);
	s->pg = NULL;
	free(s->schema);
	s->schema = NULL;
}

void watch_server_free(struct watch_server *s)
{
	if (!s)
		return;
	disconnect(s);
	watch_changes_free(&s->settings);
	watch_changes_free(&s->activity);
	free(s);
}

bool watch_server_is_connected(const struct watch_server *s)
{
	return s->pg != NULL;
}

int watch_server_version(const struct watch_server *s)
{
	return s->version;
}

bool watch_server_is_local(const struct watch_server *s)
{
	return s->is_local;
}

const struct watch_server_cost *watch_server_cost(const struct watch_server *s)
{
	return &s->cost;
}

void watch_server_anew(struct watch_server *s)
{
	for (size_t i = 0; i < QUERIES_MAX; i++)
		s->sections[i].due_ns = 0;
}

/* ---- connecting */

static bool read_proc(long pid, const char *name, char *text, size_t size)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%ld/%s", pid, name);
	FILE *f = fopen(path, "re");
	bool ok = f && fgets(text, (int)size, f);

	if (f)
		fclose(f);
	return ok;
}

/* The address says "this machine", and a process of that number is a server's. */
static bool find_local(const struct watch_server *s, bool is_same_address)
{
	char name[32];

	return is_same_address && s->backend_pid > 0 &&
	       read_proc(s->backend_pid, "comm", name, sizeof(name)) &&
	       strncmp(name, "postgres", 8) == 0;
}

/* Nanoseconds on a processor: the first word of schedstat. */
static int64_t backend_cpu_ns(const struct watch_server *s)
{
	char text[100];

	if (!s->is_local || !read_proc(s->backend_pid, "schedstat", text, sizeof(text)))
		return 0;
	return strtoll(text, NULL, 10);
}

static void tell_privilege(struct watch_server *s, bool sees_all)
{
	if (!sees_all && !s->is_told)
		run_note(s->o.run,
			"states and waits of other users are hidden from this role: GRANT pg_monitor TO it");
	s->is_told = true;
}

static bool learn(struct watch_server *s, struct err *e)
{
	struct pg_rows *rows CLEANUP(pg_rows_cleanup) = pg_query(s->pg, e,
		"SELECT pg_backend_pid(), inet_server_addr() IS NOT DISTINCT FROM inet_client_addr(),"
		" pg_has_role(current_user, 'pg_read_all_stats', 'USAGE'),"
		" (SELECT quote_ident(nspname) FROM pg_extension e JOIN pg_namespace n"
		" ON n.oid = extnamespace WHERE extname = 'pg_stat_statements')",
		NULL);

	if (!rows)
		return false;
	s->backend_pid = (long)pg_cell_int(rows, 0, 0, 0);
	s->is_local = find_local(s, pg_cell_is_true(rows, 0, 1));
	tell_privilege(s, pg_cell_is_true(rows, 0, 2));
	const char *schema = pg_cell(rows, 0, 3);
	s->schema = schema ? strdup(schema) : NULL;
	s->backend_cpu_ns = backend_cpu_ns(s);
	return true;
}

bool watch_server_connect(struct watch_server *s, struct err *e)
{
	struct pg_options o = { .application = "reprod watch",
		.is_read_only = true,
		.connect_timeout_ns = 5 * NS_PER_S,
		.statement_timeout_ns = s->o.timeout_ns,
		.lock_timeout_ns = LOCK_TIMEOUT_MS * NS_PER_MS };

	disconnect(s);
	for (size_t i = 0; i < QUERIES_MAX; i++)
		s->sections[i] = (struct section){ 0 };
	s->pg = pg_open(s->o.dsn, &o, e);
	if (!s->pg)
		return false;
	s->version = pg_version(s->pg);
	if (s->version < 120000)
		err_set(e, ERR_ENV, "the server is version %d; a watch needs 12 or newer",
			s->version / 10000);
	else if (pg_exec(s->pg, e, "SET search_path = pg_catalog; SET jit = off") && learn(s, e))
		return true;
	disconnect(s);
	return false;
}

/* ---- one section */

static bool prepare(struct watch_server *s, size_t i, struct err *e)
{
	struct buf sql CLEANUP(buf_free) = { 0 };
	struct section *section = &s->sections[i];

	if (section->is_prepared)
		return true;
	buf_addf(&sql, "PREPARE reprod_%s AS ", watch_queries[i].name);
	if (!watch_sql_text(&watch_queries[i], s->version / 10000, s->schema, &sql)) {
		section->is_off = true;
		return false;
	}
	section->is_prepared = pg_exec(s->pg, e, buf_text(&sql));
	return section->is_prepared;
}

static size_t here(const struct stats_rows *rows)
{
	size_t n = 0;

	for (size_t i = 0; i < rows->count; i++)
		n += rows->is_here[i];
	return n;
}

/* How much a row changed against the least that still belongs to the top. */
static int by_size(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x < y) - (x > y);
}

/* The changes of the first column, and from which on a row is chosen. */
static int64_t *find_changes(
	struct watch_server *s, const struct pg_rows *rows, int top, int64_t *ret_least)
{
	size_t n = pg_row_count(rows);
	int64_t *changes = calloc(2 * n + 1, sizeof(*changes));

	/* Statements come and go for weeks: forget all, and choose again a round later. */
	if (s->activity.by_key.count + n > WATCH_CHANGES_MAX) {
		watch_changes_free(&s->activity);
		watch_changes_init(&s->activity);
	}
	for (size_t i = 0; changes && i < n; i++) {
		int64_t value = pg_cell_int(rows, i, 1, 0), before;
		const char *key = pg_cell(rows, i, 0);

		watch_changes_see(&s->activity, slice_of(key ? key : ""), value, &before);
		changes[i] = changes[n + i] = value > before ? value - before : 0;
	}
	if (changes && n)
		qsort(changes + n, n, sizeof(*changes), by_size);
	*ret_least = changes && n > (size_t)top ? changes[n + (size_t)top - 1] : 1;
	if (*ret_least < 1)
		*ret_least = 1;
	return changes;
}

static void read_values(
	const struct pg_rows *rows, size_t row, size_t columns, int64_t to[STATS_COLUMNS_MAX])
{
	for (size_t c = 0; c < columns; c++)
		to[c] = pg_cell_int(rows, row, c + 1, STATS_NONE);
}

/* In the place of the hash: how often it changed since the watch began. */
static void count_changes(struct watch_server *s, struct slice key, int64_t *value)
{
	int64_t before;
	const struct watch_change *c = watch_changes_see(&s->settings, key, *value, &before);

	*value = c ? c->times : 0;
}

/* After a reload the settings are asked at once. */
static void heed_reload(struct watch_server *s, const struct stats_section *schema,
	const int64_t values[STATS_COLUMNS_MAX])
{
	int column = stats_table_column(schema, "conf_loaded");

	if (column < 0 || values[column] == s->conf_loaded)
		return;
	s->conf_loaded = values[column];
	for (size_t i = 0; i < watch_query_count(); i++)
		if (watch_queries[i].is_hashed)
			s->sections[i].due_ns = 0;
}

static void put_rows(
	struct watch_server *s, size_t i, struct stats_writer *w, const struct pg_rows *rows)
{
	const struct watch_query *q = &watch_queries[i];
	const struct stats_table *table = stats_written(w);
	const struct stats_rows *written = &table->sections[i];
	int64_t least = 0, values[STATS_COLUMNS_MAX];
	int64_t *changes = q->top ? find_changes(s, rows, q->top, &least) : NULL;
	size_t room = q->top ? here(written) : 0;

	for (size_t r = 0; r < pg_row_count(rows); r++) {
		const char *text = pg_cell(rows, r, 0);
		struct slice key = slice_of(text ? text : "");
		bool is_chosen = !q->top || stats_table_find(table, i, key) >= 0;

		if (!is_chosen && changes && changes[r] >= least && room < CHOSEN_MAX) {
			is_chosen = true;
			room++;
		}
		if (!is_chosen)
			continue;
		read_values(rows, r, written->schema.column_count, values);
		heed_reload(s, &written->schema, values);
		if (q->is_hashed)
			count_changes(s, key, &values[0]);
		stats_put(w, i, key, values);
	}
	free(changes);
	stats_end_section(w, i);
}

/* What a failed statement means: true when the round can go on. */
static bool stand_failure(struct watch_server *s, size_t i, struct err *e)
{
	struct section *section = &s->sections[i];
	const char *state = pg_sqlstate(s->pg);
	bool is_late = strcmp(state, "57014") == 0 || strcmp(state, "55P03") == 0;
	bool is_refused = strncmp(state, "42", 2) == 0 || strncmp(state, "0A", 2) == 0 ||
			  strcmp(state, "55000") == 0;

	if (!state[0] || strncmp(state, "57P", 3) == 0 || pg_is_dead(s->pg))
		return false;
	s->cost.skipped++;
	if (is_refused) {
		section->is_off = true;
		run_note(s->o.run, "'%s' is left out: %s", watch_queries[i].name, e->what);
		return true;
	}
	s->cost.failed += is_late;
	section->backoff = section->backoff ? section->backoff * 2 : 1;
	if (section->backoff > BACKOFF_MAX)
		section->backoff = BACKOFF_MAX;
	section->wait_rounds = section->backoff;
	/* A pooler gave us another server process: nothing is prepared there. */
	section->is_prepared = section->is_prepared && strcmp(state, "26000") != 0;
	run_detail(s->o.run, "'%s' is left out for %" PRIu64 " rounds: %s", watch_queries[i].name,
		section->backoff, e->what);
	return true;
}

static bool ask(
	struct watch_server *s, size_t i, struct stats_writer *w, int64_t mono_ns, struct err *e)
{
	struct section *section = &s->sections[i];
	int64_t began_ns = clock_real_mono_ns();
	char sql[64];

	*e = (struct err){ 0 };
	snprintf(sql, sizeof(sql), "EXECUTE reprod_%s", watch_queries[i].name);
	struct pg_rows *rows CLEANUP(pg_rows_cleanup) =
		prepare(s, i, e) ? pg_query(s->pg, e, sql, NULL) : NULL;
	int64_t took_ns = clock_real_mono_ns() - began_ns;

	s->cost.server_ns += took_ns;
	if (section->is_off)
		return true;
	if (!rows)
		return stand_failure(s, i, e);
	section->backoff = 0;
	section->due_ns = mono_ns + took_ns * SHARE;
	/* A little early counts: rounds do not come to the nanosecond. */
	if (section->due_ns < mono_ns + watch_queries[i].every_ns - NS_PER_S / 2)
		section->due_ns = mono_ns + watch_queries[i].every_ns - NS_PER_S / 2;
	put_rows(s, i, w, rows);
	return true;
}

static void count_cpu(struct watch_server *s)
{
	int64_t now_ns = backend_cpu_ns(s);

	if (now_ns > s->backend_cpu_ns)
		s->cost.server_cpu_ns += now_ns - s->backend_cpu_ns;
	s->backend_cpu_ns = now_ns;
}

/* Left out since it was slow, not since it is asked seldom. */
static bool is_due(struct watch_server *s, size_t i, int64_t mono_ns, bool is_late)
{
	struct section *section = &s->sections[i];

	if (section->is_off)
		return false;
	if (section->wait_rounds) {
		section->wait_rounds--;
		s->cost.skipped++;
		return false;
	}
	if (mono_ns < section->due_ns) {
		s->cost.skipped += !watch_queries[i].every_ns;
		return false;
	}
	s->cost.skipped += is_late;
	return !is_late;
}

bool watch_server_round(
	struct watch_server *s, struct stats_writer *w, int64_t mono_ns, struct err *e)
{
	int64_t began_ns = clock_real_mono_ns();

	for (size_t i = 0; i < watch_query_count(); i++) {
		bool is_late = clock_real_mono_ns() - began_ns > s->o.budget_ns;

		if (!is_due(s, i, mono_ns, is_late) || run_stopped(s->o.run))
			continue;
		if (!ask(s, i, w, mono_ns, e)) {
			disconnect(s);
			return false;
		}
	}
	count_cpu(s);
	return true;
}
