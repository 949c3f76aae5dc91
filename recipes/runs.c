#include "recipes/runs.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <unistd.h>

#include "core/base/file.h"
#include "core/base/json.h"

#define RUNS_BYTES_MAX (512u << 20)

void runs_identity(const struct experiment *x, char text[200])
{
	snprintf(text, 200, "%.64s %.40s %.40s", x->recipe_sha256, x->target.mark.frozen_id,
		x->test.is_open ? x->test.mark.system_identifier : "");
}

static struct json *conditions_on(const struct experiment *x, uint32_t on)
{
	struct json *list = json_array();

	for (size_t i = 0; i < x->ablate.conditions; i++) {
		if (on & (UINT32_C(1) << i))
			json_append_text(list, experiment_condition(x, i));
	}
	return list;
}

/* Start, length and flag of each request, in microseconds. */
static struct json *requests_json(const struct cell *c)
{
	struct json *list = json_array();

	for (size_t i = 0; i < c->count; i++) {
		json_append_int(list, c->requests[i].start_ns / 1000);
		json_append_int(
			list, (c->requests[i].end_ns - c->requests[i].start_ns + 999) / 1000);
		json_append_int(list, c->requests[i].is_censored);
	}
	return list;
}

static struct json *job_runs_json(const struct cell *c)
{
	struct json *list = json_array();

	for (size_t i = 0; i < c->job_run_count; i++) {
		json_append_int(list, c->job_runs[i].from_ns / 1000);
		json_append_int(list, c->job_runs[i].to_ns < 0 ? -1 : c->job_runs[i].to_ns / 1000);
	}
	return list;
}

bool runs_append(const struct experiment *x, const struct experiment_run *run, struct err *e)
{
	const struct cell *c = &run->cell;
	struct json *j = json_object();
	struct buf line = { 0 };
	char identity[200];
	int fd;
	bool ok;

	runs_identity(x, identity);
	json_set_text(j, "identity", identity);
	json_set(j, "on", conditions_on(x, run->on));
	json_set_int(j, "repeat", run->repeat);
	json_set_bool(j, "valid", c->is_valid);
	json_set_text(j, "reason", c->reason);
	json_set_number(j, "cpu_share", c->cpu_share);
	json_set_int(j, "planned", (int64_t)c->planned);
	json_set_int(j, "sent", (int64_t)c->sent);
	json_set_int(j, "failed", (int64_t)c->failed);
	json_set_int(j, "skipped", (int64_t)c->skipped);
	json_set_int(j, "took_ns", c->took_ns);
	json_set(j, "job_runs", job_runs_json(c));
	json_set(j, "requests", requests_json(c));
	json_write(j, false, &line);
	json_free(j);
	fd = open(x->options->runs_path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
	ok = fd >= 0 && !line.is_full && write(fd, line.p, line.n) == (ssize_t)line.n;
	if (!ok)
		err_os(e, ERR_ENV, errno, "could not write '%s'", x->options->runs_path);
	if (fd >= 0)
		close(fd);
	buf_free(&line);
	return ok;
}

static bool mask_of(const struct experiment *x, const struct json *on, uint32_t *ret)
{
	*ret = 0;
	for (size_t i = 0; i < json_count(on); i++) {
		size_t bit = 0;

		while (bit < x->ablate.conditions &&
			strcmp(experiment_condition(x, bit), json_text(json_at(on, i), "")) != 0)
			bit++;
		if (bit == x->ablate.conditions)
			return false;
		*ret |= UINT32_C(1) << bit;
	}
	return true;
}

static bool read_run(struct experiment *x, const struct json *j, struct err *e)
{
	struct experiment_run run = { 0 };
	const struct json *list = json_get(j, "requests");
	size_t count = json_count(list) / 3;
	struct cell *c = &run.cell;

	if (!mask_of(x, json_get(j, "on"), &run.on) || x->run_count == EXPERIMENT_RUNS_MAX)
		return true;
	c->requests = calloc(count ? count : 1, sizeof(*c->requests));
	if (!c->requests)
		return err_set(e, ERR_ENV, "could not get memory for %zu requests", count);
	for (size_t i = 0; i < count; i++) {
		int64_t start_us = json_int(json_at(list, 3 * i), 0);
		int64_t length_us = json_int(json_at(list, 3 * i + 1), 0);

		c->requests[i] = (struct inside_request){ .start_ns = start_us * 1000,
			.end_ns = (start_us + length_us) * 1000,
			.is_censored = json_int(json_at(list, 3 * i + 2), 0) != 0 };
		c->censored += c->requests[i].is_censored;
	}
	c->count = count;
	list = json_get(j, "job_runs");
	c->job_run_count = json_count(list) / 2;
	if (c->job_run_count > 0)
		c->job_runs = calloc(c->job_run_count, sizeof(*c->job_runs));
	if (c->job_run_count > 0 && !c->job_runs) {
		cell_free(c);
		return err_set(e, ERR_ENV, "memory ran out");
	}
	for (size_t i = 0; i < c->job_run_count; i++)
		c->job_runs[i] = (struct span){ 1000 * json_int(json_at(list, 2 * i), 0),
			1000 * json_int(json_at(list, 2 * i + 1), 0) };
	c->is_valid = json_is_true(json_get(j, "valid"), false);
	snprintf(c->reason, sizeof(c->reason), "%s", json_text(json_get(j, "reason"), ""));
	c->cpu_share = json_number(json_get(j, "cpu_share"), NAN);
	c->lateness_p99_ms = NAN;
	c->planned = (uint64_t)json_int(json_get(j, "planned"), 0);
	c->sent = (uint64_t)json_int(json_get(j, "sent"), 0);
	c->failed = (uint64_t)json_int(json_get(j, "failed"), 0);
	c->skipped = (uint64_t)json_int(json_get(j, "skipped"), 0);
	c->took_ns = json_int(json_get(j, "took_ns"), 0);
	run.repeat = (int)json_int(json_get(j, "repeat"), 1);
	x->runs[x->run_count++] = run;
	x->resumed++;
	return true;
}

bool runs_load(struct experiment *x, struct err *e)
{
	struct buf bytes = { 0 };
	char identity[200];
	const char *at;
	bool ok = true;

	if (!file_exists(x->options->runs_path))
		return true;
	buf_init(&bytes, RUNS_BYTES_MAX);
	if (!file_read(x->options->runs_path, RUNS_BYTES_MAX, &bytes, e)) {
		buf_free(&bytes);
		return false;
	}
	runs_identity(x, identity);
	at = buf_text(&bytes);
	/* A last line without its end was being written when we were stopped. */
	for (const char *end; ok && (end = strchr(at, '\n')); at = end + 1) {
		struct err ignored = { 0 };
		struct json *j = json_parse(
			(struct slice){ at, (size_t)(end - at) }, x->options->runs_path, &ignored);

		if (j && strcmp(json_text(json_get(j, "identity"), ""), identity) == 0)
			ok = read_run(x, j, e);
		json_free(j);
	}
	buf_free(&bytes);
	return ok;
}
