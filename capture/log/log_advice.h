/*
 * log_advice.h - why a log tells of no request, and which settings would mend it.
 */
#ifndef REPROD_LOG_ADVICE_H
#define REPROD_LOG_ADVICE_H

#include "capture/log/log_match.h"
#include "capture/log/log_shape.h"

/* ERR_INPUT with a hint, by what was there instead. prefix: the one the lines were read with.
 * Returns false. */
bool log_advise(const struct log_match *m, const struct log_shape *shape, const char *prefix,
	struct err *e);
/* What the capture lacks though it has requests, in words; NULL when nothing is known. */
const char *log_lacks(const struct log_match *m, char text[256]);

#endif
