#include "replay/driver_pg_send.h"

#include <libpq-fe.h>
#include <stdio.h>
#include <stdlib.h>

enum { NAME_MAX_BYTES = 64 };

/* The identity of a captured named statement: sessions number theirs apart, and a
 * name parsed anew has another template. */
static void name_of(const struct plan_item *item, char name[NAME_MAX_BYTES])
{
	snprintf(name, NAME_MAX_BYTES, "reprod_%llu_%u_%u", (unsigned long long)item->q.session,
		item->q.statement, item->q.template_id);
}

bool driver_pg_needs_prepare(const struct driver_pg *d, const struct plan_item *item)
{
	char name[NAME_MAX_BYTES];

	if (item->kind != PLAN_PREPARE && item->q.form != FORM_NAMED)
		return false;
	name_of(item, name);
	return !table_get(&d->prepared, slice_of(name));
}

static bool remember(struct driver_pg *d, const char *name)
{
	char *copy = strdup(name);

	if (copy && table_put(&d->prepared, (struct slice){ copy, strlen(copy) }, copy))
		return true;
	free(copy);
	return false;
}

static void forget(struct driver_pg *d, const struct plan_item *item)
{
	char name[NAME_MAX_BYTES];

	name_of(item, name);
	free(table_remove(&d->prepared, slice_of(name)));
}

static struct driver_slot *add_slot(
	struct driver_pg *d, const struct driver_order *order, bool is_prepare)
{
	struct driver_slot *slot = &d->slots[d->slot_count++];

	*slot = (struct driver_slot){ .order = *order, .is_prepare = is_prepare };
	return slot;
}

void driver_pg_begin(struct driver_pg *d, bool is_pipeline)
{
	d->slot_count = d->slot_at = 0;
	d->answer = (struct driver_answer){ 0 };
	d->row = 0;
	d->has_ended = false;
	d->is_pipeline = is_pipeline && PQenterPipelineMode(d->conn);
}

/* Out of memory only: then it is prepared, but not known to be, and the next
 * execution's prepare fails with 42P05, as a told error. */
static bool send_prepare(struct driver_pg *d, const struct driver_order *order, const char *name,
	const struct statement *s, bool is_own)
{
	if (!PQsendPrepare(d->conn, name, s->text.p, s->param_count, s->types))
		return false;
	add_slot(d, order, is_own);
	return remember(d, name);
}

static bool send_one(struct driver_pg *d, const struct driver_order *order,
	const struct statement *s, bool needs_prepare)
{
	const struct plan_item *item = order->item;
	char name[NAME_MAX_BYTES];
	bool ok;

	name_of(item, name);
	if (item->kind == PLAN_PREPARE)
		return send_prepare(d, order, name, s, false);
	if (needs_prepare && !send_prepare(d, order, name, s, true))
		return false;
	if (item->q.form == FORM_NAMED)
		ok = PQsendQueryPrepared(
			d->conn, name, s->param_count, s->params, s->lengths, s->formats, 0);
	else if (item->q.form == FORM_UNNAMED)
		ok = PQsendQueryParams(d->conn, s->text.p, s->param_count, s->types, s->params,
			s->lengths, s->formats, 0);
	else
		ok = PQsendQuery(d->conn, s->text.p);
	if (ok)
		add_slot(d, order, false);
	return ok;
}

enum driver_put driver_pg_put(
	struct driver_pg *d, const struct driver_order *order, struct statement *scratch)
{
	const struct plan_item *item = order->item;
	bool needs_prepare = driver_pg_needs_prepare(d, item);
	bool wants_text = needs_prepare || item->q.form != FORM_NAMED;

	if (d->slot_count + 2 > 2 * DRIVER_BATCH_MAX ||
		!statement_build(scratch, item, order->template_text, d->cells, wants_text))
		return DRIVER_PUT_IMPOSSIBLE;
	return send_one(d, order, scratch, needs_prepare) ? DRIVER_PUT_SENT : DRIVER_PUT_LOST;
}

enum driver_put driver_pg_prepare(
	struct driver_pg *d, const struct driver_order *order, struct statement *scratch)
{
	char name[NAME_MAX_BYTES];

	name_of(order->item, name);
	if (!statement_build(scratch, order->item, order->template_text, d->cells, true))
		return DRIVER_PUT_IMPOSSIBLE;
	driver_pg_begin(d, false);
	if (!send_prepare(d, order, name, scratch, true))
		return DRIVER_PUT_LOST;
	driver_pg_send(d);
	return DRIVER_PUT_SENT;
}

void driver_pg_send(struct driver_pg *d)
{
	if (d->is_pipeline)
		PQpipelineSync(d->conn);
	else
		PQsetSingleRowMode(d->conn);
	d->state = DRIVER_BUSY;
	driver_pg_flush(d);
}

static void keep_cells(
	struct driver_pg *d, const struct driver_order *order, const PGresult *result)
{
	int rows = PQntuples(result);

