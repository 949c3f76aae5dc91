#include "correlate/pglog_events.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

void pglog_events_init(struct pglog_events *p, struct event_list *list, uint16_t source)
{
	memset(p, 0, sizeof(*p));
	p->list = list;
	p->source = source;
	p->checkpoint_ns = p->down_ns = INT64_MIN;
}

/* ---- words */

static bool starts(struct slice s, const char *text)
{
	size_t n = strlen(text);

	return s.n >= n && memcmp(s.p, text, n) == 0;
}

static bool eat(struct slice *s, const char *text)
{
	if (!starts(*s, text))
		return false;
	s->p += strlen(text);
	s->n -= strlen(text);
	return true;
}

/* What stands behind a word; empty when it is not there. */
static struct slice behind(struct slice s, const char *word)
{
	const char *at = s.n ? memmem(s.p, s.n, word, strlen(word)) : NULL;

	if (!at)
		return (struct slice){ 0 };
	at += strlen(word);
	return (struct slice){ at, s.n - (size_t)(at - s.p) };
}

static bool holds(struct slice s, const char *word)
{
	return behind(s, word).p != NULL;
}

/* "12.345" of at most 30 bytes; NAN when there is no number. */
static double number_at(struct slice s)
{
	char text[32];
	char *end;
	size_t n = 0;

	while (n < s.n && n < sizeof(text) - 1 &&
		((s.p[n] >= '0' && s.p[n] <= '9') || s.p[n] == '.')) {
		text[n] = s.p[n];
		n++;
	}
	text[n] = '\0';
	double v = strtod(text, &end);
	return n && end != text ? v : NAN;
}

/* Up to a year, so that sums stay in range. */
static int64_t duration(double units, double unit_ns)
{
	double ns = units * unit_ns;

	return ns > 0 && ns < 3.2e16 ? (int64_t)ns : 0;
}

static bool add(struct pglog_events *p, const char *kind, const char *name, int64_t start_ns,
	int64_t end_ns, double dose, struct err *e)
{
	struct event event = { .start_ns = start_ns,
		.end_ns = end_ns == INT64_MIN ? start_ns : end_ns,
		.has_end = end_ns != INT64_MIN,
		.kind = kind,
		.name = name,
		.dose = dose,
		.source = p->source };

	/* Lines out of order, or a clock that was set back. */
	if (event.end_ns < event.start_ns)
		event.start_ns = event.end_ns;
	if (!*name || !event_name_is_plain(slice_of(name)))
		return true;
	if (!event_append(p->list, &event))
		return err_set(e, ERR_ENV, "out of memory, or names hold too many bytes");
	p->told++;
	return true;
}

/* ---- checkpoints: "checkpoint starting: immediate force wait", "checkpoint complete: wrote 9
 * buffers (0.1%); ... total=1.234 s; ...", the same of restartpoints */

static const char *reason_of(struct slice s)
{
	static const struct {
		const char *word, *name;
	} reasons[] = { { "shutdown", "shutdown" }, { "end-of-recovery", "recovery" },
		{ "wal", "wal" }, { "xlog", "wal" }, { "time", "timed" } };

	for (size_t i = 0; i < LENGTH(reasons); i++)
		if (holds(s, reasons[i].word))
			return reasons[i].name;
	return "requested";
}

static bool take_checkpoint(
	struct pglog_events *p, struct slice s, int64_t t_ns, bool *ret_is_one, struct err *e)
{
	*ret_is_one = eat(&s, "checkpoint ") || eat(&s, "restartpoint ");
	if (!*ret_is_one)
		return true;
	if (eat(&s, "starting:")) {
		p->checkpoint_ns = t_ns;
		p->checkpoint = reason_of(s);
		return true;
	}
	if (!eat(&s, "complete:"))
		return true;
	int64_t total_ns = duration(number_at(behind(s, "total=")), 1e9);
	/* The log began in its middle: its length is told, its reason is not. */
	int64_t start_ns = p->checkpoint_ns == INT64_MIN ? t_ns - total_ns : p->checkpoint_ns;
	const char *name = p->checkpoint ? p->checkpoint : "unknown";
	p->checkpoint_ns = INT64_MIN;
	p->checkpoint = NULL;
	return add(p, "checkpoint", name, start_ns, t_ns, number_at(behind(s, " wrote ")), e);
}

