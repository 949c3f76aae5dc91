#include "correlate/watch_host.h"

#include <inttypes.h>
#include <stdlib.h>
#include <stdio.h>
#include <unistd.h>

struct column {
	const char *name, *unit;
	enum stats_kind kind;
};

static const struct column psi[] = {
	{ "some", "us", STATS_COUNTER },
	{ "full", "us", STATS_COUNTER },
	{ 0 },
};

/* In ticks of 10 ms, all processors together. */
static const struct column cpu[] = {
	{ "user", "ticks", STATS_COUNTER },
	{ "nice", "ticks", STATS_COUNTER },
	{ "system", "ticks", STATS_COUNTER },
	{ "idle", "ticks", STATS_COUNTER },
	{ "iowait", "ticks", STATS_COUNTER },
	{ "irq", "ticks", STATS_COUNTER },
	{ "softirq", "ticks", STATS_COUNTER },
	{ "steal", "ticks", STATS_COUNTER },
	{ "switches", "", STATS_COUNTER },
	{ "forks", "", STATS_COUNTER },
	{ "running", "", STATS_GAUGE },
	{ "blocked", "", STATS_GAUGE },
	{ 0 },
};

static const struct column memory[] = {
	{ "free", "bytes", STATS_GAUGE },
	{ "available", "bytes", STATS_GAUGE },
	{ "cached", "bytes", STATS_GAUGE },
	{ "dirty", "bytes", STATS_GAUGE },
	{ "writeback", "bytes", STATS_GAUGE },
	{ "swap_free", "bytes", STATS_GAUGE },
	{ "major_faults", "", STATS_COUNTER },
	{ "swapped_in", "", STATS_COUNTER },
	{ "swapped_out", "", STATS_COUNTER },
	{ 0 },
};

static const struct column disks[] = {
	{ "reads", "", STATS_COUNTER },
	{ "read_bytes", "bytes", STATS_COUNTER },
	{ "read_time", "ms", STATS_COUNTER },
	{ "writes", "", STATS_COUNTER },
	{ "write_bytes", "bytes", STATS_COUNTER },
	{ "write_time", "ms", STATS_COUNTER },
	{ "in_flight", "", STATS_GAUGE },
	{ "busy_time", "ms", STATS_COUNTER },
	{ 0 },
};

void watch_host_section(enum watch_host_section which, struct stats_section *ret)
{
	static const struct column *const columns[] = { psi, cpu, memory, disks };
	static const char *const names[] = { "psi", "cpu", "memory", "disk" };

	*ret = (struct stats_section){ .flags = STATS_HOST };
	snprintf(ret->name, sizeof(ret->name), "%s", names[which]);
	for (const struct column *c = columns[which]; c->name; c++) {
		struct stats_column *to = &ret->columns[ret->column_count++];

		to->kind = (uint8_t)c->kind;
		snprintf(to->name, sizeof(to->name), "%s", c->name);
		snprintf(to->unit, sizeof(to->unit), "%s", c->unit);
	}
}

static FILE *open_proc(const char *root, const char *path)
{
	char full[4096];

	snprintf(full, sizeof(full), "%s/proc/%s", root, path);
	return fopen(full, "re");
}

static void forget(int64_t *values, size_t n)
{
	for (size_t i = 0; i < n; i++)
		values[i] = STATS_NONE;
}

static void put_pressure(struct stats_writer *w, size_t section, const char *root, const char *what)
{
	int64_t values[2] = { STATS_NONE, STATS_NONE };
	char path[32], line[200], word[8];

	snprintf(path, sizeof(path), "pressure/%s", what);
	FILE *f = open_proc(root, path);
	while (f && fgets(line, sizeof(line), f)) {
		const char *total = strstr(line, "total=");

		if (!total || sscanf(line, "%7s", word) != 1)
			continue;
		values[strcmp(word, "full") == 0] = strtoll(total + 6, NULL, 10);
	}
	if (f)
		fclose(f);
	if (values[0] != STATS_NONE)
		stats_put(w, section, slice_of(what), values);
}

