#include "replay/driver_pg.h"

#include <libpq-fe.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>

#include "core/driver/target.h"
#include "replay/driver_pg_send.h"

static void ignore_notice(void *data, const PGresult *result)
{
	(void)data;
	(void)result;
}

void driver_pg_lose(struct driver_pg *d, const char *what)
{
	const char *text = d->conn ? PQerrorMessage(d->conn) : "";
	size_t n = strcspn(text, "\n");

	if (!d->why.kind)
		err_set(&d->why, ERR_ENV, "%s: %.*s", what, n ? (int)n : 10,
			n ? text : "no message");
	d->state = DRIVER_LOST;
}

/* libpq may have made another socket (next host, or SSL refused). */
static void watch(struct driver_pg *d, uint32_t events)
{
	int fd = PQsocket(d->conn);
	struct epoll_event event = { .events = events, .data.ptr = d->tag };

	if (fd == d->fd && events == d->watched)
		return;
	int op = fd == d->fd ? EPOLL_CTL_MOD : EPOLL_CTL_ADD;
	if (epoll_ctl(d->epoll_fd, op, fd, &event) != 0 &&
		epoll_ctl(d->epoll_fd, op == EPOLL_CTL_MOD ? EPOLL_CTL_ADD : EPOLL_CTL_MOD, fd,
			&event) != 0)
		driver_pg_lose(d, "could not watch the connection");
	d->fd = fd;
	d->watched = events;
}

static void lose_connecting(struct driver_pg *d)
{
	driver_pg_lose(d, "could not connect to the target");
	err_hint(&d->why, "check that its server runs and that --target names it");
}

bool driver_pg_open(struct driver_pg *d, const char *dsn, int epoll_fd, void *tag,
	const struct mark *expected, struct cells *cells, struct err *e)
{
	const char *const names[] = { "dbname", "fallback_application_name", NULL };
	const char *const values[] = { dsn, "reprod replay", NULL };

	*d = (struct driver_pg){
		.epoll_fd = epoll_fd, .fd = -1, .tag = tag, .expected = expected, .cells = cells
	};
	table_init(&d->prepared, DRIVER_PREPARED_MAX);
	d->slots = calloc(2 * DRIVER_BATCH_MAX, sizeof(*d->slots));
	d->conn = d->slots ? PQconnectStartParams(names, values, 1) : NULL;
	if (!d->conn)
		err_set(e, ERR_ENV, "could not allocate memory for a connection");
	else if (PQstatus(d->conn) == CONNECTION_BAD)
		lose_connecting(d);
	if (!d->conn || d->state == DRIVER_LOST) {
		if (d->conn)
			*e = d->why;
		driver_pg_close(d);
		return false;
	}
	PQsetNoticeReceiver(d->conn, ignore_notice, NULL);
	d->state = DRIVER_CONNECTING;
	watch(d, EPOLLOUT);
	return true;
}

void driver_pg_forget_prepared(struct driver_pg *d)
{
	size_t at = 0;
	struct slice key;
	void *value;

	while (table_next(&d->prepared, &at, &key, &value))
		free(value);
	table_free(&d->prepared);
	table_init(&d->prepared, DRIVER_PREPARED_MAX);
}

void driver_pg_close(struct driver_pg *d)
{
	if (d->conn)
		PQfinish(d->conn);
	if (d->slots) {
		driver_pg_forget_prepared(d);
		table_free(&d->prepared);
	}
	free(d->slots);
	d->conn = NULL;
	d->slots = NULL;
	d->slot_count = d->slot_at = 0;
	d->fd = -1;
	d->state = DRIVER_CLOSED;
}

static void ask_for_mark(struct driver_pg *d)
{
	if (PQsetnonblocking(d->conn, 1) != 0 || !PQsendQuery(d->conn, target_proof_sql)) {
		driver_pg_lose(d, "could not ask for the target's mark");
		return;
	}
	d->state = DRIVER_CHECKING;
	driver_pg_flush(d);
}

