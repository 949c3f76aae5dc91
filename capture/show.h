/*
 * show.h - `reprod capture show FILE`: what a capture holds, on one screen.
 */
#ifndef REPROD_SHOW_H
#define REPROD_SHOW_H

#include "core/base/cli.h"

extern const struct cli_command capture_show_command;

#endif
