/*
 * events_parts.h - what the readers of the formats share; for correlate/events*.c only.
 *
 * A reader turns one line or object into events with events_add() and tells with
 * events_saw() which time it read last. It returns false with *e when the line or
 * object is none of its kind or cannot be used; the caller counts it.
 */
#ifndef REPROD_CORRELATE_EVENTS_PARTS_H
#define REPROD_CORRELATE_EVENTS_PARTS_H

#include "core/base/json.h"
#include "core/base/table.h"
#include "core/format/zone.h"
#include "correlate/events.h"
#include "correlate/textlines.h"

/* A run that has begun: which event, and whose. */
struct events_open {
	size_t event; /* index in the list + 1; 0: none */
	uint64_t pid;
	int64_t start_ns, end_ns;
};

enum { EVENTS_OPEN_MAX = 4 };

/* One command, unit or anacron job, by its key. */
struct events_job {
	const char *name; /* with "#2" of a twin */
	struct events_open open[EVENTS_OPEN_MAX];
	size_t count;
	int64_t ended_ns; /* of the run that ended last; INT64_MIN: none */
};

/* A deployment whose statuses may lie in another file. */
struct events_deploy {
	int64_t created_ns, queued_ns, started_ns, ended_ns; /* INT64_MIN: not told */
	const char *environment;
	uint16_t source;
	bool is_told; /* the deployment itself, not a status only */
};

struct events {
	struct events_options o;
	struct zone zone, line_zone;
	char line_zone_name[64];
	int64_t zoned_ns; /* the last local time, as UTC: for the hour that comes twice */

	/* the file that is being read */
	const char *source_name;
	struct reach *reach;
	uint16_t source;
	const char *forced; /* dialect, or NULL */
	const char *dialect; /* of what was read first; NULL: nothing yet */
	const char *list_kind; /* "ReplicaSet" of a ReplicaSetList */
	uint64_t objects; /* of that dialect */
	uint64_t mixed; /* of another one */
	uint64_t total; /* what the document says that there are; 0: nothing */
	int64_t seen_from_ns, seen_to_ns;
	bool is_log; /* it reaches from its first to its last line */
	bool is_year_guessed;

	/* over all files */
	struct table jobs, names, deploys;
	struct events_deploy **deploy_items; /* in order of appearance */
	size_t deploy_count, deploy_cap;
	uint64_t jobs_refused;
};

/* Adds an event of the file being read: end_ns is INT64_MIN when it is not known. */
bool events_add(struct events *ev, const char *kind, const char *name, int64_t start_ns,
	int64_t end_ns, double dose, struct err *e) MUST_USE;
/* The same for a source of its own. */
bool events_add_from(struct events *ev, uint16_t source, const char *kind, const char *name,
	int64_t start_ns, int64_t end_ns, double dose, struct err *e) MUST_USE;
/* Sets the end of an event that was added; event is its index + 1. */
void events_end(struct events *ev, size_t event, int64_t end_ns);
void events_saw(struct events *ev, int64_t t_ns);
/* A reach of its own for one name of a file that keeps only its last few. */
uint16_t events_reach_of(
	struct events *ev, const char *dialect, const char *id, const char *why, int64_t t_ns);
void events_note(struct events *ev, const char *fmt, ...) PRINTF_LIKE(2, 3);

/* events_time.c: RFC 3339, "+01", "+0100" and " UTC" as offsets, epoch seconds; a local
 * time by zone (of its line) or else by the run's zone. */
bool events_time(struct events *ev, struct slice text, const char *zone, int64_t *ret_ns,
	struct err *e) MUST_USE;
/* The member is a text or epoch seconds as a number; false and *e empty when missing. */
bool events_time_at(struct events *ev, const struct json *map, const char *key, const char *zone,
	int64_t *ret_ns, struct err *e) MUST_USE;
/* As that; a member that is missing or null leaves INT64_MIN. */
bool events_time_maybe(struct events *ev, const struct json *map, const char *key, const char *zone,
	int64_t *ret_ns, struct err *e) MUST_USE;
/* "2026-11-30T12:00:00" of digits, to a count of the wall's seconds; *ret_used bytes. */
bool events_wall(struct slice text, int64_t *ret_local_ns, size_t *ret_used) MUST_USE;

/* events_json.c */
bool events_read_json(struct events *ev, struct slice text, uint64_t line, struct err *e) MUST_USE;
bool events_read_json_lines(struct events *ev, struct textlines *t, struct err *e) MUST_USE;
/* Counts what could not be used; *e is told when it is the first. */
void events_bad(struct events *ev, uint64_t line, const struct err *bad);

/* events_csv.c, events_syslog.c */
bool events_is_csv_header(struct slice line);
bool events_read_csv(struct events *ev, struct textlines *t, struct err *e) MUST_USE;
bool events_is_syslog(struct slice line);
bool events_read_syslog(struct events *ev, struct textlines *t, struct err *e) MUST_USE;

/* events_runs.c: messages of cron, anacron and systemd. Not one of theirs: nothing. */
bool events_take_message(struct events *ev, int64_t t_ns, struct slice ident, uint64_t pid,
	struct slice message, struct err *e) MUST_USE;
enum events_unit_step { UNIT_STARTING, UNIT_STARTED, UNIT_ENDED };
bool events_take_unit(struct events *ev, int64_t t_ns, struct slice unit,
	enum events_unit_step step, struct err *e) MUST_USE;

/* One format of JSON objects. */
struct events_format {
	const char *dialect;
	bool (*fits)(const struct json *object, const char *list_kind);
	bool (*take)(struct events *ev, const struct json *object, struct err *e);
	bool is_log; /* reaches from its first to its last object only */
	const uint16_t *pages; /* sizes of a page that is probably not all; 0 ends them */
};

extern const struct events_format events_plain, events_github, events_github_status,
	events_github_hook, events_gitlab, events_grafana, events_kubernetes, events_argo,
	events_journal, events_pg_cron, events_pgbackrest, events_barman, events_airflow;
/* GitHub's deployments become events when all files are read. */
bool events_github_finish(struct events *ev, struct err *e) MUST_USE;

#endif
