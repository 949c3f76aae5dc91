/*
 * meter.h - a live capture held to its budget: looks once a second, sheds, and says
 * when it must end.
 *
 * Also keeps head.cost: own CPU for a request, its share of one core, memory at its
 * highest, drops. Borrows everything. One thread.
 */
#ifndef REPROD_METER_H
#define REPROD_METER_H

#include "capture/pipeline.h"
#include "capture/shed.h"

struct meter {
	struct budget budget;
	struct gauge gauge;
	struct shed shed;
	struct source *source;
	struct pipeline *pipeline;
	const struct rcap_writer *writer; /* whose bytes count as disk, or NULL */
	struct head_facts *facts;
	const char *ended; /* which budget is used up, or NULL */
};

/* The other fields are set. */
void meter_start(struct meter *m, int64_t mono_ns);
/* ITEM: go on. END: it must end, m->ended says why. */
enum step meter_look(struct meter *m, int64_t mono_ns, int64_t wall_ns, struct err *e);
/* Brings ledger and facts (cost, shedding) up to date. */
void meter_note(struct meter *m, int64_t mono_ns);

#endif
