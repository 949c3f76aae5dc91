/* cmd_coverage.h - `reprod capture coverage`. */
#ifndef REPROD_CMD_COVERAGE_H
#define REPROD_CMD_COVERAGE_H

#include "core/base/cli.h"

extern const struct cli_command capture_coverage_command;

#endif
