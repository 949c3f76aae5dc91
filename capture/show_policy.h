/*
 * show_policy.h - the policy report of a capture: what became of each place.
 */
#ifndef REPROD_SHOW_POLICY_H
#define REPROD_SHOW_POLICY_H

#include <stdio.h>

#include "core/base/json.h"

/* head is the capture's. As a table for people, or as JSON {"policy_digest", "places"}. */
void show_policy(const struct json *head, bool is_json, FILE *to);

#endif
