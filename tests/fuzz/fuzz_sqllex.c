/*
 * Laws of the lexer: tokens are slices of the text, in order, none empty; between
 * them lie only white space and comments; it ends or fails, and stays there.
 */
#include <stdlib.h>

#include "core/model/sqllex.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static void must(bool is_true)
{
	if (!is_true)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	const char *text = (const char *)bytes;
	const char *at = text;
	struct sqllex lex;
	struct sql_token t;
	enum step step;

	sqllex_init(&lex, (struct slice){ text, size });
	while ((step = sqllex_next(&lex, &t)) == STEP_ITEM) {
		must(t.text.n > 0 && t.text.p >= at && t.text.p + t.text.n <= text + size);
		must(t.has_gap == (t.text.p > at));
		at = t.text.p + t.text.n;
		must(t.kind == SQL_STRING || t.kind == SQL_NAME || t.kind == SQL_BITS ||
			t.kind == SQL_DOLLAR || !memchr(t.text.p, '\'', t.text.n));
	}
	must(step == STEP_END || step == STEP_FAIL);

	struct slice rest = { text, size }, one;
	size_t left = size + 1;
	while ((step = sql_split_next(&rest, &one)) == STEP_ITEM) {
		must(one.n > 0 && rest.n < left);
		left = rest.n;
	}
	return 0;
}
