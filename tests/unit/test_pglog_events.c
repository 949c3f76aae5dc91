/* Lines as servers of 10 to 18 write them, one by one and as files. */
#include "tests/lib/unit.h"

#include <math.h>
#include <unistd.h>

#include "correlate/pglog_events.h"
#include "correlate/pglog_read.h"

#define T0 (INT64_C(1796040000) * NS_PER_S)

struct taken {
	struct event_list list;
	struct pglog_events *events;
	struct err e;
};

static void begin(struct taken *t)
{
	memset(t, 0, sizeof(*t));
	t->events = malloc(sizeof(*t->events));
	assert_non_null(t->events);
	pglog_events_init(t->events, &t->list, 0);
}

static void take(struct taken *t, double s, const char *severity, const char *message)
{
	struct pglog_line line = { .severity = slice_of(severity), .message = slice_of(message) };

	assert_true(pglog_events_take(t->events, &line, T0 + (int64_t)(s * 1e9), &t->e));
}

/* "kind:name start..end dose" a line. */
static void end(struct taken *t, const char *told)
{
	char text[4096];
	size_t n = 0;

	assert_true(pglog_events_finish(t->events, &t->e));
	text[0] = '\0';
	for (size_t i = 0; i < t->list.count; i++) {
		const struct event *v = &t->list.items[i];

		n += (size_t)snprintf(text + n, sizeof(text) - n, "%s:%s %g", v->kind, v->name,
			(double)(v->start_ns - T0) / 1e9);
		if (v->has_end)
			n += (size_t)snprintf(
				text + n, sizeof(text) - n, "..%g", (double)(v->end_ns - T0) / 1e9);
		if (!isnan(v->dose))
			n += (size_t)snprintf(text + n, sizeof(text) - n, " dose %g", v->dose);
		n += (size_t)snprintf(text + n, sizeof(text) - n, "\n");
	}
	assert_string_equal(text, told);
	event_free(&t->list);
	free(t->events);
}

static void checkpoints_last_from_start_to_complete(void **state)
{
	struct taken t;

	(void)state;
	begin(&t);
	/* The log begins in the middle of one. */
	take(&t, 10, "LOG",
		"checkpoint complete: wrote 476 buffers (11.6%); 1 WAL file(s) added, 0 removed, 0 recycled; write=7.870 s, sync=0.001 s, total=8.000 s; sync files=0, longest=0.000 s, average=0.000 s; distance=18 kB, estimate=18 kB");
	take(&t, 20, "LOG", "checkpoint starting: time");
	take(&t, 30, "LOG",
		"checkpoint complete: wrote 9 buffers (0.1%), wrote 2 SLRU buffers; 0 WAL file(s) added; total=10.0 s");
	take(&t, 40, "LOG", "checkpoint starting: wal");
	take(&t, 41, "LOG", "checkpoint complete: wrote 1 buffers (0.0%); total=1.000 s");
	take(&t, 42, "LOG", "checkpoint starting: xlog");
	take(&t, 43, "LOG", "checkpoint complete: wrote 1 buffers (0.0%); total=1.000 s");
	take(&t, 50, "LOG", "restartpoint starting: immediate force wait");
	take(&t, 51, "LOG", "restartpoint complete: wrote 5 buffers (0.0%); total=1.000 s");
	take(&t, 60, "LOG", "checkpoint starting: time");
	end(&t, "checkpoint:unknown 2..10 dose 476\ncheckpoint:timed 20..30 dose 9\n"
		"checkpoint:wal 40..41 dose 1\ncheckpoint:wal 42..43 dose 1\n"
		"checkpoint:requested 50..51 dose 5\ncheckpoint:timed 60\n");
}

