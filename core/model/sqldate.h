/*
 * sqldate.h - ISO 8601 dates, times and timestamps as PostgreSQL prints them.
 *
 * Knows "YYYY-MM-DD", "HH:MM[:SS[.ffffff]]" and both with a blank or T between,
 * and a zone of Z, UTC, GMT or +-HH[:MM[:SS]] behind the time. Other spellings
 * ("Jan 5", "05/01/2024") are text.
 */
#ifndef REPROD_SQLDATE_H
#define REPROD_SQLDATE_H

#include "core/model/token.h"

struct sqldate {
	bool has_date, has_time, has_seconds;
	int64_t day; /* since 2000-01-01, PostgreSQL's epoch */
	int32_t second; /* of the day */
	size_t time_at; /* where HH begins */
	size_t tail_at; /* where the fraction or the zone begins */
};

bool sqldate_read(struct slice value, struct sqldate *ret);
int64_t sqldate_day(int64_t year, unsigned month, unsigned day);
void sqldate_civil(int64_t day, int64_t *ret_year, unsigned *ret_month, unsigned *ret_day);
/* Appends the same value some days later, in the same spelling and length; as it
 * is when it has no date or would leave the years 1 to 9999. */
void sqldate_shift(struct slice value, int64_t days, struct buf *out);
/* Appends a date of the same century span and a time of the day, both permuted. */
void sqldate_token(const struct token_key *k, struct slice value, struct buf *out);

#endif
