/*
 * cmd_watch.h - 'reprod correlate watch'.
 */
#ifndef REPROD_CORRELATE_CMD_WATCH_H
#define REPROD_CORRELATE_CMD_WATCH_H

#include "core/base/cli.h"

extern const struct cli_command correlate_watch_command;

#endif
