/*
 * watch_host.h - what presses on this machine: pressure stalls, processors, memory, disks.
 *
 * From /proc (proc(5); Documentation/accounting/psi.rst). Only of use when the server
 * runs here too. What a kernel does not have is left out.
 */
#ifndef REPROD_CORRELATE_WATCH_HOST_H
#define REPROD_CORRELATE_WATCH_HOST_H

#include "correlate/stats_file.h"

enum watch_host_section { HOST_PSI, HOST_CPU, HOST_MEMORY, HOST_DISKS, HOST_SECTIONS };

void watch_host_section(enum watch_host_section which, struct stats_section *ret);
/* Puts all four; first is the number of HOST_PSI. root: "" or a test's folder. */
void watch_host_put(struct stats_writer *w, size_t first, const char *root);

#endif
