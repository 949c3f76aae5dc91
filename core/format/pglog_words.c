/* What servers write: labels, other languages, the SQLSTATE of a message. */
#include "core/format/pglog.h"

static bool eat(struct slice *s, const char *text)
{
	size_t n = strlen(text);

	if (s->n < n || memcmp(s->p, text, n) != 0)
		return false;
	s->p += n;
	s->n -= n;
	return true;
}

/* ---- labels */

static const struct {
	const char *name;
	enum pglog_label label;
} labels[] = {
	{ "LOG", PGLOG_SEVERITY },
	{ "DETAIL", PGLOG_DETAIL },
	{ "STATEMENT", PGLOG_STATEMENT_TEXT },
	{ "ERROR", PGLOG_SEVERITY },
	{ "FATAL", PGLOG_SEVERITY },
	{ "PANIC", PGLOG_SEVERITY },
	{ "WARNING", PGLOG_SEVERITY },
	{ "NOTICE", PGLOG_SEVERITY },
	{ "INFO", PGLOG_SEVERITY },
	{ "DEBUG", PGLOG_SEVERITY },
	{ "DEBUG1", PGLOG_SEVERITY },
	{ "DEBUG2", PGLOG_SEVERITY },
	{ "DEBUG3", PGLOG_SEVERITY },
	{ "DEBUG4", PGLOG_SEVERITY },
	{ "DEBUG5", PGLOG_SEVERITY },
	{ "CONTEXT", PGLOG_CONTEXT },
	{ "HINT", PGLOG_HINT },
	{ "QUERY", PGLOG_QUERY_TEXT },
	{ "LOCATION", PGLOG_HINT },
	{ "BACKTRACE", PGLOG_HINT },
};

/* A capital or a letter beyond ASCII, then letters; Chinese has a colon of its own. */
static bool is_foreign(struct slice s, size_t *ret_n)
{
	size_t i = 0;

	while (i < s.n && ((s.p[i] >= 'A' && s.p[i] <= 'Z') || (s.p[i] & 0x80)))
		i++;
	*ret_n = i;
	return i >= 2 && i <= 40 && i + 3 <= s.n && memcmp(s.p + i, ":  ", 3) == 0;
}

enum pglog_label pglog_label_at(struct slice s, struct slice *ret_severity, struct slice *ret_rest)
{
	size_t n;

	for (size_t i = 0; i < LENGTH(labels); i++) {
		const char *name = labels[i].name;

		n = strlen(name);
		if (s.n <= n || s.p[0] != name[0] || s.p[n] != ':' || memcmp(s.p, name, n) != 0)
			continue;
		*ret_severity = (struct slice){ s.p, n };
		*ret_rest = (struct slice){ s.p + n + 1, s.n - n - 1 };
		/* Two blanks; tools that rewrite logs leave one. */
		if (!eat(ret_rest, "  "))
			(void)eat(ret_rest, " ");
		return labels[i].label;
	}
	if (!is_foreign(s, &n))
		return PGLOG_NO_LABEL;
	*ret_severity = (struct slice){ s.p, n };
	*ret_rest = (struct slice){ s.p + n + 3, s.n - n - 3 };
	return PGLOG_FOREIGN;
}

/* ---- other languages */

/* What "duration: %s ms" and "statement: %s" become (src/backend/po of 10 to 18). */
bool pglog_is_localised(const struct pglog_line *line)
{
	static const char *const starts[] = { "Dauer: ", "Anweisung: ", "dur\303\251e : ",
		"instruction : ", "duraci\303\263n: ", "sentencia: ", "durata: ", "istruzione: ",
		"dura\303\247\303\243o: ", "comando: ",
		"\320\277\321\200\320\276\320\264\320\276\320\273\320\266",
		"\320\276\320\277\320\265\321\200\320\260\321\202\320\276\321\200: ",
		"varaktighet: ", "sats: ", "s\303\274re: ", "czas trwania: ", "wyra\305\274enie: ",
		"\346\234\237\351\226\223: ", "\346\226\207: ",
		"\346\211\247\350\241\214\346\227\266\351\227\264: ", "\350\257\255\345\217\245: ",
		"\354\213\244\355\226\211\354\213\234\352\260\204: ",
		"\353\252\205\353\240\271 \352\265\254\353\254\270: ",
		"\321\202\321\200\320\270\320\262\320\260\320\273" };
	struct slice s;

	for (size_t i = 0; i < LENGTH(starts); i++)
		if (s = line->message, eat(&s, starts[i]))
			return true;
	return false;
}

/* ---- SQLSTATEs */

/* Appendix A of the manual, "PostgreSQL Error Codes", with the messages of 10 to 18. */
const char *pglog_sqlstate_of(struct slice message)
{
	static const struct {
		const char *start, *end, *state;
	} known[] = {
		{ "division by zero", "", "22012" },
		{ "duplicate key value violates unique constraint ", "", "23505" },
		{ "syntax error ", "", "42601" },
		{ "relation \"", "\" does not exist", "42P01" },
		{ "column ", " does not exist", "42703" },
		{ "function ", " does not exist", "42883" },
		{ "operator ", "", "42883" },
		{ "canceling statement due to lock timeout", "", "55P03" },
		{ "canceling statement due to ", "", "57014" },
		{ "deadlock detected", "", "40P01" },
		{ "could not serialize access ", "", "40001" },
		{ "current transaction is aborted", "", "25P02" },
		{ "could not obtain lock on ", "", "55P03" },
		{ "null value in column ", "", "23502" },
		{ "insert or update on table ", "", "23503" },
		{ "update or delete on table ", "", "23503" },
		{ "new row for relation ", "", "23514" },
		{ "value too long for type ", "", "22001" },
		{ "invalid input syntax for ", "", "22P02" },
		{ "permission denied", "", "42501" },
		{ "terminating connection due to administrator command", "", "57P01" },
		{ "terminating connection due to idle-in-transaction timeout", "", "25P03" },
		{ "relation \"", "\" already exists", "42P07" },
		{ "cursor \"", "\" does not exist", "34000" },
		{ "prepared statement \"", "\" does not exist", "26000" },
		{ "prepared statement \"", "\" already exists", "42P05" },
	};

	for (size_t i = 0; i < LENGTH(known); i++) {
		struct slice s = message;
		size_t n = strlen(known[i].end);

		if (eat(&s, known[i].start) && s.n >= n &&
			(n == 0 || memmem(s.p, s.n, known[i].end, n)))
			return known[i].state;
	}
	return NULL;
}
