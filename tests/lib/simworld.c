#include "tests/lib/simworld.h"

#include "tests/lib/unit.h"

#include <math.h>

static const int64_t t0 = INT64_C(1796083200) * NS_PER_S;

/* Other worlds than those of CI: SIM_SEED=1, 2, ... */
static uint64_t other_seed(void)
{
	const char *wanted = getenv("SIM_SEED");

	return wanted ? strtoull(wanted, NULL, 10) * 1000003 : 0;
}

void world_init(struct world *w, uint64_t seed)
{
	*w = (struct world){ .run = { .is_quiet = true, .seed = 1, .log = stderr } };
	series_init(&w->series, 0);
	condition_list_init(&w->conditions);
	metric_list_init(&w->metrics);
	rng_seed(&w->rng, seed + other_seed());
}

void world_free(struct world *w)
{
	analysis_free(&w->analysis);
	metric_list_free(&w->metrics);
	condition_list_free(&w->conditions);
	series_free(&w->series);
}

void world_analyse(struct world *w)
{
	struct err e = { 0 };

	assert_true(series_finish(&w->series));
	condition_list_finish(&w->conditions, w->series.first_ns, w->series.last_ns);
	metric_list_finish(&w->metrics);
	assert_true(analysis_make(&w->analysis, &w->series, &w->conditions, &w->metrics, NULL,
		analysis_bucket(&w->series, &w->conditions, false), &w->run, &e));
}

const struct finding *world_finding(const struct world *w, const char *id)
{
	for (size_t i = 0; i < w->analysis.finding_count; i++)
		if (strcmp(w->analysis.findings[i].condition->id, id) == 0)
			return &w->analysis.findings[i];
	fail_msg("no finding %s", id);
	return NULL;
}

bool world_has_any(const struct world *w, enum verdict verdict)
{
	for (size_t i = 0; i < w->analysis.finding_count; i++)
		if (w->analysis.findings[i].verdict == verdict)
			return true;
	return false;
}

bool world_is_acquitted(const struct world *w, const char *id)
{
	enum verdict v = world_finding(w, id)->verdict;

	return v == VERDICT_NO_EVIDENCE || v == VERDICT_CANNOT_TELL;
}

int world_runs(int usual)
{
	const char *wanted = getenv("SIM_RUNS");

	return wanted ? atoi(wanted) : usual;
}

int64_t world_ns(double at_s)
{
	return t0 + (int64_t)(at_s * 1e9);
}

static double normal(struct rng *r)
{
	return sqrt(-2 * log(1 - rng_unit(r))) * cos(2 * M_PI * rng_unit(r));
}

double world_wait(struct rng *r, double mean)
{
	return -mean * log(1 - rng_unit(r));
}

double world_usual_ms(struct rng *r, double median)
{
	double ms = median * exp(0.4 * normal(r));

	return rng_unit(r) < 0.002 ? ms * (3 + 12 * rng_unit(r)) : ms;
}

void world_add(struct world *w, const char *route, double at_s, double ms)
{
	struct series_route *r = series_route(&w->series, slice_of(route), 0);

	assert_non_null(r);
	assert_true(series_add(&w->series, r, world_ns(at_s), (int64_t)(ms * 1e6), false));
}

void world_event(struct world *w, const char *kind, const char *name, double at_s, double end_s)
{
	struct condition *c = condition_get(&w->conditions, kind, name, "event");

	assert_non_null(c);
	assert_true(condition_add_time(c, world_ns(at_s), world_ns(end_s), end_s > at_s));
	c->confirmed++;
}

void world_job(struct world *w, const char *name, double every_s, double at_s, double length_s,
	double span_s)
{
	for (double t = at_s; t + length_s < span_s; t += every_s)
		world_event(w, "job", name, t, t + length_s);
}

void world_innocents(struct world *w, int count, double min_s, double max_s, double span_s)
{
	for (int i = 0; i < count; i++) {
		char name[16];
		uint64_t minutes = (uint64_t)((max_s - min_s) / 60);
		double every = min_s + 60 * (double)rng_below(&w->rng, minutes + 1);
		double at = every * rng_unit(&w->rng), length = 5 + 20 * rng_unit(&w->rng);

		snprintf(name, sizeof(name), "j%d", i);
		world_job(w, name, every, at, length, span_s);
	}
}

void world_play(struct world *w, const char *route, double per_s, double span_s, double median_ms,
	const struct slow_job *job)
{
	int64_t cycle = -1;
	bool bites = false;

	for (double t = world_wait(&w->rng, 1 / per_s); t < span_s;
		t += world_wait(&w->rng, 1 / per_s)) {
		double factor = 1;

		if (job && t >= job->at_s) {
			double since = t - job->at_s;
			int64_t at = (int64_t)(since / job->every_s);

			if (at != cycle)
				bites = rng_unit(&w->rng) < job->chance;
			cycle = at;
			if (bites && since - (double)at * job->every_s < job->length_s &&
				rng_unit(&w->rng) < job->share)
				factor = job->factor;
		}
		world_add(w, route, t, factor * world_usual_ms(&w->rng, median_ms));
	}
}

void world_stalls(struct world *w, double per_s, double span_s, double phase_s, double length_s)
{
	for (int client = 0; client < 8; client++) {
		double pause = 8 / per_s - 0.004 > 0 ? 8 / per_s - 0.004 : 0;

		for (double t = world_wait(&w->rng, 8 / per_s); t < span_s;) {
			bool is_write = rng_unit(&w->rng) < 0.3;
			double ms = world_usual_ms(&w->rng, is_write ? 3 : 2);
			double in_cycle = fmod(t + 8 - phase_s, 8), left = length_s - in_cycle;
			bool is_reached = 8 - in_cycle < ms / 1e3;

			if (is_write && length_s > 0 && (left > 0 || is_reached))
				ms += 1e3 * (left > 0 ? left : length_s);
			world_add(w, is_write ? "UPDATE t" : "SELECT t", t, ms);
			t += ms / 1e3 + world_wait(&w->rng, pause);
		}
	}
}
