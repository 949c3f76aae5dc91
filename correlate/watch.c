#include "correlate/watch.h"

#include <errno.h>
#include <inttypes.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <unistd.h>

#include "core/base/file.h"
#include "correlate/watch_dir.h"
#include "correlate/watch_host.h"
#include "correlate/watch_sql.h"

#define SEGMENT_NS (3600 * NS_PER_S)
#define RETRY_FIRST_NS (NS_PER_S / 2)
#define RETRY_MOST_NS (30 * NS_PER_S)
#define TELL_EVERY_NS (600 * NS_PER_S)

enum { SEGMENTS_OF_KEEP = 16 };

struct watching {
	const struct watch_options *o;
	struct run *run;
	struct watch_server *server;
	struct stats_writer *writer;
	struct stats_section sections[STATS_SECTIONS_MAX];
	size_t section_count, host_at, own_at;
	char path[4096]; /* of the file that is written */
	int64_t segment_ns; /* when it began, wall */
	int64_t seen_ns; /* the last round that had the server, wall */
	int64_t retry_ns, retry_at_ns; /* monotonic */
	int64_t told_ns;
	bool is_in_gap;
	struct watch_result *result;
};

/* ---- files */

static void own_section(struct stats_section *ret)
{
	static const char *const names[] = { "rounds", "cpu_us", "server_us", "server_cpu_us",
		"skipped" };

	*ret = (struct stats_section){ .name = "watch", .flags = STATS_OWN };
	for (; ret->column_count < LENGTH(names); ret->column_count++) {
		struct stats_column *c = &ret->columns[ret->column_count];

		snprintf(c->name, sizeof(c->name), "%s", names[ret->column_count]);
		c->kind = STATS_COUNTER;
	}
}

static void make_sections(struct watching *w)
{
	for (size_t i = 0; i < watch_query_count(); i++)
		watch_sql_section(&watch_queries[i], &w->sections[w->section_count++]);
	w->host_at = w->section_count;
	for (int i = 0; i < HOST_SECTIONS; i++)
		watch_host_section((enum watch_host_section)i, &w->sections[w->section_count++]);
	w->own_at = w->section_count;
	own_section(&w->sections[w->section_count++]);
}

static struct json *make_head(const struct watching *w, int64_t now_ns)
{
	struct json *head = json_object(), *server = json_object();
	char version[24];
	int v = watch_server_version(w->server);

	snprintf(version, sizeof(version), "%d.%d", v / 10000, v % 10000);
	json_set_text(head, "format", "rstat");
	json_set_int(head, "version", STATS_VERSION);
	json_set_time(head, "start", now_ns);
	json_set_number(head, "every_s", (double)w->o->every_ns / 1e9);
	json_set_text(server, "version", version);
	json_set_bool(server, "is_local", watch_server_is_local(w->server));
	json_set(head, "server", server);
	return head;
}

static bool close_file(struct watching *w, struct err *e)
{
	struct stats_writer *writer = w->writer;
	uint64_t bytes = 0;

	w->writer = NULL;
	if (!writer)
		return true;
	bool ok = stats_finish(writer, &bytes, e);
	w->result->bytes += bytes;
	return ok;
}

static bool open_segment(struct watching *w, int64_t now_ns, struct err *e)
{
	struct json *head CLEANUP(json_cleanup) = make_head(w, now_ns);
	bool is_forced = w->run->is_forced && !w->o->is_folder;

	if (w->o->is_folder)
		watch_dir_name(w->o->output, now_ns, w->path);
	else
		snprintf(w->path, sizeof(w->path), "%s", w->o->output);
	w->writer = stats_create(w->path, is_forced, w->sections, w->section_count, head, e);
	w->segment_ns = now_ns;
	w->result->files += w->writer != NULL;
	watch_server_anew(w->server);
	return w->writer != NULL;
}

