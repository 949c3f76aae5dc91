/*
 * fuzz_accesslog.c - laws: a line is a request with method, target and a time, or has a
 * reason; slices stay within the line or the reader; any text may be a format string.
 */
#include <stdio.h>
#include <stdlib.h>

#include "core/format/accesslog.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static void must(bool holds, const char *law)
{
	if (holds)
		return;
	fprintf(stderr, "broken: %s\n", law);
	abort();
}

static void check_line(struct accesslog *a, struct slice line)
{
	struct accesslog_line l;
	const char *why;

	switch (accesslog_read(a, line, &l, &why)) {
	case STEP_ITEM:
		must(l.method.n && l.target.n, "a request has method and target");
		must(l.method.n <= line.n && l.target.n <= 2 * line.n + 1,
			"no value is longer than what it was made of");
		must(l.start_ns != ACCESSLOG_UNKNOWN || l.end_ns != ACCESSLOG_UNKNOWN,
			"a request has a time");
		must(l.duration_ns >= -1 && l.status <= 999, "numbers are in range");
		break;
	case STEP_FAIL:
		must(why != NULL, "what is no request has a reason");
		break;
	default:
		break;
	}
}

/* The first byte says how the first line is used: as a format, or as a line of all. */
static void check_spec(struct slice first, struct slice rest, bool is_fields)
{
	char *text = malloc(first.n + 1);
	struct err e = { 0 };

	if (!text)
		return;
	if (first.n)
		memcpy(text, first.p, first.n);
	text[first.n] = '\0';
	struct accesslog_options o = { .spec = is_fields ? NULL : text,
		.fields = is_fields ? text : NULL };
	struct accesslog *a = accesslog_new(&o, &e);
	if (a)
		check_line(a, rest);
	else
		must(e.what[0] != '\0', "a refused format has a message");
	accesslog_free(a);
	free(text);
}

static void check_presets(struct slice line)
{
	static const char *const names[] = { "combined-time", "ingress-nginx", "alb", "haproxy",
		"istio", "caddy", "nginx-json", "traefik" };
	struct err e;

	for (size_t i = 0; i < LENGTH(names); i++) {
		struct accesslog_options o = { .preset = names[i] };
		struct accesslog *a = accesslog_new(&o, &e);

		if (a)
			check_line(a, line);
		accesslog_free(a);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	char *copy = malloc(size + 1);

	if (!copy || !size) {
		free(copy);
		return 0;
	}
	memcpy(copy, bytes, size);
	const char *newline = memchr(copy, '\n', size);
	size_t n = newline ? (size_t)(newline - copy) : size;
	struct slice first = { copy + 1, n > 0 ? n - 1 : 0 };
	struct slice rest = { copy + n + (newline != NULL), size - n - (newline != NULL) };

	if (*copy == 'S' || *copy == 'F')
		check_spec(first, rest, *copy == 'F');
	else
		check_presets((struct slice){ copy, size });
	(void)accesslog_detect((struct slice){ copy, size });
	free(copy);
	return 0;
}