/* ---- autovacuum: automatic [aggressive] vacuum [to prevent wraparound] of table
 * "db.schema.table": ..., automatic analyze of table "db.schema.table" ... */

/* Without the database, as the statistics name a table. */
static bool table_name(struct slice s, char to[EVENT_NAME_MAX + 1])
{
	const char *end = s.n ? memchr(s.p, '"', s.n) : NULL;
	const char *dot = end ? memchr(s.p, '.', (size_t)(end - s.p)) : NULL;

	if (!dot || !memchr(dot + 1, '.', (size_t)(end - dot - 1)))
		return false;
	snprintf(to, EVENT_NAME_MAX + 1, "%.*s", (int)(end - dot - 1), dot + 1);
	return true;
}

/* "buffer usage: 24 hits, 3 misses, 5 dirtied"; 18 says reads for misses. */
static double pages_of(struct slice s)
{
	struct slice usage = behind(s, "buffer usage: ");
	struct slice read = behind(usage, " hits, "), dirtied;

	if (!read.p)
		return NAN;
	dirtied = behind(read, ", ");
	double pages = number_at(read), more = number_at(dirtied);
	return isnan(more) ? pages : pages + more;
}

static bool take_automatic(
	struct pglog_events *p, struct slice s, int64_t t_ns, bool *ret_is_one, struct err *e)
{
	char name[EVENT_NAME_MAX + 1];

	*ret_is_one = eat(&s, "automatic ");
	if (!*ret_is_one)
		return true;
	bool is_analyze = starts(s, "analyze ");
	struct slice table = behind(s, "of table \"");
	if (!table_name(table, name))
		return true;
	/* From 10 on; before, "elapsed 0.01 sec". */
	struct slice elapsed = behind(table, "elapsed: ");
	double s_elapsed = number_at(elapsed.p ? elapsed : behind(table, "elapsed "));
	return add(p, is_analyze ? "autoanalyze" : "autovacuum", name,
		t_ns - duration(s_elapsed, 1e9), t_ns, pages_of(table), e);
}

/* ---- locks: "process 9 still waiting for ShareLock on transaction 7 after 1000.1 ms",
 * "process 9 acquired ShareLock on ... after 2000.2 ms" */

/* "ShareLock:transaction", "AccessExclusiveLock:relation": numbers are values. */
static bool lock_name(struct slice s, char to[80])
{
	const char *on = s.n ? memmem(s.p, s.n, " on ", 4) : NULL;
	size_t mode = on ? (size_t)(on - s.p) : 0;
	size_t n = 0;

	if (!on || mode > 30)
		return false;
	struct slice target = { on + 4, s.n - mode - 4 };
	while (n < target.n && n < 30 && target.p[n] >= 'a' && target.p[n] <= 'z')
		n++;
	snprintf(to, 80, "%.*s:%.*s", (int)mode, s.p, (int)n, target.p);
	return n > 0;
}

static struct pglog_wait *wait_of(struct pglog_events *p, uint64_t pid)
{
	for (size_t i = 0; i < p->wait_count; i++)
		if (p->waits[i].pid == pid)
			return &p->waits[i];
	return NULL;
}

static bool end_wait(struct pglog_events *p, struct pglog_wait *w, int64_t end_ns, struct err *e)
{
	bool ok = add(p, "lock", w->name, w->start_ns, end_ns, NAN, e);

	*w = p->waits[--p->wait_count];
	return ok;
}

