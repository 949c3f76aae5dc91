/* What a recording becomes: rates that no reset makes negative, gauges, zeros of rows that
 * are gone, and events with their times. */
#include "tests/lib/unit.h"

#include <math.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/base/file.h"
#include "correlate/stats_file.h"
#include "correlate/stats_read.h"

enum { SERVER, DATABASE, LOCKS, CHECKPOINTS, RUNNING, TABLES, SETTINGS, PSI, SECTIONS };

#define T0_S INT64_C(1796040000)
#define EVERY_S 10

static const struct stats_section sections[SECTIONS] = {
	[SERVER] = { "server", STATS_OWN, 3,
		{ { "started", "us", STATS_STAMP }, { "conf_loaded", "us", STATS_STAMP },
			{ "clock", "us", STATS_STAMP } } },
	[DATABASE] = { "database", 0, 2,
		{ { "commits", "", STATS_COUNTER }, { "stats_reset", "us", STATS_STAMP } } },
	[LOCKS] = { "locks", STATS_GONE_IS_ZERO, 2,
		{ { "waiting", "", STATS_GAUGE }, { "held", "", STATS_GAUGE } } },
	[CHECKPOINTS] = { "checkpoints", 0, 3,
		{ { "timed", "", STATS_TALLY }, { "requested", "", STATS_TALLY },
			{ "write_time", "us", STATS_TALLY } } },
	[RUNNING] = { "running", STATS_GONE_IS_ZERO, 1, { { "count", "", STATS_GAUGE } } },
	[TABLES] = { "tables", STATS_COLUMN_FIRST, 4,
		{ { "seq_scan", "", STATS_COUNTER }, { "n_dead_tup", "rows", STATS_GAUGE },
			{ "autovacuum", "", STATS_TALLY },
			{ "last_autovacuum", "us", STATS_STAMP } } },
	[SETTINGS] = { "settings", STATS_OWN, 1, { { "changes", "", STATS_TALLY } } },
	[PSI] = { "psi", STATS_HOST, 1, { { "some", "us", STATS_COUNTER } } },
};

/* One round, as a test changes it. */
struct instant {
	int64_t started, loaded, clock_ahead_s;
	int64_t commits, database_reset;
	int64_t waiting; /* 0: no row */
	int64_t timed, write_time;
	int64_t scans, dead, autovacuum, last_autovacuum_s;
	int64_t changes, stalled;
	bool is_vacuuming, is_indexing, has_no_server;
};

struct play {
	struct metric_list metrics;
	struct event_list events;
	struct stats_report report;
};

static int64_t at_s(int round)
{
	return T0_S + EVERY_S * (int64_t)round;
}

static void put(struct stats_writer *w, size_t section, const char *key, const int64_t *values)
{
	if (values)
		stats_put(w, section, slice_of(key), values);
	stats_end_section(w, section);
}

static void put_instant(struct stats_writer *w, int round, const struct instant *i)
{
	int64_t now_us = (at_s(round) + i->clock_ahead_s) * 1000000, one = 1;

	put(w, PSI, "io", (int64_t[]){ i->stalled });
	if (i->has_no_server)
		return;
	put(w, SERVER, "", (int64_t[]){ i->started * 1000000, i->loaded * 1000000, now_us });
	put(w, DATABASE, "", (int64_t[]){ i->commits, i->database_reset });
	put(w, LOCKS, "RowLock", i->waiting ? (int64_t[]){ i->waiting, 1 } : NULL);
	put(w, CHECKPOINTS, "", (int64_t[]){ i->timed, 0, i->write_time });
	if (i->is_indexing)
		stats_put(w, RUNNING, SLICE("create-index:public.orders"), &one);
	put(w, RUNNING, "vacuum:public.orders", i->is_vacuuming ? &one : NULL);
	put(w, TABLES, "public.orders",
		(int64_t[]){ i->scans, i->dead, i->autovacuum,
			i->last_autovacuum_s ? i->last_autovacuum_s * 1000000 : STATS_NONE });
	put(w, SETTINGS, "work_mem", &i->changes);
}

