/*
 * watch.h - counts for weeks, and the minutes that matter in full.
 *
 * Works in the current folder. counts-HOUR.rcap has exact counts and histograms of an
 * hour and no request; ring-TIME.rcap are the latest minutes in full, in ten pieces;
 * when a rule fires the pieces around it become incident-TIME.rcap. What is older than
 * keep_ns, or too much for disk_bytes, goes, the oldest first. All of it is in files:
 * after kill -9 they are readable up to the last whole block. Runs on packet time. One
 * thread. The pipeline is the watch's own.
 */
#ifndef REPROD_WATCH_H
#define REPROD_WATCH_H

#include "capture/pipeline.h"
#include "capture/watchrule.h"
#include "core/base/run.h"

#define WATCH_PIECES 10

struct watch_options {
	const struct run *run;
	struct pipeline_options pipeline; /* without writer and store */
	struct watch_rules *rules;
	int64_t ring_ns, keep_ns;
	int64_t disk_bytes; /* 0: no cap */
	size_t dictionary_max; /* bytes of texts and counts, of both files together; 0: no cap */
};

struct watch;

/* NULL and *e on failure. now_ns: packet time, or about it. */
struct watch *watch_new(const struct watch_options *o, int64_t now_ns, struct err *e);
struct pipeline *watch_pipeline(struct watch *w);
/* Between packets, as time goes on: turns files over, fires rules. */
bool watch_tick(struct watch *w, int64_t now_ns, struct err *e) MUST_USE;
/* Ends connections and files; an incident that is under way is written. */
bool watch_end(struct watch *w, int64_t now_ns, struct err *e) MUST_USE;
uint64_t watch_incidents(const struct watch *w);
uint64_t watch_bytes(const struct watch *w); /* written to files still open */
void watch_free(struct watch *w);

#endif
