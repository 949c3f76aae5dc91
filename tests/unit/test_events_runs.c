/* Runs of jobs: cron, anacron and systemd in syslog and the journal, pg_cron, Kubernetes. */
#include "tests/lib/eventread.h"
#include "tests/lib/unit.h"

static void read_all(struct eventread *r, const char *zone, const char *text)
{
	eventread_init(r, zone);
	eventread_text(r, "", text);
	if (!r->ok)
		print_message("%s %s\n", r->e.where, r->e.what);
	assert_true(r->ok);
	eventread_finish(r);
	for (size_t i = 0; i < r->list.count; i++)
		assert_null(strstr(r->list.items[i].name, "hunter2"));
}

static void check(const char *zone, const char *text, const char *told)
{
	struct eventread r;
	char got[4096];

	read_all(&r, zone, text);
	assert_string_equal(eventread_told(&r, got), told);
	eventread_free(&r);
}

static void cron_lines_have_every_stamp(void **state)
{
	static const char *const lines[] = {
		"Nov 30 13:00:01 db CRON[812]: (root) CMD (PW=hunter2 /opt/tidy.sh --token hunter2)\n",
		"<78>Nov 30 13:00:01 db /usr/sbin/cron[812]: (root) CMD (   /opt/tidy.sh x)\n",
		"2026-11-30T13:00:01+01:00 db CRON[812]: (root) CMD (/opt/tidy.sh)\n",
		"2026-11-30T12:00:01.000000+0000 db CRON[812]: (root) CMD (/opt/tidy.sh)\n",
		"<78>1 2026-11-30T12:00:01Z db CRON 812 - - (root) CMD (/opt/tidy.sh)\n",
		"<78>1 2026-11-30T12:00:01Z db crond 812 ID [a@1 k=\"v]\\\"\"][b@2] (root) CMD (/opt/tidy.sh)\n",
		"Nov 30 13:00:01 alpine crond[7]: USER root pid  25 cmd /opt/tidy.sh\n",
		"Nov 30 13:00:01 db CRON[812]: (root) CMD ([813] /opt/tidy.sh)\n",
		"{\"__REALTIME_TIMESTAMP\": \"1796040001000000\", \"SYSLOG_IDENTIFIER\": \"CRON\", \"_PID\": \"812\", \"MESSAGE\": \"(root) CMD (/opt/tidy.sh)\"}\n",
	};

	(void)state;
	for (size_t i = 0; i < LENGTH(lines); i++)
		check("Europe/Berlin", lines[i], "job:tidy.sh 1\n");
}

static void syslog_without_a_zone_is_refused(void **state)
{
	struct eventread r;

	(void)state;
	eventread_init(&r, NULL);
	eventread_text(&r, "", "Nov 30 13:00:01 db CRON[812]: (root) CMD (/opt/tidy.sh)\n");
	assert_false(r.ok);
	assert_non_null(strstr(r.e.hint, "--zone"));
	eventread_free(&r);
}

static void the_year_is_the_one_nearest_to_the_traffic(void **state)
{
	struct eventread r;

	(void)state;
	read_all(&r, "UTC",
		"Jun 30 12:00:00 db CRON[1]: (root) CMD (x)\n"
		"Mar 31 12:00:00 db CRON[1]: (root) CMD (x)\n");
	/* 2026-06-30 and 2027-03-31. */
	assert_int_equal(r.list.items[0].start_ns / NS_PER_S, 1782820800);
	assert_int_equal(r.list.items[1].start_ns / NS_PER_S, 1806494400);
	assert_non_null(strstr(r.reaches.items[0].note, "no year"));
	eventread_free(&r);
}

