/*
 * Schedules of every dialect. Laws: a file that is refused has a message; no time lies
 * outside of what was asked for unless its span reaches in; a name holds no control
 * characters.
 */
#include <stdlib.h>

#include "core/model/event.h"
#include "correlate/schedule_load.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static schedule_reader *const readers[] = { schedule_read_cron, schedule_read_timers,
	schedule_read_kubernetes, schedule_read_pg_cron, schedule_read_quartz };
static const char *const dialects[] = { "cron", "systemd", "kubernetes", "pg_cron", "quartz" };

static void check(const struct schedule_target *to)
{
	for (size_t i = 0; i < to->list->count; i++) {
		const struct condition *c = &to->list->items[i];

		if (!event_name_is_plain(slice_of(c->name)))
			abort();
		for (size_t k = 0; k < c->count; k++)
			if (c->items[k].start_ns > to->last_ns ||
				c->items[k].end_ns < to->first_ns ||
				c->items[k].end_ns < c->items[k].start_ns)
				abort();
	}
}

/* The first byte chooses the dialect. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct condition_list list;
	struct reach_list reaches = { 0 };
	struct notes notes;
	struct err e = { 0 };

	if (size < 1 || size > 4096)
		return 0;
	size_t which = data[0] % LENGTH(readers);
	condition_list_init(&list);
	notes_init(&notes);
	const struct schedule_target to = { &list, &reaches, &notes, "America/Santiago",
		INT64_C(1788652800) * NS_PER_S, INT64_C(1788700000) * NS_PER_S, NULL };
	struct schedule_loader l = { .to = &to, .path = "fuzz", .dialect = dialects[which] };
	l.reach = reach_add(&reaches, "fuzz", dialects[which]);
	struct slice text = { (const char *)data + 1, size - 1 };
	(void)(schedule_is_quartz(text) + schedule_is_pg_cron(text));
	bool ok = readers[which](&l, text, &e);
	if ((!ok && !e.what[0]) || (l.reach->bad && !l.reach->first_bad.what[0]))
		abort();
	check(&to);
	condition_list_free(&list);
	notes_free(&notes);
	return 0;
}
