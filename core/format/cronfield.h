/*
 * cronfield.h - the five fields of a cron line, as each family of daemons reads them.
 *
 * Vixie's (Debian's cron, pg_cron): "*", n, n-m, each but n with "/step", lists, three-letter
 * names, Sunday also 7. cronie adds "6~15": one value of the range, drawn when the table is
 * loaded; such a bit has a width, how much later the value may be. pg_cron adds "$", the last
 * day of a month. robfig/cron (Kubernetes) knows "?" and "5/15" but no day 7, and its star
 * with a step is none. A range that runs backwards, which a daemon would take and never
 * run, is refused.
 */
#ifndef REPROD_CRONFIELD_H
#define REPROD_CRONFIELD_H

#include "core/base/err.h"

enum cron_style { CRON_CRONIE, CRON_PG, CRON_ROBFIG };

struct cron_fields {
	uint64_t minute; /* bit per value, from 0 */
	uint32_t hour, dom, month; /* dom and month from bit 1 */
	uint8_t dow; /* Sunday is bit 0 */
	bool is_minute_star, is_hour_star, is_dom_star, is_dow_star;
	bool is_last_dom; /* "$" */
	bool is_random_day; /* "~" in a day or month: the day is unknown */
	uint8_t minute_width[60], hour_width[24];
};

/* Takes five words off the text; it may go on (with a command). */
bool cron_fields_parse(
	enum cron_style style, struct slice *text, struct cron_fields *ret, struct err *e) MUST_USE;
/* "@daily" and its like, without "@reboot" and "@every"; false when it is another word. */
bool cron_fields_word(struct slice word, struct cron_fields *ret) MUST_USE;
/* With both day fields restricted either suffices, with a star in one both must fit. */
bool cron_fields_fit_day(const struct cron_fields *f, int64_t days);
struct slice cron_next_word(struct slice *text);
/* May a word that is no field be shown? Not when it may be of a command, which may hold
 * secrets: words with four letters in a row, or with signs that no schedule has. */
bool cron_word_is_plain(struct slice word);

#endif
