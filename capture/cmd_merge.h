/*
 * cmd_merge.h - `reprod capture merge A B... -o OUT`: several captures on one clock.
 */
#ifndef REPROD_CMD_MERGE_H
#define REPROD_CMD_MERGE_H

#include "core/base/cli.h"

extern const struct cli_command capture_merge_command;

#endif