static void go_on_connecting(struct driver_pg *d)
{
	switch (PQconnectPoll(d->conn)) {
	case PGRES_POLLING_READING:
		watch(d, EPOLLIN);
		break;
	case PGRES_POLLING_WRITING:
		watch(d, EPOLLOUT);
		break;
	case PGRES_POLLING_OK:
		watch(d, EPOLLIN);
		ask_for_mark(d);
		break;
	default:
		lose_connecting(d);
	}
}

void driver_pg_flush(struct driver_pg *d)
{
	int left = PQflush(d->conn);

	if (left < 0)
		driver_pg_lose(d, "could not send");
	else
		watch(d, left > 0 ? EPOLLIN | EPOLLOUT : EPOLLIN);
}

void driver_pg_ready(struct driver_pg *d, uint32_t events)
{
	switch (d->state) {
	case DRIVER_CONNECTING:
		go_on_connecting(d);
		break;
	case DRIVER_CHECKING:
	case DRIVER_READY:
	case DRIVER_BUSY:
		if (events & (EPOLLIN | EPOLLHUP | EPOLLERR) && !PQconsumeInput(d->conn))
			driver_pg_lose(d, "the connection was lost");
		else if (events & EPOLLOUT)
			driver_pg_flush(d);
		break;
	case DRIVER_CLOSED:
	case DRIVER_LOST:
		break;
	}
}

static void judge_mark(struct driver_pg *d, const PGresult *result)
{
	const char *cells[5];

	if (PQresultStatus(result) != PGRES_TUPLES_OK || PQntuples(result) != 1 ||
		PQnfields(result) < 5) {
		err_set(&d->why, ERR_REFUSED, "the target has no mark (%.5s)",
			PQresultErrorField(result, PG_DIAG_SQLSTATE)
				? PQresultErrorField(result, PG_DIAG_SQLSTATE)
				: "no row");
		err_hint(&d->why,
			"traffic goes only to databases that 'reprod snapshot build' made or "
			"'reprod snapshot mark' named");
		d->state = DRIVER_LOST;
		return;
	}
	for (int i = 0; i < 5; i++)
		cells[i] = PQgetisnull(result, 0, i) ? NULL : PQgetvalue(result, 0, i);
	if (!target_judge(cells, &d->mark, &d->why))
		d->state = DRIVER_LOST;
	else if (d->expected && strcmp(d->expected->nonce, d->mark.nonce) != 0) {
		err_set(&d->why, ERR_REFUSED, "the target's mark changed during the run");
		d->state = DRIVER_LOST;
	}
}

static enum driver_news read_mark(struct driver_pg *d)
{
	while (d->state == DRIVER_CHECKING && !PQisBusy(d->conn)) {
		PGresult *result = PQgetResult(d->conn);

		if (!result) {
			if (!d->has_ended)
				driver_pg_lose(d, "the target did not answer");
			else
				d->state = DRIVER_READY;
			return d->state == DRIVER_READY ? DRIVER_OPENED : DRIVER_GONE;
		}
		d->has_ended = true;
		judge_mark(d, result);
		PQclear(result);
	}
	return d->state == DRIVER_LOST ? DRIVER_GONE : DRIVER_NOTHING;
}

enum driver_news driver_pg_next(struct driver_pg *d, struct driver_answer *ret)
{
	switch (d->state) {
	case DRIVER_CHECKING:
		return read_mark(d);
	case DRIVER_BUSY:
		return driver_pg_read(d, ret);
	case DRIVER_LOST:
		return DRIVER_GONE;
	default:
		return DRIVER_NOTHING;
	}
}

bool driver_pg_is_superuser(const struct driver_pg *d)
{
	const char *text = d->conn ? PQparameterStatus(d->conn, "is_superuser") : NULL;

	return text && strcmp(text, "on") == 0;
}
