#include "capture/verify.h"

#include <inttypes.h>
#include <stdarg.h>

#include "capture/canary.h"
#include "capture/outfile.h"
#include "core/base/file.h"
#include "core/base/json.h"
#include "core/model/rcap.h"

enum { LISTED_MAX = 100 };

struct verify_args {
	const char *canary, *output;
};

static const struct cli_option options[] = {
	{ "canary", 0, CLI_TEXT, offsetof(struct verify_args, canary), "FILE",
		"strings, one a line, that must be nowhere in the capture" },
	{ "output", 'o', CLI_TEXT, offsetof(struct verify_args, output), "FILE",
		"write here instead of standard output" },
	{ 0 },
};

struct verify {
	struct rcap *rcap;
	struct canary_set *canaries;
	struct json *faults, *hits;
	uint64_t blocks, bytes, records, sessions, requests, hit_count;
	const struct rcap_block *block; /* being searched */
};

PRINTF_LIKE(2, 3)
static void fault(struct verify *v, const char *fmt, ...)
{
	struct buf text = { 0 };
	va_list ap;

	va_start(ap, fmt);
	buf_vaddf(&text, fmt, ap);
	va_end(ap);
	json_append_text(v->faults, buf_text(&text));
	buf_free(&text);
}

static void on_hit(void *data, struct canary_hit h)
{
	struct verify *v = data;

	if (v->hit_count++ >= LISTED_MAX)
		return;
	struct json *hit = json_object();
	json_set_int(hit, "line", h.line);
	json_set_text(hit, "form", h.form);
	if (v->block) {
		json_set_int(hit, "offset", (int64_t)v->block->offset);
		json_set_text(hit, "kind", v->block->kind_name);
	} else {
		json_set_text(hit, "kind", "value");
	}
	json_append(v->hits, hit);
}

static bool check_blocks(struct verify *v, struct run *run, struct err *e)
{
	struct rcap_block block;
	uint64_t at = 0;
	enum step step;

	while (!run_stopped(run) &&
		(step = rcap_next_block(v->rcap, &at, &block, e)) == STEP_ITEM) {
		v->blocks++;
		v->bytes += block.payload.n;
		if (block.is_damaged)
			fault(v, "the %s block at offset %" PRIu64 " is damaged", block.kind_name,
				block.offset);
		v->block = &block;
		if (v->canaries)
			canary_search(v->canaries, block.payload, on_hit, v);
		v->block = NULL;
	}
	return run_stopped(run) || step == STEP_END;
}

static void search_values(struct verify *v, const struct request_record *q)
{
	for (size_t i = 0; i < q->value_count; i++)
		canary_search_value(v->canaries, q->values[i].bytes, on_hit, v);
	canary_search_value(v->canaries, q->copy_data, on_hit, v);
}

/* A record that does not decode is a fault of the file, not a failure to look. */
static void check_records(struct verify *v, struct run *run)
{
	struct rcap_item item;
	struct err e = { 0 };
	enum step step = STEP_END;

	rcap_rewind(v->rcap);
	while (!run_stopped(run) && (step = rcap_next(v->rcap, &item, &e)) == STEP_ITEM) {
		v->records++;
		v->sessions += item.kind == RCAP_SESSION && item.session.close_ns == 0;
		if (item.kind != RCAP_REQUEST)
			continue;
		v->requests++;
		if (v->canaries)
			search_values(v, &item.request);
	}
	if (step == STEP_FAIL)
		fault(v, "%s: %s", e.where, e.what);
}

static uint64_t sum_of(const struct json *map)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < json_count(map); i++) {
		struct json *value;

		json_key_at(map, i, &value);
		sum += (uint64_t)json_int(value, 0);
	}
	return sum;
}

static void check_sum(struct verify *v, const char *what, uint64_t whole, uint64_t parts)
{
	if (whole != parts)
		fault(v, "%s: %" PRIu64 " are not the sum of their parts, %" PRIu64, what, whole,
			parts);
}

static void check_ledger(struct verify *v)
{
	const struct json *head = rcap_head(v->rcap);
	struct rcap_totals totals = rcap_totals(v->rcap);
	uint64_t by_route = 0;

	if (json_path(head, "ledger.packets.seen"))
		check_sum(v, "packets seen",
			(uint64_t)json_int(json_path(head, "ledger.packets.seen"), 0),
			(uint64_t)json_int(json_path(head, "ledger.packets.decoded"), 0) +
				sum_of(json_path(head, "ledger.packets.skipped")));
	for (uint32_t i = 0; i < rcap_route_count(v->rcap); i++)
		by_route += rcap_route(v->rcap, i)->requests;
	check_sum(v, "requests counted", totals.requests, by_route);
	if (!rcap_damaged_blocks(v->rcap))
		check_sum(v, "requests stored", totals.stored, v->requests);
	const struct json *counted = json_path(head, "counts.requests");
	if (rcap_is_finished(v->rcap) && counted)
		check_sum(
			v, "requests of the head", (uint64_t)json_int(counted, 0), totals.requests);
	if (!rcap_is_finished(v->rcap))
		fault(v, "the file was not finished: killed, or still being written");
	if (rcap_torn_bytes(v->rcap))
		fault(v, "%" PRIu64 " bytes at the end are no whole block",
			rcap_torn_bytes(v->rcap));
}

