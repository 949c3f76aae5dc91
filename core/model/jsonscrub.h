/*
 * jsonscrub.h - walks one JSON document and writes it again, each part scrubbed.
 *
 * Spacing, structure, true, false and null stay; strings are decoded, given to
 * part(), and encoded again; keys stay when keeps_key() says so, else they are parts
 * too. Nothing is kept between calls. For SQL literals and HTTP bodies alike.
 */
#ifndef REPROD_JSONSCRUB_H
#define REPROD_JSONSCRUB_H

#include "core/base/buf.h"
#include "core/model/policy.h"

struct json_part {
	/* "$.user.tags[*]"; a scrubbed key is "{}" in it. Empty without has_paths. */
	struct slice path;
	struct slice key; /* of the nearest member, "tags"; empty at the top */
	struct slice plain; /* the decoded string, or the number as spelled */
	bool is_text; /* it stood between quotes */
	bool is_key;
	bool is_secret; /* it stands under a key of which is_secret_key() said so */
};

struct jsonscrub {
	bool (*keeps_key)(void *data, struct slice key);
	bool (*is_secret_key)(void *data, struct slice key); /* or NULL */
	/* Appends what becomes of the part. VALUE_DROPPED appends nothing: "dropped", or
	 * 0 for a number, stands in the document then. */
	enum value_action (*part)(void *data, const struct json_part *part, struct buf *out);
	void *data;
	bool has_paths;
};

/* False when text is no JSON document (RFC 8259), nests deeper than 64, or memory is
 * out; out is then as it was. *ret: VALUE_TOKEN when any part was replaced. */
bool jsonscrub_walk(const struct jsonscrub *j, struct slice text, struct buf *out,
	enum value_action *ret) MUST_USE;

#endif
