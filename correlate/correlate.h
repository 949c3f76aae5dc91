/*
 * correlate.h - the face of correlate: what lines up with a route's slow time.
 */
#ifndef REPROD_CORRELATE_H
#define REPROD_CORRELATE_H

#include "core/base/cli.h"

extern const struct cli_command correlate_command;

#endif
