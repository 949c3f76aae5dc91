/*
 * cmd_export.h - `reprod capture export FILE --to FORMAT -o OUT`.
 */
#ifndef REPROD_CMD_EXPORT_H
#define REPROD_CMD_EXPORT_H

#include "core/base/cli.h"

extern const struct cli_command capture_export_command;

#endif
