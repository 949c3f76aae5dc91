/*
 * remote_labels.h - Prometheus' names and labels: what a series is a route, a unit and a
 * histogram of.
 */
#ifndef REPROD_CORRELATE_REMOTE_LABELS_H
#define REPROD_CORRELATE_REMOTE_LABELS_H

#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/base/json.h"

/* "name{...}" and nothing else around it. */
bool remote_labels_is_selector(const char *query);
/* Labels as text: those of a comma list as "GET /a", without one all but the boring as
 * "method=GET handler=/a"; the name when that is nothing. */
void remote_labels_text(struct buf *to, const struct json *metric, const char *list);
/* Everything but "le": which histogram of which instance. */
void remote_labels_key(struct buf *to, const struct json *metric);
/* Microseconds of one unit: by unit= (NULL: not given), else by the name, else seconds, as
 * Prometheus' naming practice has it. */
bool remote_labels_unit(const char *unit, const char *name, double *ret_us, struct err *e) MUST_USE;

#endif
