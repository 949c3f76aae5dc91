#include "recipes/own.h"

#include <string.h>

#include "core/base/file.h"
#include "core/model/sqllex.h"
#include "core/model/sqlscrub.h"

#define SCRIPT_MAX ((size_t)16 << 20)

static bool is_sql(const char *path)
{
	size_t n = strlen(path);

	return n > 4 && strcmp(path + n - 4, ".sql") == 0;
}

static void add(struct own *own, uint64_t fingerprint)
{
	if (own_has(own, fingerprint))
		return;
	if (own->count == OWN_MAX)
		own->dropped++;
	else
		own->fingerprints[own->count++] = fingerprint;
}

/* BEGIN and COMMIT are everybody's. A file that does not split is the job's own
 * failure, told when it runs. */
static void add_statements(struct own *own, struct sqlscrub *scrub, struct slice script)
{
	struct slice statement;

	while (sql_split_next(&script, &statement) == STEP_ITEM) {
		struct sqlscrub_statement taken;

		sqlscrub_text(scrub, statement, &taken);
		if (!taken.transaction && !(taken.flags & REQUEST_UNLEXABLE))
			add(own, taken.fingerprint);
	}
}

bool own_has(const struct own *own, uint64_t fingerprint)
{
	for (size_t i = 0; i < own->count; i++)
		if (own->fingerprints[i] == fingerprint)
			return true;
	return false;
}

bool own_add_file(struct own *own, const char *path, struct err *e)
{
	struct policy policy = { 0 };
	struct token_key *key = NULL;
	struct sqlscrub *scrub = NULL;
	struct buf script = { 0 };
	bool ok = false;

	if (!is_sql(path))
		return true;
	/* Fingerprints depend on neither policy nor key. */
	if (!file_read(path, SCRIPT_MAX, &script, e) || !policy_defaults(&policy, e))
		goto out;
	key = token_key_fresh(e);
	scrub = key ? sqlscrub_new(&policy, key, 1 << 20) : NULL;
	if (!scrub) {
		err_set(e, ERR_ENV, "out of memory for the statements of '%s'", path);
		goto out;
	}
	add_statements(own, scrub, buf_slice(&script));
	ok = true;
out:
	sqlscrub_free(scrub);
	token_key_free(key);
	policy_free(&policy);
	buf_free(&script);
	return ok;
}
