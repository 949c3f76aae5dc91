#include "capture/probe.h"

#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include "core/base/quantile.h"

/* Student's t by degrees of freedom, from 1: 97.5 %, and 80 % for the power. */
static const double t_975[] = { 12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262 };
static const double t_800[] = { 1.376, 1.061, 0.978, 0.941, 0.920, 0.906, 0.896, 0.889, 0.883 };

struct probe_effect probe_compare(const double *off, const double *on, size_t n)
{
	struct probe_effect effect = { .mean = NAN, .low = NAN, .high = NAN, .smallest = NAN };
	double sum = 0, squares = 0, error;
	size_t pairs = 0;

	for (size_t i = 0; i < n; i++) {
		double d = on[i] - off[i];

		if (isnan(d))
			continue;
		sum += d;
		squares += d * d;
		pairs++;
	}
	effect.pairs = pairs;
	if (pairs)
		effect.mean = sum / (double)pairs;
	if (pairs < 2 || pairs > LENGTH(t_975) + 1)
		return effect;
	error = squares - sum * sum / (double)pairs;
	error = sqrt((error > 0 ? error : 0) / (double)(pairs - 1) / (double)pairs);
	effect.low = effect.mean - t_975[pairs - 2] * error;
	effect.high = effect.mean + t_975[pairs - 2] * error;
	effect.smallest = (t_975[pairs - 2] + t_800[pairs - 2]) * error;
	return effect;
}

/* ---- readings */

static size_t read_text(const char *path, char *to, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, to, size - 1);

	if (fd >= 0)
		close(fd);
	to[n > 0 ? n : 0] = '\0';
	return n > 0 ? (size_t)n : 0;
}

static int64_t ticks_ns(uint64_t ticks)
{
	return (int64_t)(ticks * (uint64_t)(NS_PER_S / sysconf(_SC_CLK_TCK)));
}

/* proc(5): user nice system idle iowait irq softirq steal. What others stole is not ours. */
static int64_t host_cpu_ns(void)
{
	char text[512];
	unsigned long long v[7] = { 0 };

	read_text("/proc/stat", text, sizeof text);
	if (sscanf(text, "cpu %llu %llu %llu %llu %llu %llu %llu", &v[0], &v[1], &v[2], &v[3],
		    &v[4], &v[5], &v[6]) != 7)
		return 0;
	return ticks_ns(v[0] + v[1] + v[2] + v[5] + v[6]);
}

static int64_t target_cpu_ns(int pid)
{
	char path[64], text[1024];
	unsigned long long user = 0, system = 0;
	const char *at;

	snprintf(path, sizeof path, "/proc/%d/stat", pid);
	if (!pid || !read_text(path, text, sizeof text) || !(at = strrchr(text, ')')))
		return 0;
	if (sscanf(at + 1, " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %llu %llu", &user,
		    &system) != 2)
		return 0;
	return ticks_ns(user + system);
}

static uint64_t packets_of(const char *interface)
{
	static const char *const counters[] = { "rx_packets", "tx_packets" };
	uint64_t sum = 0;

	for (size_t i = 0; i < LENGTH(counters); i++) {
		char path[160], text[32];

		snprintf(path, sizeof path, "/sys/class/net/%.64s/statistics/%s", interface,
			counters[i]);
		if (read_text(path, text, sizeof text))
			sum += strtoull(text, NULL, 10);
	}
	return sum;
}

void probe_read(const struct probe *p, int64_t mono_ns, struct probe_reading *ret)
{
	struct rusage u;

	getrusage(RUSAGE_SELF, &u);
	*ret = (struct probe_reading){ .mono_ns = mono_ns,
		.host_cpu_ns = host_cpu_ns(),
		.own_cpu_ns = ((int64_t)u.ru_utime.tv_sec + u.ru_stime.tv_sec) * NS_PER_S +
			      ((int64_t)u.ru_utime.tv_usec + u.ru_stime.tv_usec) * NS_PER_US,
		.target_cpu_ns = target_cpu_ns(p->target_pid) };
	for (size_t i = 0; i < p->interface_count; i++)
		ret->packets += packets_of(p->interfaces[i]);
}

void probe_window_set(
	struct probe_window *w, const struct probe_reading *from, const struct probe_reading *to)
{
	w->span_ns = to->mono_ns - from->mono_ns;
	w->host_cpu_ns = to->host_cpu_ns - from->host_cpu_ns;
	w->own_cpu_ns = to->own_cpu_ns - from->own_cpu_ns;
	w->target_cpu_ns = to->target_cpu_ns - from->target_cpu_ns;
	w->packets = to->packets - from->packets;
}

static void see_request(void *data, const struct raw_request *q, unsigned hash)
{
	struct probe *p = data;

	if (!p->now || hash >= shed_kept(SHED_SIXTEENTH) || q->form == FORM_PREPARE ||
		q->flags & (REQUEST_UNANSWERED | REQUEST_GAP | REQUEST_SKIPPED))
		return;
	p->now->requests++;
	if (!hist_add(&p->now->latency_us,
		    q->end_ns > q->start_ns ? (q->end_ns - q->start_ns) / NS_PER_US : 0, 1))
		p->refused++;
}

