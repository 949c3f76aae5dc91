#include "snapshot/diff_facts.h"

#include <math.h>

void diff_dead_tuples(struct diff *d)
{
	for (size_t i = 0; i < d->table_count; i++) {
		struct diff_table *t = &d->tables[i];
		double live = diff_number(t->activity[0], "live", 0),
		       dead = diff_number(t->activity[0], "dead", 0);
		double other = diff_number(t->activity[1], "dead", 0) /
			       (diff_number(t->activity[1], "live", 0) + 1);
		double share = dead / (live + 1);

		if (dead < 1000 || share < 0.1 || share < 2 * other)
			continue;
		diff_add(d,
			(struct diff_finding){
				.kind = "dead tuples",
				.object = t->name,
				.a = diff_text(d, "%.0f dead beside %.0f live rows", dead, live),
				.b = diff_text(d, "%.0f", diff_number(t->activity[1], "dead", 0)),
				.why = "scans and index lookups visit every dead version until vacuum may remove it",
				.close = diff_text(d, "VACUUM %s", t->name),
				.condition = "bloat",
				.score = t->weight * (52 + 30 * diff_at_most(share / 2, 1)) *
					 diff_at_most(log10(dead + 1) / 5, 1),
			});
	}
}

static double pages_per_row(const struct diff_table *t, int side)
{
	double rows = diff_rows_of(t, side);

	return rows > 0 ? diff_number(t->relation[side], "pages", 0) / rows : 0;
}

void diff_bloat(struct diff *d)
{
	for (size_t i = 0; i < d->table_count; i++) {
		struct diff_table *t = &d->tables[i];
		double a = pages_per_row(t, 0), b = pages_per_row(t, 1);

		if (diff_number(t->relation[0], "pages", 0) < 200 || diff_rows_of(t, 1) < 500 ||
			b <= 0 || a / b < 1.5)
			continue;
		diff_add(d,
			(struct diff_finding){
				.kind = "bloat",
				.object = t->name,
				.a = diff_text(d, "%.1f rows a page", 1 / a),
				.b = diff_text(d, "%.1f rows a page", 1 / b),
				.why = diff_text(
					d, "each row costs %.1f times the pages to read", a / b),
				.close = diff_text(d, "VACUUM FULL %s (locks it)", t->name),
				.condition = "bloat",
				.score = t->weight * (45 + 25 * diff_at_most(log2(a / b) / 4, 1)),
			});
	}
}

void diff_horizon(struct diff *d)
{
	const struct json *h = json_path(d->profile[0], "sections.horizon");
	double transaction_s = diff_number(h, "oldest_transaction_s", 0),
	       xmin_age = diff_number(h, "oldest_xmin_age", 0);
	double slots = diff_number(h, "slot_xmin_age", 0),
	       prepared = diff_number(h, "prepared_transactions", 0);

	if (transaction_s < 300 && xmin_age < 100000 && slots < 100000 && prepared == 0)
		return;
	diff_add(d,
		(struct diff_finding){
			.kind = "vacuum held back",
			.object = "server",
			.a = diff_text(d,
				"oldest transaction %.0f s, oldest snapshot %.0f transactions old",
				transaction_s, xmin_age > slots ? xmin_age : slots),
			.b = "-",
			.why = "dead rows newer than that cannot be removed by any vacuum",
			.close =
				"end the transaction, the prepared transaction or the slot that holds it",
			.condition = "bloat",
			.score = 55,
		});
}

void diff_visibility(struct diff *d)
{
	for (size_t i = 0; i < d->table_count; i++) {
		struct diff_table *t = &d->tables[i];
		double a = diff_number(t->relation[0], "relallvisible", 0) /
			   (diff_number(t->relation[0], "relpages", 0) + 1);
		double b = diff_number(t->relation[1], "relallvisible", 0) /
			   (diff_number(t->relation[1], "relpages", 0) + 1);

		if (diff_number(t->relation[0], "relpages", 0) < 500 || !t->relation[1] ||
			diff_number(t->relation[1], "relpages", 0) < 10 || b - a < 0.3)
			continue;
		diff_add(d, (struct diff_finding){
				    .kind = "visibility",
				    .object = t->name,
				    .a = diff_text(d, "%.0f %% of pages all-visible", 100 * a),
				    .b = diff_text(d, "%.0f %%", 100 * b),
				    .why = "index-only scans visit the heap for the rest",
				    .close = diff_text(d, "VACUUM %s", t->name),
				    .condition = "bloat",
				    .score = t->weight * 32,
			    });
	}
}
