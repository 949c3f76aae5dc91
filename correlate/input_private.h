/* input_private.h - what the readers of latencies share; see input.h. */
#ifndef REPROD_CORRELATE_INPUT_PRIVATE_H
#define REPROD_CORRELATE_INPUT_PRIVATE_H

#include "core/format/jsonline.h"
#include "correlate/input.h"
#include "correlate/input_field.h"
#include "correlate/input_lines.h"

/* What a column or member can be. */
enum input_part { PART_T, PART_ROUTE, PART_MS, PART_STATUS, PART_SESSION, PARTS };

struct input_name {
	const char *name;
	enum input_part part;
	int64_t unit_ns; /* of a latency; 0: the name does not say */
};

/* NULL: none of them. Case does not matter. Of two for a part the lower address wins. */
const struct input_name *input_name_of(struct slice name);
/* Which of the needed parts is missing, or has no unit; NULL when none. */
const char *input_lack(const struct input_name *const names[PARTS]);

/* One line as text; empty is missing. */
struct input_parts {
	struct slice text[PARTS];
	int64_t unit_ns;
};

#define INPUT_CACHE 1024

struct text_reader {
	struct input *in;
	const char *path;
	struct lines *lines;
	struct field_clock clock;
	struct jsonline json;
	/* of CSV */
	char delimiter; /* '\0': no line was seen yet */
	int columns[PARTS]; /* -1: none */
	int last_column;
	int64_t unit_ns;
	const char *lack; /* why its columns are of no use */
	int64_t latest_ns; /* of the arrivals so far; 0: none */
	struct series_route *routes[INPUT_CACHE]; /* by a hash of their text */
};

bool input_add(struct text_reader *r, const struct input_parts *parts, struct err *e) MUST_USE;
/* A line of CSV and, inside of quotes, the next ones. ret_header: it named columns. */
bool input_csv_line(
	struct text_reader *r, struct slice line, bool *ret_header, struct err *e) MUST_USE;
bool input_json_line(struct text_reader *r, struct slice line, struct err *e) MUST_USE;
bool input_read_text(struct input *in, const char *path, struct lines *lines, const struct run *run,
	struct err *e) MUST_USE;
bool input_read_capture(
	struct input *in, const char *path, const struct run *run, struct err *e) MUST_USE;
/* A Postgres or access log, by its first bytes. It is captured (scrubbed, as always) into
 * a file that goes away, and that is read: what a log can say is known in one place. */
bool input_is_log(struct slice head);
bool input_read_log(
	struct input *in, const char *path, const struct run *run, struct err *e) MUST_USE;

#endif
