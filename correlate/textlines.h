/*
 * textlines.h - the lines of a text file, which may be gzip, zstd or bzip2.
 *
 * A line is borrowed until the next call, without its newline or carriage return; a
 * byte order mark in front of the first is dropped. One over TEXTLINES_MAX is stepped
 * over and given as an empty slice without bytes (p is NULL). "-" is stdin.
 */
#ifndef REPROD_CORRELATE_TEXTLINES_H
#define REPROD_CORRELATE_TEXTLINES_H

#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/base/run.h"

#define TEXTLINES_MAX (64 << 20)

struct textlines;

/* NULL: ERR_INPUT, also for UTF-16. */
struct textlines *textlines_open(const char *path, struct err *e);
/* What is there before the first line was taken: up to 256 KiB. */
struct slice textlines_first(const struct textlines *t);
/* The lines end when run is to stop, also within one without an end. */
void textlines_obey(struct textlines *t, const struct run *run);
bool textlines_was_stopped(const struct textlines *t);
/* ITEM, END, FAIL. */
enum step textlines_next(struct textlines *t, struct slice *ret, struct err *e);
/* Of the line that was given last, from 1. */
uint64_t textlines_number(const struct textlines *t);
/* All that is left, when it fits TEXTLINES_MAX times 4; ERR_INPUT when not. */
bool textlines_rest(struct textlines *t, struct slice *ret, struct err *e) MUST_USE;
/* A compressed file ended inside of its stream. */
bool textlines_was_cut(const struct textlines *t);
void textlines_close(struct textlines *t);

#endif