struct valve_tap probe_tap(struct probe *p)
{
	return (struct valve_tap){ see_request, p };
}

/* ---- the answer */

typedef double probe_value(const struct probe_window *w);

static double host_share(const struct probe_window *w)
{
	return w->span_ns ? (double)w->host_cpu_ns / (double)w->span_ns : (double)NAN;
}

static double own_share(const struct probe_window *w)
{
	return w->span_ns ? (double)w->own_cpu_ns / (double)w->span_ns : (double)NAN;
}

static double target_share(const struct probe_window *w)
{
	return w->span_ns ? (double)w->target_cpu_ns / (double)w->span_ns : (double)NAN;
}

/* Both windows count the same sessions, so that the scale is the same too. */
static double cpu_us_per_request(const struct probe_window *w)
{
	double all = (double)w->requests * 16 / shed_kept(SHED_SIXTEENTH);

	return w->requests ? (double)w->host_cpu_ns / 1000 / all : (double)NAN;
}

static double cpu_us_per_packet(const struct probe_window *w)
{
	return w->packets ? (double)w->host_cpu_ns / 1000 / (double)w->packets : (double)NAN;
}

/* Ratios are compared as differences of logarithms. */
static double log_p99(const struct probe_window *w)
{
	uint64_t n = w->latency_us.total;
	int64_t us = n && quantile_is_estimable(n, 0.99) ? hist_quantile(&w->latency_us, 0.99) : 0;

	return us > 0 ? log((double)us) : (double)NAN;
}

static struct probe_effect effect_of(
	const struct probe *p, probe_value *value, double *ret_off, double *ret_on)
{
	double off[PROBE_PAIRS] = { 0 }, on[PROBE_PAIRS] = { 0 }, sums[2] = { 0 };

	size_t n = 0;

	for (size_t i = 0; i < p->pairs; i++) {
		off[i] = value(&p->windows[i][0]);
		on[i] = value(&p->windows[i][1]);
		if (isnan(off[i]) || isnan(on[i]))
			continue;
		sums[0] += off[i];
		sums[1] += on[i];
		n++;
	}
	*ret_off = n ? sums[0] / (double)n : (double)NAN;
	*ret_on = n ? sums[1] / (double)n : (double)NAN;
	return probe_compare(off, on, p->pairs);
}

static void set_effect(struct json *to, const char *key, const struct probe *p, probe_value *value)
{
	struct json *j = json_object();
	double off, on;
	struct probe_effect e = effect_of(p, value, &off, &on);

	json_set_number(j, "off", off);
	json_set_number(j, "on", on);
	json_set_number(j, "delta", e.mean);
	json_set_number(j, "low", e.low);
	json_set_number(j, "high", e.high);
	json_set_number(j, "smallest", e.smallest);
	json_set(to, key, j);
}

static struct json *p99_json(const struct probe *p)
{
	struct json *j = json_object();
	double off, on;
	struct probe_effect e = effect_of(p, log_p99, &off, &on);

	json_set_int(j, "pairs", (int64_t)e.pairs);
	json_set_number(j, "ratio", exp(e.mean));
	json_set_number(j, "low", exp(e.low));
	json_set_number(j, "high", exp(e.high));
	json_set_number(j, "smallest", exp(e.smallest));
	return j;
}

struct json *probe_json(const struct probe *p)
{
	struct json *j = json_object();
	uint64_t requests = 0;

	for (size_t i = 0; i < p->pairs; i++)
		requests += p->windows[i][0].requests + p->windows[i][1].requests;
	json_set_int(j, "pairs", (int64_t)p->pairs);
	json_set_number(j, "sessions_seen", shed_kept(SHED_SIXTEENTH) / 16.0);
	json_set_int(j, "requests_seen", (int64_t)requests);
	json_set_number(j, "window_s", (double)p->windows[0][0].span_ns / 1e9);
	set_effect(j, "host_cpu_share", p, host_share);
	set_effect(j, "host_cpu_us_per_request", p, cpu_us_per_request);
	set_effect(j, "host_cpu_us_per_packet", p, cpu_us_per_packet);
	if (p->target_pid)
		set_effect(j, "target_cpu_share", p, target_share);
	set_effect(j, "own_cpu_share", p, own_share);
	json_set(j, "p99_change", p99_json(p));
	return j;
}

bool probe_is_over(const struct probe *p, double cpu_share)
{
	double off, on;
	struct probe_effect host = effect_of(p, host_share, &off, &on);

	if (!(cpu_share > 0))
		return false;
	effect_of(p, own_share, &off, &on);
	return on > cpu_share || host.low > cpu_share;
}

void probe_free(struct probe *p)
{
	for (size_t i = 0; i < PROBE_PAIRS; i++)
		for (size_t k = 0; k < 2; k++)
			hist_free(&p->windows[i][k].latency_us);
}
