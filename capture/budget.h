/*
 * budget.h - what a capture may cost its host, and what it did cost.
 *
 * "cpu=2%,mem=64M,disk=1G", in any order, each at most once. CPU is the share of one
 * core over windows of a second; memory is the resident set, the kernel's packet rings
 * included; disk is the size of the output. One thread.
 */
#ifndef REPROD_BUDGET_H
#define REPROD_BUDGET_H

#include "core/base/err.h"
#include "core/base/json.h"

#define BUDGET_MEM_MIN (INT64_C(24) << 20)
#define BUDGET_DISK_MIN (INT64_C(4) << 10) /* a head and a block */

struct budget {
	double cpu_share; /* of one core; 0: none */
	int64_t mem_bytes, disk_bytes; /* 0: none */
};

bool budget_parse(struct budget *b, const char *text, struct err *e) MUST_USE;
struct json *budget_json(const struct budget *b);

/* How a memory budget is handed out. Zeros, each part's own default, without one. */
struct budget_limits {
	size_t ring_bytes; /* of the kernel, for each interface */
	size_t reorder_bytes, request_bytes, waiting_bytes;
	size_t dictionary_bytes, cache_bytes; /* of texts: written, and scrubbed before */
};

struct budget_limits budget_limits(const struct budget *b, size_t interfaces);

enum budget_state {
	BUDGET_CALM, /* below two fifths: what was shed may come back */
	BUDGET_FINE,
	BUDGET_OVER_CPU,
	BUDGET_OVER_MEM,
	BUDGET_DISK_FULL,
};

struct gauge {
	int64_t began_ns, window_ns, window_cpu_ns; /* monotonic; start of the window */
	int64_t first_cpu_ns;
	double share; /* of the last window */
	int64_t mem_bytes, mem_max_bytes;
};

void gauge_start(struct gauge *g, int64_t mono_ns);
/* The state of a window that has ended; false while it lasts. */
bool gauge_look(struct gauge *g, const struct budget *b, int64_t mono_ns, uint64_t disk_bytes,
	enum budget_state *ret);
int64_t gauge_cpu_ns(const struct gauge *g); /* since its start */
/* The decision alone, for tests. */
enum budget_state budget_judge(
	const struct budget *b, double share, int64_t mem_bytes, uint64_t disk_bytes);

#endif
