/* Prepared statements that SQL drops: DEALLOCATE and DISCARD ALL. */
#include "capture/wire/pgsession.h"
#include "core/model/sqllex.h"

enum { NAME_MAX = 256 };

/* A name as the server folds it: "Quoted" as spelled, plain in lower case. */
static struct slice fold_name(const struct sql_token *t, char to[NAME_MAX])
{
	size_t n = 0;
	bool is_quoted = t->kind == SQL_NAME;

	for (size_t i = is_quoted; i + is_quoted < t->text.n && n < NAME_MAX; i++) {
		char c = t->text.p[i];

		if (is_quoted && c == '"')
			i++; /* doubled */
		else if (!is_quoted && c >= 'A' && c <= 'Z')
			c |= 32;
		to[n++] = c;
	}
	return (struct slice){ to, n };
}

/* The names after each DEALLOCATE of the text; it may hold several statements. */
static void drop_named(struct pg_session *s, const struct pg_request *r, struct slice text)
{
	struct sqllex lex;
	struct sql_token t;
	char folded[NAME_MAX];
	bool is_next = false;

	sqllex_init(&lex, text);
	while (sqllex_next(&lex, &t) == STEP_ITEM) {
		if (t.kind == SQL_WORD && sql_word_is(&t, "deallocate")) {
			is_next = true;
		} else if (is_next && (t.kind != SQL_WORD || !sql_word_is(&t, "prepare"))) {
			is_next = false;
			if (t.kind == SQL_WORD || t.kind == SQL_NAME)
				pg_names_drop_older(
					&s->names, fold_name(&t, folded), r->next_statement);
		}
	}
}

void pg_session_note_dropped(struct pg_session *s, const struct pg_request *r, struct slice tag)
{
	if (slice_is(tag, "DEALLOCATE ALL") || slice_is(tag, "DISCARD ALL"))
		pg_names_drop_all_older(&s->names, r->next_statement);
	else if (slice_is(tag, "DEALLOCATE") && r->is_simple)
		drop_named(s, r, buf_slice(&r->body));
	else if (slice_is(tag, "DEALLOCATE") && r->statement && r->statement->text)
		drop_named(s, r, r->statement->text->text);
}
