#include "recipes/ablate.h"

uint32_t ablate_all(const struct ablate *a)
{
	return (uint32_t)((UINT64_C(1) << a->conditions) - 1);
}

uint32_t ablate_effective(const struct ablate *a, uint32_t on)
{
	return a->data && !(on & a->data) ? on & ~a->in_snapshot : on;
}

const struct ablate_arm *ablate_find(const struct ablate *a, uint32_t on)
{
	on = ablate_effective(a, on);
	for (size_t i = 0; i < a->count; i++) {
		if (a->arms[i].on == on)
			return &a->arms[i];
	}
	return NULL;
}

size_t ablate_add(struct ablate *a, uint32_t on)
{
	const struct ablate_arm *known = ablate_find(a, on);

	if (known)
		return (size_t)(known - a->arms);
	a->arms[a->count] = (struct ablate_arm){ .on = ablate_effective(a, on) };
	return a->count++;
}

void ablate_start(struct ablate *a, size_t conditions, uint32_t reference, uint32_t in_snapshot,
	uint32_t data)
{
	*a = (struct ablate){ .conditions = conditions,
		.reference = reference,
		.in_snapshot = in_snapshot,
		.data = data };
	ablate_add(a, reference);
	ablate_add(a, ablate_all(a));
}

void ablate_add_without(struct ablate *a)
{
	uint32_t all = ablate_all(a);

	for (size_t i = 0; i < a->conditions; i++)
		ablate_add(a, all & ~(UINT32_C(1) << i));
}

const struct ablate_arm *ablate_implied(const struct ablate *a, uint32_t on)
{
	for (size_t i = 0; i < a->count; i++) {
		const struct ablate_arm *arm = &a->arms[i];

		if (arm->has_verdict && arm->verdict == VERDICT_NOT && arm->on != on &&
			(on & ~arm->on) == 0)
			return arm;
	}
	return NULL;
}

void ablate_add_factors(struct ablate *a)
{
	ablate_add_without(a);
	ablate_add(a, 0);
	for (size_t i = 0; i < a->conditions; i++)
		ablate_add(a, UINT32_C(1) << i);
}

void ablate_shuffle(struct ablate *a, size_t from, uint64_t seed)
{
	struct rng rng;

	rng_seed(&rng, seed);
	for (size_t i = a->count; i > from + 1; i--) {
		size_t k = from + (size_t)rng_below(&rng, i - from);
		struct ablate_arm held = a->arms[i - 1];

		a->arms[i - 1] = a->arms[k];
		a->arms[k] = held;
	}
}

static bool is_reproduced(const struct ablate *a, uint32_t on)
{
	const struct ablate_arm *arm = ablate_find(a, on);

	return arm && arm->has_verdict && arm->verdict == VERDICT_REPRODUCED;
}

static bool is_answerable(const struct ablate *a)
{
	const struct ablate_arm *reference = ablate_find(a, a->reference);

	return is_reproduced(a, ablate_all(a)) && reference && reference->has_verdict &&
	       reference->verdict == VERDICT_NOT;
}

uint32_t ablate_necessary(const struct ablate *a)
{
	uint32_t necessary = 0, all = ablate_all(a);

	for (size_t i = 0; i < a->conditions && is_answerable(a); i++) {
		const struct ablate_arm *without = ablate_find(a, all & ~(UINT32_C(1) << i));

		if (without && without->has_verdict && without->verdict == VERDICT_NOT)
			necessary |= UINT32_C(1) << i;
	}
	return necessary;
}

uint32_t ablate_unknown(const struct ablate *a)
{
	uint32_t unknown = 0, all = ablate_all(a);

	for (size_t i = 0; i < a->conditions && is_answerable(a); i++) {
		const struct ablate_arm *without = ablate_find(a, all & ~(UINT32_C(1) << i));

		if (!without || !without->has_verdict || without->verdict == VERDICT_UNSURE)
			unknown |= UINT32_C(1) << i;
	}
	return unknown;
}

bool ablate_add_necessary(struct ablate *a)
{
	uint32_t necessary = ablate_necessary(a);

	if (!is_answerable(a) || necessary == 0 || ablate_find(a, necessary) ||
		a->count == ABLATE_ARMS_MAX)
		return false;
	ablate_add(a, necessary);
	return true;
}

size_t ablate_minimal(const struct ablate *a, uint32_t *sets, size_t max)
{
	size_t n = 0;

	for (size_t i = 0; i < a->count; i++) {
		bool is_smallest =
			a->arms[i].has_verdict && a->arms[i].verdict == VERDICT_REPRODUCED;

		for (size_t k = 0; k < a->count && is_smallest; k++) {
			uint32_t other = a->arms[k].on;

			if (k != i && a->arms[k].has_verdict &&
				a->arms[k].verdict == VERDICT_REPRODUCED &&
				(other & ~a->arms[i].on) == 0)
				is_smallest = false;
		}
		if (is_smallest && n < max)
			sets[n++] = a->arms[i].on;
	}
	return n;
}