static void autovacuum_ran_for_what_elapsed(void **state)
{
	struct taken t;

	(void)state;
	begin(&t);
	take(&t, 100, "LOG",
		"automatic vacuum of table \"shop.public.orders\": index scans: 1\npages: 0 removed, 4 remain\nbuffer usage: 57 hits, 3 misses, 5 dirtied\nsystem usage: CPU: user: 0.10 s, system: 0.00 s, elapsed: 12.50 s");
	take(&t, 110, "LOG",
		"automatic aggressive vacuum to prevent wraparound of table \"shop.public.orders\": index scans: 0\nbuffer usage: 57 hits, 7 reads, 0 dirtied\nsystem usage: CPU: user: 0.00 s, system: 0.00 s, elapsed: 1.00 s");
	take(&t, 120, "LOG",
		"automatic analyze of table \"shop.public.my.orders\" system usage: CPU: user: 0.00 s, system: 0.00 s, elapsed: 0.25 s");
	take(&t, 130, "LOG", "automatic vacuum of table \"nodots\": index scans");
	take(&t, 130, "ERROR", "canceling autovacuum task");
	end(&t, "autovacuum:public.orders 87.5..100 dose 8\nautovacuum:public.orders 109..110 dose 7\n"
		"autoanalyze:public.my.orders 119.75..120\n");
}

static void a_lock_is_waited_for_once(void **state)
{
	struct taken t;

	(void)state;
	begin(&t);
	take(&t, 10, "LOG",
		"process 7 still waiting for ShareLock on transaction 730 after 1000.000 ms");
	take(&t, 12, "LOG", "process 7 acquired ShareLock on transaction 730 after 3000.000 ms");
	take(&t, 20, "LOG",
		"process 8 acquired AccessExclusiveLock on relation 16384 of database 5 after 2000.000 ms");
	/* Given up: by a timeout, or a deadlock. */
	take(&t, 30, "LOG",
		"process 9 still waiting for RowExclusiveLock on relation 1 of database 5 after 1000.000 ms");
	take(&t, 40, "LOG",
		"process 9 still waiting for ExclusiveLock on tuple (0,1) of relation 1 of database 5 after 1000.000 ms");
	take(&t, 41, "LOG",
		"process 5 detected deadlock while waiting for ShareLock on transaction 730 after 1000.000 ms");
	end(&t, "lock:ShareLock:transaction 9..12\nlock:AccessExclusiveLock:relation 18..20\n"
		"lock:RowExclusiveLock:relation 29..30\nlock:ExclusiveLock:tuple 39..40\n");
}

static void waits_are_bounded(void **state)
{
	struct taken t;
	char message[100];

	(void)state;
	begin(&t);
	for (int i = 0; i < PGLOG_WAITS_MAX + 5; i++) {
		snprintf(message, sizeof(message),
			"process %d still waiting for ShareLock on transaction 1 after 1000.0 ms",
			i + 1);
		take(&t, 10, "LOG", message);
	}
	assert_int_equal(t.events->wait_count, PGLOG_WAITS_MAX);
	assert_int_equal(t.events->waits_refused, 5);
	event_free(&t.list);
	free(t.events);
}

static void restarts_and_crashes_last_until_it_is_ready(void **state)
{
	struct taken t;

	(void)state;
	begin(&t);
	take(&t, 10, "LOG", "received fast shutdown request");
	take(&t, 12, "LOG", "database system is shut down");
	take(&t, 20, "LOG", "starting PostgreSQL 15.4 on x86_64");
	take(&t, 20.1, "LOG", "database system was shut down at 2026-11-30 12:00:12 UTC");
	take(&t, 21, "LOG", "database system is ready to accept connections");
	take(&t, 30, "LOG", "server process (PID 9) was terminated by signal 9: Killed");
	take(&t, 30, "LOG", "terminating any other active server processes");
	take(&t, 31, "LOG",
		"database system was not properly shut down; automatic recovery in progress");
	take(&t, 33, "LOG", "database system is ready to accept connections");
	take(&t, 50, "LOG", "received immediate shutdown request");
	end(&t, "restart:postgres 10..21\ncrash:postgres 30..33\nrestart:postgres 50\n");
}

static void a_clock_that_was_set_back_makes_no_negative_times(void **state)
{
	struct taken t;

	(void)state;
	begin(&t);
	take(&t, 60, "LOG", "checkpoint starting: time");
	take(&t, 5, "LOG", "checkpoint complete: wrote 4 buffers (0.1%); total=5.0 s");
	take(&t, 60, "LOG", "received fast shutdown request");
	take(&t, 6, "LOG", "database system is ready to accept connections");
	end(&t, "checkpoint:timed 5..5 dose 4\nrestart:postgres 6..6\n");
}

