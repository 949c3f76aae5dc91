/*
 * capture.h - the face of the part: `reprod capture` and its subcommands.
 */
#ifndef REPROD_CAPTURE_H
#define REPROD_CAPTURE_H

#include "core/base/cli.h"

extern const struct cli_command capture_command;
extern const struct cli_command selftest_command;

#endif
