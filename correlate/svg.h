/*
 * svg.h - an analysis as one picture: a self-contained SVG without scripts.
 *
 * The p99 of the first three routes by logarithm with its 95 % interval, spikes shaded,
 * time that was not observed hatched, single dots (the largest latency) where there is no
 * p99; below them a row of ticks for each of the first twelve conditions and a small curve
 * for each of the first four metrics. Light and dark follow the reader's setting. Texts
 * are escaped; the same analysis gives the same bytes.
 */
#ifndef REPROD_CORRELATE_SVG_H
#define REPROD_CORRELATE_SVG_H

#include "correlate/report.h"

/* Appends the document. */
void svg_draw(const struct report *r, struct buf *to);
bool svg_save(const struct report *r, const char *path, bool is_forced, struct err *e) MUST_USE;

#endif
