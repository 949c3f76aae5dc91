/*
 * demo.h - the face of the incident lab: plays productions that have a known
 * slowdown and investigates them with the commands a user would type.
 */
#ifndef REPROD_DEMO_H
#define REPROD_DEMO_H

#include "core/base/cli.h"

extern const struct cli_command demo_command;

#endif
