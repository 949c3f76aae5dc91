#include "correlate/remote.h"

#include "core/base/file.h"
#include "core/driver/pg.h"
#include "correlate/remote_clickhouse.h"
#include "correlate/remote_grafana.h"
#include "correlate/remote_metric.h"
#include "correlate/remote_prometheus.h"
#include "correlate/remote_sql.h"

struct kind {
	const char *word;
	const char *const *params;
	bool (*series)(struct series *s, const struct remote_url *url, const struct remote *remote,
		struct remote_counts *ret, struct err *e);
	bool (*metric)(struct metric_list *list, const struct remote_url *url,
		const struct remote *remote, struct remote_counts *ret, struct err *e);
	bool (*events)(struct buf *ret_json, const struct remote_url *url,
		const struct remote *remote, bool *ret_is_cut, struct err *e);
};

static const struct kind kinds[] = {
	{ "sql:", remote_sql_params, remote_sql_read, NULL, NULL },
	{ "clickhouse:", remote_clickhouse_params, remote_clickhouse_read, NULL, NULL },
	{ "prometheus:", remote_prometheus_params, remote_prometheus_read, remote_metric_read,
		NULL },
	{ "grafana:", remote_grafana_params, NULL, NULL, remote_grafana_fetch },
};

static const struct kind *kind_of(const char *path)
{
	for (size_t i = 0; i < LENGTH(kinds); i++)
		if (strncmp(path, kinds[i].word, strlen(kinds[i].word)) == 0)
			return &kinds[i];
	return NULL;
}

bool remote_is_series(const char *path)
{
	const struct kind *k = kind_of(path);

	return k && k->series;
}

bool remote_is_metric(const char *path)
{
	const struct kind *k = kind_of(path);

	return k && k->metric;
}

bool remote_is_events(const char *path)
{
	const struct kind *k = kind_of(path);

	/* "grafana:FILE" is a file, its format forced. */
	return k && k->events && strncmp(path + strlen(k->word), "http", 4) == 0;
}

/* ---- what a source is called */

/* Nothing in front of any '@' is shown: a password may hold a '/' that should have been %2F. */
static void add_web_address(struct buf *to, const char *address)
{
	const char *slashes = strstr(address, "://"), *at = strrchr(address, '@');
	const char *host = at ? at + 1 : slashes + 3;

	buf_add(to, address, (size_t)(slashes + 3 - address));
	buf_addf(to, "%.*s", (int)strcspn(host, "?#"), host);
}

static void add_sql_address(struct buf *to, const char *address)
{
	struct pg_address where;
	struct err unread = { 0 };

	if (pg_address_of(address, &where, &unread))
		buf_addf(to, "%s%s%s", where.hosts, where.ports[0] ? ":" : "", where.ports);
}

/* Two queries of one server have different names; their texts may hold what is private. */
static void add_query(struct buf *to, const struct remote_url *u, bool is_hidden)
{
	const char *query = remote_url_get(u, "query"), *table = remote_url_get(u, "table");
	char hex[65];

	if (table)
		buf_addf(to, "?table=%s", table);
	else if (query && is_hidden) {
		file_sha256_bytes(slice_of(query), hex);
		buf_addf(to, "?query=#%.8s", hex);
	} else if (query)
		buf_addf(to, "?query=%s", query);
}

const char *remote_name(struct arena *arena, const char *path)
{
	const struct kind *k = kind_of(path);
	struct remote_url u = { 0 };
	struct err unread = { 0 };
	struct buf name = { 0 };
	const char *kept;

	if (!k)
		return path;
	buf_add_text(&name, k->word);
	if (remote_url_parse(&u, path, k->params, &unread)) {
		if (remote_url_is_web(&u))
			add_web_address(&name, u.address);
		else if (strcmp(k->word, "sql:") == 0)
			add_sql_address(&name, u.address);
		else
			buf_add_text(&name, u.address); /* a file */
		add_query(&name, &u, strcmp(k->word, "prometheus:") != 0);
	}
	kept = arena_copy(arena, buf_slice(&name)).p;
	remote_url_free(&u);
	buf_free(&name);
	return kept ? kept : k->word;
}

/* ---- questions */

bool remote_read(struct series *s, const char *path, const struct remote *remote,
	struct remote_counts *ret, struct err *e)
{
	const struct kind *k = kind_of(path);
	struct remote_url u;

	*ret = (struct remote_counts){ 0 };
	bool ok = remote_url_parse(&u, path, k->params, e) && k->series(s, &u, remote, ret, e);
	remote_url_free(&u);
	return ok;
}

bool remote_read_metric(struct metric_list *list, const char *path, const struct remote *remote,
	struct remote_counts *ret, struct err *e)
{
	const struct kind *k = kind_of(path);
	struct remote_url u;

	*ret = (struct remote_counts){ 0 };
	bool ok = remote_url_parse(&u, path, k->params, e) && k->metric(list, &u, remote, ret, e);
	remote_url_free(&u);
	return ok;
}

bool remote_fetch_events(struct buf *ret_json, const char *path, const struct remote *remote,
	bool *ret_is_cut, struct err *e)
{
	const struct kind *k = kind_of(path);
	struct remote_url u;

	*ret_is_cut = false;
	bool ok = remote_url_parse(&u, path, k->params, e) &&
		  k->events(ret_json, &u, remote, ret_is_cut, e);
	remote_url_free(&u);
	return ok;
}
