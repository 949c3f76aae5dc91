/*
 * unit.h - cmocka with the headers it wants before itself.
 */
#ifndef REPROD_TEST_UNIT_H
#define REPROD_TEST_UNIT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#endif