static struct json *result(const struct verify *v)
{
	struct json *map = json_object();

	json_set_bool(map, "ok", json_count(v->faults) == 0 && v->hit_count == 0);
	json_set_int(map, "blocks", (int64_t)v->blocks);
	json_set_int(map, "bytes_unpacked", (int64_t)v->bytes);
	json_set_int(map, "records", (int64_t)v->records);
	json_set(map, "faults", json_copy(v->faults));
	if (v->canaries) {
		struct json *canaries = json_object();

		json_set_int(canaries, "looked_for", (int64_t)canary_count(v->canaries));
		json_set_int(canaries, "too_short", (int64_t)canary_too_short(v->canaries));
		json_set_int(canaries, "found", (int64_t)v->hit_count);
		json_set(canaries, "hits", json_copy(v->hits));
		json_set(map, "canaries", canaries);
	}
	return map;
}

static void print_hits(const struct verify *v, FILE *to)
{
	for (size_t i = 0; i < json_count(v->hits); i++) {
		const struct json *hit = json_at(v->hits, i);
		const struct json *offset = json_get(hit, "offset");

		fprintf(to, "  canary line %" PRId64 " found as %s in ",
			json_int(json_get(hit, "line"), 0), json_text(json_get(hit, "form"), "?"));
		if (offset)
			fprintf(to, "the %s block at offset %" PRId64 "\n",
				json_text(json_get(hit, "kind"), "?"), json_int(offset, 0));
		else
			fputs("a value\n", to);
	}
	if (v->hit_count > LISTED_MAX)
		fprintf(to, "  and %" PRIu64 " more\n", v->hit_count - LISTED_MAX);
}

static void print(const struct verify *v, const char *path, FILE *to)
{
	fprintf(to, "%s: %s\n", path, json_count(v->faults) || v->hit_count ? "NOT ok" : "ok");
	fprintf(to, "  %" PRIu64 " blocks, %" PRIu64 " bytes unpacked, %" PRIu64 " records\n",
		v->blocks, v->bytes, v->records);
	for (size_t i = 0; i < json_count(v->faults); i++)
		fprintf(to, "  %s\n", json_text(json_at(v->faults, i), ""));
	if (!v->canaries)
		return;
	fprintf(to, "  %zu canaries looked for in every form, %" PRIu64 " found",
		canary_count(v->canaries), v->hit_count);
	if (canary_too_short(v->canaries))
		fprintf(to, "; %zu lines shorter than 3 bytes were not looked for",
			canary_too_short(v->canaries));
	fputc('\n', to);
	print_hits(v, to);
}

static bool check(struct verify *v, struct run *run, const char *path, struct err *e)
{
	v->rcap = rcap_open(path, e);
	if (!v->rcap || !check_blocks(v, run, e))
		return false;
	check_records(v, run);
	if (run_stopped(run))
		return err_set(e, ERR_INTERRUPTED, "interrupted");
	check_ledger(v);
	return true;
}

static bool tell(const struct verify *v, struct run *run, const char *output, const char *path,
	struct err *e)
{
	struct outfile file;

	if (!outfile_open(&file, run, output, e))
		return false;
	if (run->is_json) {
		struct json *map = result(v);

		json_print(map, run->out);
		json_free(map);
	} else {
		print(v, path, run->out);
	}
	return outfile_close(&file, true, e);
}

static enum outcome verify(struct run *run, void *args, struct cli_operands ops, struct err *e)
{
	const struct verify_args *a = args;
	struct verify v = { 0 };
	enum outcome outcome = OUTCOME_FAILED;

	if (ops.count != 1) {
		err_set(e, ERR_USAGE, "capture verify reads one file");
		return OUTCOME_FAILED;
	}
	const char *const inputs[] = { ops.items[0], a->canary };
	if (!file_is_apart(a->output, inputs, LENGTH(inputs), e))
		return OUTCOME_FAILED;
	v.faults = json_array();
	v.hits = json_array();
	if (a->canary) {
		v.canaries = canary_load(a->canary, e);
		if (!v.canaries)
			goto out;
		if (canary_count(v.canaries) == 0) {
			err_set(e, ERR_INPUT, "no string of 3 or more bytes to look for");
			err_in(e, "%s", a->canary);
			goto out;
		}
	}
	if (!check(&v, run, ops.items[0], e))
		goto out;
	if (!tell(&v, run, a->output, ops.items[0], e))
		goto out;
	outcome = json_count(v.faults) || v.hit_count ? OUTCOME_NO : OUTCOME_YES;
out:
	rcap_close(v.rcap);
	canary_free(v.canaries);
	json_free(v.faults);
	json_free(v.hits);
	return outcome;
}

const struct cli_command capture_verify_command = {
	.name = "verify",
	.summary = "check every block and count of a capture, and that no given string is in it",
	.usage = "capture verify [--canary FILE] [--json] FILE.rcap",
	.notes =
		"Exit 1 when something is wrong or a canary was found. Canaries are looked for in\n"
		"the unpacked file as plain text (any case), base64, hex, URL-encoded, UTF-16,\n"
		"binary uuids, numerics, integers, dates and timestamps; they are named by line, never\n"
		"printed. Integers of 2 and 4 bytes are looked for in values only.",
	.options = options,
	.args_size = sizeof(struct verify_args),
	.main = verify,
};
