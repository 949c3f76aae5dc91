/*
 * remote_url.h - "WORD:ADDRESS?name=value&...": a source that a server answers for.
 *
 * The address ends at the first '?'; values end at '&' and are percent-decoded ('+'
 * stays a plus). A value "@FILE" is the text of that file. A Postgres URL may have
 * parameters of libpq's own among them. The texts are the struct's; what the address
 * holds (passwords) is in no message.
 */
#ifndef REPROD_CORRELATE_REMOTE_URL_H
#define REPROD_CORRELATE_REMOTE_URL_H

#include "core/base/arena.h"
#include "core/base/clock.h"
#include "core/base/err.h"

#define REMOTE_PARAMS_MAX 32
#define REMOTE_TEXT_MAX ((size_t)1 << 20) /* a query, an address */

struct remote_param {
	const char *name, *value;
};

struct remote_url {
	const char *word; /* "sql", "prometheus", ... */
	const char *address; /* as given, credentials too */
	struct remote_param params[REMOTE_PARAMS_MAX];
	size_t count;
	struct arena arena;
};

/* known: the names that this word has, NULL terminated; others are refused. */
bool remote_url_parse(
	struct remote_url *u, const char *text, const char *const *known, struct err *e) MUST_USE;
void remote_url_free(struct remote_url *u);
/* NULL when it was not given. */
const char *remote_url_get(const struct remote_url *u, const char *name);
bool remote_url_is_web(const struct remote_url *u); /* http://... or https://... */

/* from= and to=: RFC 3339 with zone, epoch seconds, "now", or an age like "-6h". Left as they
 * are when not given; refused when they are no range. */
bool remote_url_range(const struct remote_url *u, const struct clock *clock, int64_t *from_ns,
	int64_t *to_ns, struct err *e) MUST_USE;
/* A duration of at least `least`; left as it is when not given. */
bool remote_url_duration(const struct remote_url *u, const char *name, int64_t least_ns,
	int64_t *value_ns, struct err *e) MUST_USE;

#endif