	for (size_t i = 0; i < order->wanted_count; i++) {
		const struct plan_cell *cell = &order->wanted[i];

		if (cell->row < d->row || cell->row >= d->row + (uint32_t)rows ||
			cell->column >= PQnfields(result))
			continue;
		int row = (int)(cell->row - d->row);
		struct slice text = { PQgetvalue(result, row, cell->column),
			(size_t)PQgetlength(result, row, cell->column) };
		/* Out of memory: the captured value goes out in its place. */
		if (PQgetisnull(result, row, cell->column) ||
			!cells_put(
				d->cells, cell->session, cell->seq, cell->row, cell->column, text))
			continue;
	}
	d->row += (uint32_t)rows;
}

static void note_command(struct driver_pg *d, PGresult *result)
{
	const char *tag = PQcmdStatus(result);

	d->answer.rows += strtoull(PQcmdTuples(result), NULL, 10);
	d->row = 0;
	if (strcmp(tag, "DISCARD ALL") == 0 || strcmp(tag, "DEALLOCATE ALL") == 0)
		driver_pg_forget_prepared(d);
}

static void copy_in(struct driver_pg *d, const struct plan_item *item)
{
	const struct slice *rows = &item->q.copy_data;

	if ((rows->n && PQputCopyData(d->conn, rows->p, (int)rows->n) < 0) ||
		PQputCopyEnd(
			d->conn, item->q.form == FORM_COPY_IN ? NULL : "no rows were captured") < 0)
		driver_pg_lose(d, "could not send the rows of a COPY");
	else
		driver_pg_flush(d);
}

static void note_error(struct driver_pg *d, const PGresult *result)
{
	const char *sqlstate = PQresultErrorField(result, PG_DIAG_SQLSTATE);
	const struct driver_slot *slot = &d->slots[d->slot_at];

	snprintf(d->answer.sqlstate, sizeof(d->answer.sqlstate), "%.5s",
		sqlstate ? sqlstate : "08006");
	bool is_unknown_statement = strcmp(d->answer.sqlstate, "26000") == 0;
	if (slot->is_prepare || slot->order.item->kind == PLAN_PREPARE ||
		(is_unknown_statement && slot->order.item->q.form == FORM_NAMED))
		forget(d, slot->order.item);
}

static void note_result(struct driver_pg *d, PGresult *result)
{
	const struct driver_slot *slot = &d->slots[d->slot_at];

	switch (PQresultStatus(result)) {
	case PGRES_SINGLE_TUPLE:
		keep_cells(d, &slot->order, result);
		break;
	case PGRES_TUPLES_OK:
		keep_cells(d, &slot->order, result);
		note_command(d, result);
		break;
	case PGRES_COMMAND_OK:
		note_command(d, result);
		break;
	case PGRES_COPY_IN:
		copy_in(d, slot->order.item);
		break;
	case PGRES_COPY_OUT:
		d->is_copying_out = true;
		break;
	case PGRES_PIPELINE_ABORTED:
		d->answer.is_aborted = true;
		if (slot->is_prepare || slot->order.item->kind == PLAN_PREPARE)
			forget(d, slot->order.item);
		break;
	case PGRES_PIPELINE_SYNC:
		d->has_ended = true;
		break;
	case PGRES_FATAL_ERROR:
	case PGRES_BAD_RESPONSE:
	case PGRES_COPY_BOTH:
		note_error(d, result);
		break;
	default:
		break;
	}
}

/* False: rows are still to come. */
static bool drain_copy(struct driver_pg *d)
{
	char *row;
	int n;

	while ((n = PQgetCopyData(d->conn, &row, 1)) > 0)
		PQfreemem(row);
	if (n == 0)
		return false;
	d->is_copying_out = false;
	return true;
}

static enum driver_news become_free(struct driver_pg *d)
{
	if (d->is_pipeline && !PQexitPipelineMode(d->conn)) {
		driver_pg_lose(d, "could not end a pipeline");
		return DRIVER_GONE;
	}
	d->is_pipeline = false;
	d->state = DRIVER_READY;
	return DRIVER_FREE;
}

/* One order's answer is whole. */
static bool end_slot(struct driver_pg *d, struct driver_answer *ret)
{
	bool is_told = !d->slots[d->slot_at].is_prepare;

	d->row = 0;
	d->slot_at++;
	/* The error of our own prepare is that of the execution behind it. */
	if (!is_told && d->answer.sqlstate[0])
		return false;
	if (d->answer.sqlstate[0])
		d->answer.is_aborted = false;
	*ret = d->answer;
	d->answer = (struct driver_answer){ 0 };
	return is_told;
}

enum driver_news driver_pg_read(struct driver_pg *d, struct driver_answer *ret)
{
	for (;;) {
		if (d->slot_at == d->slot_count && (!d->is_pipeline || d->has_ended))
			return become_free(d);
		if (d->is_copying_out && !drain_copy(d))
			return DRIVER_NOTHING;
		if (PQisBusy(d->conn))
			return DRIVER_NOTHING;
		PGresult *result = PQgetResult(d->conn);
		if (result)
			note_result(d, result);
		PQclear(result);
		if (PQstatus(d->conn) == CONNECTION_BAD)
			driver_pg_lose(d, "the target ended the connection");
		if (d->state == DRIVER_LOST)
			return DRIVER_GONE;
		if (!result && d->slot_at < d->slot_count && end_slot(d, ret))
			return DRIVER_ANSWERED;
	}
}