static void a_log_reaches_from_its_first_to_its_last_line(void **state)
{
	struct eventread r;

	(void)state;
	read_all(&r, "UTC",
		"Nov 30 11:59:00 db kernel: hello\nNov 30 12:00:01 db CRON[1]: (root) CMD (x)\n"
		"garbage\nNov 30 12:30:00 db sshd[2]: pam_unix(cron:session)\n");
	assert_int_equal(r.reaches.items[0].from_ns / NS_PER_S, 1796040000 - 60);
	assert_int_equal(r.reaches.items[0].to_ns / NS_PER_S, 1796040000 + 1800);
	assert_int_equal(r.reaches.items[0].read, 1);
	assert_int_equal(r.reaches.items[0].bad, 1);
	assert_non_null(strstr(r.reaches.items[0].first_bad.where, "line 3"));
	assert_string_equal(r.reaches.items[0].dialect, "syslog");
	eventread_free(&r);
}

static void ends_are_taken_where_they_are_told(void **state)
{
	(void)state;
	/* Cronie's parent logs the end: its number is lower than the job's. */
	check("UTC",
		"Nov 30 12:00:01 db CROND[901]: (root) CMD (/opt/a.sh)\n"
		"Nov 30 12:00:01 db CROND[903]: (app) CMD (/opt/b.sh)\n"
		"Nov 30 12:00:03 db CROND[902]: (app) CMDEND (/opt/b.sh)\n"
		"Nov 30 12:00:09 db CROND[900]: (root) CMDOUT (hunter2)\n"
		"Nov 30 12:00:09 db CROND[900]: (root) CMDEND (/opt/a.sh)\n",
		"job:a.sh 1..9\njob:b.sh 1..3\n");
	/* Two runs of one job at once end by their numbers. */
	check("UTC",
		"Nov 30 12:00:01 db CROND[901]: (root) CMD (/opt/a.sh)\n"
		"Nov 30 12:01:01 db CROND[951]: (root) CMD (/opt/a.sh)\n"
		"Nov 30 12:01:05 db CROND[950]: (root) CMDEND (/opt/a.sh)\n"
		"Nov 30 12:02:00 db CROND[900]: (root) CMDEND (/opt/a.sh)\n",
		"job:a.sh 1..120\njob:a.sh 61..65\n");
	check("UTC",
		"Nov 30 12:00:01 db anacron[5]: Job `cron.daily' started\n"
		"Nov 30 12:00:31 db anacron[5]: Job `cron.daily' terminated (exit status: 1)\n",
		"job:cron.daily 1..31\n");
}

static void twins_are_told_apart_by_user_and_command(void **state)
{
	(void)state;
	check("UTC",
		"Nov 30 12:00:01 db CRON[1]: (root) CMD (/opt/report.sh daily)\n"
		"Nov 30 12:00:01 db CRON[2]: (app) CMD (/opt/report.sh daily)\n"
		"Nov 30 12:00:01 db CRON[3]: (app) CMD (/opt/report.sh --key hunter2)\n"
		"Nov 30 12:05:01 db CRON[4]: (app) CMD (/opt/report.sh daily)\n",
		"job:report.sh 1\njob:report.sh#2 1\njob:report.sh#3 1\njob:report.sh#2 301\n");
}

static void units_start_and_end(void **state)
{
	(void)state;
	check("UTC",
		"Nov 30 12:00:01 db systemd[1]: Starting backup.service - Nightly hunter2...\n"
		"Nov 30 12:00:09 db systemd[1]: backup.service: Deactivated successfully.\n"
		"Nov 30 12:00:09 db systemd[1]: Finished backup.service - Nightly hunter2.\n"
		"Nov 30 12:01:00 db systemd[1]: Started sync.service - Sync.\n"
		"Nov 30 12:01:30 db systemd[1]: sync.service: Failed with result 'exit-code'.\n"
		"Nov 30 12:01:30 db systemd[1]: Started Session 12 of User root.\n"
		"Nov 30 12:01:30 db systemd[1]: Starting user@0.service - User Manager...\n",
		"job:backup 1..9\njob:sync 60..90\n");
}

