/*
 * Backups and runs of ETL that know their start and end: pgBackRest (info --output=json),
 * Barman (list-backups --format json), Airflow (GET /dags/:id/dagRuns).
 */
#include <math.h>
#include <stdio.h>

#include "correlate/events_parts.h"

/* ---- pgBackRest: one object a stanza */

static bool fits_pgbackrest(const struct json *object, const char *list_kind)
{
	(void)list_kind;
	return json_type(json_get(object, "backup")) == JSON_LIST && json_get(object, "name") &&
	       (json_get(object, "db") || json_get(object, "repo") || json_get(object, "cipher"));
}

/* Bytes that were copied: of an incremental backup the changed files. */
static bool take_one(
	struct events *ev, const char *stanza, const struct json *backup, struct err *e)
{
	double start_s = json_number(json_path(backup, "timestamp.start"), NAN);
	double stop_s = json_number(json_path(backup, "timestamp.stop"), NAN);

	if (!(start_s > 0 && start_s < 9e9))
		return err_set(e, ERR_INPUT, "a backup without 'timestamp.start'");
	int64_t end_ns = stop_s >= start_s && stop_s < 9e9 ? (int64_t)stop_s * NS_PER_S : INT64_MIN;
	return events_add(ev, "backup", stanza, (int64_t)start_s * NS_PER_S, end_ns,
		json_number(json_path(backup, "info.delta"), NAN), e);
}

static bool take_pgbackrest(struct events *ev, const struct json *object, struct err *e)
{
	const struct json *list = json_get(object, "backup");
	const char *stanza = json_text(json_get(object, "name"), "");

	if (!*stanza)
		return err_set(e, ERR_INPUT, "no 'name'");
	for (size_t i = 0; i < json_count(list); i++)
		if (!take_one(ev, stanza, json_at(list, i), e))
			return false;
	if (json_count(list))
		events_note(
			ev, "expired backups are not in it: before the oldest nothing is known");
	return true;
}

const struct events_format events_pgbackrest = {
	.dialect = "pgbackrest", .fits = fits_pgbackrest, .take = take_pgbackrest
};

/* ---- Barman: {"SERVER": [{backup_id, end_time_timestamp, ...}]} */

static const struct json *first_backup(const struct json *object)
{
	struct json_walk walk = json_walk_of(object);
	struct json *list;

	while (json_type(object) == JSON_MAP && json_walk_next(&walk, &list))
		if (json_get(json_at(list, 0), "backup_id"))
			return json_at(list, 0);
	return NULL;
}

static bool fits_barman(const struct json *object, const char *list_kind)
{
	(void)list_kind;
	return json_type(object) == JSON_MAP && first_backup(object) != NULL;
}

/* Its id is the start, local to the machine it ran on: "20261130T010000". */
static bool start_of(struct events *ev, const struct json *backup, int64_t *ret_ns, struct err *e)
{
	const char *id = json_text(json_get(backup, "backup_id"), "");
	char text[32];

	if (strlen(id) < 15 || id[8] != 'T')
		return err_set(e, ERR_INPUT, "'%.40s' is not a Barman backup", id);
	snprintf(text, sizeof(text), "%.4s-%.2s-%.2sT%.2s:%.2s:%.2s", id, id + 4, id + 6, id + 9,
		id + 11, id + 13);
	if (events_time(ev, slice_of(text), NULL, ret_ns, e))
		return true;
	return err_hint(e, "a backup's id is its start by the local clock: give the host's --zone");
}

static bool take_barman_one(
	struct events *ev, const char *server, const struct json *backup, struct err *e)
{
	const char *status = json_text(json_get(backup, "status"), "");
	const char *end = json_text(json_get(backup, "end_time_timestamp"), NULL);
	int64_t start_ns, end_ns = INT64_MIN;

