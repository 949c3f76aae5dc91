/*
 * cmd_shape.h - `reprod capture shape FILE`: how the traffic comes and what it is.
 */
#ifndef REPROD_CMD_SHAPE_H
#define REPROD_CMD_SHAPE_H

#include "core/base/cli.h"

extern const struct cli_command capture_shape_command;

#endif
