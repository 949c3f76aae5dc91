#include "demo/production.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/file.h"
#include "core/driver/pg.h"
#include "demo/schedule.h"

#define TRAFFIC_LEAD_NS (500 * NS_PER_MS)
#define ENV_MAX 8

/* What a lab server needs to be quick and quiet; the incident's own come after. */
static const char *const lab_settings[] = {
	"fsync=off",
	"autovacuum_naptime=10min",
	"shared_buffers=256MB",
	"max_wal_size=4GB",
	"checkpoint_timeout=30min",
	"max_connections=300",
	"wal_level=replica",
	"max_wal_senders=4",
	"log_min_messages=warning",
	"lc_messages=C",
	"log_timezone=UTC",
};

/* The server log as a source, for hosts where sniffing is not permitted. */
static const char *const log_settings[] = {
	"logging_collector=on",
	"log_destination=csvlog",
	"log_directory=log",
	"log_filename=production.log",
	"log_file_mode=0644",
	"log_rotation_age=0",
	"log_rotation_size=0",
	"log_connections=on",
	"log_disconnections=on",
};

bool production_may_sniff(void)
{
	int fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return false;
	close(fd);
	return true;
}

struct client_env {
	char host[256], port[32], user[32], database[64], password[64], path[4200];
	const char *list[ENV_MAX];
};

/* The password is asked for over TCP only. */
static const char *const *client_env(
	struct client_env *env, const struct pgserver *s, const char *host, const char *database)
{
	const char *path = "/usr/lib/postgresql/15/bin:/usr/local/bin:/usr/bin:/bin";

	snprintf(env->host, sizeof(env->host), "PGHOST=%s", host);
	snprintf(env->port, sizeof(env->port), "PGPORT=%d", s->port);
	snprintf(env->password, sizeof(env->password), "PGPASSWORD=%s", s->tcp_password);
	snprintf(env->user, sizeof(env->user), "PGUSER=postgres");
	snprintf(env->database, sizeof(env->database), "PGDATABASE=%s", database);
	snprintf(env->path, sizeof(env->path), "PATH=%s", path);
	env->list[0] = env->host;
	env->list[1] = env->port;
	env->list[2] = env->user;
	env->list[3] = env->database;
	env->list[4] = env->path;
	env->list[5] = "HOME=/nonexistent";
	env->list[6] = env->password;
	env->list[7] = NULL;
	return env->list;
}

static bool run_script(const struct pgserver *s, const char *database, const char *file,
	const struct run *r, struct err *e)
{
	struct client_env env;
	const char *argv[] = { "psql", "-X", "-q", "-v", "ON_ERROR_STOP=1", "-f", file, NULL };
	struct proc_spec spec = { .argv = argv,
		.env = client_env(&env, s, s->socket_dir, database),
		.timeout_ns = 300 * NS_PER_S };

	if (!proc_run(&spec, r, NULL, e))
		return err_in(e, "%s", file);
	return true;
}

static bool make_database(
	const struct pgserver *s, const char *name, const struct run *r, struct err *e)
{
	char dsn[1400];
	struct pg *c CLEANUP(pg_cleanup) = NULL;

	(void)r;
	pgserver_dsn(s, "postgres", dsn, sizeof(dsn));
	c = pg_open(dsn, &(struct pg_options){ 0 }, e);
	return c && pg_execf(c, e, "CREATE DATABASE %s", name);
}

static bool start_server(struct production *p, struct pgserver *s, const char *name,
	bool is_production, const struct run *r, struct err *e)
{
	char data_dir[1100];
	const char *settings[LENGTH(lab_settings) + LENGTH(log_settings) + INCIDENT_ITEMS_MAX + 1];
	size_t n = 0;

	snprintf(data_dir, sizeof(data_dir), "%s/%s", p->dir, name);
	for (size_t i = 0; i < LENGTH(lab_settings); i++)
		settings[n++] = lab_settings[i];
	for (size_t i = 0; is_production && !p->is_wire && i < LENGTH(log_settings); i++)
		settings[n++] = log_settings[i];
	for (size_t i = 0; is_production && i < p->incident->setting_count; i++)
		settings[n++] = p->incident->settings[i];
	settings[n] = NULL;
	return pgserver_init(data_dir, r, e) &&
	       pgserver_start(s, data_dir,
		       &(struct pgserver_options){ .wants_tcp = true, .settings = settings }, r, e);
}

bool production_open(struct production *p, const struct incident *in, const char *dir,
	bool wants_wire, const struct run *r, struct err *e)
{
	*p = (struct production){ .incident = in, .is_wire = wants_wire };
	snprintf(p->dir, sizeof(p->dir), "%s", dir);
	snprintf(p->capture_path, sizeof(p->capture_path), "%s/production.rcap", dir);
	snprintf(p->events_path, sizeof(p->events_path), "%s/events.jsonl", dir);
	if (!start_server(p, &p->server, "production", true, r, e) ||
		!make_database(&p->server, PRODUCTION_DATABASE, r, e) ||
		!run_script(&p->server, PRODUCTION_DATABASE, in->schema, r, e) ||
		(in->before && !run_script(&p->server, PRODUCTION_DATABASE, in->before, r, e)))
		return false;
	pgserver_dsn(&p->server, PRODUCTION_DATABASE, p->dsn, sizeof(p->dsn));
	if (!in->test)
		return true;
	if (!start_server(p, &p->test_server, "test", false, r, e) ||
		!make_database(&p->test_server, PRODUCTION_TEST_DATABASE, r, e) ||
		!run_script(&p->test_server, PRODUCTION_TEST_DATABASE, in->test, r, e))
		return false;
	pgserver_dsn(&p->test_server, PRODUCTION_TEST_DATABASE, p->test_dsn, sizeof(p->test_dsn));
	return true;
}

