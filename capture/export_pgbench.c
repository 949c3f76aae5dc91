/*
 * pgbench scripts: one for each of the routes with the most requests, its weight their
 * number, its statements picked from the capture; run.sh is the command line.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "capture/export.h"
#include "capture/export_sql.h"
#include "capture/outfile.h"
#include "core/base/file.h"
#include "core/base/rng.h"

struct script {
	uint32_t route;
	uint64_t seen; /* requests that could be told */
	char **samples;
	size_t count;
};

struct scripts {
	struct script *items;
	size_t count;
	size_t room; /* for samples of one */
	struct rng rng;
	uint64_t named, unnamed, simple;
	unsigned in_flight_max;
};

static int by_requests(const void *a, const void *b)
{
	const struct rcap_route *x = *(const struct rcap_route *const *)a,
				*y = *(const struct rcap_route *const *)b;

	if (x->requests != y->requests)
		return x->requests > y->requests ? -1 : 1;
	return x->id < y->id ? -1 : x->id > y->id;
}

static bool choose_routes(const struct export *x, struct scripts *s)
{
	size_t all = rcap_route_count(x->rcap), n = 0;
	const struct rcap_route **sorted = calloc(all + 1, sizeof *sorted);

	s->items = calloc((size_t)x->routes, sizeof *s->items);
	if (!sorted || !s->items) {
		free(sorted);
		return false;
	}
	for (size_t i = 0; i < all; i++) {
		const struct rcap_route *r = rcap_route(x->rcap, (uint32_t)i);

		if (r->requests && r->protocol == PROTOCOL_PG && export_sql_is_alone(r->text))
			sorted[n++] = r;
	}
	qsort(sorted, n, sizeof *sorted, by_requests);
	for (size_t i = 0; i < n && i < (size_t)x->routes; i++)
		s->items[s->count++].route = sorted[i]->id;
	free(sorted);
	return true;
}

static struct script *find_script(struct scripts *s, uint32_t route)
{
	for (size_t i = 0; i < s->count; i++)
		if (s->items[i].route == route)
			return &s->items[i];
	return NULL;
}

static bool keep_sample(struct scripts *s, struct script *script, const struct buf *text)
{
	size_t at = script->count;

	if (!script->samples && !(script->samples = calloc(s->room, sizeof *script->samples)))
		return false;
	script->seen++;
	for (size_t i = 0; i < script->count; i++)
		if (strcmp(script->samples[i], buf_text(text)) == 0)
			return true;
	if (script->count == s->room && (at = rng_below(&s->rng, script->seen)) >= s->room)
		return true;
	char *copy = strdup(buf_text(text));
	if (!copy)
		return false;
	if (at == script->count)
		script->count++;
	else
		free(script->samples[at]);
	script->samples[at] = copy;
	return true;
}

static void count_form(struct scripts *s, const struct request_record *q)
{
	s->named += q->form == FORM_NAMED;
	s->unnamed += q->form == FORM_UNNAMED;
	s->simple += q->form == FORM_SIMPLE;
	if (q->in_flight > s->in_flight_max)
		s->in_flight_max = q->in_flight;
}

static bool collect(struct export *x, struct scripts *s, struct err *e)
{
	struct request_record q;
	enum step step;

	while ((step = export_next(x, PROTOCOL_PG, &q, e)) == STEP_ITEM) {
		struct script *script = find_script(s, q.route);
		bool is_told = q.form >= FORM_SIMPLE && q.form <= FORM_NAMED && !q.sqlstate[0] &&
			       !(q.flags & (REQUEST_SKIPPED | REQUEST_EXTERNAL));

		if (!script || !is_told ||
			!export_sql(rcap_template(x->rcap, q.template_id), &q, &x->text)) {
			x->no_text++;
			continue;
		}
		count_form(s, &q);
		if (!keep_sample(s, script, &x->text))
			return err_set(e, ERR_ENV, "out of memory");
		x->written++;
	}
	return step == STEP_END;
}

/* ---- files */

static FILE *open_in(const struct export *x, const char *name, mode_t mode, struct err *e)
{
	char path[4096];
	FILE *f = NULL;

	if ((size_t)snprintf(path, sizeof path, "%s/%s", x->output, name) >= sizeof path) {
		err_set(e, ERR_USAGE, "the name '%s' is too long", x->output);
		return NULL;
	}
	if (!file_may_write(path, x->run->is_forced, e))
		return NULL;
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode);
	if (fd < 0 || !(f = fdopen(fd, "w")))
		err_os(e, ERR_ENV, errno, "could not create '%s'", path);
	if (fd >= 0 && !f)
		close(fd);
	return f;
}

