/*
 * marker.h - writing marks into databases.
 *
 * Each marked database gets a schema reprod with a table mark and the function
 * proof(), which any role may call. marker_write() makes what is missing and stores
 * the document; database oid and system identifier are read from the server.
 */
#ifndef REPROD_MARKER_H
#define REPROD_MARKER_H

#include "core/base/run.h"
#include "core/driver/pg.h"
#include "core/model/mark.h"

/* 32 random hex digits from the kernel. */
bool marker_nonce(char nonce[33], struct err *e) MUST_USE;
/* Fills in what the live server knows, then writes. m->nonce must be set. */
bool marker_write(struct pg *c, struct mark *m, struct err *e) MUST_USE;
/* The same for a database that may be marked already; changes no catalog then. */
bool marker_renew(struct pg *c, struct mark *m, struct err *e) MUST_USE;

#endif
