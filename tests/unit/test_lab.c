/* Real servers: what a lab promises that no command line can show. */
#include "tests/lib/unit.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/base/file.h"
#include "core/driver/pg.h"
#include "core/driver/pgserver.h"
#include "core/driver/target.h"
#include "snapshot/build.h"
#include "snapshot/freeze.h"
#include "snapshot/lab.h"
#include "snapshot/snapshot.h"

struct place {
	char root[64], source[80], lab[80];
	struct run run;
};

static void must(bool ok, const struct err *e)
{
	if (!ok)
		fail_msg("%s: %s (%s)", e->where, e->what, e->hint);
}

static void ask(const char *dsn, const char *sql, char *text, size_t size)
{
	struct err e = { 0 };
	CLEANUP(pg_cleanup) struct pg *c = pg_open(dsn, NULL, &e);

	must(c && pg_one(c, &e, sql, text, size), &e);
}

static void say(const char *dsn, const char *sql)
{
	struct err e = { 0 };
	CLEANUP(pg_cleanup) struct pg *c = pg_open(dsn, NULL, &e);

	must(c && pg_exec(c, &e, sql), &e);
}

static const char source_sql[] =
	"CREATE TABLE orders (id int PRIMARY KEY, status int, note text);"
	"INSERT INTO orders SELECT g, g % 7, repeat('x', 40) FROM generate_series(1, 20000) g;"
	"ANALYZE orders; UPDATE orders SET note = 'y' WHERE id < 4000;"
	"CREATE MATERIALIZED VIEW totals AS SELECT status, count(*) FROM orders GROUP BY 1;"
	"CREATE ROLE app; GRANT SELECT ON orders TO app; CREATE TABLE apart AS SELECT * FROM orders;"
	"ALTER TABLE apart ENABLE ROW LEVEL SECURITY; GRANT SELECT ON apart TO app;"
	"CREATE POLICY threes ON apart USING (status = 3); CREATE DATABASE other;";

/* A stopped cluster, and a lab of it, made once for all cases. */
static int make(void **state)
{
	static const char *const quick[] = { "fsync=off", NULL };
	const struct pgserver_options o = { .settings = quick };
	struct place *p = calloc(1, sizeof(*p));
	struct pgserver s = { 0 };
	struct err e = { 0 };
	struct freeze_result frozen;
	char dsn[1400];

	*state = p;
	p->run = (struct run){ .out = stdout, .log = stderr, .is_quiet = true };
	snprintf(p->root, sizeof(p->root), "/tmp/rt-lab-XXXXXX");
	assert_non_null(mkdtemp(p->root));
	assert_int_equal(chmod(p->root, 0755), 0);
	snprintf(p->source, sizeof(p->source), "%s/source", p->root);
	snprintf(p->lab, sizeof(p->lab), "%s/lab", p->root);
	must(pgserver_init(p->source, &p->run, &e), &e);
	must(pgserver_start(&s, p->source, &o, &p->run, &e), &e);
	pgserver_dsn(&s, "postgres", dsn, sizeof(dsn));
	say(dsn, "CREATE DATABASE shop");
	pgserver_dsn(&s, "shop", dsn, sizeof(dsn));
	for (const char *at = source_sql; *at; at += strcspn(at, ";") + 1) {
		char one[300];

		snprintf(one, sizeof(one), "%.*s", (int)strcspn(at, ";"), at);
		say(dsn, one);
	}
	must(pgserver_stop(&s, &e), &e);
	const struct build_options build = {
		.source = p->source, .into = p->lab, .database = "shop", .settings = quick
	};
	struct json *manifest = snapshot_build(&build, &p->run, &e);
	must(manifest != NULL, &e);
	json_free(manifest);
	must(freeze_dir(p->lab, false, &p->run, &frozen, &e), &e);
	return 0;
}

static int clear(void **state)
{
	struct place *p = *state;
	struct err e = { 0 };
	bool ok = file_remove_tree(p->root, &e);

	free(p);
	return ok ? 0 : -1;
}

