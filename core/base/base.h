/*
 * base.h - the few words every file uses: attributes, borrowed bytes, and the
 * answer of a pull.
 */
#ifndef REPROD_BASE_H
#define REPROD_BASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define MUST_USE __attribute__((warn_unused_result))
#define PRINTF_LIKE(fmt, first) __attribute__((format(printf, fmt, first)))
#define CLEANUP(fn) __attribute__((cleanup(fn)))
#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))

#define NS_PER_S INT64_C(1000000000)
#define NS_PER_MS INT64_C(1000000)
#define NS_PER_US INT64_C(1000)

/* Bytes that somebody else owns; not terminated. A zeroed slice is empty. */
struct slice {
	const char *p;
	size_t n;
};

#define SLICE(literal) ((struct slice){ "" literal, sizeof(literal) - 1 })

static inline struct slice slice_of(const char *text)
{
	return (struct slice){ text, text ? strlen(text) : 0 };
}

static inline bool slice_is(struct slice a, const char *text)
{
	size_t n = strlen(text);

	return a.n == n && (n == 0 || memcmp(a.p, text, n) == 0);
}

static inline bool slice_same(struct slice a, struct slice b)
{
	return a.n == b.n && (a.n == 0 || memcmp(a.p, b.p, a.n) == 0);
}

/* What a pull says. STEP_MORE: a parser of partial input wants more bytes. */
enum step { STEP_END, STEP_ITEM, STEP_MORE, STEP_FAIL };

#endif
