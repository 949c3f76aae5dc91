#include "capture/budget.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

static const double calm_share = 0.4; /* what is shed halves the work: coming back doubles it */

/* ---- the words */

static bool read_share(const char *text, double *ret)
{
	char *end;

	errno = 0;
	*ret = strtod(text, &end);
	if (strcmp(end, "%") == 0)
		*ret /= 100;
	else if (*end)
		return false;
	return end != text && !errno && *ret > 0 && *ret <= 64;
}

static bool read_size(const char *text, int64_t *ret)
{
	static const char units[] = "KMGT";
	char *end;
	const char *unit;
	double v = strtod(text, &end);
	int shift = 0;

	if (end == text || !(v > 0))
		return false;
	if (*end) {
		unit = strchr(units, *end);
		if (!unit || (end[1] && strcmp(end + 1, "iB") != 0 && strcmp(end + 1, "B") != 0))
			return false;
		shift = 10 * (int)(unit - units + 1);
	}
	if (v > 1e15 / (double)(INT64_C(1) << shift))
		return false;
	*ret = (int64_t)(v * (double)(INT64_C(1) << shift));
	return true;
}

static bool read_part(struct budget *b, const char *name, const char *value, struct err *e)
{
	if (strcmp(name, "cpu") == 0 && !b->cpu_share && read_share(value, &b->cpu_share))
		return true;
	if (strcmp(name, "mem") == 0 && !b->mem_bytes && read_size(value, &b->mem_bytes)) {
		if (b->mem_bytes >= BUDGET_MEM_MIN)
			return true;
		return err_set(e, ERR_USAGE, "--budget: mem=%s is less than a capture needs, %dM",
			value, (int)(BUDGET_MEM_MIN >> 20));
	}
	if (strcmp(name, "disk") == 0 && !b->disk_bytes && read_size(value, &b->disk_bytes)) {
		if (b->disk_bytes >= BUDGET_DISK_MIN)
			return true;
		return err_set(e, ERR_USAGE, "--budget: disk=%s is less than a capture needs, %dK",
			value, (int)(BUDGET_DISK_MIN >> 10));
	}
	err_set(e, ERR_USAGE, "--budget: cannot read '%s%s%s'", name, *value ? "=" : "", value);
	return err_hint(e, "as in --budget cpu=2%%,mem=64M,disk=1G");
}

bool budget_parse(struct budget *b, const char *text, struct err *e)
{
	char copy[256], *at = copy, *part;

	*b = (struct budget){ 0 };
	if ((size_t)snprintf(copy, sizeof copy, "%s", text) >= sizeof copy)
		return err_set(e, ERR_USAGE, "--budget is too long");
	while ((part = strsep(&at, ","))) {
		char *value = strchr(part, '=');

		if (value)
			*value++ = '\0';
		if (!read_part(b, part, value ? value : "", e))
			return false;
	}
	return true;
}

struct json *budget_json(const struct budget *b)
{
	struct json *j = json_object();

	if (b->cpu_share > 0)
		json_set_number(j, "cpu_share", b->cpu_share);
	if (b->mem_bytes)
		json_set_int(j, "mem_bytes", b->mem_bytes);
	if (b->disk_bytes)
		json_set_int(j, "disk_bytes", b->disk_bytes);
	return j;
}

/* Three sixteenths are left to the program itself. */
struct budget_limits budget_limits(const struct budget *b, size_t interfaces)
{
	struct budget_limits l = { 0 };
	size_t mem = (size_t)b->mem_bytes;

	if (!mem)
		return l;
	l.ring_bytes = mem / 4 / (interfaces ? interfaces : 1);
	if (l.ring_bytes > 16 << 20)
		l.ring_bytes = 16 << 20;
	if (l.ring_bytes < 1 << 20)
		l.ring_bytes = 1 << 20;
	l.reorder_bytes = mem / 16;
	l.request_bytes = mem / 4;
	l.waiting_bytes = mem / 16;
	l.dictionary_bytes = mem / 8;
	l.cache_bytes = mem / 16;
	return l;
}

/* ---- the gauge */

static int64_t own_cpu_ns(void)
{
	struct rusage u;

	getrusage(RUSAGE_SELF, &u);
	return ((int64_t)u.ru_utime.tv_sec + u.ru_stime.tv_sec) * NS_PER_S +
	       ((int64_t)u.ru_utime.tv_usec + u.ru_stime.tv_usec) * NS_PER_US;
}

static int64_t field_bytes(const char *text, const char *name)
{
	const char *at = strstr(text, name);

	return at ? strtoll(at + strlen(name), NULL, 10) * 1024 : 0;
}

static void read_memory(struct gauge *g)
{
	char text[4096];
	int fd = open("/proc/self/status", O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
	int64_t high;

	if (fd >= 0)
		close(fd);
	if (n <= 0)
		return;
	text[n] = '\0';
	g->mem_bytes = field_bytes(text, "\nVmRSS:");
	high = field_bytes(text, "\nVmHWM:");
	if (high > g->mem_max_bytes)
		g->mem_max_bytes = high;
}

void gauge_start(struct gauge *g, int64_t mono_ns)
{
	*g = (struct gauge){ .began_ns = mono_ns, .window_ns = mono_ns };
	g->first_cpu_ns = g->window_cpu_ns = own_cpu_ns();
	read_memory(g);
}

int64_t gauge_cpu_ns(const struct gauge *g)
{
	return own_cpu_ns() - g->first_cpu_ns;
}

enum budget_state budget_judge(
	const struct budget *b, double share, int64_t mem_bytes, uint64_t disk_bytes)
{
	if (b->disk_bytes && disk_bytes >= (uint64_t)b->disk_bytes)
		return BUDGET_DISK_FULL;
	if (b->mem_bytes && mem_bytes > b->mem_bytes)
		return BUDGET_OVER_MEM;
	if (b->cpu_share > 0 && share > b->cpu_share)
		return BUDGET_OVER_CPU;
	return share < calm_share * b->cpu_share || !(b->cpu_share > 0) ? BUDGET_CALM : BUDGET_FINE;
}

bool gauge_look(struct gauge *g, const struct budget *b, int64_t mono_ns, uint64_t disk_bytes,
	enum budget_state *ret)
{
	int64_t span = mono_ns - g->window_ns, cpu;

	/* Within a window only the disk is looked at: a second can be much of it. */
	if (span < NS_PER_S) {
		*ret = BUDGET_DISK_FULL;
		return b->disk_bytes && disk_bytes >= (uint64_t)b->disk_bytes;
	}
	cpu = own_cpu_ns();
	g->share = (double)(cpu - g->window_cpu_ns) / (double)span;
	g->window_ns = mono_ns;
	g->window_cpu_ns = cpu;
	read_memory(g);
	*ret = budget_judge(b, g->share, g->mem_bytes, disk_bytes);
	return true;
}