static bool is_segment_full(const struct watching *w, int64_t now_ns)
{
	int64_t most = w->o->keep_bytes / SEGMENTS_OF_KEEP;
	int64_t longest = w->o->keep_ns && w->o->keep_ns / SEGMENTS_OF_KEEP < SEGMENT_NS
				  ? w->o->keep_ns / SEGMENTS_OF_KEEP
				  : SEGMENT_NS;

	return w->o->is_folder && (now_ns - w->segment_ns >= longest || now_ns < w->segment_ns ||
					  (most && (int64_t)stats_bytes(w->writer) >= most));
}

static bool turn_over(struct watching *w, int64_t now_ns, struct err *e)
{
	if (w->writer && !is_segment_full(w, now_ns))
		return true;
	if (!close_file(w, e) || !open_segment(w, now_ns, e))
		return false;
	if (w->o->is_folder && (w->o->keep_ns || w->o->keep_bytes))
		w->result->dropped += watch_dir_prune(w->o->output,
			w->o->keep_ns ? now_ns - w->o->keep_ns : INT64_MIN,
			/* The one that is written grows to a sixteenth. */
			w->o->keep_bytes - w->o->keep_bytes / SEGMENTS_OF_KEEP, w->path);
	return true;
}

/* ---- rounds */

static int64_t own_cpu_ns(void)
{
	struct rusage u;

	if (getrusage(RUSAGE_SELF, &u) != 0)
		return 0;
	return (u.ru_utime.tv_sec + u.ru_stime.tv_sec) * NS_PER_S +
	       (u.ru_utime.tv_usec + u.ru_stime.tv_usec) * NS_PER_US;
}

static void put_own(struct watching *w)
{
	struct watch_result *r = w->result;

	r->cost = *watch_server_cost(w->server);
	r->cpu_ns = own_cpu_ns();
	int64_t values[] = { (int64_t)r->rounds, r->cpu_ns / NS_PER_US,
		r->cost.server_ns / NS_PER_US, r->cost.server_cpu_ns / NS_PER_US,
		(int64_t)r->cost.skipped };
	stats_put(w->writer, w->own_at, SLICE(""), values);
	stats_end_section(w->writer, w->own_at);
}

static void lose(struct watching *w, int64_t mono_ns, const struct err *why)
{
	if (!w->is_in_gap) {
		w->is_in_gap = true;
		w->result->gaps++;
		w->retry_ns = RETRY_FIRST_NS;
		run_note(w->run, "the server is out of sight: %s", why->what);
	} else if (w->retry_ns < RETRY_MOST_NS) {
		w->retry_ns *= 2;
	}
	w->retry_at_ns = mono_ns + w->retry_ns;
}

static bool reconnect(struct watching *w, int64_t mono_ns)
{
	struct err why = { 0 };

	if (watch_server_is_connected(w->server))
		return true;
	if (mono_ns < w->retry_at_ns)
		return false;
	if (watch_server_connect(w->server, &why))
		return true;
	lose(w, clock_mono_ns(&w->run->clock), &why);
	return false;
}

static void put_server(struct watching *w, int64_t now_ns, int64_t mono_ns)
{
	struct err why = { 0 };
	char text[CLOCK_TEXT_MAX];

	if (!reconnect(w, mono_ns))
		return;
	if (w->is_in_gap) {
		stats_add_gap(w->writer, w->seen_ns, now_ns, STATS_GAP_CONNECTION);
		run_note(w->run, "the server is back after %s",
			clock_duration_text(now_ns - w->seen_ns, text));
	}
	if (!watch_server_round(w->server, w->writer, mono_ns, &why)) {
		lose(w, mono_ns, &why);
		return;
	}
	w->is_in_gap = false;
	w->seen_ns = now_ns;
	w->result->with_server++;
}

static void tell(struct watching *w, int64_t mono_ns)
{
	const struct watch_result *r = w->result;
	double rounds = r->rounds ? (double)r->rounds : 1;

	if (mono_ns - w->told_ns < TELL_EVERY_NS && !w->run->verbose)
		return;
	w->told_ns = mono_ns;
	run_note(w->run,
		"%" PRIu64
		" rounds, %.1f MB; a round takes %.1f ms of our CPU, %.1f ms of waiting for "
		"the server; %" PRIu64 " gaps, %" PRIu64 " sections left out",
		r->rounds, (double)(r->bytes + stats_bytes(w->writer)) / 1e6,
		(double)r->cpu_ns / 1e6 / rounds, (double)r->cost.server_ns / 1e6 / rounds, r->gaps,
		r->cost.skipped);
}

