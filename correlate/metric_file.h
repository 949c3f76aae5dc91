/* metric_file.h - what the readers of metric files share; for correlate/metric_*.c only. */
#ifndef REPROD_CORRELATE_METRIC_FILE_H
#define REPROD_CORRELATE_METRIC_FILE_H

#include "correlate/input_field.h"
#include "correlate/metric_read.h"

#define METRIC_COLUMNS_MAX (METRICS_MAX + 1)

/* What this file gave to a metric, to be made into rates at its end. */
struct metric_part {
	bool is_used, is_counter;
	size_t from; /* points before this file */
};

struct metric_file {
	struct metric_list *list;
	struct metric_counts *counts;
	struct field_clock clock;
	struct metric_part parts[METRICS_MAX];
	/* of CSV */
	char delimiter; /* '\0': no line was seen yet */
	bool is_wide;
	int t, name, value; /* columns; the last two of long files */
	int column_count; /* of the header */
	struct metric *columns[METRIC_COLUMNS_MAX]; /* of wide files; NULL: no metric */
	struct slice fields[METRIC_COLUMNS_MAX];
};

/* By name; NULL with *e when it cannot be one, or there are too many. */
struct metric *metric_file_metric(
	struct metric_file *f, struct slice name, bool is_counter, struct err *e);
/* Empty, null and NaN are no number and no failure. */
bool metric_file_add(struct metric_file *f, struct metric *m, int64_t t_ns, struct slice value,
	struct err *e) MUST_USE;
bool metric_file_csv(struct metric_file *f, struct slice line, struct err *e) MUST_USE;
bool metric_file_json(struct metric_file *f, struct slice line, struct err *e) MUST_USE;

#endif
