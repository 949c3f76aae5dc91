/*
 * verify.h - `reprod capture verify FILE`: every block, the ledger, and, with
 * canaries, the proof that given strings are nowhere in the decompressed file.
 */
#ifndef REPROD_VERIFY_H
#define REPROD_VERIFY_H

#include "core/base/cli.h"

extern const struct cli_command capture_verify_command;

#endif