static bool record_round(struct watching *w, struct err *e)
{
	int64_t now_ns = clock_wall_ns(&w->run->clock), mono_ns = clock_mono_ns(&w->run->clock);

	if (!turn_over(w, now_ns, e))
		return false;
	stats_begin(w->writer, now_ns);
	if (watch_server_is_local(w->server))
		watch_host_put(w->writer, w->host_at, "");
	put_server(w, now_ns, mono_ns);
	w->result->rounds++;
	put_own(w);
	if (!stats_commit(w->writer, e))
		return false;
	w->result->first_ns = w->result->first_ns ? w->result->first_ns : now_ns;
	w->result->last_ns = now_ns;
	tell(w, mono_ns);
	return true;
}

static int64_t lesser(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

static bool record(struct watching *w, struct err *e)
{
	struct clock *clock = &w->run->clock;
	int64_t began_ns = clock_mono_ns(clock), next_ns = began_ns;
	int64_t end_ns = w->o->for_ns ? began_ns + w->o->for_ns : INT64_MAX;

	w->told_ns = began_ns;
	while (!run_stopped(w->run)) {
		int64_t now_ns = clock_mono_ns(clock), wake_ns;

		if (now_ns >= end_ns)
			break;
		if (!record_round(w, e))
			return false;
		/* What was missed is not made up for. */
		while (next_ns <= clock_mono_ns(clock))
			next_ns += w->o->every_ns;
		wake_ns = lesser(next_ns, end_ns);
		if (!watch_server_is_connected(w->server) && w->retry_at_ns > now_ns)
			wake_ns = lesser(wake_ns, w->retry_at_ns);
		clock_sleep_until(clock, wake_ns);
	}
	return true;
}

/* ---- the whole */

static bool lock_folder(const struct watch_options *o, int *ret_fd, struct err *e)
{
	if (!file_make_dirs(o->output, 0700, e))
		return false;
	*ret_fd = open(o->output, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (*ret_fd < 0)
		return err_os(e, ERR_ENV, errno, "could not open the folder '%s'", o->output);
	if (flock(*ret_fd, LOCK_EX | LOCK_NB) == 0)
		return true;
	err_set(e, ERR_ENV, "another watch keeps its files in '%s'", o->output);
	return err_hint(e, "each watch needs a folder of its own");
}

static bool begin(struct watching *w, struct err *e)
{
	const struct watch_options *o = w->o;
	struct watch_server_options server = { w->run, o->dsn, o->timeout_ns, o->every_ns / 2 };

	make_sections(w);
	w->server = watch_server_new(&server);
	if (!w->server)
		return err_set(e, ERR_ENV, "out of memory");
	if (!watch_server_connect(w->server, e))
		return false;
	w->result->version = watch_server_version(w->server);
	w->result->is_local = watch_server_is_local(w->server);
	w->seen_ns = clock_wall_ns(&w->run->clock);
	if (!w->result->is_local)
		run_note(w->run,
			"the server is on another machine: its host's pressure is not recorded");
	return true;
}

bool watch_record(const struct watch_options *o, struct watch_result *ret, struct err *e)
{
	struct watching w = { .o = o, .run = o->run, .result = ret };
	struct err late = { 0 };
	int folder CLEANUP(file_close_fd) = -1;

	*ret = (struct watch_result){ 0 };
	bool ok = (!o->is_folder || lock_folder(o, &folder, e)) && begin(&w, e) && record(&w, e);
	/* The end block of a full disk cannot be written either: the first failure is told. */
	bool closed = close_file(&w, ok ? e : &late);
	watch_server_free(w.server);
	return ok && closed;
}
