/*
 * cli_private.h - what cli.c and cli_help.c share.
 */
#ifndef REPROD_CLI_PRIVATE_H
#define REPROD_CLI_PRIVATE_H

#include "core/base/cli.h"

extern const struct cli_option cli_common_options[];

/* The name that a mistyped one is closest to, or NULL when none is close. */
const char *cli_nearest_option(const struct cli_command *c, const char *name);
const char *cli_nearest_command(const struct cli_command *c, const char *name);

#endif