#define ENTRY(us, id, unit, text)                                                                  \
	"{\"__REALTIME_TIMESTAMP\": \"" us                                                         \
	"\", \"SYSLOG_IDENTIFIER\": \"systemd\", \"_PID\": \"1\","                                 \
	" \"MESSAGE_ID\": \"" id "\", \"UNIT\": \"" unit "\", \"MESSAGE\": \"" text "\"}\n"

static void the_journal_knows_units_in_any_language(void **state)
{
	(void)state;
	check(NULL,
		ENTRY("1796040001000000", "7d4958e842da4a758f6c1cdc7b36dcc5", "backup.service",
			"Sauvegarde en cours de d\303\251marrage...") ENTRY("1796040009500000",
			"7ad2d189f7e94e70a38c781354912448", "backup.service",
			"x") ENTRY("1796040009600000", "39f53479d3a045ac8e11786248231fbf",
			"backup.service",
			"x") "{\"__REALTIME_TIMESTAMP\": \"1796040010000000\", \"MESSAGE\": [1, 2, 255]}\n"
			     "{\"__REALTIME_TIMESTAMP\": \"1796040011000000\", \"MESSAGE\": null}\n",
		"job:backup 1..9.5\n");
	/* A oneshot that stays active says Finished only. */
	check(NULL,
		ENTRY("1796040001000000", "7d4958e842da4a758f6c1cdc7b36dcc5", "mount.service",
			"Starting mount.service...")
			ENTRY("1796040003000000", "39f53479d3a045ac8e11786248231fbf",
				"mount.service", "Finished mount.service."),
		"job:mount 1..3\n");
}

static void the_journal_and_syslog_tell_one_run_once(void **state)
{
	struct eventread r;
	char got[4096];

	(void)state;
	eventread_init(&r, "UTC");
	eventread_text(&r, "", "Nov 30 12:00:01 db CRON[812]: (root) CMD (/opt/tidy.sh)\n");
	eventread_text(&r, "",
		"{\"__REALTIME_TIMESTAMP\": \"1796040001250000\", \"SYSLOG_IDENTIFIER\": \"CRON\", \"_PID\": \"812\", \"MESSAGE\": \"(root) CMD (/opt/tidy.sh)\"}\n");
	eventread_finish(&r);
	assert_string_equal(eventread_told(&r, got), "job:tidy.sh 1\n");
	assert_true(eventread_is_noted(&r, "1 events were given twice"));
	eventread_free(&r);
}

static void pg_cron_runs_are_rows_or_objects(void **state)
{
	(void)state;
	check(NULL,
		"jobid,runid,jobname,job_pid,database,username,command,status,return_message,start_time,end_time\n"
		"1,10,refresh,99,shop,app,\"select 'hunter2',\n 1\",succeeded,\"1 row\",2026-11-30 12:00:00.5+00,2026-11-30 13:00:02+01\n"
		"2,11,,99,shop,app,vacuum,running,,2026-11-30 12:01:00+00,\n",
		"job:refresh 0.5..2\njob:pg_cron-2 60\n");
	check(NULL,
		"[{\"runid\": 1, \"jobid\": 7, \"command\": \"hunter2\", \"status\": \"succeeded\","
		" \"start_time\": \"2026-11-30T12:00:00+00:00\", \"end_time\": \"2026-11-30T12:00:01.25+00:00\"}]",
		"job:pg_cron-7 0..1.25\n");
}

