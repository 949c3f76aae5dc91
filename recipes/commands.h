/*
 * commands.h - the subcommands of recipe, one file each.
 */
#ifndef REPROD_RECIPE_COMMANDS_H
#define REPROD_RECIPE_COMMANDS_H

#include "core/base/cli.h"

extern const struct cli_command recipe_draft_command;
extern const struct cli_command recipe_check_command;
extern const struct cli_command recipe_run_command;

#endif
