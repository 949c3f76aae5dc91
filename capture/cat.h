/*
 * cat.h - `reprod capture cat FILE`: each session and request as a JSON line.
 */
#ifndef REPROD_CAT_H
#define REPROD_CAT_H

#include "core/base/cli.h"

extern const struct cli_command capture_cat_command;

#endif