static void values_and_users_are_not_kept(void **state)
{
	struct taken t;

	(void)state;
	begin(&t);
	take(&t, 1, "LOG", "parameter \"work_mem\" changed to \"hunter2\"");
	take(&t, 2, "LOG",
		"parameter \"application_name\" removed from configuration file, reset to default");
	take(&t, 3, "LOG", "received SIGHUP, reloading configuration files");
	take(&t, 4, "LOG", "temporary file: path \"base/pgsql_tmp/pgsql_tmp1.0\", size 280000");
	take(&t, 5, "LOG", "received replication command: BASE_BACKUP ( LABEL 'hunter2' )");
	take(&t, 6, "ERROR", "deadlock detected");
	take(&t, 7, "LOG", "duration: 9000 ms  statement: select 'checkpoint starting: time'");
	take(&t, 8, "LOG", "statement: checkpoint starting: time");
	take(&t, 9, "LOG", "parameter \"x\x1b[31m\" changed to \"1\"");
	end(&t, "setting:work_mem 1\nsetting:application_name 2\nreload:postgres 3\ntemp:files 4 dose 280000\n"
		"backup:basebackup 5\ndeadlock:postgres 6\n");
}

/* ---- files */

struct file {
	struct event_list list;
	struct reach_list reaches;
	struct notes notes;
	struct err e;
	bool ok;
	char paths[2][64];
};

static void write_file(char path[64], const char *text, size_t n)
{
	strcpy(path, "/tmp/reprod-pglog-XXXXXX");
	int fd = mkstemp(path);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, n), (ssize_t)n);
	close(fd);
}

static void read_files(struct file *f, const char *zone, const char *first, const char *second)
{
	const char *paths[] = { f->paths[0], f->paths[1] };

	memset(f, 0, sizeof(*f));
	notes_init(&f->notes);
	write_file(f->paths[0], first, strlen(first));
	if (second)
		write_file(f->paths[1], second, strlen(second));
	struct events_options o = { &f->list, &f->reaches, &f->notes, zone, T0,
		T0 + 3600 * NS_PER_S, NULL };
	f->ok = pglog_read(&o, paths, second ? 2 : 1, &f->e);
	unlink(f->paths[0]);
	if (second)
		unlink(f->paths[1]);
}

static void close_file(struct file *f)
{
	event_free(&f->list);
	notes_free(&f->notes);
}

static void rotated_files_are_one_log_in_any_order(void **state)
{
	struct file f;

	(void)state;
	read_files(&f, NULL,
		"2026-11-30 12:10:05.000 UTC [12] LOG:  checkpoint complete: wrote 3 buffers (0.0%); total=10.000 s\n"
		"2026-11-30 12:11:00.000 UTC [12] LOG:  received SIGHUP, reloading configuration files\n",
		"2026-11-30 12:00:00.000 UTC [12] LOG:  received SIGHUP, reloading configuration files\n"
		"2026-11-30 12:09:55.000 UTC [12] LOG:  checkpoint starting: time\n");
	assert_true(f.ok);
	assert_int_equal(f.list.count, 3);
	assert_string_equal(f.list.items[1].name, "timed");
	assert_int_equal(f.list.items[1].start_ns, T0 + 595 * NS_PER_S);
	/* The older is read first, and each has its reach. */
	assert_int_equal(f.reaches.items[0].from_ns, T0);
	assert_int_equal(f.reaches.items[0].to_ns, T0 + 595 * NS_PER_S);
	assert_int_equal(f.reaches.items[1].to_ns, T0 + 660 * NS_PER_S);
	close_file(&f);
}

static void zones_are_told_given_or_refused(void **state)
{
	const char *berlin =
		"2026-11-30 13:00:01.000 CET [12] LOG:  received SIGHUP, reloading configuration files\n"
		"2026-11-30 13:00:02.000 CET [12] LOG:  received SIGHUP, reloading configuration files\n";
	const char *central =
		"2026-11-30 06:00:01.000 CST [12] LOG:  received SIGHUP, reloading configuration files\n"
		"2026-11-30 06:00:02.000 CST [12] LOG:  received SIGHUP, reloading configuration files\n";
	struct file f;

	(void)state;
	read_files(&f, NULL, berlin, NULL);
	assert_true(f.ok);
	assert_int_equal(f.list.items[0].start_ns, T0 + NS_PER_S);
	assert_non_null(strstr(f.reaches.items[0].note, "CET"));
	close_file(&f);
	read_files(&f, NULL, central, NULL);
	assert_false(f.ok);
	assert_non_null(strstr(f.e.hint, "--zone"));
	close_file(&f);
	read_files(&f, "America/Chicago", central, NULL);
	assert_true(f.ok);
	assert_int_equal(f.list.items[0].start_ns, T0 + NS_PER_S);
	close_file(&f);
}

