/*
 * optioncheck.h - options that say nothing about an input are refused, not passed over.
 *
 * A zone for a file of packets or a key log for a log would do nothing, and who gave it
 * thinks that it did.
 */
#ifndef REPROD_OPTIONCHECK_H
#define REPROD_OPTIONCHECK_H

#include "capture/job.h"
#include "capture/sniff.h"

/* False and ERR_USAGE for the first option that has no meaning there. */
bool optioncheck_live(const struct capture_args *a, struct err *e) MUST_USE;
bool optioncheck_files(const struct capture_args *a, enum input_kind kind, struct err *e) MUST_USE;

#endif
