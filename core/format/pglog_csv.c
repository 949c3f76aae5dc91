#include "core/format/pglog_csv.h"

enum {
	COL_TIME,
	COL_USER,
	COL_DATABASE,
	COL_PID,
	COL_CLIENT,
	COL_SESSION,
	COL_LINE,
	COL_TAG,
	COL_START,
	COL_VXID,
	COL_XID,
	COL_SEVERITY,
	COL_SQLSTATE,
	COL_MESSAGE,
	COL_DETAIL,
	COL_HINT,
	COL_INTERNAL,
	COL_INTERNAL_POS,
	COL_CONTEXT,
	COL_QUERY,
	COL_QUERY_POS,
	COL_LOCATION,
	COL_APPLICATION,
	COL_BACKEND,
};

/* The end of the record that begins at p: behind its newline, or NULL when the bytes
 * end first. */
static const char *record_end(const char *p, const char *end)
{
	bool is_quoted = false;

	for (; p < end; p++) {
		if (is_quoted) {
			p = memchr(p, '"', (size_t)(end - p));
			if (!p)
				return NULL;
			is_quoted = false;
		} else if (*p == '"') {
			is_quoted = true;
		} else if (*p == '\n') {
			return p + 1;
		}
	}
	return NULL;
}

static bool is_start(const char *p, const char *end)
{
	static const char shape[] = "dddd-dd-dd dd:dd:dd";
	size_t n = sizeof(shape) - 1;

	/* Some exports quote every field. */
	if (p < end && *p == '"')
		p++;
	if ((size_t)(end - p) < n)
		return false;
	for (size_t i = 0; i < n; i++)
		if (shape[i] == 'd' ? p[i] < '0' || p[i] > '9' : p[i] != shape[i])
			return false;
	return true;
}

/* The first line after p's own that begins with a time; end when there is none. */
static const char *next_start(const char *p, const char *end)
{
	while (p < end && (p = memchr(p, '\n', (size_t)(end - p)))) {
		p++;
		if (is_start(p, end))
			return p;
	}
	return end;
}

/* The field at *p, unquoted; *p moves to the comma or newline behind it. False: it is
 * no field, or the bytes end first. */
static bool take_field(struct pglog_csv *c, const char **p, const char *end, struct slice *ret)
{
	const char *at = *p;

	if (at < end && *at == '"') {
		size_t before = c->unquoted.n;
		const char *from = ++at;
		bool is_copied = false;

		for (;;) {
			const char *quote = at < end ? memchr(at, '"', (size_t)(end - at)) : NULL;

			if (!quote)
				return false;
			bool is_doubled = quote + 1 < end && quote[1] == '"';
			if (is_doubled || is_copied)
				buf_add(&c->unquoted, at, (size_t)(quote - at) + is_doubled);
			is_copied |= is_doubled;
			at = quote + 1 + is_doubled;
			if (!is_doubled) {
				*ret = is_copied ? (struct slice){ c->unquoted.p + before,
					c->unquoted.n - before }
						 : (struct slice){ from, (size_t)(quote - from) };
				break;
			}
		}
	} else {
		const char *from = at;

		while (at < end && *at != ',' && *at != '\n' && *at != '\r')
			at++;
		*ret = (struct slice){ from, (size_t)(at - from) };
	}
	if (at < end && *at == '\r')
		at++;
	*p = at;
	return at < end && (*at == ',' || *at == '\n');
}

/* The number of columns, and the end behind the newline; or 0 when it is no record or
 * not whole. */
static size_t split(struct pglog_csv *c, const char *p, const char *end,
	struct slice columns[PGLOG_CSV_COLUMNS_MAX], const char **ret_stop)
{
	size_t n = 0;

	*ret_stop = NULL;
	buf_reset(&c->unquoted);
	/* Slices into it must not move while it grows. */
	if (!buf_room(&c->unquoted, (size_t)(end - p)))
		return 0;
	for (;;) {
		if (n == PGLOG_CSV_COLUMNS_MAX || !take_field(c, &p, end, &columns[n]))
			return 0;
		n++;
		if (*p++ == '\n') {
			*ret_stop = p;
			return n;
		}
	}
}

static bool fill(struct pglog_line *line, const struct slice *columns, size_t n)
{
	*line = (struct pglog_line){ .user = columns[COL_USER],
		.database = columns[COL_DATABASE],
		.client = columns[COL_CLIENT],
		.session_id = columns[COL_SESSION],
		.command_tag = columns[COL_TAG],
		.severity = columns[COL_SEVERITY],
		.sqlstate = columns[COL_SQLSTATE],
		.message = columns[COL_MESSAGE],
		.detail = columns[COL_DETAIL],
		.context = columns[COL_CONTEXT],
		.query = columns[COL_QUERY],
		.session_start = columns[COL_START] };
	if (n > COL_APPLICATION)
		line->application = columns[COL_APPLICATION];
	if (n > COL_BACKEND)
		line->backend_type = columns[COL_BACKEND];
	pglog_split_port(line);
	return line->session_id.n && line->session_id.n <= 64 &&
	       pglog_parse_stamp(columns[COL_TIME], &line->time);
}

enum step pglog_csv_next(struct pglog_csv *c, struct slice *rest, bool is_last,
	struct pglog_line *ret, const char **ret_why)
{
	const char *p = rest->p, *end = p + rest->n;
	struct slice columns[PGLOG_CSV_COLUMNS_MAX];
	bool starts_well = rest->n && is_start(p, end);

	*ret_why = NULL;
	if (rest->n == 0)
		return is_last ? STEP_END : STEP_MORE;
	if (!starts_well && !is_last && rest->n < 32)
		return STEP_MORE;
	const char *stop = NULL;
	if (starts_well) {
		size_t n = split(c, p, end, columns, &stop);

		if (n >= PGLOG_CSV_COLUMNS_MIN && fill(ret, columns, n)) {
			*rest = (struct slice){ stop, (size_t)(end - stop) };
			return STEP_ITEM;
		}
		stop = record_end(p, end);
		if (!stop && !is_last)
			return STEP_MORE;
	}
	/* Without a quote's end a broken record would swallow its successors: go on at
	 * the next line that begins with a time. */
	const char *next = next_start(p, end);
	if (next == end && stop)
		next = stop;
	if (next == end && !is_last && stop == NULL && !starts_well) {
		/* Keep what may be the beginning of such a line. */
		const char *line = memrchr(p, '\n', rest->n);
		if (!line || end - line > 32)
			line = end;
		if (line == p)
			return STEP_MORE;
		next = line;
	}
	*ret_why = starts_well ? (stop ? "not a csvlog record" : "cut") : "not a csvlog line";
	*rest = (struct slice){ next, (size_t)(end - next) };
	return STEP_FAIL;
}

void pglog_csv_free(struct pglog_csv *c)
{
	buf_free(&c->unquoted);
}
