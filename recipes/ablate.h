/*
 * ablate.h - which conditions are needed: the arms to run, and what they tell.
 *
 * Pure set arithmetic. An arm is the set of conditions that are on, as a bit mask
 * over the tested conditions in the recipe's order. Arms that several questions
 * share are run once.
 */
#ifndef REPROD_ABLATE_H
#define REPROD_ABLATE_H

#include "recipes/judge.h"

#define ABLATE_CONDITIONS_MAX 16
#define ABLATE_ARMS_MAX (2 * ABLATE_CONDITIONS_MAX + 4)

struct ablate_arm {
	uint32_t on; /* mask */
	enum verdict verdict;
	bool has_verdict; /* it was run */
};

struct ablate {
	size_t conditions;
	uint32_t reference; /* snapshot and captured concurrency alone */
	/* Conditions that only exist in the snapshot: void while data is off. */
	uint32_t in_snapshot;
	uint32_t data; /* the bit of `data`, or 0 */
	struct ablate_arm arms[ABLATE_ARMS_MAX];
	size_t count;
};

/* The reference arm and all-on. */
void ablate_start(struct ablate *a, size_t conditions, uint32_t reference, uint32_t in_snapshot,
	uint32_t data);
uint32_t ablate_all(const struct ablate *a);
/* What is really on: in_snapshot conditions are off while data is. */
uint32_t ablate_effective(const struct ablate *a, uint32_t on);
/* Adds unless there; the arm's index. */
size_t ablate_add(struct ablate *a, uint32_t on);
/* Leave-one-out. */
void ablate_add_without(struct ablate *a);
/* Leave-one-out, none, only-one. */
void ablate_add_factors(struct ablate *a);
/* Whether "not reproduced" follows for a set: an arm that holds all of it, and more,
 * was run and did not reproduce. Rests on conditions not working against each other. */
const struct ablate_arm *ablate_implied(const struct ablate *a, uint32_t on);
const struct ablate_arm *ablate_find(const struct ablate *a, uint32_t on);
/* Once everything else was judged: the set of necessary conditions alone, when it
 * is a new arm that could shrink the minimal set; false when there is none. */
bool ablate_add_necessary(struct ablate *a);
/* Shuffles the arms from index `from` on. */
void ablate_shuffle(struct ablate *a, size_t from, uint64_t seed);

/* Conditions whose absence alone gives "not reproduced", and those where leaving
 * out gave unsure, or was never run. Both 0 unless all-on is reproduced, or when the
 * reference arm reproduces alone. */
uint32_t ablate_necessary(const struct ablate *a);
uint32_t ablate_unknown(const struct ablate *a);
/* The smallest sets that reproduced among the arms that were run: no reproduced
 * arm holds fewer of their conditions. Returns their number, at most max. */
size_t ablate_minimal(const struct ablate *a, uint32_t *sets, size_t max);

#endif
