/*
 * schedule_load.h - what the readers of the dialects share while one file is read.
 *
 * A reader parses the text, asks for a condition for each entry and emits its times into
 * it. An entry that is wrong is counted and the first one kept; a reader fails only for
 * lack of memory, at the cap of conditions, or for a wrong --zone. Times of one file are
 * bounded by SCHEDULE_TIMES_MAX in all, beside CONDITION_TIMES_MAX each.
 */
#ifndef REPROD_CORRELATE_SCHEDULE_LOAD_H
#define REPROD_CORRELATE_SCHEDULE_LOAD_H

#include "core/format/zone.h"
#include "correlate/schedule.h"

#define SCHEDULE_TIMES_MAX 4000000

/* Why an entry has no times. */
enum schedule_silence {
	SILENT_REBOOT,
	SILENT_RANDOM_DAY,
	SILENT_INTERVAL,
	SILENT_MONOTONIC,
	SILENT_SUSPENDED,
	SILENCES
};

struct schedule_loader {
	const struct schedule_target *to;
	struct reach *reach;
	const char *path;
	const char *dialect;
	bool is_utc_assumed;
	bool is_full; /* of times */
	bool is_cronie; /* a crontab sets what only cronie heeds */
	bool is_unended; /* a crontab's last line has no newline */
	size_t times;
	size_t silent[SILENCES];
	struct condition *into; /* where schedule_emit() puts times */
};

typedef bool schedule_reader(struct schedule_loader *l, struct slice text, struct err *e);

/* The condition job:NAME of a new entry becomes loader.into. */
bool schedule_entry(struct schedule_loader *l, const char *name, struct err *e) MUST_USE;
/* Takes it back: its schedule was wrong. */
void schedule_drop(struct schedule_loader *l);
/* Several expressions of one entry may name one time: it counts once. */
void schedule_unite(struct schedule_loader *l);
void schedule_silent(struct schedule_loader *l, enum schedule_silence why);
/* The place is put in front: "line 3". */
void schedule_bad(struct schedule_loader *l, const struct err *why, const char *place);
/* One occurrence of loader.into; a callback of the expanders. False when it is full. */
bool schedule_emit(void *loader, int64_t start_s, int64_t end_s);
bool schedule_emit_ns(struct schedule_loader *l, int64_t start_ns, int64_t end_ns);
/* The zone an entry names, else --zone, else UTC. Closed by the caller when true. */
bool schedule_zone(
	struct schedule_loader *l, const char *named, struct zone *ret, struct err *e) MUST_USE;
/* Takes the next line off the text, without its end. False at the end. */
bool schedule_line(struct slice *text, struct slice *ret);

schedule_reader schedule_read_cron, schedule_read_timers, schedule_read_kubernetes,
	schedule_read_pg_cron, schedule_read_quartz;
/* Whether the text looks like that dialect. */
bool schedule_is_quartz(struct slice text);
bool schedule_is_pg_cron(struct slice text);

#endif
