#include "capture/meter.h"

#include <math.h>

void meter_start(struct meter *m, int64_t mono_ns)
{
	gauge_start(&m->gauge, mono_ns);
}

static struct json *drops_json(const struct source_drops *d)
{
	struct json *j = json_object();

	json_set_int(j, "kernel", (int64_t)d->kernel);
	json_set_int(j, "interface", (int64_t)d->interface);
	return j;
}

static struct json *cost_json(const struct meter *m, const struct source_drops *d, int64_t mono_ns)
{
	struct json *j = json_object();
	double cpu_ns = (double)gauge_cpu_ns(&m->gauge);
	double span = (double)(mono_ns - m->gauge.began_ns);
	uint64_t requests = pipeline_requests(m->pipeline);

	json_set_number(
		j, "cpu_ns_per_request", requests ? round(cpu_ns / (double)requests) : (double)NAN);
	json_set_number(j, "cpu_share", span > 0 ? cpu_ns / span : (double)NAN);
	json_set_int(j, "memory_max_bytes", m->gauge.mem_max_bytes);
	json_set(j, "drops", drops_json(d));
	json_set(j, "budget", budget_json(&m->budget));
	return j;
}

void meter_note(struct meter *m, int64_t mono_ns)
{
	struct source_drops d = { 0 };
	struct ledger *l = pipeline_ledger(m->pipeline);

	m->source->kind->drops(m->source, &d);
	l->lost[LOST_KERNEL] = d.kernel;
	l->lost[LOST_INTERFACE] = d.interface;
	json_free(m->facts->cost);
	m->facts->cost = cost_json(m, &d, mono_ns);
	if (!m->shed.count)
		return;
	json_free(m->facts->shedding);
	m->facts->shedding = shed_json(&m->shed);
	pipeline_describe_shed(m->pipeline, m->facts->shedding);
}

static bool set_level(struct meter *m, struct err *e)
{
	CLEANUP(buf_free) struct buf filter = { 0 };

	shed_filter(m->shed.level, source_live_filter(m->source), &filter);
	return source_live_refilter(m->source, buf_text(&filter), e) &&
	       pipeline_shed(m->pipeline, m->shed.level, e);
}

static enum step end(struct meter *m, const char *why)
{
	m->ended = why;
	return STEP_END;
}

enum step meter_look(struct meter *m, int64_t mono_ns, int64_t wall_ns, struct err *e)
{
	enum budget_state state;

	if (!gauge_look(
		    &m->gauge, &m->budget, mono_ns, m->writer ? rcap_bytes(m->writer) : 0, &state))
		return STEP_ITEM;
	if (state == BUDGET_DISK_FULL)
		return end(m, "disk");
	meter_note(m, mono_ns);
	if (shed_step(&m->shed, state, wall_ns) && !set_level(m, e))
		return STEP_FAIL;
	if (shed_is_exhausted(&m->shed))
		return end(m, state == BUDGET_OVER_MEM ? "memory" : "cpu");
	return STEP_ITEM;
}
