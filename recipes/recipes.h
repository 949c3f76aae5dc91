/*
 * recipes.h - the face of recipes: draft, check and run experiments.
 */
#ifndef REPROD_RECIPES_H
#define REPROD_RECIPES_H

#include "core/base/cli.h"

extern const struct cli_command recipe_command;

#endif
