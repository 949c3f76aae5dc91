/*
 * sessionbook.h - what sessions do between requests: how many are open, how long they
 * live, think times and transactions.
 *
 * Fed with a capture in file order. Remembers each open session, at most
 * SESSIONBOOK_OPEN_MAX; those beyond are counted in untracked and nowhere else. A
 * transaction counts when it ends, within from..to, and only when its start was seen.
 */
#ifndef REPROD_SESSIONBOOK_H
#define REPROD_SESSIONBOOK_H

#include "capture/level.h"
#include "capture/timegrid.h"
#include "capture/timeheap.h"
#include "core/base/table.h"
#include "core/model/record.h"

#define SESSIONBOOK_OPEN_MAX 400000

struct sessionbook {
	struct table open; /* by id */
	int64_t from_ns, to_ns;
	bool has_entered; /* the clock has come to from_ns */
	struct level level;
	struct timeheap events;
	int64_t now_ns;
	struct timegrid opens; /* by second */
	uint64_t sessions, opened, closed, joined_late, silent, untracked;
	struct hist lifetime_us; /* of those whose start and end were seen */
	struct hist requests_each; /* of closed ones */
	struct hist think_idle_us, think_inside_us; /* outside of and inside transactions */
	uint64_t explicit_count, implicit_count, failed, rolled_back, unknown_state;
	uint64_t half_seen; /* begun before, or not ended within */
	struct hist statements, length_us; /* of explicit transactions */
	double length_ns, idle_ns; /* likewise: in all, and waiting for the client */
};

bool sessionbook_init(struct sessionbook *b, int64_t from_ns, int64_t to_ns) MUST_USE;
/* False only when memory ran out. */
bool sessionbook_session(struct sessionbook *b, const struct session_record *s) MUST_USE;
/* is_rollback: the statement is ROLLBACK. */
bool sessionbook_request(
	struct sessionbook *b, const struct request_record *q, bool is_rollback) MUST_USE;
bool sessionbook_finish(struct sessionbook *b, int64_t from_ns, int64_t to_ns) MUST_USE;
void sessionbook_free(struct sessionbook *b);

#endif
