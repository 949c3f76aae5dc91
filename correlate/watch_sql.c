#include "correlate/watch_sql.h"

#include <stdio.h>

static const char *variant(const struct watch_variant of[3], int major)
{
	for (int i = 0; i < 3 && of[i].text; i++)
		if ((!of[i].min || major >= of[i].min) && (!of[i].max || major <= of[i].max))
			return of[i].text;
	return NULL;
}

size_t watch_query_count(void)
{
	size_t n = 0;

	while (watch_queries[n].name)
		n++;
	return n;
}

void watch_sql_section(const struct watch_query *q, struct stats_section *ret)
{
	*ret = (struct stats_section){ .flags = q->flags };
	snprintf(ret->name, sizeof(ret->name), "%s", q->name);
	for (const struct watch_column *c = q->columns; c->name; c++) {
		struct stats_column *to = &ret->columns[ret->column_count++];

		to->kind = (uint8_t)c->kind;
		snprintf(to->name, sizeof(to->name), "%s", c->name);
		snprintf(to->unit, sizeof(to->unit), "%s", c->unit ? c->unit : "");
	}
}

/* Stamps and times come as microseconds: whole numbers everywhere. */
static void add_column(const struct watch_column *c, int major, struct buf *to)
{
	const char *text = variant(c->of, major);

	if (!text)
		buf_add_text(to, ", NULL");
	else if (c->kind == STATS_STAMP)
		buf_addf(to, ", (extract(epoch FROM %s) * 1000000)::bigint", text);
	else
		buf_addf(to, ", (%s)::bigint", text);
}

static void add_from(const char *from, const char *schema, struct buf *to)
{
	const char *hole = strstr(from, "%s");

	buf_add_text(to, " FROM ");
	if (!hole) {
		buf_add_text(to, from);
		return;
	}
	buf_add(to, from, (size_t)(hole - from));
	buf_add_text(to, schema);
	buf_add_text(to, hole + 2);
}

bool watch_sql_text(const struct watch_query *q, int major, const char *schema, struct buf *to)
{
	const char *from = variant(q->from, major);

	if (major < q->min || (q->extension && !schema))
		return false;
	buf_addf(to, "SELECT %s", q->key ? q->key : "''");
	for (const struct watch_column *c = q->columns; c->name; c++)
		add_column(c, major, to);
	if (from)
		add_from(from, schema, to);
	if (q->tail)
		buf_addf(to, " %s", q->tail);
	return !to->is_full;
}
