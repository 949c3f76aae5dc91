/*
 * describe_sql.h - the questions a description asks, as a table.
 *
 * A row is one query of one section, for the server versions it fits. Each column
 * of an answer has a kind; what does not fit its kind is left out, so that a query
 * cannot carry a value into a field meant for a number.
 */
#ifndef REPROD_DESCRIBE_SQL_H
#define REPROD_DESCRIBE_SQL_H

#include "core/base/base.h"

enum field_kind {
	FIELD_NAME, /* a catalog name, a keyword or a setting's value from the closed list */
	FIELD_NUMBER,
	FIELD_FLAG,
	FIELD_TIME, /* epoch seconds in the answer, RFC 3339 in the profile */
	FIELD_NUMBERS, /* {1,2,3} */
};

struct field {
	const char *key;
	enum field_kind kind;
};

#define FIELDS_MAX 28

struct question {
	const char *section;
	const char *list; /* key of the list of rows; NULL: one row, fields of the section itself */
	int min_version, max_version; /* server_version_num / 10000, inclusive; 0: any */
	const char *sql;
	struct field fields[FIELDS_MAX]; /* in column order, NULL key ends */
	const char *grant; /* what would mend a denial */
};

extern const struct question describe_questions[];
extern const size_t describe_question_count;

#endif
