/*
 * remote_ask.h - a web API asked for JSON: what went wrong in words.
 *
 * A page of HTML in the place of JSON (a login, a wrong path), JSON that ends early, and
 * the servers' own error documents are told with the host and a hint.
 */
#ifndef REPROD_CORRELATE_REMOTE_ASK_H
#define REPROD_CORRELATE_REMOTE_ASK_H

#include "core/base/json.h"
#include "core/driver/http.h"
#include "correlate/remote.h"
#include "correlate/remote_url.h"

/* url.address with url's timeout=, told of in word's name. */
struct http *remote_ask_open(
	const struct remote_url *url, const struct remote *remote, size_t max_bytes, struct err *e);
/* NULL and *e; ret_bytes (may be NULL) is the size of the answer. */
struct json *remote_ask(struct http *h, const char *path, size_t *ret_bytes, struct err *e);
/* The first words of a refusal, one line of at most 200 bytes. */
void remote_ask_words(struct slice refusal, char words[201]);
bool remote_ask_is_html(struct slice text);

#endif
