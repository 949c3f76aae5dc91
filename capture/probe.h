/*
 * probe.h - what capturing costs the host, measured on the host: pairs of windows with
 * and without, in random order within each pair.
 *
 * "Without" lets a sixteenth of the sessions through, the same ones in both windows of a
 * pair, so that latencies can be compared; the difference is that of the other
 * fifteen. A difference is given with its 95 % interval (paired t, n - 1 degrees of
 * freedom) and the smallest effect that these windows would have shown four times in
 * five. Host CPU is /proc/stat's, packets are the interfaces' own counters.
 */
#ifndef REPROD_PROBE_H
#define REPROD_PROBE_H

#include "capture/valve.h"
#include "core/base/hist.h"
#include "core/base/json.h"

#define PROBE_PAIRS 10 /* where --for has the time; with less, as many as fit */
#define PROBE_PAIRS_MIN 5

struct probe_window {
	int64_t span_ns, host_cpu_ns, own_cpu_ns, target_cpu_ns;
	uint64_t packets, requests; /* requests of the sixteenth, seen in both windows of a pair */
	struct hist latency_us;
};

/* Cumulative readings at an instant. */
struct probe_reading {
	int64_t mono_ns, host_cpu_ns, own_cpu_ns, target_cpu_ns;
	uint64_t packets;
};

struct probe {
	const char *const *interfaces;
	size_t interface_count;
	int target_pid; /* 0: none */
	size_t pairs; /* to be measured, up to PROBE_PAIRS */
	struct probe_window windows[PROBE_PAIRS][2]; /* [pair][is_on] */
	struct probe_window *now; /* where the tap counts, or NULL */
	uint64_t refused; /* latencies not counted for want of memory */
};

/* The difference on - off over pairs. Values that are NAN leave their pair out. */
struct probe_effect {
	size_t pairs;
	double mean, low, high, smallest;
};

struct probe_effect probe_compare(const double *off, const double *on, size_t n);
struct valve_tap probe_tap(struct probe *p);
void probe_read(const struct probe *p, int64_t mono_ns, struct probe_reading *ret);
void probe_window_set(
	struct probe_window *w, const struct probe_reading *from, const struct probe_reading *to);
/* {pairs, window_s, sessions_seen, requests_seen, host_cpu_share{off, on, delta, low, high,
 *  smallest}, host_cpu_us_per_request{}, host_cpu_us_per_packet{}, target_cpu_share{},
 *  own_cpu_share{}, p99_change{pairs, ratio, low, high, smallest}, detached}. A request's CPU is
 *  the window's over the requests that the sixteenth stands for, sixteen times its own. */
struct json *probe_json(const struct probe *p);
/* True when the cost is over that share of a core by more than chance. */
bool probe_is_over(const struct probe *p, double cpu_share);
void probe_free(struct probe *p);

#endif
