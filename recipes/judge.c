#include "recipes/judge.h"

#include <math.h>
#include <stdlib.h>

#define CONTROL_BLOCKS_MIN 2 /* in each half */

void judge_set_run(struct judge_set *set)
{
	set->run_count++;
}

bool judge_set_block(struct judge_set *set, struct err *e)
{
	if (set->run_count == 0)
		set->run_count = 1;
	if (set->block_count == set->block_room) {
		uint32_t room = set->block_room ? set->block_room * 2 : 16;
		uint32_t *grown = realloc(set->block_run, room * sizeof(*grown));

		if (!grown)
			return err_set(e, ERR_ENV, "could not get memory for %u blocks", room);
		set->block_run = grown;
		set->block_room = room;
	}
	set->block_run[set->block_count++] = set->run_count - 1;
	set->is_sealed = false;
	return true;
}

bool judge_set_add(struct judge_set *set, uint32_t block, double ms, double weight_s, struct err *e)
{
	if (set->count >= JUDGE_SAMPLES_MAX) {
		set->refused++;
		return true;
	}
	if (set->count == set->room) {
		size_t room = set->room ? set->room * 2 : 1024;
		struct judge_sample *grown = realloc(set->items, room * sizeof(*grown));

		if (!grown)
			return err_set(e, ERR_ENV, "could not get memory for %zu requests", room);
		set->items = grown;
		set->room = room;
	}
	set->is_sealed = false;
	set->items[set->count++] =
		(struct judge_sample){ .ms = ms, .weight_s = weight_s, .block = block };
	return true;
}

static int by_latency(const void *a, const void *b)
{
	const struct judge_sample *x = a, *y = b;

	if (x->ms != y->ms)
		return x->ms < y->ms ? -1 : 1;
	return x->block < y->block ? -1 : x->block > y->block;
}

bool judge_set_seal(struct judge_set *set, struct err *e)
{
	if (set->is_sealed)
		return true;
	free(set->block_weight);
	set->block_weight = calloc(set->block_count ? set->block_count : 1, sizeof(double));
	if (!set->block_weight)
		return err_set(e, ERR_ENV, "could not get memory for %u blocks", set->block_count);
	if (set->count > 1)
		qsort(set->items, set->count, sizeof(set->items[0]), by_latency);
	for (size_t i = 0; i < set->count; i++)
		set->block_weight[set->items[i].block] += set->items[i].weight_s;
	set->is_sealed = true;
	return true;
}

/* The sample that the quantile falls on; times[block]: how often the block was drawn,
 * NULL: once each. False when nothing weighs anything. */
static bool find_quantile(
	const struct judge_set *set, double q, const uint32_t *times, size_t *ret_at)
{
	double total = 0, above = 0;

	if (!set->is_sealed)
		return false;
	for (uint32_t b = 0; b < set->block_count; b++)
		total += set->block_weight[b] * (times ? times[b] : 1);
	if (!(total > 0))
		return false;
	for (size_t i = set->count; i-- > 0;) {
		double w = set->items[i].weight_s * (times ? times[set->items[i].block] : 1);

		above += w;
		*ret_at = i;
		if (w > 0 && above > (1 - q) * total * (1 + 1e-12))
			break;
	}
	return true;
}

static double quantile_drawn(const struct judge_set *set, double q, const uint32_t *times)
{
	size_t at;

	return find_quantile(set, q, times, &at) ? set->items[at].ms : NAN;
}

double judge_set_quantile(const struct judge_set *set, double q)
{
	return quantile_drawn(set, q, NULL);
}

uint32_t judge_set_filled(const struct judge_set *set)
{
	uint32_t filled = 0;
	bool *has = calloc(set->block_count ? set->block_count : 1, sizeof(*has));

	if (!has)
		return 0;
	for (size_t i = 0; i < set->count; i++) {
		if (!has[set->items[i].block])
			filled++;
		has[set->items[i].block] = true;
	}
	free(has);
	return filled;
}

void judge_set_free(struct judge_set *set)
{
	free(set->items);
	free(set->block_run);
	free(set->block_weight);
	*set = (struct judge_set){ 0 };
}

