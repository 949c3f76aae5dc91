/*
 * driver_pg_send.h - between the files of the driver: its statements and answers.
 */
#ifndef REPROD_REPLAY_DRIVER_PG_SEND_H
#define REPROD_REPLAY_DRIVER_PG_SEND_H

#include "replay/driver_pg.h"

/* WHAT, and libpq's words. */
void driver_pg_lose(struct driver_pg *d, const char *what);
void driver_pg_flush(struct driver_pg *d);
void driver_pg_forget_prepared(struct driver_pg *d);
enum driver_news driver_pg_read(struct driver_pg *d, struct driver_answer *ret);

#endif
