/*
 * plan.h - what a run has to send: the capture's requests, by session, in order.
 *
 * The capture is read twice: once over all of it for what must be known before the
 * start (its range, its sessions, which answers later requests refer to), then as a
 * stream that fills one queue per session up to a cap in bytes; it goes on reading
 * as the run frees what it has done. Records lie in the file by their end, so a
 * request longer than what the cap holds is queued late, which shows as lateness.
 * A transaction belongs to the window that its first request started in; one whose
 * start the capture has not seen is left out and counted. Items stay the plan's
 * until plan_release(). One thread.
 */
#ifndef REPROD_REPLAY_PLAN_H
#define REPROD_REPLAY_PLAN_H

#include "core/base/err.h"
#include "core/base/table.h"
#include "core/model/rcap.h"
#include "replay/schedule.h"

#define PLAN_BYTES_MAX (UINT64_C(256) << 20)
#define PLAN_SESSIONS_MAX 200000
#define PLAN_CELLS_MAX 1000000

enum plan_kind {
	PLAN_REQUEST,
	PLAN_PREPARE, /* a Parse of its own; not counted as planned */
	PLAN_CLOSE, /* the session ended here */
};

enum plan_skip {
	SKIP_NONE,
	SKIP_EXTERNAL,
	SKIP_TEXT_UNKNOWN,
	SKIP_UNLEXABLE,
	SKIP_SECRET,
	SKIP_VALUE_LOST,
	SKIP_FETCH,
	SKIP_FUNCTION,
	SKIP_COPY_ROWS,
	SKIP_WALSENDER,
	SKIP_ENCRYPTED,
	SKIP_HTTP,
	SKIP_TOO_LARGE,
	SKIP_RUN_ENDED,
	SKIP_COUNT,
};

/* "external effect", "text unknown", ... */
const char *plan_skip_text(enum plan_skip skip);

struct plan_item {
	struct plan_item *next; /* in its queue */
	enum plan_kind kind;
	enum plan_skip skip;
	size_t size_bytes;
	int64_t offset_ns; /* where it stood, on the run's timeline */
	int64_t think_ns; /* -1: unknown */
	bool is_chained; /* inside a transaction: due after its previous reply */
	bool is_piped; /* the next item went out before its answer: one pipeline */
	bool has_cells; /* later requests refer to its answer */
	struct request_record q; /* arrays and bytes lie behind the item */
};

struct plan_lane {
	uint64_t session; /* 0: all of them (serial) */
	struct plan_item *head, *tail;
	int64_t open_ns; /* when its connection was opened on the timeline; 0: before the start */
	uint32_t flags; /* enum session_flag */
	enum protocol protocol;
	void *owner; /* the run's */
	uint32_t ordinal; /* from 0, in the order the capture names them */
	/* Of the reader: */
	struct plan_item *unit_head, *unit_tail; /* held back until the transaction is whole */
	uint8_t unit; /* is a transaction open, and is it in the plan */
	bool is_open; /* by the verbs, where the capture has no state */
	bool is_unit_wanted;
	bool is_touched;
	bool is_counted;
	bool has_own, has_other; /* statements of a condition's own, and others */
	struct plan_lane *next_touched;
	int64_t closes_ns; /* capture time, 0 unknown */
	int64_t opened_ns; /* capture time */
};

/* A place in an answer that a later request of the session needs. */
struct plan_cell {
	uint64_t session, seq;
	uint32_t row;
	uint16_t column;
};

struct plan_options {
	const char *path;
	const struct replay_window *windows;
	size_t window_count;
	double speed;
	const char *route; /* or NULL */
	bool is_serial;
	bool is_closed;
	/* Statements of a condition's own: a session that sends nothing else is what the
	 * condition did in production, not traffic, and is left out. Fingerprints. */
	const uint64_t *own;
	size_t own_count;
	bool is_looping; /* start over at the end, for ever */
	size_t max_sessions;
	uint64_t cap_bytes; /* 0: PLAN_BYTES_MAX */
};

struct plan;

/* ERR_INPUT when nothing of the capture is wanted. */
struct plan *plan_open(const struct plan_options *o, struct err *e);
void plan_close(struct plan *p);

const struct rcap *plan_capture(const struct plan *p);
const struct schedule *plan_schedule(const struct plan *p);
/* Reads on until the cap, max_items, or the end. ITEM: there is more to read now;
 * MORE: the cap is reached (or enough passes are queued); END: all is queued. */
enum step plan_fill(struct plan *p, size_t max_items, struct err *e);
/* Lanes that got items since they were last pulled here; NULL: none. */
struct plan_lane *plan_next_touched(struct plan *p);
size_t plan_lane_count(const struct plan *p);
/* Takes the lane's first item out of its queue. */
struct plan_item *plan_take(struct plan *p, struct plan_lane *lane);
/* Serial lanes have their queue filled by start order here. */
struct plan_item *plan_peek(struct plan *p, struct plan_lane *lane);
void plan_release(struct plan *p, struct plan_item *item);
/* The cells of one answer that are needed, sorted by row and column. */
const struct plan_cell *plan_cells(
	const struct plan *p, uint64_t session, uint64_t seq, size_t *ret_count);

struct plan_totals {
	uint64_t requests; /* queued so far */
	uint64_t left_out; /* of transactions begun outside the windows */
	uint64_t own; /* requests of sessions that were a condition's own */
	uint64_t cells_refused; /* beyond PLAN_CELLS_MAX */
	uint64_t sessions_refused;
	int64_t busy_ns; /* sum of captured service times of the queued requests */
	uint32_t sessions; /* with at least one queued request */
	uint32_t passes; /* read to their end */
	bool was_capped; /* the cap was reached: the run read on while it went */
};

const struct plan_totals *plan_totals(const struct plan *p);

#endif
