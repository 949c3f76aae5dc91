/*
 * driver_pg.h - one connection to the target, driven by readiness events.
 *
 * libpq behind a wall, never blocking: the run's loop owns the epoll set, the
 * driver keeps its socket registered there with the owner's tag. Before the first
 * statement each connection checks the target's mark; without the run's own mark
 * it is lost with ERR_REFUSED. Results are read row by row and thrown away, but for
 * the cells that later requests need. Zeroed is closed. One thread.
 */
#ifndef REPROD_REPLAY_DRIVER_PG_H
#define REPROD_REPLAY_DRIVER_PG_H

#include "core/base/err.h"
#include "core/base/table.h"
#include "core/model/mark.h"
#include "replay/plan.h"
#include "replay/statement.h"

#define DRIVER_BATCH_MAX 128
#define DRIVER_PREPARED_MAX 20000

enum driver_state {
	DRIVER_CLOSED,
	DRIVER_CONNECTING,
	DRIVER_CHECKING, /* asking for the mark */
	DRIVER_READY,
	DRIVER_BUSY,
	DRIVER_LOST, /* see driver.why */
};

struct driver_answer {
	uint64_t rows;
	char sqlstate[6]; /* "" when it went well */
	bool is_aborted; /* not run: an earlier one of its pipeline failed */
};

/* What goes out: the item, its template, and the cells of its answer to keep. */
struct driver_order {
	const struct plan_item *item;
	struct slice template_text;
	const struct plan_cell *wanted;
	size_t wanted_count;
};

enum driver_put {
	DRIVER_PUT_SENT,
	DRIVER_PUT_IMPOSSIBLE, /* a value is missing */
	DRIVER_PUT_LOST,
};

enum driver_news {
	DRIVER_NOTHING, /* until the next event */
	DRIVER_OPENED, /* connected, and the mark is right */
	DRIVER_ANSWERED, /* one order, in the order of sending */
	DRIVER_FREE, /* all is answered: ready for more */
	DRIVER_GONE, /* lost */
};

struct driver_slot {
	struct driver_order order;
	bool is_prepare; /* our own: its answer is not told */
};

struct driver_pg {
	struct pg_conn *conn;
	int epoll_fd, fd;
	uint32_t watched; /* epoll events */
	void *tag;
	enum driver_state state;
	struct err why;
	const struct mark *expected; /* NULL: the first one, which sets the mark */
	struct mark mark;
	struct driver_slot *slots;
	size_t slot_count, slot_at;
	struct driver_answer answer; /* being read */
	uint32_t row; /* rows of the result being read */
	bool is_pipeline, is_copying_out, has_ended;
	struct table prepared;
	struct cells *cells;
};

/* cells are the owner's and must outlive the connection. On false it is closed. */
bool driver_pg_open(struct driver_pg *d, const char *dsn, int epoll_fd, void *tag,
	const struct mark *expected, struct cells *cells, struct err *e) MUST_USE;
void driver_pg_close(struct driver_pg *d);
/* After an epoll event; then pull with driver_pg_next() until NOTHING or GONE. */
void driver_pg_ready(struct driver_pg *d, uint32_t events);
enum driver_news driver_pg_next(struct driver_pg *d, struct driver_answer *ret);

/* One batch in state READY: begin, put each, send. A batch of several, or one that
 * needs a statement prepared, is a pipeline with one Sync. */
void driver_pg_begin(struct driver_pg *d, bool is_pipeline);
enum driver_put driver_pg_put(
	struct driver_pg *d, const struct driver_order *order, struct statement *scratch);
void driver_pg_send(struct driver_pg *d);
/* Of a named statement (or the Parse of one): not yet prepared on this connection. */
bool driver_pg_needs_prepare(const struct driver_pg *d, const struct plan_item *item);
/* Prepares it now, in a batch of its own that gives no answer but FREE. */
enum driver_put driver_pg_prepare(
	struct driver_pg *d, const struct driver_order *order, struct statement *scratch);

bool driver_pg_is_superuser(const struct driver_pg *d);

/* Cancels without blocking: a thread of its own sends the requests. A frozen server
 * can hold it; canceller_free() waits a second, then leaves it behind. */
struct canceller;
struct canceller *canceller_new(struct err *e);
void canceller_cancel(struct canceller *c, struct driver_pg *d);
void canceller_free(struct canceller *c);

#endif
