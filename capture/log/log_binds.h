/*
 * log_binds.h - the parameters a log line shows beside a statement.
 *
 * Reads "Parameters: $1 = '...', ..." (or "parameters:") into binds. A value that
 * the server cut (log_parameter_max_length) is marked. What a call gives is
 * borrowed until the next one.
 */
#ifndef REPROD_LOG_BINDS_H
#define REPROD_LOG_BINDS_H

#include "core/base/buf.h"
#include "core/model/request.h"

struct log_binds {
	struct buf bytes; /* of one request's parameters */
	struct raw_value *values;
	size_t room;
	uint32_t max_bytes; /* log_parameter_max_length; 0: not known */
};

void log_binds_init(struct log_binds *b, uint32_t max_bytes);
/* The request gets its binds; false when the list does not read to its end. */
bool log_binds_read(struct log_binds *b, struct slice detail, struct raw_request *q);
bool log_binds_has_placeholder(struct slice text);
void log_binds_free(struct log_binds *b);

#endif
