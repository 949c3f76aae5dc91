/*
 * script_capture.h - makes a capture from a script of sessions and requests, for
 * tests that need traffic with exactly known times.
 *
 *   session ID OPEN_MS CLOSE_MS        CLOSE_MS 0: still open at the end
 *   head KEY TEXT                      of the head; "true" and "false" are booleans
 *   ID START_MS DURATION_MS STATES FORM ROWS [WORD...] | SQL
 *
 * STATES is the transaction state before and after, "IT". FORM is one of simple,
 * unnamed, named, prepare, copyin, copyout, fetch. Words: stmt=N, error=SQLSTATE,
 * bind=TEXT (may repeat), edge=SEQ:ROW:COLUMN:VALUE (strong), nosync, external,
 * unknown, lost, secret, cancelled, copy=TEXT (with \t and \n). SQL goes into the
 * template as it stands; digits become ? in the route. Lines starting with # and
 * empty ones are left out. Requests must come by session in order; the file gets
 * them by their end, as a capture would.
 */
#ifndef REPROD_TEST_SCRIPT_CAPTURE_H
#define REPROD_TEST_SCRIPT_CAPTURE_H

#include <stdio.h>

#include "core/base/err.h"

/* Midnight of 2026-01-01 UTC, when scripts begin. */
#define SCRIPT_START_NS INT64_C(1767225600000000000)

bool script_capture_write(
	FILE *script, const char *path, const char *server_address, int server_port, struct err *e);
bool script_capture_write_text(const char *script, const char *path, struct err *e);

#endif