static bool start_wait(struct pglog_events *p, uint64_t pid, int64_t start_ns, int64_t t_ns,
	const char *name, struct err *e)
{
	struct pglog_wait *w = wait_of(p, pid);

	/* It waits for another one: the wait before was given up. */
	if (w && strcmp(w->name, name) != 0) {
		if (!end_wait(p, w, w->last_ns, e))
			return false;
		w = NULL;
	}
	if (!w && p->wait_count == PGLOG_WAITS_MAX) {
		p->waits_refused++;
		return true;
	}
	if (!w) {
		w = &p->waits[p->wait_count++];
		*w = (struct pglog_wait){ .pid = pid, .start_ns = start_ns };
		snprintf(w->name, sizeof(w->name), "%s", name);
	}
	w->last_ns = t_ns;
	return true;
}

static bool take_lock(
	struct pglog_events *p, struct slice s, int64_t t_ns, bool *ret_is_one, struct err *e)
{
	char name[80];

	*ret_is_one = eat(&s, "process ");
	if (!*ret_is_one)
		return true;
	double pid = number_at(s);
	struct slice waiting = behind(s, " still waiting for "), got = behind(s, " acquired ");
	struct slice lock = waiting.p ? waiting : got;
	if (isnan(pid) || !lock.p || !lock_name(lock, name))
		return true;
	int64_t start_ns = t_ns - duration(number_at(behind(lock, " after ")), 1e6);
	if (waiting.p)
		return start_wait(p, (uint64_t)pid, start_ns, t_ns, name, e);
	struct pglog_wait *w = wait_of(p, (uint64_t)pid);
	if (w)
		return end_wait(p, w, t_ns, e);
	return add(p, "lock", name, start_ns, t_ns, NAN, e);
}

/* ---- restarts */

static void go_down(struct pglog_events *p, int64_t t_ns, bool is_crash)
{
	if (p->down_ns == INT64_MIN)
		p->down_ns = t_ns;
	p->is_crash |= is_crash;
	p->checkpoint_ns = INT64_MIN;
	p->checkpoint = NULL;
}

static bool come_up(struct pglog_events *p, int64_t t_ns, struct err *e)
{
	const char *kind = p->is_crash ? "crash" : "restart";
	int64_t start_ns = p->down_ns == INT64_MIN ? t_ns : p->down_ns;

	p->down_ns = INT64_MIN;
	p->is_crash = false;
	return add(p, kind, "postgres", start_ns, t_ns, NAN, e);
}

static bool take_restart(
	struct pglog_events *p, struct slice s, int64_t t_ns, bool *ret_is_one, struct err *e)
{
	static const char *const crashes[] = { "terminating any other active server processes",
		"database system was interrupted", "database system was not properly shut down",
		"all server processes terminated; reinitializing" };
	static const char *const stops[] = { "received fast shutdown request",
		"received smart shutdown request", "received immediate shutdown request",
		"database system was shut down", "starting PostgreSQL " };

	*ret_is_one = true;
	if (starts(s, "database system is ready to accept"))
		return come_up(p, t_ns, e);
	if (starts(s, "server process (PID ") && holds(s, " was terminated by signal ")) {
		go_down(p, t_ns, true);
		return true;
	}
	for (size_t i = 0; i < LENGTH(crashes); i++)
		if (starts(s, crashes[i])) {
			go_down(p, t_ns, true);
			return true;
		}
	for (size_t i = 0; i < LENGTH(stops); i++)
		if (starts(s, stops[i])) {
			go_down(p, t_ns, false);
			return true;
		}
	*ret_is_one = false;
	return true;
}

/* ---- the rest */

/* parameter "work_mem" changed to "64MB": the name, never the value. */
static bool take_setting(struct pglog_events *p, struct slice s, int64_t t_ns, struct err *e)
{
	char name[80];
	const char *end = s.n ? memchr(s.p, '"', s.n) : NULL;

	if (!end || end - s.p >= (ptrdiff_t)sizeof(name))
		return true;
	struct slice rest = { end, s.n - (size_t)(end - s.p) };
	if (!starts(rest, "\" changed to ") && !starts(rest, "\" removed from configuration"))
		return true;
	snprintf(name, sizeof(name), "%.*s", (int)(end - s.p), s.p);
	return add(p, "setting", name, t_ns, INT64_MIN, NAN, e);
}