static void write_play(int rounds, void (*set)(int round, struct instant *i))
{
	struct err e = { 0 };
	struct json *head = json_object();
	uint64_t bytes;

	json_set_number(head, "every_s", EVERY_S);
	struct stats_writer *w = stats_create("play.rstat", true, sections, SECTIONS, head, &e);
	json_free(head);
	assert_non_null(w);
	for (int round = 0; round < rounds; round++) {
		struct instant i = { .started = T0_S - 1000, .loaded = T0_S - 1000 };

		set(round, &i);
		stats_begin(w, at_s(round) * NS_PER_S);
		put_instant(w, round, &i);
		assert_true(stats_commit(w, &e));
	}
	assert_true(stats_finish(w, &bytes, &e));
}

static void play(struct play *p, int rounds, void (*set)(int round, struct instant *i))
{
	struct err e = { 0 };

	write_play(rounds, set);
	*p = (struct play){ 0 };
	metric_list_init(&p->metrics);
	assert_true(stats_read("play.rstat", T0_S * NS_PER_S, at_s(rounds) * NS_PER_S, 3,
		&p->metrics, &p->events, &p->report, &e));
	metric_list_finish(&p->metrics);
	assert_int_equal(p->report.rounds, rounds);
}

static void end_play(struct play *p)
{
	metric_list_free(&p->metrics);
	event_free(&p->events);
}

static const struct metric *find(const struct play *p, const char *id)
{
	for (size_t i = 0; i < p->metrics.count; i++)
		if (strcmp(p->metrics.items[i].id, id) == 0)
			return &p->metrics.items[i];
	return NULL;
}

static const struct event *event_at(
	const struct play *p, size_t at, const char *kind, const char *name)
{
	assert_true(at < p->events.count);
	assert_string_equal(p->events.items[at].kind, kind);
	assert_string_equal(p->events.items[at].name, name);
	assert_int_equal(p->events.items[at].source, 3);
	return &p->events.items[at];
}

static void scan_faster_and_faster(int round, struct instant *i)
{
	i->scans = round * round;
	i->dead = round % 5;
	i->stalled = round % 2 * 1000 + round * 10000;
}

static void counters_become_rates_and_gauges_stay(void **state)
{
	struct play p;

	(void)state;
	play(&p, 30, scan_faster_and_faster);
	const struct metric *m = find(&p, "metric:seq_scan.public.orders");
	assert_non_null(m);
	assert_string_equal(m->unit, "1/s");
	assert_int_equal(m->count, 29);
	for (int i = 0; i < 29; i++) {
		/* At the start of the interval that it is of. */
		assert_int_equal(m->points[i].t_ns, at_s(i) * NS_PER_S);
		assert_true(fabs(m->points[i].value - (2 * i + 1) / 10.0) < 1e-9);
	}
	m = find(&p, "metric:n_dead_tup.public.orders");
	assert_non_null(m);
	assert_int_equal(m->count, 30);
	assert_true(m->points[7].value == 2);
	assert_non_null(find(&p, "metric:psi.io"));
	assert_null(find(&p, "metric:database.commits"));
	assert_true(p.report.constant >= 1);
	end_play(&p);
}

static void fall_at_ten(int round, struct instant *i)
{
	i->scans = round < 10 ? 1000 + round * round : round * round - 90;
}

/* More than before when it was looked at again: only the stamp tells. */
static void reset_unseen(int round, struct instant *i)
{
	i->database_reset = round < 10 ? 1000 : 2000;
	i->commits = round * round;
	i->scans = round * round;
}

static void restart_unseen(int round, struct instant *i)
{
	i->started = round < 10 ? T0_S - 1000 : at_s(9) + 4;
	i->commits = i->scans = i->stalled = round * round * 10;
}

static void check_hole(const struct play *p, const char *id, bool has_hole)
{
	const struct metric *m = find(p, id);

	assert_non_null(m);
	assert_int_equal(m->count, has_hole ? 28 : 29);
	for (size_t i = 0; i < m->count; i++) {
		assert_true(m->points[i].value >= 0);
		if (has_hole)
			assert_true(m->points[i].t_ns != at_s(9) * NS_PER_S);
	}
}

static void a_reset_starts_anew(void **state)
{
	struct play p;

	(void)state;
	play(&p, 30, fall_at_ten);
	check_hole(&p, "metric:seq_scan.public.orders", true);
	end_play(&p);
	play(&p, 30, reset_unseen);
	check_hole(&p, "metric:seq_scan.public.orders", true);
	check_hole(&p, "metric:database.commits", true);
	end_play(&p);
	play(&p, 30, restart_unseen);
	check_hole(&p, "metric:seq_scan.public.orders", true);
	/* The host has not restarted. */
	check_hole(&p, "metric:psi.io", false);
	const struct event *restart = event_at(&p, 0, "restart", "postgres");
	assert_int_equal(restart->start_ns, (at_s(9) + 4) * NS_PER_S);
	end_play(&p);
}