static const struct {
	double q;
	const char *name;
} quantiles[] = { { 0.99, "p99" }, { 0.9, "p90" }, { 0.5, "p50" } };

double judge_pick_quantile(const struct judge_set *inside)
{
	for (size_t i = 0; i < LENGTH(quantiles); i++) {
		size_t at;

		/* Above by rank: equal latencies (a coarse clock) are no reason to see fewer. */
		if (find_quantile(inside, quantiles[i].q, NULL, &at) &&
			inside->count - 1 - at >= JUDGE_ABOVE_MIN)
			return quantiles[i].q;
	}
	return 0;
}

const char *judge_quantile_name(double q)
{
	for (size_t i = 0; i < LENGTH(quantiles); i++) {
		if (fabs(quantiles[i].q - q) < 1e-9)
			return quantiles[i].name;
	}
	return "no quantile";
}

const char *verdict_name(enum verdict v)
{
	static const char *const names[] = { "unsure", "reproduced", "not reproduced" };

	return names[v];
}

double judge_e(double arm_ms, double l0_ms, double s_ms, double b_ms)
{
	double scale = log(s_ms / b_ms);

	if (!(arm_ms > 0) || !(l0_ms > 0) || !isfinite(scale) || scale == 0)
		return NAN;
	return log(arm_ms / l0_ms) / scale;
}

enum verdict judge_rule(struct interval e, double ratio_low, const char **ret_reason)
{
	*ret_reason = NULL;
	if (!(ratio_low >= JUDGE_RATIO_MIN)) {
		*ret_reason = "production's own slowdown is not clear: low(s/b) is below 1.2";
		return VERDICT_UNSURE;
	}
	if (isnan(e.low) || isnan(e.high)) {
		*ret_reason = "too few requests were in flight at the moments compared";
		return VERDICT_UNSURE;
	}
	if (e.low >= JUDGE_E_MIN)
		return VERDICT_REPRODUCED;
	if (e.high < JUDGE_E_MIN)
		return VERDICT_NOT;
	*ret_reason = "the interval of E holds 0.5: more runs would narrow it";
	return VERDICT_UNSURE;
}

/* ---- resampling */

/* Block lists by run, so that a draw needs no search. */
struct drawer {
	const struct judge_set *set;
	uint32_t *times; /* per block */
	uint32_t *first; /* per run: its first block; blocks of a run are adjacent */
};

static bool drawer_open(struct drawer *d, const struct judge_set *set)
{
	*d = (struct drawer){ .set = set };
	if (set->block_count == 0)
		return false;
	d->times = calloc(set->block_count, sizeof(*d->times));
	d->first = calloc(set->run_count + 1, sizeof(*d->first));
	if (!d->times || !d->first)
		return false;
	for (uint32_t b = 0; b < set->block_count; b++)
		d->first[set->block_run[b] + 1] = b + 1;
	for (uint32_t r = 1; r <= set->run_count; r++) {
		if (d->first[r] < d->first[r - 1])
			d->first[r] = d->first[r - 1];
	}
	return true;
}

static void drawer_close(struct drawer *d)
{
	free(d->times);
	free(d->first);
}

static double drawer_quantile(struct drawer *d, struct rng *rng, double q)
{
	const struct judge_set *set = d->set;

	memset(d->times, 0, set->block_count * sizeof(*d->times));
	for (uint32_t i = 0; i < set->run_count; i++) {
		uint32_t run = (uint32_t)rng_below(rng, set->run_count);
		uint32_t from = d->first[run], blocks = d->first[run + 1] - from;

		for (uint32_t k = 0; k < blocks; k++)
			d->times[from + rng_below(rng, blocks)]++;
	}
	return quantile_drawn(set, q, d->times);
}