static void other_files_are_refused_and_damage_is_counted(void **state)
{
	static const char *const bad[] = { "hello\nworld\n", "{\"a\": 1}\n",
		"{\"__REALTIME_TIMESTAMP\": \"1\"}\n" };
	struct file f;

	(void)state;
	for (size_t i = 0; i < LENGTH(bad); i++) {
		read_files(&f, NULL, bad[i], NULL);
		assert_false(f.ok);
		assert_int_equal(f.e.kind, ERR_INPUT);
		assert_true(f.e.hint[0]);
		close_file(&f);
	}
	read_files(&f, NULL, "", NULL);
	assert_true(f.ok);
	assert_int_equal(f.reaches.items[0].to_ns, 0);
	close_file(&f);
}

static void another_language_is_said_and_deadlocks_are_known(void **state)
{
	struct file f;

	(void)state;
	read_files(&f, NULL,
		"2026-11-30 12:00:01.000 UTC,,,9,,6a.1,1,,2026-11-30 11:00:00 UTC,,0,LOG,00000,\"Checkpoint beginnt: time\",,,,,,,,,\"\",\"checkpointer\",,0\n"
		"2026-11-30 12:00:02.000 UTC,\"app\",\"shop\",9,\"[local]\",6a.2,1,\"UPDATE\",2026-11-30 11:00:00 UTC,3/1,0,FEHLER,40P01,\"Verklemmung entdeckt\",,,,,,,,,\"\",\"client backend\",,0\n",
		NULL);
	assert_true(f.ok);
	assert_int_equal(f.list.count, 1);
	assert_string_equal(f.list.items[0].kind, "deadlock");
	assert_non_null(strstr(f.reaches.items[0].note, "not in English"));
	assert_true(f.notes.is_incomplete);
	close_file(&f);
}

/* tail -n 5 begins in the middle of a record with a quote open. */
static void a_csvlog_cut_in_front_goes_on_at_the_next_record(void **state)
{
	struct file f;

	(void)state;
	read_files(&f, NULL,
		"2026-11-30 12:00:00.000 UTC,\"app\",\"shop\",9,\"[local]\",6a.2,1,\"SELECT\",2026-11-30 11:00:00 UTC,3/1,0,LOG,00000,\"duration: 1 ms  statement: a\n"
		"2026-11-30 12:00:01.000 UTC,,,9,,6a.1,1,,2026-11-30 11:00:00 UTC,,0,LOG,00000,\"received SIGHUP, reloading configuration files\",,,,,,,,,\"\",\"postmaster\",,0\n"
		"2026-11-30 12:00:02.000 UTC,,,9,,6a.1,2,,2026-11-30 11:00:00 UTC,,0,LOG,00000,\"parameter \"\"work_mem\"\" changed to \"\"1MB\"\"\",,,,,,,,,\"\",\"postmaster\",,0\n",
		NULL);
	assert_true(f.ok);
	assert_int_equal(f.list.count, 2);
	assert_string_equal(f.list.items[1].name, "work_mem");
	assert_int_equal(f.reaches.items[0].bad, 1);
	close_file(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(checkpoints_last_from_start_to_complete),
		cmocka_unit_test(autovacuum_ran_for_what_elapsed),
		cmocka_unit_test(a_lock_is_waited_for_once),
		cmocka_unit_test(waits_are_bounded),
		cmocka_unit_test(restarts_and_crashes_last_until_it_is_ready),
		cmocka_unit_test(a_clock_that_was_set_back_makes_no_negative_times),
		cmocka_unit_test(values_and_users_are_not_kept),
		cmocka_unit_test(rotated_files_are_one_log_in_any_order),
		cmocka_unit_test(zones_are_told_given_or_refused),
		cmocka_unit_test(other_files_are_refused_and_damage_is_counted),
		cmocka_unit_test(another_language_is_said_and_deadlocks_are_known),
		cmocka_unit_test(a_csvlog_cut_in_front_goes_on_at_the_next_record),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
