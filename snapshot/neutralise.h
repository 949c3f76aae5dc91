/*
 * neutralise.h - what keeps a copied cluster from acting on the outside world.
 *
 * A started copy of a subscriber takes its slot from the publisher, one of an
 * archiving primary archives over the primary's WAL, one of a standby connects to
 * it. So before its first start the files are made harmless, the first start is in
 * single-user mode (no background process at all), and what lives in catalogs is
 * taken care of before anything else may connect. The same list is given on the
 * server's command line at every start, and checked.
 */
#ifndef REPROD_NEUTRALISE_H
#define REPROD_NEUTRALISE_H

#include "core/base/json.h"
#include "core/base/run.h"
#include "core/driver/pg.h"

#define NEUTRALISE_SETTINGS_MAX 40

/* "name=value" for -c, NULL terminated. The texts of libraries live as long as the
 * struct. */
struct neutral_settings {
	const char *items[NEUTRALISE_SETTINGS_MAX];
	char texts[NEUTRALISE_SETTINGS_MAX][600];
	size_t count;
};

/* Those a server of this major version knows; libraries is what may be preloaded. */
void neutralise_settings(struct neutral_settings *s, int major, const char *libraries);
/* Of a comma list, the libraries that start no workers of their own and are
 * installed in bin_dir's installation; the others go to dropped (a JSON list). */
void neutralise_libraries(
	const char *list, const char *bin_dir, char *kept, size_t size, struct json *dropped);

/* The files of a copied data directory: configuration of our own, with the kept
 * settings; no signal files, slots, or leftovers of the running server. */
bool neutralise_files(const char *dir, int major, const struct json *settings,
	const char *libraries, struct err *e) MUST_USE;
/* In each database, as superuser: subscriptions, user mappings, foreign servers.
 * Shared things (slots, prepared transactions) when is_first. Counts go into done. */
bool neutralise_database(struct pg *c, bool is_first, struct json *done, struct err *e) MUST_USE;

/* Checks append {item, ok, found, database?} to items and return whether all are ok. */
bool neutralise_check_files(
	const char *dir, int major, struct json *items, bool *ret_ok, struct err *e) MUST_USE;
bool neutralise_check_server(
	struct pg *c, struct json *items, bool *ret_ok, struct err *e) MUST_USE;
bool neutralise_check_database(struct pg *c, const char *database, struct json *items, bool *ret_ok,
	struct err *e) MUST_USE;

#endif
