/*
 * log_session.h - what is known of one session while its log is read.
 *
 * Names become numbers, statements tell the transaction's state, and the times of
 * requests that follow each other are brought in order: a log's stamps are coarser
 * than its durations. Memory only.
 */
#ifndef REPROD_LOG_SESSION_H
#define REPROD_LOG_SESSION_H

#include "core/base/buf.h"
#include "core/format/pglog.h"
#include "core/model/request.h"

struct log_names {
	uint64_t *hashes; /* the number is the index + 1 */
	uint32_t count, room;
};

/* A statement line whose duration has not come yet. */
struct log_pending {
	bool is_set;
	uint8_t form;
	int64_t start_ns;
	struct buf text, detail;
	uint32_t statement, portal;
};

struct log_session {
	struct slice key;
	struct raw_session raw;
	char *texts; /* of raw and key */
	char *application; /* clients name themselves after they have connected */
	uint64_t seq;
	int64_t last_end_ns;
	bool has_ended_one;
	bool is_told; /* the sink has its opening */
	char state;
	struct log_names statements, portals;
	struct log_pending pending;
	/* Parse and Bind that went before the Execute to come; 0: none. */
	int64_t lead_ns, lead_end_ns;
};

/* Copies what the line says of the session. NULL when out of memory. */
struct log_session *log_session_new(
	const struct pglog_line *line, const char *server, int64_t open_ns, bool is_late);
void log_session_free(struct log_session *s);
void log_session_learn_application(struct log_session *s, struct slice name);
/* 0 without a name, or at the cap. */
bool log_session_knows(const struct log_names *names, struct slice name);
uint32_t log_session_number_of(struct log_names *names, struct slice name);
/* After the text: '?' when a script's parts were not followed. */
char log_session_state_after(struct slice text, char before);
/* A Parse or Bind line: its time belongs to the Execute that follows. */
void log_session_take_lead(struct log_session *s, int64_t duration_ns, int64_t end_ns);
/* Start, end and think time of the session's next request. */
void log_session_set_times(struct log_session *s, struct raw_request *q);
struct raw_request log_session_from_pending(struct log_pending *p);

#endif
