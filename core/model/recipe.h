/*
 * recipe.h - the recipe document: traffic, snapshot, conditions, expectation.
 *
 * docs/formats/recipe.md and recipes/schema/recipe.schema.json describe it. The JSON
 * document owns every text; the struct points into it. Loading fails only for what
 * is no recipe at all (not JSON, another format, a newer major version); whatever
 * else is wrong is a fault with a JSON pointer, found by recipe_check(). Unknown
 * fields stay in the document.
 */
#ifndef REPROD_RECIPE_H
#define REPROD_RECIPE_H

#include "core/base/err.h"
#include "core/base/json.h"

#define RECIPE_VERSION 1
#define RECIPE_BYTES_MAX (64u << 20)
#define RECIPE_CONDITIONS_MAX 16
#define RECIPE_WINDOWS_MAX 256
#define RECIPE_OFFSETS_MAX 256
#define RECIPE_FAULTS_MAX 64
#define RECIPE_SPANS_MAX 10000

/* How a condition is switched; the id is the user's word for it. */
enum recipe_switch {
	SWITCH_NONE, /* no way to switch: a fault */
	SWITCH_FILE, /* on.file is run at on.offsets_s */
	SWITCH_DATA, /* the snapshot or the test database */
	SWITCH_CONCURRENCY, /* captured sessions or one connection */
	SWITCH_STATS, /* as frozen, or ANALYZE after the reset */
	SWITCH_SETTING, /* on.value, off.value */
	SWITCH_BLOAT, /* as frozen, or VACUUM FULL after the reset */
	SWITCH_SQL, /* on.sql and off.sql after the reset, check.sql read back */
};

struct recipe_condition {
	const char *id; /* "job:refresh" */
	const char *kind; /* "job" */
	const char *name; /* "refresh", "" when the id has none */
	enum recipe_switch how;
	const char *file; /* as written, relative to the recipe */
	const char *sha256;
	double offsets_s[RECIPE_OFFSETS_MAX]; /* on the cell's timeline */
	size_t offset_count;
	double timeout_s;
	const char *role; /* "" for the default */
	const char *on_value, *off_value; /* setting */
	const char *on_sql, *off_sql, *check_sql;
	const struct json *tables; /* list of names, or NULL: all */
	bool is_in_snapshot; /* void while data is off */
};

/* A piece of the capture; a cell is its windows laid end to end. */
struct recipe_window {
	int64_t from_ns, to_ns; /* capture time */
	double inside_from_s, inside_to_s; /* from the window's start; empty when equal */
	int64_t occurrence; /* windows of one occurrence share it; -1: none */
	bool is_quiet; /* the rest of it is quiet time */
};

struct recipe_span {
	int64_t from_ns, to_ns;
};

struct recipe {
	struct json *document;
	char path[4096];
	char dir[4096]; /* where relative paths start */
	const char *title;
	const char *capture; /* as written */
	const char *capture_sha256;
	double speed;
	const char *route; /* text */
	uint64_t fingerprint;
	bool has_fingerprint;
	double quantile; /* 0 when missing */
	double guard_s;
	const char *occurrences_of; /* id of the condition whose runs they are, or "" */
	double lag_s; /* from its end to the end of the effect */
	/* Production's, in capture time: occurrences that are judged, all there were (those
	 * that the capture's ends cut through too), and pieces that hold the quiet time. */
	struct recipe_span *inside, *slow, *quiet;
	size_t inside_count, slow_count, quiet_count;
	struct recipe_window windows[RECIPE_WINDOWS_MAX];
	size_t window_count;
	struct recipe_condition conditions[RECIPE_CONDITIONS_MAX];
	size_t condition_count;
};

bool recipe_load(struct recipe *r, const char *path, struct err *e) MUST_USE;
/* From a document, which is adopted; path names it and its folder. */
bool recipe_read(struct recipe *r, struct json *document, const char *path, struct err *e) MUST_USE;
void recipe_free(struct recipe *r);
/* A path of the recipe as this process can open it. */
bool recipe_resolve(const struct recipe *r, const char *written, char path[4096]) MUST_USE;
/* "job:refresh" as kind and name; how that kind is switched. */
enum recipe_switch recipe_switch_of(const char *kind);
const char *recipe_switch_name(enum recipe_switch how);

struct recipe_fault {
	char pointer[160]; /* RFC 6901 */
	char what[400];
};

struct recipe_faults {
	struct recipe_fault items[RECIPE_FAULTS_MAX];
	size_t count;
	size_t more; /* beyond the cap */
};

/* Everything that would keep it from being run: shape first, then the files. */
void recipe_check(const struct recipe *r, struct recipe_faults *ret);

#endif