/* Rows, free space, statistics and their age: what a reset must bring back. */
static const char state_sql[] =
	"SELECT concat_ws(' ', (SELECT md5(string_agg(o::text, '' ORDER BY id)) FROM orders o), "
	"(SELECT md5(string_agg(s::text, '' ORDER BY tablename, attname)) FROM pg_stats s "
	"WHERE schemaname = 'public'), "
	"(SELECT string_agg(concat_ws(',', relname, relfilenode, reltuples, relpages, relallvisible, "
	"pg_relation_size(oid)), ' ' ORDER BY relname) FROM pg_class WHERE relnamespace = "
	"'public'::regnamespace), "
	"(SELECT string_agg(concat_ws(',', relname, n_dead_tup, n_mod_since_analyze, last_analyze), ' ') "
	"FROM pg_stat_user_tables WHERE schemaname = 'public'))";

static void a_reset_brings_back_rows_pages_statistics_and_counters(void **state)
{
	struct place *p = *state;
	struct lab lab;
	struct err e = { 0 };
	char before[2000], after[2000], nonce[33];

	must(lab_open(&lab, p->lab, &p->run, &e), &e);
	ask(lab.admin_dsn, state_sql, before, sizeof(before));
	assert_non_null(strstr(before, "orders,3999,"));
	snprintf(nonce, sizeof(nonce), "%s", lab.mark.nonce);
	say(lab.dsn, "DELETE FROM orders WHERE id % 3 = 0");
	say(lab.dsn, "ALTER TABLE orders ADD more int DEFAULT 5; CREATE INDEX ON orders (status)");
	say(lab.dsn, "ANALYZE orders");
	say(lab.dsn, "VACUUM orders");
	say(lab.dsn, "REFRESH MATERIALIZED VIEW totals");
	ask(lab.admin_dsn, state_sql, after, sizeof(after));
	assert_string_not_equal(before, after);
	must(lab_reset(&lab, NULL, &p->run, &e), &e);
	ask(lab.admin_dsn, state_sql, after, sizeof(after));
	assert_string_equal(before, after);
	assert_string_not_equal(lab.mark.nonce, nonce);
	lab_close(&lab);
	lab_close(&lab);
}

static void a_reset_takes_settings_along(void **state)
{
	static const char *const extra[] = { "work_mem=3MB", "autovacuum=on", NULL };
	struct place *p = *state;
	struct lab lab;
	struct err e = { 0 };
	char text[32];

	must(lab_open(&lab, p->lab, &p->run, &e), &e);
	must(lab_reset(&lab, extra, &p->run, &e), &e);
	ask(lab.dsn, "SELECT current_setting('work_mem') || current_setting('autovacuum')", text,
		sizeof(text));
	assert_string_equal(text, "3MBon");
	lab_close(&lab);
}

static void traffic_connects_as_no_superuser_and_can_prove_the_mark(void **state)
{
	struct place *p = *state;
	struct lab lab;
	struct err e = { 0 };
	struct mark mark;
	char text[64];

	must(lab_open(&lab, p->lab, &p->run, &e), &e);
	ask(lab.dsn, "SELECT current_user || current_setting('is_superuser')", text, sizeof(text));
	assert_string_equal(text, "reprod_replayoff");
	CLEANUP(pg_cleanup) struct pg *c = pg_open(lab.dsn, NULL, &e);
	must(c && target_check(c, &mark, &e), &e);
	assert_string_equal(mark.tier, "clone");
	assert_string_equal(mark.nonce, lab.mark.nonce);
	assert_false(pg_exec(c, &e, "COPY orders TO PROGRAM 'cat'"));
	assert_string_equal(pg_sqlstate(c), "42501");
	assert_false(pg_exec(c, &e, "ALTER SYSTEM SET archive_mode = on"));
	lab_close(&lab);
}

static void traffic_can_act_as_a_role_of_the_source(void **state)
{
	static const char *const quick[] = { "fsync=off", NULL };
	struct place *p = *state;
	struct lab lab;
	struct err e = { 0 };
	char dir[80], text[64];
	const struct build_options build = { .source = p->source,
		.into = dir,
		.database = "shop",
		.settings = quick,
		.as_role = "app" };

	must(lab_open(&lab, p->lab, &p->run, &e), &e);
	ask(lab.dsn, "SELECT count(*) FROM apart", text, sizeof(text));
	assert_string_equal(text, "20000");
	lab_close(&lab);
	snprintf(dir, sizeof(dir), "%s/app", p->root);
	struct json *manifest = snapshot_build(&build, &p->run, &e);
	must(manifest != NULL, &e);
	json_free(manifest);
	must(lab_open(&lab, dir, &p->run, &e), &e);
	ask(lab.dsn, "SELECT current_user || count(*) FROM apart", text, sizeof(text));
	assert_string_equal(text, "app2857");
	lab_close(&lab);
}

