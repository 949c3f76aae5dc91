/*
 * httpname.h - what the name of a header, a query key or a JSON key says.
 *
 * Pure functions of the spelling. Private to the HTTP scrubber.
 */
#ifndef REPROD_HTTPNAME_H
#define REPROD_HTTPNAME_H

#include "core/base/base.h"

/* How the value of a header is scrubbed. */
enum header_kind {
	HEADER_VALUE, /* by spelling and policy */
	HEADER_DROP, /* carries credentials */
	HEADER_FORM, /* words of a closed list: Accept, Cache-Control, ... */
	HEADER_NUMBERS, /* likewise, but its numbers differ from request to request: Range */
	HEADER_LANGUAGE, /* likewise, with language tags */
	HEADER_AGENT, /* products and their versions */
	HEADER_LIST, /* addresses, tags, names with , ; = between */
	HEADER_URL,
	HEADER_DATE,
	HEADER_TRACE, /* identifiers of requests: always tokens */
	HEADER_HOST,
	HEADER_LENGTH, /* Content-Length */
};

/* name in lower case. */
enum header_kind httpname_header(struct slice name);
/* It reads like a name that a programmer gave: words of letters with few digits
 * behind them, joined by _ - . [ ] $ @ : and capitals. Anything else is data. */
bool httpname_is_key(struct slice name);
/* It says that its value is a credential: password, access_token, cvv, ... */
bool httpname_is_secret(struct slice name);
/* The value itself is one: a JWT, "Bearer ...", keys of known issuers, PEM. Also
 * what is long and behind a name like "key" or "code". */
bool httpname_is_secret_value(struct slice name, struct slice value);

#endif
