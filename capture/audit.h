/*
 * audit.h - who captured what, when, with which filter and policy: in the head of a
 * live capture and in the system log.
 */
#ifndef REPROD_AUDIT_H
#define REPROD_AUDIT_H

#include "capture/wire/source.h"
#include "core/base/json.h"
#include "core/base/run.h"

/* Before privileges go, for sudo's caller is known then; opens the system log. */
struct json *audit_begin(const struct run *r, const struct source *s);
/* Once the policy is loaded, and before the first packet is read. */
void audit_tell(
	struct json *audit, const struct source *s, const char *policy_digest, const char *output);

#endif