/* The lab's rows are made up, so nothing in them needs a token; and a clone of them
 * holds the values as they are. */
static const char policy[] =
	"{\n"
	"  \"format\": \"reprod-policy\",\n"
	"  \"version\": 1,\n"
	"  \"comment\": \"data of the incident lab is made up: all of it may be kept\",\n"
	"  \"keep_digits\": 1000,\n"
	"  \"columns\": {\"*\": \"keep\"}\n"
	"}\n";

static bool write_policy(struct production *p, struct err *e)
{
	snprintf(p->policy_path, sizeof(p->policy_path), "%s/policy.json", p->dir);
	return file_write(p->policy_path, slice_of(policy), false, e);
}

static void print_command(const struct run *r, const char *const *argv)
{
	struct buf line = { 0 };

	proc_quote(argv, &line);
	run_note(r, "  $ %s", buf_text(&line));
	buf_free(&line);
}

/* The capture, as a user would start it; it ends by itself after the traffic. */
static bool start_capture(
	struct production *p, struct proc *capture, const struct run *r, struct err *e)
{
	char filter[64], seconds[32], log[1100];
	const char *argv[] = { r->self, "capture", "-i", "lo", "-f", filter, "--for", seconds,
		"--policy", p->policy_path, "-o", p->capture_path, "-q", NULL };
	const char *shown[] = { "reprod", "capture", "-i", "lo", "-f", filter, "--for", seconds,
		"--policy", p->policy_path, "-o", p->capture_path, NULL };
	int64_t until_ns = clock_mono_ns(&r->clock) + 10 * NS_PER_S;
	struct clock clock = r->clock;

	snprintf(filter, sizeof(filter), "tcp port %d", p->server.port);
	snprintf(seconds, sizeof(seconds), "%.0fs", p->incident->seconds + 3);
	snprintf(log, sizeof(log), "%s/capture.log", p->dir);
	print_command(r, shown);
	if (!proc_open(capture, &(struct proc_spec){ .argv = argv, .out_path = log }, e))
		return false;
	while (!file_exists(p->capture_path) && !capture->has_ended &&
		clock_mono_ns(&r->clock) < until_ns) {
		(void)clock_sleep_until(&clock, clock_mono_ns(&clock) + 10 * NS_PER_MS);
		proc_poll(capture);
	}
	if (!file_exists(p->capture_path)) {
		err_set(e, ERR_ENV, "the capture did not start");
		return err_hint(e, "see %s", log);
	}
	return true;
}

static bool start_traffic(struct production *p, struct proc *traffic, const struct client_env *env,
	const struct run *r, struct err *e)
{
	const struct incident *in = p->incident;
	char clients[32], seconds[32], rate[32], seed[48], log[1100], pgbench[1100];
	char scripts[INCIDENT_ITEMS_MAX][1200];
	const char *argv[24 + 2 * INCIDENT_ITEMS_MAX];
	size_t n = 0;

	snprintf(pgbench, sizeof(pgbench), "%s/pgbench", p->server.bin_dir);
	snprintf(clients, sizeof(clients), "%lld", (long long)in->clients);
	snprintf(seconds, sizeof(seconds), "%.0f", in->seconds);
	snprintf(rate, sizeof(rate), "%.6g", in->rate_per_s);
	snprintf(seed, sizeof(seed), "--random-seed=%llu", (unsigned long long)r->seed);
	snprintf(log, sizeof(log), "%s/pgbench.log", p->dir);
	argv[n++] = file_exists(pgbench) ? pgbench : "pgbench";
	argv[n++] = "-n";
	argv[n++] = seed;
	argv[n++] = "-M";
	argv[n++] = in->protocol;
	argv[n++] = "-c";
	argv[n++] = clients;
	argv[n++] = "-T";
	argv[n++] = seconds;
	if (in->rate_per_s > 0) {
		argv[n++] = "-R";
		argv[n++] = rate;
	}
	for (size_t i = 0; i < in->traffic_count; i++) {
		snprintf(scripts[i], sizeof(scripts[i]), "%s@%lld", in->traffic[i].file,
			(long long)in->traffic[i].weight);
		argv[n++] = "-f";
		argv[n++] = scripts[i];
	}
	argv[n] = NULL;
	print_command(r, argv);
	return proc_open(
		traffic, &(struct proc_spec){ .argv = argv, .env = env->list, .out_path = log }, e);
}