static void put_cpu(struct stats_writer *w, size_t section, const char *root)
{
	static const char *const words[] = { "ctxt", "processes", "procs_running",
		"procs_blocked" };
	int64_t values[12];
	char line[4096];
	FILE *f = open_proc(root, "stat");

	forget(values, LENGTH(values));
	while (f && fgets(line, sizeof(line), f)) {
		if (strncmp(line, "cpu ", 4) == 0)
			(void)sscanf(line + 4,
				"%" SCNd64 "%" SCNd64 "%" SCNd64 "%" SCNd64 "%" SCNd64 "%" SCNd64
				"%" SCNd64 "%" SCNd64,
				&values[0], &values[1], &values[2], &values[3], &values[4],
				&values[5], &values[6], &values[7]);
		for (size_t i = 0; i < LENGTH(words); i++) {
			size_t n = strlen(words[i]);

			if (strncmp(line, words[i], n) == 0 && line[n] == ' ')
				values[8 + i] = strtoll(line + n, NULL, 10);
		}
	}
	if (f)
		fclose(f);
	stats_put(w, section, SLICE(""), values);
}

/* "Name:   1234 kB" or "name 1234": those that are wanted. */
static void read_lines(const char *root, const char *path, const char *const *words, size_t n,
	int64_t *to, int64_t unit)
{
	FILE *f = open_proc(root, path);
	char line[256];

	while (f && fgets(line, sizeof(line), f))
		for (size_t i = 0; i < n; i++) {
			size_t length = strlen(words[i]);

			if (strncmp(line, words[i], length) == 0 &&
				(line[length] == ':' || line[length] == ' '))
				to[i] = strtoll(line + length + 1, NULL, 10) * unit;
		}
	if (f)
		fclose(f);
}

static void put_memory(struct stats_writer *w, size_t section, const char *root)
{
	static const char *const sizes[] = { "MemFree", "MemAvailable", "Cached", "Dirty",
		"Writeback", "SwapFree" };
	static const char *const counts[] = { "pgmajfault", "pswpin", "pswpout" };
	int64_t values[LENGTH(sizes) + LENGTH(counts)];

	forget(values, LENGTH(values));
	read_lines(root, "meminfo", sizes, LENGTH(sizes), values, 1024);
	read_lines(root, "vmstat", counts, LENGTH(counts), values + LENGTH(sizes), 1);
	stats_put(w, section, SLICE(""), values);
}

/* Whole disks only: partitions have no folder of their own there. */
static bool is_disk(const char *root, const char *name)
{
	char path[4096];

	if (strncmp(name, "loop", 4) == 0 || strncmp(name, "ram", 3) == 0)
		return false;
	snprintf(path, sizeof(path), "%s/sys/block/%s", root, name);
	return access(path, F_OK) == 0;
}

static void put_disks(struct stats_writer *w, size_t section, const char *root)
{
	FILE *f = open_proc(root, "diskstats");
	char line[512], name[64];
	int64_t v[8];

	while (f && fgets(line, sizeof(line), f)) {
		if (sscanf(line,
			    "%*d %*d %63s %" SCNd64 " %*d %" SCNd64 " %" SCNd64 " %" SCNd64
			    " %*d %" SCNd64 " %" SCNd64 " %" SCNd64 " %" SCNd64,
			    name, &v[0], &v[1], &v[2], &v[3], &v[4], &v[5], &v[6], &v[7]) != 9 ||
			!is_disk(root, name))
			continue;
		v[1] *= 512;
		v[4] *= 512;
		stats_put(w, section, slice_of(name), v);
	}
	if (f)
		fclose(f);
}

void watch_host_put(struct stats_writer *w, size_t first, const char *root)
{
	static const char *const pressures[] = { "cpu", "io", "memory" };

	for (size_t i = 0; i < LENGTH(pressures); i++)
		put_pressure(w, first + HOST_PSI, root, pressures[i]);
	stats_end_section(w, first + HOST_PSI);
	put_cpu(w, first + HOST_CPU, root);
	stats_end_section(w, first + HOST_CPU);
	put_memory(w, first + HOST_MEMORY, root);
	stats_end_section(w, first + HOST_MEMORY);
	put_disks(w, first + HOST_DISKS, root);
	stats_end_section(w, first + HOST_DISKS);
}
