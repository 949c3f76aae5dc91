/*
 * words.h - numbers and names as a report writes them.
 *
 * Texts given back are in the caller's buffer. What is printed of a route is on one
 * line, without control characters, cut between UTF-8 characters.
 */
#ifndef REPROD_CORRELATE_WORDS_H
#define REPROD_CORRELATE_WORDS_H

#include <stdio.h>

#include "core/base/base.h"

#define WORDS_NUMBER_MAX 24
#define WORDS_RANGE_MAX 72
#define WORDS_WIDTH 98 /* of a line of the report */

/* "12.5", "1.2e-05"; "-" for NAN. */
const char *words_number(double v, char text[WORDS_NUMBER_MAX]);
/* "12.5 [9.8, 14]"; the number alone without an interval. */
const char *words_range(double v, double low, double high, char text[WORDS_RANGE_MAX]);
/* At most max bytes, then "...". */
void words_route(struct slice route, size_t max, FILE *to);
/* A paragraph in lines of at most WORDS_WIDTH characters; the first is indented by
 * indent, the others by hang. */
void words_wrap(const char *text, size_t indent, size_t hang, FILE *to);
/* The clock of a day for an axis or a list: "12:00", "12:00:30", "11-30 12:00" by how much
 * time is looked at. */
const char *words_clock(int64_t wall_ns, int64_t span_ns, char text[WORDS_NUMBER_MAX]);
/* As printf's %-N.Ns, by characters. */
void words_pad(const char *text, size_t width, FILE *to);

#endif
