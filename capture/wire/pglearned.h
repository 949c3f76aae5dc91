/*
 * pglearned.h - what named statements are, as other connections prepared them.
 *
 * A session that was joined late executes statements nobody saw being prepared.
 * Pools and poolers prepare the same text under the same name on every connection,
 * so the text may be known from another one. It is believed when every connection
 * that prepared that name gave the same text, and when the number of parameters and
 * the columns of the result are the same on both sides; never otherwise. A name that
 * turns out to be contested takes the text away from the statements that had it
 * from here. Entries live as long as the capture, at most PG_LEARNED_MAX.
 */
#ifndef REPROD_PGLEARNED_H
#define REPROD_PGLEARNED_H

#include "capture/wire/pgnames.h"

#define PG_LEARNED_MAX 65536

struct pg_learned {
	struct slice name; /* owned */
	struct pg_text *text;
	int32_t param_count; /* -1 not known yet */
	uint64_t columns; /* digest of the result's description; 0 not known yet */
	bool is_contested;
};

/* A RowDescription body, its format codes left out; NoData when it is empty. Never 0. */
uint64_t pg_columns_digest(struct slice row_description);

/* The server took this Parse. */
void pg_learned_prepared(struct table *learned, struct pg_texts *texts, struct pg_statement *s);
/* Its parameters or columns became known: tells the others, or learns its own text. */
void pg_learned_described(struct table *learned, struct pg_statement *s);
/* Frees the entries; the texts go with struct pg_texts. */
void pg_learned_free(struct table *learned);

#endif
