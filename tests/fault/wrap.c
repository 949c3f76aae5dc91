#include "tests/fault/wrap.h"

#include <stdlib.h>

/* A wrapped function has no argument to carry this: the one place for globals. */
static size_t countdown;
static bool has_failed;

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *p, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *p, size_t size);

static bool fails_now(void)
{
	if (countdown == 0 || --countdown > 0)
		return false;
	has_failed = true;
	return true;
}

void *__wrap_malloc(size_t size)
{
	return fails_now() ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t count, size_t size)
{
	return fails_now() ? NULL : __real_calloc(count, size);
}

void *__wrap_realloc(void *p, size_t size)
{
	return fails_now() ? NULL : __real_realloc(p, size);
}

bool fault_hit(void)
{
	return has_failed;
}

size_t fault_each(fault_body *body, void *data)
{
	for (size_t n = 1;; n++) {
		countdown = n;
		has_failed = false;
		body(data);
		countdown = 0;
		if (!has_failed)
			return n - 1;
	}
}
