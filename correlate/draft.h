/*
 * draft.h - the beginnings of a recipe: which conditions an experiment should switch.
 *
 * What lines up (else the first group of what is suggestive), by group, each with its
 * contexts behind it: they are switched off one by one in that order. What the
 * experiment cannot switch is in left_out, with the reason. The numbers of production and
 * the cell need the capture's requests: 'reprod recipe draft' fixes them, 'reprod recipe
 * check' names what is missing.
 */
#ifndef REPROD_CORRELATE_DRAFT_H
#define REPROD_CORRELATE_DRAFT_H

#include "correlate/report.h"

/* Refuses when the only input is no capture file (.rcap). */
bool draft_check(const struct report *r, bool is_capture, struct err *e) MUST_USE;
bool draft_save(const struct report *r, const char *path, bool is_forced, struct err *e) MUST_USE;

#endif
