#include "snapshot/diff_facts.h"

#include <math.h>
#include <string.h>

void diff_missing_table(struct diff *d)
{
	for (size_t i = 0; i < d->table_count; i++) {
		struct diff_table *t = &d->tables[i];
		int has = t->relation[0] ? 0 : 1;

		if (t->relation[0] && t->relation[1])
			continue;
		diff_add(d, (struct diff_finding){
				    .kind = "missing table",
				    .object = t->name,
				    .a = has == 0 ? "there" : "missing",
				    .b = has == 1 ? "there" : "missing",
				    .why = "statements on it fail on the other side",
				    .condition = "data",
				    .score = t->weight * 50,
			    });
	}
}

static const struct json *find_index(const struct json *list, const struct json *like)
{
	for (size_t i = 0; i < json_count(list); i++) {
		const struct json *x = json_at(list, i);

		if (strcmp(json_text(json_get(x, "schema"), ""),
			    json_text(json_get(like, "schema"), "")) == 0 &&
			strcmp(json_text(json_get(x, "table"), ""),
				json_text(json_get(like, "table"), "")) == 0 &&
			strcmp(json_text(json_get(x, "columns"), ""),
				json_text(json_get(like, "columns"), "")) == 0 &&
			strcmp(json_text(json_get(x, "method"), ""),
				json_text(json_get(like, "method"), "")) == 0 &&
			json_is_true(json_get(x, "is_partial"), false) ==
				json_is_true(json_get(like, "is_partial"), false) &&
			json_is_true(json_get(x, "is_valid"), true))
			return x;
	}
	return NULL;
}

void diff_missing_index(struct diff *d)
{
	for (int side = 0; side < 2; side++) {
		const struct json *mine = diff_list(d, side, "indexes.indexes");
		const struct json *others = diff_list(d, !side, "indexes.indexes");

		for (size_t i = 0; i < json_count(mine); i++) {
			const struct json *x = json_at(mine, i);
			const char *schema = json_text(json_get(x, "schema"), "");
			const char *table = json_text(json_get(x, "table"), "");
			const char *name = json_text(json_get(x, "name"), "");
			struct diff_table *t = diff_find_table(d, schema, table);
			const char *shape;

			if (!t || !t->relation[!side] || find_index(others, x) ||
				!json_is_true(json_get(x, "is_valid"), true))
				continue;
			shape = diff_text(d, "%s (%s)", json_text(json_get(x, "method"), ""),
				json_text(json_get(x, "columns"), ""));
			diff_add(d,
				(struct diff_finding){
					.kind = "missing index",
					.object = diff_text(d, "%s.%s", schema, name),
					.a = side == 0 ? shape : "no such index",
					.b = side == 1 ? shape : "no such index",
					.why = diff_text(d, "plans on %s.%s cannot be the same",
						schema, table),
					.close = "create or drop the index on one side",
					.condition = diff_text(d, "index:%s", name),
					.score = t->weight * 90 *
						 diff_at_most(
							 log10(diff_rows_of(t, side) + 10) / 5, 1),
				});
		}
	}
}

void diff_invalid_index(struct diff *d)
{
	const struct json *mine = diff_list(d, 0, "indexes.indexes");

	for (size_t i = 0; i < json_count(mine); i++) {
		const struct json *x = json_at(mine, i);

		if (json_is_true(json_get(x, "is_valid"), true))
			continue;
		diff_add(d, (struct diff_finding){
				    .kind = "invalid index",
				    .object = diff_text(d, "%s.%s",
					    json_text(json_get(x, "schema"), ""),
					    json_text(json_get(x, "name"), "")),
				    .a = "invalid: maintained, never used",
				    .b = "-",
				    .why = "a concurrent build failed; reads scan without it",
				    .close = diff_text(d, "REINDEX INDEX CONCURRENTLY %s",
					    json_text(json_get(x, "name"), "")),
				    .condition = diff_text(
					    d, "index:%s", json_text(json_get(x, "name"), "")),
				    .score = 88,
			    });
	}
}