static void wait_now_and_then(int round, struct instant *i)
{
	i->waiting = round == 5 || round == 6 || round == 20 ? round : 0;
}

static void a_row_that_is_gone_is_zero_from_the_start(void **state)
{
	struct play p;

	(void)state;
	play(&p, 30, wait_now_and_then);
	const struct metric *m = find(&p, "metric:locks.RowLock.waiting");
	assert_non_null(m);
	assert_int_equal(m->count, 30);
	for (int i = 0; i < 30; i++)
		assert_true(m->points[i].value == (i == 5 || i == 6 || i == 20 ? i : 0));
	end_play(&p);
}

static void be_away(int round, struct instant *i)
{
	i->has_no_server = round >= 10 && round < 20;
	i->scans = round * round;
	i->autovacuum = round >= 20;
	i->last_autovacuum_s = round >= 20 ? at_s(15) : 0;
	i->timed = round >= 20;
	i->write_time = i->timed;
}

static void time_without_the_server_is_not_known(void **state)
{
	struct play p;

	(void)state;
	play(&p, 30, be_away);
	const struct metric *m = find(&p, "metric:seq_scan.public.orders");
	for (size_t i = 0; i < m->count; i++)
		assert_true(m->points[i].t_ns < at_s(9) * NS_PER_S ||
			    m->points[i].t_ns >= at_s(20) * NS_PER_S);
	assert_int_equal(p.report.gaps, 1);
	assert_int_equal(p.report.gap_ns, 11 * EVERY_S * NS_PER_S);
	/* The server's stamp tells the vacuum's end; of the checkpoint nothing is known. */
	assert_int_equal(p.events.count, 1);
	const struct event *vacuum = event_at(&p, 0, "autovacuum", "public.orders");
	assert_int_equal(vacuum->start_ns, at_s(15) * NS_PER_S);
	assert_false(vacuum->has_end);
	end_play(&p);
}

static void do_things(int round, struct instant *i)
{
	/* Vacuum: seen running in rounds 5 and 6, ended at 3 s behind round 6. */
	i->is_vacuuming = round == 5 || round == 6;
	i->autovacuum = (round >= 7) + (round >= 12);
	i->last_autovacuum_s = round >= 12 ? at_s(11) + 2 : round >= 7 ? at_s(6) + 3 : 0;
	/* Checkpoint: counted before round 15, its writing before round 18. */
	i->timed = round >= 15;
	i->write_time = round >= 18 ? 5000 : 0;
	i->is_indexing = round >= 20 && round <= 22;
	i->loaded = round >= 25 ? at_s(24) + 7 : T0_S - 1000;
	i->changes = round >= 26;
}

static void what_happened_has_its_times(void **state)
{
	struct play p;

	(void)state;
	play(&p, 30, do_things);
	const struct event *ev = event_at(&p, 0, "autovacuum", "public.orders");
	assert_int_equal(ev->start_ns, at_s(5) * NS_PER_S);
	assert_int_equal(ev->end_ns, (at_s(6) + 3) * NS_PER_S);
	/* Never seen running: it began after the round before. */
	ev = event_at(&p, 1, "autovacuum", "public.orders");
	assert_int_equal(ev->start_ns, at_s(11) * NS_PER_S);
	assert_int_equal(ev->end_ns, (at_s(11) + 2) * NS_PER_S);
	ev = event_at(&p, 2, "checkpoint", "timed");
	assert_int_equal(ev->start_ns, at_s(14) * NS_PER_S);
	assert_int_equal(ev->end_ns, at_s(18) * NS_PER_S);
	ev = event_at(&p, 3, "create-index", "public.orders");
	assert_int_equal(ev->start_ns, at_s(20) * NS_PER_S);
	assert_int_equal(ev->end_ns, at_s(22) * NS_PER_S);
	ev = event_at(&p, 4, "reload", "postgres");
	assert_int_equal(ev->start_ns, (at_s(24) + 7) * NS_PER_S);
	ev = event_at(&p, 5, "setting", "work_mem");
	assert_int_equal(ev->start_ns, (at_s(24) + 7) * NS_PER_S);
	assert_int_equal(p.events.count, 6);
	end_play(&p);
}

