/*
 * remote_grafana.h - "--events grafana:URL": the annotations of a time range, all of them.
 *
 * GET api/annotations gives 100 when nothing is said, newest end first, and has no page
 * number: we ask for 1,000, then for those up to the earliest end of the page before, until a
 * page is not full. tags=A,B narrows. At most REMOTE_ANNOTATIONS_MAX.
 */
#ifndef REPROD_CORRELATE_REMOTE_GRAFANA_H
#define REPROD_CORRELATE_REMOTE_GRAFANA_H

#include "correlate/remote.h"
#include "correlate/remote_url.h"

#define REMOTE_ANNOTATIONS_MAX 100000

extern const char *const remote_grafana_params[];

/* The objects as they came, each once, as one JSON array. */
bool remote_grafana_fetch(struct buf *ret_json, const struct remote_url *url,
	const struct remote *remote, bool *ret_is_cut, struct err *e) MUST_USE;

#endif