static void one_process_at_a_time_and_others_in_other_folders(void **state)
{
	struct place *p = *state;
	struct lab one, two, again;
	struct err e = { 0 };
	char second[80], text[32];
	static const char *const quick[] = { "fsync=off", NULL };
	const struct build_options build = {
		.source = p->source, .into = second, .database = "shop", .settings = quick
	};

	snprintf(second, sizeof(second), "%s/second", p->root);
	must(lab_open(&one, p->lab, &p->run, &e), &e);
	assert_false(lab_open(&again, p->lab, &p->run, &e));
	assert_int_equal(e.kind, ERR_ENV);
	assert_non_null(strstr(e.what, "in use"));
	struct json *manifest = snapshot_build(&build, &p->run, &e);
	must(manifest != NULL, &e);
	json_free(manifest);
	must(lab_open(&two, second, &p->run, &e), &e);
	say(two.dsn, "TRUNCATE orders");
	ask(one.dsn, "SELECT count(*) FROM orders", text, sizeof(text));
	assert_string_equal(text, "20000");
	assert_false(lab_reset(&two, NULL, &p->run, &e));
	assert_non_null(strstr(e.what, "no frozen state"));
	lab_close(&two);
	lab_close(&one);
}

static void a_lab_that_could_act_outside_does_not_start(void **state)
{
	static const struct {
		const char *name, *text;
	} cases[] = {
		{ "postgresql.auto.conf",
			"archive_mode = on\narchive_command = 'touch /tmp/rt-lab-archived'\n" },
		{ "postgresql.auto.conf", "max_logical_replication_workers = 4\n" },
		{ "postgresql.auto.conf", "Shared_Preload_Libraries = 'pg_cron'\n" },
		{ "postgresql.auto.conf", "primary_conninfo = 'host=production'\n" },
		{ "standby.signal", "" },
		{ "recovery.signal", "" },
	};
	struct place *p = *state;

	for (size_t i = 0; i < LENGTH(cases); i++) {
		struct buf text = { 0 }, kept = { 0 };
		struct lab lab;
		struct err e = { 0 };
		char path[128];

		snprintf(path, sizeof(path), "%s/%s", p->lab, cases[i].name);
		if (file_exists(path))
			must(file_read(path, 1 << 20, &kept, &e), &e);
		buf_add_slice(&text, buf_slice(&kept));
		buf_add_text(&text, cases[i].text);
		must(labdir_write(p->lab, cases[i].name, buf_slice(&text), &e), &e);
		if (lab_open(&lab, p->lab, &p->run, &e))
			fail_msg("case %zu started", i);
		assert_int_equal(e.kind, ERR_REFUSED);
		if (kept.n)
			must(labdir_write(p->lab, cases[i].name, buf_slice(&kept), &e), &e);
		else
			unlink(path);
		buf_free(&text);
		buf_free(&kept);
	}
}

static void a_lab_without_its_mark_does_not_start(void **state)
{
	struct place *p = *state;
	struct lab lab;
	struct err e = { 0 };
	char path[128], away[128];

	snprintf(path, sizeof(path), "%s/" LABDIR_MARK, p->lab);
	snprintf(away, sizeof(away), "%s/away", p->root);
	assert_int_equal(rename(path, away), 0);
	assert_false(lab_open(&lab, p->lab, &p->run, &e));
	assert_int_equal(e.kind, ERR_REFUSED);
	assert_int_equal(rename(away, path), 0);
}

static void an_interrupted_reset_is_told_and_mended(void **state)
{
	struct place *p = *state;
	struct lab lab;
	struct err e = { 0 };

	must(labdir_write(p->lab, LABDIR_RESETTING, SLICE(""), &e), &e);
	assert_false(lab_open(&lab, p->lab, &p->run, &e));
	assert_non_null(strstr(e.hint, "reset"));
	must(reset_dir(p->lab, &p->run, &lab, &e), &e);
	must(lab_open(&lab, p->lab, &p->run, &e), &e);
	lab_close(&lab);
}