static void be_ahead(int round, struct instant *i)
{
	i->clock_ahead_s = 3600;
	i->autovacuum = round >= 7;
	i->last_autovacuum_s = round >= 7 ? at_s(6) + 3 + 3600 : 0;
}

static void a_server_whose_clock_is_ahead_is_moved_back(void **state)
{
	struct play p;

	(void)state;
	play(&p, 30, be_ahead);
	const struct event *ev = event_at(&p, 0, "autovacuum", "public.orders");
	assert_int_equal(ev->end_ns, (at_s(6) + 3) * NS_PER_S);
	assert_int_equal(p.report.offset_ns, 3600 * NS_PER_S);
	end_play(&p);
}

static void only_the_time_of_the_traffic_becomes_metrics(void **state)
{
	struct metric_list metrics;
	struct event_list events = { 0 };
	struct stats_report report;
	struct err e = { 0 };

	(void)state;
	write_play(1000, scan_faster_and_faster);
	metric_list_init(&metrics);
	assert_true(stats_read("play.rstat", at_s(500) * NS_PER_S, at_s(510) * NS_PER_S, 0,
		&metrics, &events, &report, &e));
	assert_int_equal(report.rounds, 1000);
	assert_int_equal(report.in_time, 10 + 2 * 180 + 1);
	metric_list_free(&metrics);
	/* Two weeks before: nothing, which is said. */
	metric_list_init(&metrics);
	assert_true(stats_read("play.rstat", at_s(-120000) * NS_PER_S, at_s(-110000) * NS_PER_S, 0,
		&metrics, &events, &report, &e));
	assert_int_equal(report.in_time, 0);
	assert_int_equal(metrics.count, 0);
	struct notes notes;
	notes_init(&notes);
	stats_notes(&report, "play.rstat", &notes);
	assert_true(notes.is_incomplete);
	assert_non_null(strstr(notes.items[0], "not when the traffic was"));
	notes_free(&notes);
	metric_list_free(&metrics);
	event_free(&events);
}

static void a_full_list_widens_the_points(void **state)
{
	struct metric_list metrics;
	struct event_list events = { 0 };
	struct stats_report report;
	struct err e = { 0 };

	(void)state;
	write_play(600, scan_faster_and_faster);
	metric_list_init(&metrics);
	metrics.points = METRIC_POINTS_MAX - 400;
	assert_true(stats_read("play.rstat", at_s(0) * NS_PER_S, at_s(600) * NS_PER_S, 0, &metrics,
		&events, &report, &e));
	assert_int_equal(metrics.refused, 0);
	assert_int_equal(metrics.count, 3);
	assert_true(report.step_ns > EVERY_S * NS_PER_S);
	for (size_t i = 0; i < metrics.count; i++)
		assert_true(metrics.items[i].count > 50 && metrics.items[i].count <= 110);
	/* The mean over a point: scans grow by 2 n + 1 a round. */
	const struct metric *m = &metrics.items[0];
	for (size_t i = 0; i < metrics.count; i++)
		if (strstr(metrics.items[i].id, "seq_scan"))
			m = &metrics.items[i];
	double t = (double)(m->points[50].t_ns - T0_S * NS_PER_S) / 1e10;
	double width = (double)report.step_ns / 1e10;
	assert_true(fabs(m->points[50].value - (2 * (t + (width - 1) / 2) + 1) / 10) < 1e-6);
	metrics.points = 0;
	metric_list_free(&metrics);
	event_free(&events);
}

static int enter_folder(void **state)
{
	char dir[] = "/tmp/stats-XXXXXX";

	*state = strdup(mkdtemp(dir));
	return chdir(*state);
}

static int leave_folder(void **state)
{
	struct err e = { 0 };
	bool ok = chdir("/") == 0 && file_remove_tree(*state, &e);

	free(*state);
	return ok ? 0 : -1;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(counters_become_rates_and_gauges_stay),
		cmocka_unit_test(a_reset_starts_anew),
		cmocka_unit_test(a_row_that_is_gone_is_zero_from_the_start),
		cmocka_unit_test(time_without_the_server_is_not_known),
		cmocka_unit_test(what_happened_has_its_times),
		cmocka_unit_test(a_server_whose_clock_is_ahead_is_moved_back),
		cmocka_unit_test(only_the_time_of_the_traffic_becomes_metrics),
		cmocka_unit_test(a_full_list_widens_the_points),
	};

	return cmocka_run_group_tests(tests, enter_folder, leave_folder);
}
