/*
 * mark.h - the mark that makes a database a permitted target.
 *
 * It stands in reprod.mark (read through the SECURITY DEFINER function
 * reprod.proof(), which returns this document as JSON) and in DIR/reprod.mark.
 * The check compares it with the live server: system identifier, data directory
 * and database oid must be those of the connection.
 */
#ifndef REPROD_MARK_H
#define REPROD_MARK_H

#include "core/base/err.h"
#include "core/base/json.h"

#define MARK_VERSION 1

struct mark {
	char nonce[33]; /* hex, new at each build and reset */
	char system_identifier[24];
	char data_directory[1024];
	uint32_t database_oid;
	char tier[24]; /* "clone", "scrubbed", "synthetic", "plan", "test", "restored" */
	bool is_neutralised;
	char source_id[65]; /* SHA-256 of the source's system identifier, or "" */
	char key_id[17]; /* of the key it was scrubbed with, or "" when unscrubbed */
	char policy_digest[65]; /* or "" */
	char frozen_id[33]; /* or "" */
};

bool mark_read(struct mark *m, const struct json *document, struct err *e) MUST_USE;
struct json *mark_json(const struct mark *m);

#endif