static bool close_file(const struct export *x, FILE *f, struct err *e)
{
	bool ok = !ferror(f);

	return (fclose(f) == 0 && ok) ||
	       err_os(e, ERR_ENV, errno, "could not write in '%s'", x->output);
}

/* The route's text stands in the comment as one line. */
static void print_comment(const struct export *x, const struct script *s, FILE *to)
{
	struct slice text = rcap_route(x->rcap, s->route)->text;

	fputs("-- ", to);
	for (size_t i = 0; i < text.n && i < 500; i++)
		fputc(text.p[i] == '\n' || text.p[i] == '\r' ? ' ' : text.p[i], to);
	fprintf(to,
		"\n-- %" PRIu64 " requests; %zu different statements of them. Not in here: the\n"
		"-- transaction they ran in, what came before and after, how often each value came.\n",
		s->seen, s->count);
}

static bool print_script(
	const struct export *x, const struct script *s, const char *name, struct err *e)
{
	FILE *to = open_in(x, name, 0666, e);

	if (!to)
		return false;
	print_comment(x, s, to);
	if (s->count > 1)
		fprintf(to, "\\set pick random(1, %zu)\n", s->count);
	for (size_t i = 0; i < s->count; i++) {
		if (s->count > 1)
			fprintf(to, "\\%s :pick = %zu\n", i ? "elif" : "if", i + 1);
		fprintf(to, "%s;\n", s->samples[i]);
	}
	if (s->count > 1)
		fputs("\\endif\n", to);
	return close_file(x, to, e);
}

static const char *mode_of(const struct scripts *s)
{
	if (s->named >= s->unnamed && s->named >= s->simple)
		return "prepared";
	return s->unnamed >= s->simple ? "extended" : "simple";
}

/* pgbench's weights end at INT_MAX. */
static uint64_t weight_of(const struct scripts *s, const struct script *script)
{
	uint64_t most = 1, unit = 1;

	for (size_t i = 0; i < s->count; i++)
		most = s->items[i].seen > most ? s->items[i].seen : most;
	unit = most / 1000000 + 1;
	return script->seen / unit ? script->seen / unit : 1;
}

static bool print_run(const struct export *x, const struct scripts *s, struct err *e)
{
	double seconds = (double)(x->last_ns - x->first_ns) / (double)NS_PER_S;
	unsigned clients = s->in_flight_max < 1     ? 1
			   : s->in_flight_max > 500 ? 500
						    : s->in_flight_max;
	FILE *to = open_in(x, "run.sh", 0777, e);

	if (!to)
		return false;
	fprintf(to,
		"#!/bin/sh\n"
		"# ./run.sh DATABASE [PGBENCH OPTION...]: %" PRIu64
		" requests of %zu routes, as often and at the\n"
		"# rate of the capture; clients: the most that were in flight at once.\n"
		"# Not in here: sessions, transactions and their order, bursts (arrivals are Poisson),\n"
		"# COPY, fetches, statements that failed or whose values were dropped.\n"
		"set -eu\n"
		"cd \"$(dirname \"$0\")\"\n"
		"db=${1:?DATABASE}\n"
		"shift\n"
		"exec pgbench -n",
		x->written, s->count);
	for (size_t i = 0; i < s->count; i++)
		if (s->items[i].count)
			fprintf(to, " -f %02zu.sql@%" PRIu64, i + 1, weight_of(s, &s->items[i]));
	fprintf(to, " \\\n\t-R %.3g -c %u -j %u -T %.0f -M %s \"$@\" \"$db\"\n",
		seconds > 0 ? (double)x->written / seconds : 1, clients, clients < 2 ? 1 : 2,
		seconds < 1 ? 1 : seconds, mode_of(s));
	return close_file(x, to, e);
}

static bool print_all(const struct export *x, const struct scripts *s, struct err *e)
{
	char name[32];

	if (!x->written)
		return true;
	if (mkdir(x->output, 0777) != 0 && errno != EEXIST)
		return outfile_refuse(x->output, errno, e);
	for (size_t i = 0; i < s->count; i++) {
		snprintf(name, sizeof name, "%02zu.sql", i + 1);
		if (s->items[i].count && !print_script(x, &s->items[i], name, e))
			return false;
	}
	return print_run(x, s, e);
}

bool export_pgbench(struct export *x, struct err *e)
{
	struct scripts s = { .room = x->samples ? (size_t)x->samples : 16 };
	bool ok = choose_routes(x, &s);

	rng_seed(&s.rng, 1);
	ok = ok ? collect(x, &s, e) && print_all(x, &s, e) : err_set(e, ERR_ENV, "out of memory");
	for (size_t i = 0; i < s.count; i++) {
		for (size_t k = 0; k < s.items[i].count; k++)
			free(s.items[i].samples[k]);
		free(s.items[i].samples);
	}
	free(s.items);
	return ok;
}
