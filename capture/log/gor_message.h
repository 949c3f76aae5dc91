/*
 * gor_message.h - the HTTP message in a record of a .gor file.
 */
#ifndef REPROD_GOR_MESSAGE_H
#define REPROD_GOR_MESSAGE_H

#include "core/format/http1.h"
#include "core/model/request.h"

struct gor_message {
	struct http1 parser;
	struct http_span spans[HTTP1_FIELDS_MAX];
	struct raw_field fields[HTTP1_FIELDS_MAX];
	struct buf head, body;
	bool has_more; /* something follows the message */
	bool is_cut; /* it ends inside the body */
};

/* Fills in what a request says. False: *ret_why is a static text. Slices live until the
 * next call. */
bool gor_message_request(struct gor_message *m, struct slice payload, struct raw_http *ret,
	const char **ret_why) MUST_USE;
/* Status and Content-Type of a response; false when it is none. */
bool gor_message_response(
	struct gor_message *m, struct slice payload, uint16_t *ret_status, struct slice *ret_type);
void gor_message_free(struct gor_message *m);

#endif
