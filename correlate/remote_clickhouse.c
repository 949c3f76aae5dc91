#include "correlate/remote_clickhouse.h"

#include "correlate/remote_ask.h"
#include "correlate/remote_cells.h"

enum { LINE_MAX_BYTES = 1 << 20 };

#define ANSWER_MAX ((size_t)4 << 30) /* streamed: a line at a time is in memory */

const char *const remote_clickhouse_params[] = { "query", "table", "time", "route", "ms", "status",
	"from", "to", "bucket", "database", "timeout", NULL };

/* ---- the question */

static void add_name(struct buf *to, const char *name)
{
	buf_add_byte(to, '`');
	for (; *name; name++) {
		if (*name == '`' || *name == '\\')
			buf_add_byte(to, '\\');
		buf_add_byte(to, (unsigned char)*name);
	}
	buf_add_byte(to, '`');
}

static void add_column(
	struct buf *to, const struct remote_url *url, const char *param, const char *column)
{
	const char *given = remote_url_get(url, param);

	add_name(to, given ? given : column);
	buf_addf(to, " AS %s", column);
}

static void rows_of_table(struct buf *to, const struct remote_url *url, const char *table)
{
	const char *dot = strchr(table, '.');

	buf_add_text(to, "SELECT ");
	add_column(to, url, "time", "t");
	buf_add_text(to, ", ");
	add_column(to, url, "route", "route");
	buf_add_text(to, ", ");
	add_column(to, url, "ms", "ms");
	if (remote_url_get(url, "status")) {
		buf_add_text(to, ", ");
		add_column(to, url, "status", "status");
	}
	buf_add_text(to, " FROM ");
	if (dot) {
		char base[128];

		snprintf(base, sizeof(base), "%.*s", (int)(dot - table), table);
		add_name(to, base);
		buf_add_byte(to, '.');
		table = dot + 1;
	}
	add_name(to, table);
}

static bool make_rows(struct buf *to, const struct remote_url *url, struct err *e)
{
	const char *query = remote_url_get(url, "query"), *table = remote_url_get(url, "table");

	if (!query == !table) {
		err_set(e, ERR_USAGE, "clickhouse: needs query=, or table= (and not both)");
		return err_hint(
			e, "clickhouse:http://host:8123?query=SELECT t, route, ms FROM ...");
	}
	if (table) {
		rows_of_table(to, url, table);
		return true;
	}
	size_t n = strlen(query);
	while (n && strchr("; \t\r\n", query[n - 1]))
		n--;
	buf_add(to, query, n);
	buf_add_byte(to, '\n');
	return true;
}

/* Five characters are an SQLSTATE, three digits HTTP's. */
#define IS_ERROR                                                                                   \
	"if(match(toString(status), '^[0-9A-Z]{5}$'), toString(status) != '00000',"                \
	" match(toString(status), '^[5-9][0-9][0-9]$'))"

static const char head[] =
	"SELECT toInt64(floor(t / %.9f)) AS k, route, if(us < 64, us, (e - 5) * 64 +"
	" bitAnd(bitShiftRight(us, if(e > 6, e - 6, 0)), 63)) AS bin, count() AS n,"
	" countIf(bad) AS errors, max(us) AS largest, min(t) AS first FROM ("
	"SELECT t, route, us, bad, toInt64(floor(log2(us + 0.5))) AS e FROM ("
	"SELECT if(abs(s) < 9e9, s, NULL) AS t, route, bad,"
	" if(m >= 0 AND m <= " REMOTE_LATENCY_MAX_MS ", toInt64(least("
	"floor((floor(m * 1e6 + 0.5) + 500) / 1000), 4398046511103.0)), NULL) AS us"
	" FROM (SELECT toFloat64(t) AS s, toString(route) AS route, toFloat64(ms) AS m, %s AS bad FROM (";
static const char tail[] = ")) GROUP BY k, route, bin ORDER BY k, route, bin FORMAT TabSeparated";

bool remote_clickhouse_question(struct buf *to, const struct remote_url *url, bool has_status,
	int64_t from_ns, int64_t to_ns, int64_t width_ns, struct err *e)
{
	buf_addf(to, head, (double)width_ns / 1e9, has_status ? IS_ERROR : "0");
	if (!make_rows(to, url, e))
		return false;
	buf_add_text(to, ")) WHERE 1");
	if (from_ns != INT64_MIN)
		buf_addf(to, " AND s >= %.6f", (double)from_ns / 1e9);
	if (to_ns != INT64_MAX)
		buf_addf(to, " AND s < %.6f", (double)to_ns / 1e9);
	buf_add_text(to, tail);
	return !to->is_full || err_set(e, ERR_USAGE, "the query is too long");
}

/* ---- the answer */

struct answer {
	struct remote_cells cells;
	struct buf line; /* the part of one that came so far */
	const char *server;
};

/* In place: \t \n \\ and their kin; "\N" is null. */
static char *unescape(char *field)
{
	static const char from[] = "tnrbf0\\'", to[] = "\t\n\r\b\f \\'";
	char *at = field, *out = field;

	if (strcmp(field, "\\N") == 0)
		return NULL;
	for (; *at; at++) {
		const char *known = *at == '\\' && at[1] ? strchr(from, at[1]) : NULL;

		*out++ = known ? to[known - from] : *at;
		at += known != NULL;
	}
	*out = '\0';
	return field;
}