/* Runs jobs and events beside the traffic until pgbench has ended. */
static bool watch(struct production *p, struct schedule *s, struct proc *traffic,
	const struct run *r, struct err *e)
{
	struct run_progress progress = {
		.verb = "playing production", .unit = "s", .total = p->incident->seconds
	};
	int64_t start_ns = clock_mono_ns(&r->clock);
	int64_t until_ns = start_ns + (int64_t)((p->incident->seconds + 60) * (double)NS_PER_S);
	struct clock clock = r->clock;

	while (!traffic->has_ended) {
		(void)clock_sleep_until(&clock, clock_mono_ns(&clock) + 5 * NS_PER_MS);
		schedule_poll(s, r);
		proc_poll(traffic);
		run_progress_at(r, &progress,
			(double)(clock_mono_ns(&clock) - start_ns) / (double)NS_PER_S);
		if (run_stopped(r))
			return err_set(
				e, ERR_INTERRUPTED, "interrupted while production was playing");
		if (!pgserver_is_up(&p->server))
			return err_set(e, ERR_ENV, "the production server ended; see %s",
				p->server.log_path);
		if (clock_mono_ns(&clock) > until_ns)
			return err_set(e, ERR_ENV, "pgbench did not end a minute after its time");
	}
	run_progress_end(r, &progress);
	if (proc_exit_code(traffic) != 0)
		return err_set(e, ERR_ENV, "pgbench ended with code %d; see %s/pgbench.log",
			proc_exit_code(traffic), p->dir);
	return true;
}

/* Clients come over TCP; jobs use the socket, as they do on a database's own host. */
static bool play_beside_capture(struct production *p, const struct run *r, struct err *e)
{
	struct client_env clients, jobs;
	struct schedule schedule = { 0 };
	struct proc traffic = { 0 };
	char log_dir[1100];
	bool ok;

	snprintf(log_dir, sizeof(log_dir), "%s/jobs", p->dir);
	client_env(&clients, &p->server, "127.0.0.1", PRODUCTION_DATABASE);
	client_env(&jobs, &p->server, p->server.socket_dir, PRODUCTION_DATABASE);
	if (!file_make_dirs(log_dir, 0755, e))
		return false;
	ok = schedule_open(&schedule, p->incident, clock_mono_ns(&r->clock) + TRAFFIC_LEAD_NS,
		     p->events_path, log_dir, jobs.list, e) &&
	     start_traffic(p, &traffic, &clients, r, e) && watch(p, &schedule, &traffic, r, e);
	schedule_close(&schedule, r, ok ? 10 * NS_PER_S : 0);
	proc_close(&traffic, 1000);
	p->job_runs = schedule.runs;
	p->job_failures = schedule.failures;
	if (ok && schedule.failures > 0)
		return err_set(
			e, ERR_ENV, "a job failed in production: %s", schedule.first_failure);
	return ok;
}

/* Statements of the play only, not those that made the database; and the clone taken
 * later does not inherit it. */
static bool log_statements(struct production *p, bool is_on, struct err *e)
{
	struct pg *c CLEANUP(pg_cleanup) = pg_open(p->dsn, &(struct pg_options){ 0 }, e);

	return c && pg_exec(c, e,
			    is_on ? "ALTER DATABASE " PRODUCTION_DATABASE
				    " SET log_min_duration_statement = 0"
				  : "ALTER DATABASE " PRODUCTION_DATABASE
				    " RESET log_min_duration_statement");
}

/* Reads the server log after the play; the server keeps writing, the past is whole. */
static bool capture_log(struct production *p, const struct run *r, struct err *e)
{
	char log[1200];
	const char *argv[] = { r->self, "capture", log, "--policy", p->policy_path, "-o",
		p->capture_path, "-q", NULL };
	const char *shown[] = { "reprod", "capture", log, "--policy", p->policy_path, "-o",
		p->capture_path, NULL };

	snprintf(log, sizeof(log), "%s/log/production.csv", p->server.data_dir);
	print_command(r, shown);
	return proc_run(
		&(struct proc_spec){ .argv = argv, .timeout_ns = 300 * NS_PER_S }, r, NULL, e);
}

bool production_play(struct production *p, const struct run *r, struct err *e)
{
	struct proc capture = { 0 };
	bool ok;

	if (!write_policy(p, e))
		return false;
	if (!p->is_wire)
		return log_statements(p, true, e) && play_beside_capture(p, r, e) &&
		       log_statements(p, false, e) && capture_log(p, r, e);
	ok = start_capture(p, &capture, r, e) && play_beside_capture(p, r, e) &&
	     proc_wait(&capture, r, e);
	if (ok && proc_exit_code(&capture) != 0) {
		err_set(e, ERR_ENV, "the capture ended with code %d", proc_exit_code(&capture));
		ok = err_hint(e, "see %s/capture.log", p->dir);
	}
	proc_close(&capture, 3000);
	return ok;
}

bool production_stop(struct production *p, struct err *e)
{
	return pgserver_stop(&p->server, e);
}

void production_close(struct production *p)
{
	pgserver_kill(&p->server);
	pgserver_kill(&p->test_server);
}