static int by_number(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

/* The 2.5 and 97.5 % points; NAN when a twentieth of the draws or more had no
 * value, because then the rest says little about the whole. */
static void interval_of(double *draws, size_t n, struct interval *i)
{
	i->low = i->high = NAN;
	if (n < JUDGE_DRAWS - JUDGE_DRAWS / 20)
		return;
	qsort(draws, n, sizeof(draws[0]), by_number);
	i->low = draws[(size_t)floor(0.025 * (double)(n - 1))];
	i->high = draws[(size_t)ceil(0.975 * (double)(n - 1))];
}

static bool is_filled(const struct judge_set *set)
{
	return set && set->count > 0 && set->block_count > 0;
}

static bool is_usable(double ms)
{
	return isfinite(ms) && ms > 0;
}

static double over(double x, double y)
{
	return is_usable(x) && is_usable(y) ? x / y : NAN;
}

static double minus(double x, double y)
{
	return is_usable(x) && is_usable(y) ? x - y : NAN;
}

static struct interval compare(const struct judge_set *a, const struct judge_set *b, double q,
	uint64_t seed, double (*how)(double, double))
{
	struct interval i = { NAN, NAN, NAN };
	struct drawer of_a = { 0 }, of_b = { 0 };
	double *draws = calloc(JUDGE_DRAWS, sizeof(*draws));
	struct rng rng;
	size_t n = 0;

	if (!draws || !is_filled(a) || !is_filled(b))
		goto out;
	i.value = how(judge_set_quantile(a, q), judge_set_quantile(b, q));
	if (!drawer_open(&of_a, a) || !drawer_open(&of_b, b))
		goto out;
	rng_seed(&rng, seed);
	for (int k = 0; k < JUDGE_DRAWS; k++) {
		double x = drawer_quantile(&of_a, &rng, q), y = drawer_quantile(&of_b, &rng, q);

		draws[n] = how(x, y);
		n += !isnan(draws[n]);
	}
	interval_of(draws, n, &i);
out:
	drawer_close(&of_a);
	drawer_close(&of_b);
	free(draws);
	return i;
}

struct interval judge_ratio(
	const struct judge_set *inside, const struct judge_set *outside, double q, uint64_t seed)
{
	return compare(inside, outside, q, seed, over);
}

struct interval judge_difference(
	const struct judge_set *a, const struct judge_set *b, double q, uint64_t seed)
{
	return compare(a, b, q, seed, minus);
}

struct draws {
	double *e, *ratio, *arm;
	size_t n;
};

/* b of a draw is the draw of l0 itself when production had no quiet time. */
static void draw_all(
	const struct judge_terms *t, struct drawer d[4], bool has_quiet, struct draws *ret)
{
	struct rng rng;

	rng_seed(&rng, t->seed);
	for (int i = 0; i < JUDGE_DRAWS; i++) {
		double s = drawer_quantile(&d[0], &rng, t->q);
		double l0 = drawer_quantile(&d[2], &rng, t->q);
		double b = has_quiet ? drawer_quantile(&d[1], &rng, t->q) : l0;
		double arm = drawer_quantile(&d[3], &rng, t->q);
		double e;

		if (!is_usable(s) || !is_usable(b) || !is_usable(l0) || !is_usable(arm))
			continue;
		e = judge_e(arm, l0, s, b);
		if (isnan(e))
			continue;
		ret->e[ret->n] = e;
		ret->ratio[ret->n] = s / b;
		ret->arm[ret->n++] = arm / l0;
	}
}

static struct judge_effect unsure(struct judge_effect f, const char *reason)
{
	f.verdict = VERDICT_UNSURE;
	f.reason = reason;
	return f;
}

static struct judge_effect judge_by(
	const struct judge_terms *t, uint32_t reference_blocks, uint32_t arm_blocks)
{
	const struct interval none = { NAN, NAN, NAN };
	bool has_quiet = is_filled(t->production_outside);
	struct judge_effect f = { .e = none,
		.ratio = none,
		.arm_over_l0 = none,
		.b_ms = NAN,
		.s_ms = NAN,
		.l0_ms = NAN,
		.arm_ms = NAN };
	struct drawer d[4] = { 0 };
	double *room = NULL;
	struct draws draws = { 0 };

	if (!is_filled(t->production_inside))
		return unsure(f, "production has no request of the route inside");
	f.s_ms = judge_set_quantile(t->production_inside, t->q);
	if (has_quiet)
		f.b_ms = judge_set_quantile(t->production_outside, t->q);
	if (!is_filled(t->reference_quiet))
		return unsure(f, "the reference arm has no request of the route");
	f.l0_ms = judge_set_quantile(t->reference_quiet, t->q);
	if (!has_quiet) {
		if (!t->is_same_environment)
			return unsure(
				f, "production had no quiet time and the lab is another machine");
		f.b_ms = f.l0_ms;
	}
	if (!is_filled(t->arm_inside))
		return unsure(f, "no request of the route was in flight at the moments compared");
	f.arm_ms = judge_set_quantile(t->arm_inside, t->q);
	f.e.value = judge_e(f.arm_ms, f.l0_ms, f.s_ms, f.b_ms);
	f.ratio.value = f.s_ms / f.b_ms;
	f.arm_over_l0.value = f.arm_ms / f.l0_ms;
	if (judge_set_filled(t->production_inside) < JUDGE_BLOCKS_MIN)
		return unsure(
			f, "production has fewer than five occurrences with requests in them");
	if (has_quiet && judge_set_filled(t->production_outside) < JUDGE_BLOCKS_MIN)
		return unsure(f, "production has fewer than five pieces of quiet time");
	if (judge_set_filled(t->reference_quiet) < reference_blocks)
		return unsure(f, "the reference arm has fewer than five pieces of quiet time");
	if (judge_set_filled(t->arm_inside) < arm_blocks)
		return unsure(f, "fewer than five occurrences of the run had requests in them");

	room = calloc(3 * (size_t)JUDGE_DRAWS, sizeof(*room));
	draws = (struct draws){ room, room + JUDGE_DRAWS, room + 2 * (size_t)JUDGE_DRAWS, 0 };
	if (!room || !drawer_open(&d[0], t->production_inside) ||
		(has_quiet && !drawer_open(&d[1], t->production_outside)) ||
		!drawer_open(&d[2], t->reference_quiet) || !drawer_open(&d[3], t->arm_inside)) {
		f = unsure(f, "memory ran out while judging");
	} else {
		draw_all(t, d, has_quiet, &draws);
		interval_of(draws.e, draws.n, &f.e);
		interval_of(draws.ratio, draws.n, &f.ratio);
		interval_of(draws.arm, draws.n, &f.arm_over_l0);
		f.verdict = judge_rule(f.e, f.ratio.low, &f.reason);
	}
	for (size_t i = 0; i < LENGTH(d); i++)
		drawer_close(&d[i]);
	free(room);
	return f;
}

struct judge_effect judge_effect(const struct judge_terms *t)
{
	return judge_by(t, JUDGE_BLOCKS_MIN, JUDGE_BLOCKS_MIN);
}

/* Blocks from..to of a set, runs kept apart. */
static bool cut_out(const struct judge_set *set, uint32_t from, uint32_t to, struct judge_set *ret,
	struct err *e)
{
	for (uint32_t b = from; b < to; b++) {
		if (b == from || set->block_run[b] != set->block_run[b - 1])
			judge_set_run(ret);
		if (!judge_set_block(ret, e))
			return false;
	}
	for (size_t i = 0; i < set->count; i++) {
		const struct judge_sample *s = &set->items[i];

		if (s->block >= from && s->block < to &&
			!judge_set_add(ret, s->block - from, s->ms, s->weight_s, e))
			return false;
	}
	return judge_set_seal(ret, e);
}

bool judge_control(const struct judge_terms *t, struct interval *ret_e, struct err *e)
{
	const struct judge_set *quiet = t->reference_quiet;
	uint32_t middle = quiet->block_count / 2;
	struct judge_set earlier = { 0 }, later = { 0 };
	struct judge_terms halves = *t;
	bool ok = cut_out(quiet, 0, middle, &earlier, e) &&
		  cut_out(quiet, middle, quiet->block_count, &later, e);

	*ret_e = (struct interval){ NAN, NAN, NAN };
	if (ok) {
		halves.reference_quiet = &earlier;
		halves.arm_inside = &later;
		*ret_e = judge_by(&halves, CONTROL_BLOCKS_MIN, CONTROL_BLOCKS_MIN).e;
	}
	judge_set_free(&earlier);
	judge_set_free(&later);
	return ok;
}

bool judge_is_loud(struct interval control)
{
	return control.low >= JUDGE_E_MIN || control.high <= -JUDGE_E_MIN;
}
