/*
 * err.h - one failure, said once.
 *
 * The failing line fills the struct (kind, what, hint); each caller may put one
 * place in front with err_in(); main.c prints it. It owns no memory and is valid
 * when zeroed. Every setter returns false, so that "return err_set(...)" reads
 * well. Texts too long are cut, never refused.
 */
#ifndef REPROD_ERR_H
#define REPROD_ERR_H

#include <stdarg.h>
#include <stdio.h>

#include "core/base/base.h"

/* The kind is also the exit code; see docs/guide.md, "Exit codes". */
enum err_kind {
	ERR_NONE = 0,
	ERR_USAGE = 2,
	ERR_INPUT = 3,
	ERR_ENV = 4,
	ERR_REFUSED = 5,
	ERR_INTERRUPTED = 130,
};

struct err {
	enum err_kind kind;
	int os_errno; /* 0 when no system call failed */
	char where[256]; /* "shop.pcap: session 31: packet 812", or empty */
	char what[512];
	char hint[512]; /* what to do, or empty */
};

bool err_set(struct err *e, enum err_kind kind, const char *fmt, ...) PRINTF_LIKE(3, 4);

/* As err_set(), with ": " and strerror(os_errno) behind the text. */
bool err_os(struct err *e, enum err_kind kind, int os_errno, const char *fmt, ...)
	PRINTF_LIKE(4, 5);

/* Put "PLACE: " in front of err.where. */
bool err_in(struct err *e, const char *fmt, ...) PRINTF_LIKE(2, 3);

bool err_hint(struct err *e, const char *fmt, ...) PRINTF_LIKE(2, 3);

/* "reprod: WHERE: WHAT" and, when there is one, "hint: HINT" on a second line. */
void err_print(const struct err *e, FILE *to);

#endif
