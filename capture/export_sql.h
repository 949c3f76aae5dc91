/*
 * export_sql.h - a captured statement as text that pgbench runs as it is.
 *
 * Literals are put back; $1, $2 become literals, too (their types are then found as
 * those of parameters are). A colon before a name would be a variable of pgbench: within
 * quotes the literal is cut there in two, which SQL joins again over a newline.
 */
#ifndef REPROD_EXPORT_SQL_H
#define REPROD_EXPORT_SQL_H

#include "core/base/buf.h"
#include "core/model/record.h"

/* False: a value is missing, is binary of a type other than integers and booleans, or the
 * text cannot be written so that pgbench leaves it alone. */
bool export_sql(
	struct slice template_text, const struct request_record *q, struct buf *to) MUST_USE;
/* Makes sense outside of the transaction and session it ran in. */
bool export_sql_is_alone(struct slice route);

#endif
