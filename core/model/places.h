/*
 * places.h - how often what became of each place: column, header, query key, JSON path.
 *
 * For the policy report in a capture's head. Names are copied; past the cap given at
 * birth everything further counts under "other" of its scope. One thread.
 */
#ifndef REPROD_PLACES_H
#define REPROD_PLACES_H

#include "core/model/policy.h"

#define PLACES_REPORTED_MAX 2000

struct places;

/* NULL when out of memory. */
struct places *places_new(size_t cap);
/* A number for places_count(), good for its whole life. An empty name is "other". */
uint32_t places_id(struct places *p, enum policy_scope scope, struct slice name);
void places_count(struct places *p, uint32_t id, enum value_action action);
/* Sets into["columns"], ["headers"], ...: {name: {"kept": n, "token": n, ...}} with the
 * names in byte order and the zeros left out; nothing for scopes without values. */
void places_json(const struct places *p, struct json *into);
void places_free(struct places *p);

#endif