static void a_damaged_frozen_state_is_not_put_back(void **state)
{
	struct place *p = *state;
	struct lab lab;
	struct err e = { 0 };
	struct buf kept = { 0 };
	char frozen[128], path[200];

	snprintf(frozen, sizeof(frozen), "%s.frozen", p->lab);
	snprintf(path, sizeof(path), "%s/global/pg_control", frozen);
	must(file_read(path, 1 << 20, &kept, &e), &e);
	must(labdir_write(frozen, "global/pg_control", SLICE("damaged"), &e), &e);
	assert_false(reset_dir(p->lab, &p->run, &lab, &e));
	assert_non_null(strstr(e.what, "damaged"));
	must(labdir_write(frozen, "global/pg_control", buf_slice(&kept), &e), &e);
	buf_free(&kept);
}

static bool is_alive(pid_t pid)
{
	return kill(pid, 0) == 0;
}

/* The child opens the lab, tells its server's id, and waits for its death. */
static void hold_lab(const struct place *p, int to)
{
	struct lab lab;
	struct err e = { 0 };
	pid_t pid = 0;

	/* A test that fails must not leave this behind. */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (lab_open(&lab, p->lab, &p->run, &e))
		pid = lab.server.proc.pid;
	if (write(to, &pid, sizeof(pid)) != sizeof(pid))
		_exit(1);
	for (;;)
		pause();
}

static void servers_die_when_their_owner_is_killed(void **state)
{
	struct place *p = *state;
	struct lab lab;
	struct err e = { 0 };
	int ends[2];
	pid_t server = 0;

	assert_int_equal(pipe(ends), 0);
	pid_t child = fork();
	if (child == 0)
		hold_lab(p, ends[1]);
	assert_int_equal(read(ends[0], &server, sizeof(server)), sizeof(server));
	assert_true(server > 1);
	assert_true(is_alive(server));
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	/* The next owner waits for the last one's server, and meets its crash. */
	must(lab_open(&lab, p->lab, &p->run, &e), &e);
	char path[128], state_text[64] = "";
	snprintf(path, sizeof(path), "/proc/%d/stat", (int)server);
	FILE *f = fopen(path, "r");
	/* Where nobody reaps orphans, the dead stay as zombies. */
	if (f && fscanf(f, "%*d %*s %63s", state_text) == 1)
		assert_string_equal(state_text, "Z");
	if (f)
		fclose(f);
	lab_close(&lab);
	close(ends[0]);
	close(ends[1]);
}

static void folders_that_others_made_are_never_replaced(void **state)
{
	struct place *p = *state;
	struct err e = { 0 };
	struct run forced = p->run;
	char other[80], file[100];
	const struct build_options build = {
		.source = p->source, .into = other, .is_forced = true
	};

	forced.is_forced = true;
	snprintf(other, sizeof(other), "%s/home", p->root);
	snprintf(file, sizeof(file), "%s/thesis.txt", other);
	must(file_make_dirs(other, 0700, &e), &e);
	must(file_write(file, SLICE("years of work"), false, &e), &e);
	assert_null(snapshot_build(&build, &forced, &e));
	assert_int_equal(e.kind, ERR_REFUSED);
	assert_true(file_exists(file));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_reset_brings_back_rows_pages_statistics_and_counters),
		cmocka_unit_test(a_reset_takes_settings_along),
		cmocka_unit_test(traffic_connects_as_no_superuser_and_can_prove_the_mark),
		cmocka_unit_test(traffic_can_act_as_a_role_of_the_source),
		cmocka_unit_test(one_process_at_a_time_and_others_in_other_folders),
		cmocka_unit_test(a_lab_that_could_act_outside_does_not_start),
		cmocka_unit_test(a_lab_without_its_mark_does_not_start),
		cmocka_unit_test(an_interrupted_reset_is_told_and_mended),
		cmocka_unit_test(a_damaged_frozen_state_is_not_put_back),
		cmocka_unit_test(servers_die_when_their_owner_is_killed),
		cmocka_unit_test(folders_that_others_made_are_never_replaced),
	};

	return cmocka_run_group_tests(tests, make, clear);
}
