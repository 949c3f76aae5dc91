/*
 * wrap.h - fail one allocation of our own objects, each in turn.
 *
 * The linker sends malloc, calloc and realloc of our objects here (--wrap); those
 * inside libraries are not touched. fault_each() calls the function with the 1st,
 * 2nd, ... allocation failing until a call saw none fail, and returns how many
 * failed in all; the function checks that a failure is told and leaks nothing.
 */
#ifndef REPROD_FAULT_WRAP_H
#define REPROD_FAULT_WRAP_H

#include <stdbool.h>
#include <stddef.h>

/* One attempt of the work under test. */
typedef void fault_body(void *data);

size_t fault_each(fault_body *body, void *data);
/* True once the allocation chosen for this call has failed. */
bool fault_hit(void);

#endif
