#include "snapshot/diff_facts.h"

#include <math.h>
#include <string.h>

void diff_row_count(struct diff *d)
{
	for (size_t i = 0; i < d->table_count; i++) {
		struct diff_table *t = &d->tables[i];
		double a = diff_rows_of(t, 0), b = diff_rows_of(t, 1), ratio;

		if (!t->relation[0] || !t->relation[1] || (a < 1000 && b < 1000) || a < 0 || b < 0)
			continue;
		ratio = (a > b ? a : b) / ((a > b ? b : a) + 1);
		if (ratio < 2)
			continue;
		diff_add(d,
			(struct diff_finding){
				.kind = "row count",
				.object = t->name,
				.a = diff_text(d, "%.0f rows, %.0f pages", a,
					diff_number(t->relation[0], "pages", 0)),
				.b = diff_text(d, "%.0f rows, %.0f pages", b,
					diff_number(t->relation[1], "pages", 0)),
				.why = "scans, sorts, locks held while scanning and plan choices grow with the rows",
				.close = "reprod snapshot build DSN --into DIR",
				.condition = "data",
				.score = t->weight * (55 + 8 * diff_at_most(log10(ratio), 3)) *
					 diff_at_most(log10((a > b ? a : b) + 1) / 5, 1),
			});
	}
}

static const struct json *find_column(const struct json *list, size_t hint, const struct json *like)
{
	size_t n = json_count(list);

	/* Both lists are sorted alike, so the match is near the hint. */
	for (size_t step = 0; step < n; step++) {
		const struct json *x = json_at(list, (hint + step) % n);

		if (strcmp(json_text(json_get(x, "name"), ""),
			    json_text(json_get(like, "name"), "")) == 0 &&
			strcmp(json_text(json_get(x, "table"), ""),
				json_text(json_get(like, "table"), "")) == 0 &&
			strcmp(json_text(json_get(x, "schema"), ""),
				json_text(json_get(like, "schema"), "")) == 0)
			return x;
	}
	return NULL;
}

static double distinct_values(const struct json *column, double rows)
{
	double n = diff_number(column, "n_distinct", 0);

	return n < 0 ? -n * rows : n;
}

static void column_shape(
	struct diff *d, const struct diff_table *t, const struct json *x, const struct json *y)
{
	double correlation =
		fabs(diff_number(x, "correlation", 0) - diff_number(y, "correlation", 0));
	double nulls = fabs(diff_number(x, "null_frac", 0) - diff_number(y, "null_frac", 0));
	double wide = diff_number(x, "avg_width", 1), narrow = diff_number(y, "avg_width", 1);
	double a = distinct_values(x, diff_rows_of(t, 0)) / (diff_rows_of(t, 0) + 1);
	double b = distinct_values(y, diff_rows_of(t, 1)) / (diff_rows_of(t, 1) + 1);
	const char *object = diff_text(d, "%s.%s", t->name, json_text(json_get(x, "name"), ""));

	if (correlation > 0.3 && diff_rows_of(t, 0) > 10000 && diff_rows_of(t, 1) > 10000)
		diff_add(d,
			(struct diff_finding){ .kind = "correlation",
				.object = object,
				.a = diff_text(d, "%.2f", diff_number(x, "correlation", 0)),
				.b = diff_text(d, "%.2f", diff_number(y, "correlation", 0)),
				.why = "the order of rows on disk decides what an index range scan costs",
				.close = "reprod snapshot build DSN --into DIR",
				.condition = "data",
				.score = t->weight * 40 * correlation });
	if (nulls > 0.05)
		diff_add(d, (struct diff_finding){ .kind = "null share",
				    .object = object,
				    .a = diff_text(d, "%.3f", diff_number(x, "null_frac", 0)),
				    .b = diff_text(d, "%.3f", diff_number(y, "null_frac", 0)),
				    .why = "estimates for IS NULL and joins on it differ",
				    .close = "reprod snapshot build DSN --into DIR",
				    .condition = "data",
				    .score = t->weight * 35 * nulls });
	if (wide > 16 && narrow > 0 && (wide / narrow > 2 || narrow / wide > 2))
		diff_add(d, (struct diff_finding){ .kind = "width",
				    .object = object,
				    .a = diff_text(d, "%.0f bytes", wide),
				    .b = diff_text(d, "%.0f bytes", narrow),
				    .why = "sorts, hashes and TOAST depend on the width",
				    .close = "reprod snapshot build DSN --into DIR",
				    .condition = "data",
				    .score = t->weight * 25 });
	if (a > 0 && b > 0 && fabs(log10(a / b)) > 1 && diff_rows_of(t, 1) > 10000)
		diff_add(d,
			(struct diff_finding){ .kind = "distinct values",
				.object = object,
				.a = diff_text(d, "%.0f", distinct_values(x, diff_rows_of(t, 0))),
				.b = diff_text(d, "%.0f", distinct_values(y, diff_rows_of(t, 1))),
				.why = "rows per value differ tenfold",
				.close = "reprod snapshot build DSN --into DIR",
				.condition = "data",
				.score = t->weight * 35 });
}

void diff_columns(struct diff *d)
{
	const struct json *mine = diff_list(d, 0, "columns.columns");
	const struct json *others = diff_list(d, 1, "columns.columns");

	for (size_t i = 0; i < json_count(mine); i++) {
		const struct json *x = json_at(mine, i);
		const struct diff_table *t = diff_find_table(d,
			json_text(json_get(x, "schema"), ""), json_text(json_get(x, "table"), ""));
		const struct json *y = t && t->relation[1] ? find_column(others, i, x) : NULL;

		if (y && json_is_true(json_get(x, "has_statistics"), false) &&
			json_is_true(json_get(y, "has_statistics"), false))
			column_shape(d, t, x, y);
	}
}

static double hit_ratio(const struct json *row)
{
	double hit = diff_number(row, "heap_hit", 0) + diff_number(row, "index_hit", 0);
	double read = diff_number(row, "heap_read", 0) + diff_number(row, "index_read", 0);

	return hit + read >= 1000 ? hit / (hit + read) : -1;
}

void diff_cache(struct diff *d)
{
	for (size_t i = 0; i < d->table_count; i++) {
		struct diff_table *t = &d->tables[i];
		double a = hit_ratio(t->cache[0]), b = hit_ratio(t->cache[1]);

		if (a < 0 || a > 0.9 || (b >= 0 && b - a < 0.1))
			continue;
		diff_add(d,
			(struct diff_finding){
				.kind = "cache",
				.object = t->name,
				.a = diff_text(
					d, "%.0f %% of block reads were buffer hits", 100 * a),
				.b = b < 0 ? "too few reads to tell"
					   : diff_text(d, "%.0f %%", 100 * b),
				.why = "what is not in shared buffers is read from the page cache or the disk",
				.condition = "cache",
				.score = t->weight * (20 + 40 * (0.9 - a)),
			});
	}
}
