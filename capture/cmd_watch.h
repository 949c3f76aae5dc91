/* cmd_watch.h - `reprod capture watch`. */
#ifndef REPROD_CMD_WATCH_H
#define REPROD_CMD_WATCH_H

#include "core/base/cli.h"

extern const struct cli_command capture_watch_command;

#endif