static bool take_other(struct pglog_events *p, struct slice s, int64_t t_ns, struct err *e)
{
	if (starts(s, "temporary file: path "))
		return add(
			p, "temp", "files", t_ns, INT64_MIN, number_at(behind(s, "\", size ")), e);
	if (starts(s, "received SIGHUP, reloading configuration files"))
		return add(p, "reload", "postgres", t_ns, INT64_MIN, NAN, e);
	if (starts(s, "received replication command: BASE_BACKUP"))
		return add(p, "backup", "basebackup", t_ns, INT64_MIN, NAN, e);
	if (eat(&s, "parameter \""))
		return take_setting(p, s, t_ns, e);
	return true;
}

static bool is_deadlock(const struct pglog_line *line)
{
	return slice_is(line->sqlstate, "40P01") ||
	       (!line->sqlstate.n && starts(line->message, "deadlock detected"));
}

/* Another severity's word, or what a process of the server says in no words of ours. */
static bool is_foreign(const struct pglog_line *line)
{
	static const char *const severities[] = { "LOG", "ERROR", "FATAL", "PANIC", "WARNING",
		"NOTICE", "INFO", "DEBUG", "DEBUG1", "DEBUG2", "DEBUG3", "DEBUG4", "DEBUG5" };
	struct slice s = line->message;

	if (pglog_is_localised(line))
		return true;
	if (slice_is(line->severity, "LOG") && slice_is(line->backend_type, "checkpointer"))
		return !starts(s, "checkpoint") && !starts(s, "restartpoint") &&
		       !starts(s, "shutting down") && !starts(s, "parameter \"") &&
		       !starts(s, "recovery restart point");
	if (slice_is(line->severity, "LOG") && slice_is(line->backend_type, "autovacuum worker"))
		return !starts(s, "automatic ") && !starts(s, "process ") &&
		       !starts(s, "temporary file: ") && !starts(s, "skipping ");
	for (size_t i = 0; i < LENGTH(severities); i++)
		if (slice_is(line->severity, severities[i]))
			return false;
	return line->severity.n > 0;
}

bool pglog_events_take(
	struct pglog_events *p, const struct pglog_line *line, int64_t t_ns, struct err *e)
{
	struct slice s = line->message;
	bool is_one = false;

	if (is_deadlock(line))
		return add(p, "deadlock", "postgres", t_ns, INT64_MIN, NAN, e);
	p->foreign += is_foreign(line);
	if (!slice_is(line->severity, "LOG") || starts(s, "duration: "))
		return true;
	if (!take_checkpoint(p, s, t_ns, &is_one, e))
		return false;
	if (!is_one && !take_automatic(p, s, t_ns, &is_one, e))
		return false;
	if (!is_one && !take_lock(p, s, t_ns, &is_one, e))
		return false;
	if (!is_one && !take_restart(p, s, t_ns, &is_one, e))
		return false;
	return is_one || take_other(p, s, t_ns, e);
}

bool pglog_events_finish(struct pglog_events *p, struct err *e)
{
	while (p->wait_count) {
		struct pglog_wait *w = &p->waits[p->wait_count - 1];

		if (!end_wait(p, w, w->last_ns, e))
			return false;
	}
	if (p->checkpoint_ns != INT64_MIN &&
		!add(p, "checkpoint", p->checkpoint, p->checkpoint_ns, INT64_MIN, NAN, e))
		return false;
	if (p->down_ns != INT64_MIN && !add(p, p->is_crash ? "crash" : "restart", "postgres",
					       p->down_ns, INT64_MIN, NAN, e))
		return false;
	pglog_events_init(p, p->list, p->source);
	return true;
}
