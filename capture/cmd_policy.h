/* cmd_policy.h - `reprod capture policy`. */
#ifndef REPROD_CMD_POLICY_H
#define REPROD_CMD_POLICY_H

#include "core/base/cli.h"

extern const struct cli_command capture_policy_command;

#endif