static void kubernetes_jobs_are_runs_of_their_cronjob(void **state)
{
	struct eventread r;
	char got[4096];

	(void)state;
	read_all(&r, NULL,
		"{\"items\": [{\"kind\": \"Job\", \"metadata\": {\"name\": \"tidy-28\", \"namespace\": \"shop\","
		" \"ownerReferences\": [{\"kind\": \"CronJob\", \"name\": \"tidy\"}]},"
		" \"status\": {\"startTime\": \"2026-11-30T12:00:00Z\", \"completionTime\": \"2026-11-30T12:00:09Z\"}},"
		" {\"kind\": \"Job\", \"metadata\": {\"name\": \"tidy-29\", \"namespace\": \"shop\","
		" \"ownerReferences\": [{\"kind\": \"CronJob\", \"name\": \"tidy\"}]},"
		" \"status\": {\"startTime\": \"2026-11-30T12:05:00Z\", \"conditions\": [{\"type\": \"Failed\", \"lastTransitionTime\": \"2026-11-30T12:05:30Z\"}]}},"
		" {\"kind\": \"Job\", \"metadata\": {\"name\": \"once\", \"namespace\": \"shop\"}, \"status\": {\"startTime\": \"2026-11-30T12:50:00Z\"}},"
		" {\"kind\": \"Job\", \"metadata\": {\"name\": \"waits\"}, \"status\": {}}]}");
	assert_string_equal(eventread_told(&r, got),
		"job:shop/tidy 0..9\njob:shop/tidy 300..330\njob:shop/once 3000\n");
	/* Each is only known from the oldest that was kept. */
	assert_int_equal(r.reaches.count, 3);
	assert_int_equal(r.reaches.items[1].from_ns, r.list.items[0].start_ns);
	assert_int_equal(r.reaches.items[2].from_ns, r.list.items[2].start_ns);
	eventread_free(&r);
}

static void backups_and_etl_know_both_ends(void **state)
{
	(void)state;
	check(NULL,
		"[{\"name\": \"main\", \"db\": [], \"cipher\": \"none\", \"backup\": [{\"label\": \"20261130-120001F\", \"type\": \"full\","
		" \"timestamp\": {\"start\": 1796040001, \"stop\": 1796040100}, \"info\": {\"delta\": 25000, \"size\": 30000}}]}]",
		"backup:main 1..100 dose 25000\n");
	check("Europe/Berlin",
		"{\"pg\": [{\"backup_id\": \"20261130T130005\", \"end_time_timestamp\": \"1796040100\", \"size_bytes\": 77, \"status\": \"DONE\"}]}",
		"backup:pg 5..100 dose 77\n");
	check(NULL,
		"{\"dag_runs\": [{\"dag_id\": \"etl\", \"start_date\": \"2026-11-30T12:00:03.5+00:00\", \"end_date\": \"2026-11-30T12:01:00+00:00\", \"conf\": {\"pw\": \"hunter2\"}},"
		" {\"dag_id\": \"etl\", \"start_date\": \"2026-11-30T12:30:00+00:00\", \"end_date\": null}], \"total_entries\": 2}",
		"job:etl 3.5..60\njob:etl 1800\n");
	struct eventread r;
	read_all(&r, NULL,
		"{\"dag_runs\": [{\"dag_id\": \"etl\", \"start_date\": \"2026-11-30T12:00:03Z\"}], \"total_entries\": 900}");
	assert_non_null(strstr(r.reaches.items[0].note, "1 of 900"));
	assert_int_equal(r.reaches.items[0].from_ns, r.list.items[0].start_ns);
	eventread_free(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(cron_lines_have_every_stamp),
		cmocka_unit_test(syslog_without_a_zone_is_refused),
		cmocka_unit_test(the_year_is_the_one_nearest_to_the_traffic),
		cmocka_unit_test(a_log_reaches_from_its_first_to_its_last_line),
		cmocka_unit_test(ends_are_taken_where_they_are_told),
		cmocka_unit_test(twins_are_told_apart_by_user_and_command),
		cmocka_unit_test(units_start_and_end),
		cmocka_unit_test(the_journal_knows_units_in_any_language),
		cmocka_unit_test(the_journal_and_syslog_tell_one_run_once),
		cmocka_unit_test(pg_cron_runs_are_rows_or_objects),
		cmocka_unit_test(kubernetes_jobs_are_runs_of_their_cronjob),
		cmocka_unit_test(backups_and_etl_know_both_ends),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
