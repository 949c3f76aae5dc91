/*
 * privilege.h - a capture needs root for one moment: opening the sockets.
 *
 * After that the process is the calling user (SUDO_UID) or, when root called,
 * "nobody"; it cannot gain anything back and leaves no core file.
 */
#ifndef REPROD_PRIVILEGE_H
#define REPROD_PRIVILEGE_H

#include <sys/types.h>

#include "core/base/err.h"

/* No core dumps: memory holds what is not scrubbed yet. */
void privilege_no_core(void);
/* Who called, by name where it has one: under sudo its caller. */
uid_t privilege_caller(const char **ret_name);
/* True when the caller is root by sudo; then files belong to SUDO_UID. */
bool privilege_is_sudo(void);
/* Gives the open output, a file or a new folder, to the calling user and becomes him (a folder
 * also to nobody). No-op unless root. */
bool privilege_drop(int output_fd, struct err *e) MUST_USE;

#endif
