/*
 * result.h - an experiment as a document, as text for people, and as JUnit.
 */
#ifndef REPROD_RESULT_H
#define REPROD_RESULT_H

#include "core/base/json.h"
#include "recipes/experiment.h"

/* DESIGN of the fields: docs/formats/recipe.md, "Results". */
struct json *result_json(const struct experiment *x, const struct run *r, struct err *e);
void result_print(const struct experiment *x, const struct json *result, FILE *to);
/* One test case for the verdict and one per condition; unsure is an error, never a
 * pass or a failure. */
void result_junit(const struct json *result, const char *name, const char *expect, struct buf *to);
/* The entry of results[] in the recipe: the verdict without the runs. */
struct json *result_summary(const struct json *result);

#endif
