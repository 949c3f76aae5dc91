/*
 * judge.h - did the slowdown come back, and how sure is that?
 *
 * Pure arithmetic on latencies: no clock, no files. A set holds requests in blocks
 * (one occurrence or one time slice each), blocks belong to runs; resampling draws
 * runs, then blocks within them, never single requests, because requests that wait
 * for one lock are one piece of evidence.
 *
 * A request weighs the instants that it stands for (inside.h): a set answers "what
 * would a look at a random instant have seen". So eight sessions that stall for a
 * second are seen alike at 100 and at 2,000 requests a second, where a count of
 * requests buries them under those that were served before and after; and a hiccup
 * of 40 ms weighs 40 ms, however many requests were caught in it.
 *
 * The effect on the log scale, E = ln(arm inside / l0) / ln(s / b), is 0 when
 * nothing happens and 1 when it happens as in production, however fast the lab is.
 */
#ifndef REPROD_JUDGE_H
#define REPROD_JUDGE_H

#include "core/base/err.h"
#include "core/base/rng.h"

#define JUDGE_DRAWS 1999
#define JUDGE_BLOCKS_MIN 5 /* per arm; fewer is unsure */
#define JUDGE_ABOVE_MIN 5 /* production requests above the quantile */
#define JUDGE_E_MIN 0.5
#define JUDGE_RATIO_MIN 1.2
#define JUDGE_CPU_MAX 0.70
#define JUDGE_SAMPLES_MAX 4000000

struct judge_sample {
	double ms; /* service time; at least this for one that was never answered */
	double weight_s; /* its share of the block's instants */
	uint32_t block;
};

struct judge_set {
	struct judge_sample *items;
	size_t count, room;
	uint32_t *block_run; /* run of each block */
	double *block_weight; /* made by sealing: instants, summed */
	uint32_t block_count, block_room;
	uint32_t run_count;
	uint64_t censored;
	uint64_t refused; /* beyond JUDGE_SAMPLES_MAX */
	bool is_sealed;
};

/* Opens the next run; its blocks follow by judge_set_block(). */
void judge_set_run(struct judge_set *set);
/* Opens a block in the newest run; empty blocks count as evidence of nothing. */
bool judge_set_block(struct judge_set *set, struct err *e) MUST_USE;
/* Into a block opened before. */
bool judge_set_add(
	struct judge_set *set, uint32_t block, double ms, double weight_s, struct err *e) MUST_USE;
/* Sorts and sums; again after further runs were added. */
bool judge_set_seal(struct judge_set *set, struct err *e) MUST_USE;
/* Smallest latency with at least q of the weight at or below it; NAN when empty. */
double judge_set_quantile(const struct judge_set *set, double q);
/* Blocks that hold any request. */
uint32_t judge_set_filled(const struct judge_set *set);
void judge_set_free(struct judge_set *set);

/* The highest of 0.99, 0.9, 0.5 with at least five requests above it inside; 0 when
 * even the median has fewer. To be called on production alone, before any run. */
double judge_pick_quantile(const struct judge_set *inside);
/* "p99", "p90", "p50". */
const char *judge_quantile_name(double q);

enum verdict { VERDICT_UNSURE, VERDICT_REPRODUCED, VERDICT_NOT };

/* "reproduced", "not reproduced", "unsure". */
const char *verdict_name(enum verdict v);

struct interval {
	double value, low, high; /* NAN when unknown */
};

/* s / b with its 95 % interval; both sets sealed. */
struct interval judge_ratio(
	const struct judge_set *inside, const struct judge_set *outside, double q, uint64_t seed);

/* Quantile of a minus quantile of b, in ms, with its 95 % interval; both sealed. */
struct interval judge_difference(
	const struct judge_set *a, const struct judge_set *b, double q, uint64_t seed);

struct judge_terms {
	const struct judge_set *production_inside;
	/* Empty or NULL: production had no quiet time, then b = l0, which is honest only
	 * when the environments match. */
	const struct judge_set *production_outside;
	bool is_same_environment;
	const struct judge_set *reference_quiet; /* gives l0, one for all arms */
	const struct judge_set *arm_inside;
	double q;
	uint64_t seed;
};

struct judge_effect {
	enum verdict verdict;
	struct interval e;
	struct interval ratio; /* s / b */
	double b_ms, s_ms, l0_ms, arm_ms;
	struct interval arm_over_l0;
	const char *reason; /* or NULL when the verdict speaks for itself; static text here */
};

/* All sets sealed. */
struct judge_effect judge_effect(const struct judge_terms *t);
/* The A/A control: the later half of the reference's quiet blocks judged against the
 * earlier half (one run: its first and its last occurrences; two: run against run). E
 * of a quiet lab is near 0; by the rule of the verdict, in either direction, nothing
 * may come back where nothing was changed. Unknown (NAN) with fewer than two blocks in
 * a half. arm_inside is not looked at. */
bool judge_control(const struct judge_terms *t, struct interval *ret_e, struct err *e) MUST_USE;
bool judge_is_loud(struct interval control);
/* The rule alone: interval of E, and the lower bound of s / b. */
enum verdict judge_rule(struct interval e, double ratio_low, const char **ret_reason);
/* The point estimate alone. */
double judge_e(double arm_ms, double l0_ms, double s_ms, double b_ms);

#endif