	if (!start_of(ev, backup, &start_ns, e))
		return false;
	if (end && !events_time(ev, slice_of(end), NULL, &end_ns, e))
		return false;
	if (end_ns != INT64_MIN && end_ns < start_ns) {
		err_set(e, ERR_INPUT, "a backup ends before it starts");
		return err_hint(e, "is --zone that of the host where Barman runs?");
	}
	(void)status;
	return events_add(ev, "backup", server, start_ns, end_ns,
		json_number(json_get(backup, "size_bytes"), NAN), e);
}

static bool take_barman(struct events *ev, const struct json *object, struct err *e)
{
	struct json_walk walk = json_walk_of(object);
	struct json *list;
	const char *server;

	while ((server = json_walk_next(&walk, &list)) != NULL)
		for (size_t i = 0; i < json_count(list); i++)
			if (!take_barman_one(ev, server, json_at(list, i), e))
				return false;
	events_note(ev, "expired backups are not in it: before the oldest nothing is known");
	return true;
}

const struct events_format events_barman = {
	.dialect = "barman", .fits = fits_barman, .take = take_barman
};

/* ---- Airflow */

static bool fits_airflow(const struct json *object, const char *list_kind)
{
	(void)list_kind;
	return json_get(object, "dag_id") && json_get(object, "start_date");
}

static bool take_airflow(struct events *ev, const struct json *object, struct err *e)
{
	const char *dag = json_text(json_get(object, "dag_id"), "");
	int64_t start_ns, end_ns;

	if (!*dag)
		return err_set(e, ERR_INPUT, "no 'dag_id'");
	/* Queued: it has not run. */
	if (json_type(json_get(object, "start_date")) == JSON_NULL_VALUE)
		return true;
	if (!events_time_at(ev, object, "start_date", NULL, &start_ns, e) ||
		!events_time_maybe(ev, object, "end_date", NULL, &end_ns, e))
		return false;
	if (end_ns < start_ns)
		end_ns = INT64_MIN;
	return events_add(ev, "job", dag, start_ns, end_ns, NAN, e);
}

static const uint16_t pages[] = { 100, 0 };

const struct events_format events_airflow = {
	.dialect = "airflow", .fits = fits_airflow, .take = take_airflow, .pages = pages
};

/* ---- pg_cron: rows of cron.job_run_details as JSON or CSV */

static bool fits_pg_cron(const struct json *object, const char *list_kind)
{
	(void)list_kind;
	return json_get(object, "start_time") &&
	       (json_get(object, "jobid") || json_get(object, "runid") ||
		       json_get(object, "jobname"));
}

/* As a number (JSON) or a text (CSV). */
static const char *word_of(const struct json *v, char text[32])
{
	if (json_type(v) != JSON_NUMBER)
		return json_text(v, "");
	snprintf(text, 32, "%.0f", json_number(v, 0));
	return text;
}

static bool take_pg_cron(struct events *ev, const struct json *object, struct err *e)
{
	char number[32], unnamed[64];
	const char *name = json_text(json_get(object, "jobname"), "");
	int64_t start_ns, end_ns;

	if (!*name) {
		const char *id = word_of(json_get(object, "jobid"), number);

		if (!*id)
			return err_set(e, ERR_INPUT, "neither 'jobname' nor 'jobid'");
		snprintf(unnamed, sizeof(unnamed), "pg_cron-%.40s", id);
		name = unnamed;
	}
	if (!events_time_at(ev, object, "start_time", NULL, &start_ns, e) ||
		!events_time_maybe(ev, object, "end_time", NULL, &end_ns, e))
		return false;
	if (end_ns != INT64_MIN && end_ns < start_ns)
		return err_set(e, ERR_INPUT, "'end_time' is before 'start_time'");
	events_saw(ev, end_ns == INT64_MIN ? start_ns : end_ns);
	return events_add(ev, "job", name, start_ns, end_ns, NAN, e);
}

const struct events_format events_pg_cron = {
	.dialect = "pg_cron", .fits = fits_pg_cron, .take = take_pg_cron, .is_log = true
};