/* An exception in the middle of an answer comes as a line of it. */
static bool refuse_line(const struct answer *a, const char *line, struct err *e)
{
	char words[201];

	remote_ask_words(slice_of(line), words);
	if (strncmp(line, "Code:", 5) == 0) {
		err_set(e, ERR_ENV, "%s gave up in the middle: %s", a->server, words);
		return err_hint(e, "a limit of the server: ask for less (from=, to=)");
	}
	if (remote_ask_is_html(slice_of(line))) {
		err_set(e, ERR_INPUT, "%s answered with a web page", a->server);
		return err_hint(e, "a login page (then a token: --header-file), or no ClickHouse");
	}
	err_set(e, ERR_INPUT, "%s answered with something else than the columns asked for",
		a->server);
	return err_hint(e, "is it ClickHouse's HTTP port (8123, or 8443 with TLS)?");
}

static bool take_line(struct answer *a, char *line, struct err *e)
{
	const char *fields[REMOTE_CELL_FIELDS];
	char *at = line, *copy;
	size_t tabs = 0;

	for (copy = line; *copy; copy++)
		tabs += *copy == '\t';
	if (tabs != REMOTE_CELL_FIELDS - 1)
		return refuse_line(a, line, e);
	for (size_t i = 0; i < REMOTE_CELL_FIELDS; i++) {
		char *end = strchrnul(at, '\t');
		bool is_last = !*end;

		*end = '\0';
		fields[i] = unescape(at);
		at = end + !is_last;
	}
	return remote_cells_add(&a->cells, fields, e) || err_in(e, "%s", a->server);
}

static bool feed(void *data, struct slice bytes, struct err *e)
{
	struct answer *a = data;

	while (bytes.n) {
		const char *end = memchr(bytes.p, '\n', bytes.n);
		size_t n = end ? (size_t)(end - bytes.p) : bytes.n;

		buf_add(&a->line, bytes.p, n);
		if (a->line.is_full)
			return err_set(e, ERR_INPUT, "a line of %s is too long", a->server);
		bytes.p += n + (end != NULL);
		bytes.n -= n + (end != NULL);
		if (!end)
			break;
		if (a->line.n && !take_line(a, a->line.p, e))
			return false;
		buf_reset(&a->line);
	}
	return true;
}

/* ClickHouse says what it does not like in the first line of a refusal. */
static void explain(const struct http *h, long status, struct err *e)
{
	char words[201];

	remote_ask_words(http_refusal(h), words);
	if ((status != 400 && status != 404 && status < 500) || strncmp(words, "Code:", 5) != 0)
		return;
	err_set(e, status >= 500 && strstr(words, "Timeout") ? ERR_ENV : ERR_INPUT,
		"%s refused the question: %s", http_server(h), words);
	err_hint(e, "the query runs inside of SELECT ... FROM (QUERY): try it alone first");
}

static bool send(struct http *h, const struct remote_url *url, struct slice question,
	const struct http_sink *sink, struct err *e)
{
	const char *database = remote_url_get(url, "database");
	struct buf path = { 0 };
	long status;
	bool ok;

	buf_init(&path, 4 * REMOTE_TEXT_MAX);
	buf_add_text(&path, "/?");
	if (database) {
		buf_add_text(&path, "database=");
		http_add_encoded(&path, slice_of(database));
		buf_add_byte(&path, '&');
	}
	buf_add_text(&path, "query=");
	http_add_encoded(&path, question);
	ok = path.is_full ? err_set(e, ERR_USAGE, "the query is too long")
			  : http_get(h, buf_text(&path), sink, &status, e);
	if (!ok && status)
		explain(h, status, e);
	buf_free(&path);
	return ok;
}

/* Does it have a column status? Asked of the server, for no row. */
static bool find_status(
	struct http *h, const struct remote_url *url, bool *ret_has_status, struct err *e)
{
	struct buf question = { 0 }, names = { 0 };
	const struct http_sink sink = { http_keep, &names };
	bool ok;

	buf_add_text(&question, "SELECT * FROM (");
	ok = make_rows(&question, url, e);
	buf_add_text(&question, ") LIMIT 0 FORMAT TabSeparatedWithNames");
	ok = ok && send(h, url, buf_slice(&question), &sink, e);
	if (ok) {
		const char *line = buf_text(&names);
		size_t n = strcspn(line, "\n");

		for (const char *at = line; at < line + n; at += strcspn(at, "\t\n") + 1)
			*ret_has_status |=
				slice_is((struct slice){ at, strcspn(at, "\t\n") }, "status");
	}
	buf_free(&question);
	buf_free(&names);
	return ok;
}

bool remote_clickhouse_read(struct series *s, const struct remote_url *url,
	const struct remote *remote, struct remote_counts *ret, struct err *e)
{
	int64_t from_ns = INT64_MIN, to_ns = INT64_MAX, width_ns = REMOTE_WIDTH_NS;
	CLEANUP(http_cleanup) struct http *h = NULL;
	struct answer a = { .cells = { s, 0, ret } };
	const struct http_sink sink = { feed, &a };
	struct buf question = { 0 };
	bool has_status = false, ok;

	if (!remote_url_range(url, &remote->run->clock, &from_ns, &to_ns, e) ||
		!remote_url_duration(url, "bucket", 10 * NS_PER_MS, &width_ns, e) ||
		!(h = remote_ask_open(url, remote, ANSWER_MAX, e)))
		return false;
	buf_init(&question, 2 * REMOTE_TEXT_MAX);
	buf_init(&a.line, LINE_MAX_BYTES);
	a.cells.width_ns = width_ns;
	a.server = http_server(h);
	ok = find_status(h, url, &has_status, e) &&
	     remote_clickhouse_question(&question, url, has_status, from_ns, to_ns, width_ns, e) &&
	     send(h, url, buf_slice(&question), &sink, e);
	if (ok && a.line.n)
		ok = refuse_line(&a, buf_text(&a.line), e);
	ok = ok && (remote_cells_finish(&a.cells, e) || err_in(e, "%s", a.server));
	buf_free(&question);
	buf_free(&a.line);
	return ok;
}
