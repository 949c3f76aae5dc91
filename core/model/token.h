/*
 * token.h - the one token function, for traffic and snapshot alike.
 *
 * Input is the key, the value's class by its spelling and its canonical form;
 * never a column, a place or a wire format. Injective within a class and length
 * (keyed permutation for short values, HMAC-SHA-256 for long ones), type-valid,
 * of the same byte length: uuid to uuid, inet to inet, text to the same character
 * classes, digit strings permuted within their length (10 and 19 digits apart
 * below and above 2^31-1 and 2^63-1). The key lives in locked memory, is never
 * copied and never dumped. docs/scrubbing.md says what an attacker still learns.
 */
#ifndef REPROD_TOKEN_H
#define REPROD_TOKEN_H

#include "core/base/buf.h"
#include "core/base/err.h"

struct token_key;

/* A fresh key that only this process will ever know. */
struct token_key *token_key_fresh(struct err *e);
/* At least 32 bytes from a file of mode 0600 or stricter, owned by the caller. */
struct token_key *token_key_load(const char *path, struct err *e);
/* Tests and vectors only. */
struct token_key *token_key_of(const unsigned char bytes[32], struct err *e);
void token_key_free(struct token_key *k);
/* 16 hex digits that name the key without revealing it. */
const char *token_key_id(const struct token_key *k);
bool token_key_is_fresh(const struct token_key *k);

enum token_class {
	TOKEN_DIGITS,
	TOKEN_UUID,
	TOKEN_INET,
	TOKEN_MAC,
	TOKEN_EMAIL,
	TOKEN_DATE,
	TOKEN_HEX,
	TOKEN_TEXT,
	TOKEN_NUMBER, /* signed or fractional: its digit runs are permuted */
};

enum token_class token_class_of(struct slice value);
/* Appends the token of a value (unquoted bytes) to out. */
void token_of(const struct token_key *k, struct slice value, struct buf *out);
/* 64 keyed bits of any bytes, for names that only need to stay apart. */
uint64_t token_hash(const struct token_key *k, struct slice value);

#endif
