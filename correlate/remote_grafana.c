#include "correlate/remote_grafana.h"

#include "core/base/table.h"
#include "correlate/remote_ask.h"

enum { PAGE = 1000, TEXTS_MAX_BYTES = 256 << 20, PAGES_MAX = 10000 };

const char *const remote_grafana_params[] = { "from", "to", "tags", "timeout", NULL };

struct pages {
	struct http *http;
	const struct remote_url *url;
	int64_t from_ms, to_ms;
	int64_t limit;
	struct table seen; /* texts: ids are 0 where alerts come from another store */
	struct arena texts;
	struct buf *into;
	struct buf text;
	size_t fresh; /* of the last page */
	int64_t earliest_end_ms;
};

static bool keep(struct pages *p, const struct json *one, struct err *e)
{
	struct slice text;

	buf_reset(&p->text);
	json_write(one, false, &p->text);
	if (table_get(&p->seen, buf_slice(&p->text)))
		return true;
	text = arena_copy(&p->texts, buf_slice(&p->text));
	if (!text.p || !table_put(&p->seen, text, p)) {
		err_set(e, ERR_INPUT, "%s: more than %d annotations", http_server(p->http),
			REMOTE_ANNOTATIONS_MAX);
		return err_hint(e, "narrow them: tags=deploy, from=, to=");
	}
	buf_add_text(p->into, p->seen.count > 1 ? "," : "");
	buf_add_slice(p->into, text);
	p->fresh++;
	return true;
}

static bool take_page(struct pages *p, const struct json *page, struct err *e)
{
	p->fresh = 0;
	for (size_t i = 0; i < json_count(page); i++) {
		const struct json *one = json_at(page, i);
		int64_t end_ms = json_int(json_get(one, "timeEnd"), 0);

		if (end_ms <= 0)
			end_ms = json_int(json_get(one, "time"), p->to_ms);
		p->earliest_end_ms = end_ms < p->earliest_end_ms ? end_ms : p->earliest_end_ms;
		if (!keep(p, one, e))
			return false;
	}
	return true;
}

static void add_tags(struct buf *path, const char *tags)
{
	for (; tags && *tags; tags += strcspn(tags, ",")) {
		tags += *tags == ',';
		buf_add_text(path, "&tags=");
		http_add_encoded(path, (struct slice){ tags, strcspn(tags, ",") });
	}
}

static struct json *ask(struct pages *p, struct err *e)
{
	struct buf path = { 0 };
	struct json *page;

	buf_addf(&path, "/api/annotations?from=%lld&to=%lld&limit=%lld", (long long)p->from_ms,
		(long long)p->to_ms, (long long)p->limit);
	add_tags(&path, remote_url_get(p->url, "tags"));
	page = remote_ask(p->http, buf_text(&path), NULL, e);
	buf_free(&path);
	if (page && json_type(page) != JSON_LIST) {
		json_free(page);
		page = NULL;
		err_set(e, ERR_INPUT, "%s answered with no list of annotations",
			http_server(p->http));
		err_hint(e, "is it Grafana, and its address complete (a path like /grafana)?");
	}
	return page;
}

/* A full page may hide others: the next ends where this one's earliest ended. When nothing
 * new comes that way, more than a page end at one instant: then a larger page. */
static bool fetch(struct pages *p, bool *ret_is_cut, struct err *e)
{
	for (int i = 0; i < PAGES_MAX; i++) {
		CLEANUP(json_cleanup) struct json *page = ask(p, e);
		bool is_last = (int64_t)json_count(page) < p->limit;

		p->earliest_end_ms = p->to_ms;
		if (!page || !take_page(p, page, e))
			return false;
		if (is_last)
			return true;
		if (p->earliest_end_ms < p->to_ms)
			p->to_ms = p->earliest_end_ms;
		else if (!p->fresh && p->limit < REMOTE_ANNOTATIONS_MAX)
			p->limit *= 10;
		else if (!p->fresh)
			break;
		if (p->to_ms < p->from_ms)
			return true;
	}
	*ret_is_cut = true;
	return true;
}

static int64_t to_ms(int64_t ns)
{
	return ns / NS_PER_MS;
}

bool remote_grafana_fetch(struct buf *ret_json, const struct remote_url *url,
	const struct remote *remote, bool *ret_is_cut, struct err *e)
{
	/* What began up to an hour before may still work. */
	int64_t from_ns = remote->first_ns - 3600 * NS_PER_S, to_ns = remote->last_ns + NS_PER_S;
	CLEANUP(http_cleanup) struct http *h = NULL;
	struct pages p = { .url = url, .limit = PAGE, .into = ret_json };
	bool ok;

	if (!remote_url_is_web(url)) {
		err_set(e, ERR_USAGE, "grafana: needs an address");
		return err_hint(e,
			"--events grafana:https://grafana.example.org; a saved list is given "
			"as a file");
	}
	if (!remote_url_range(url, &remote->run->clock, &from_ns, &to_ns, e) ||
		!(h = remote_ask_open(url, remote, 0, e)))
		return false;
	p.http = h;
	p.from_ms = to_ms(from_ns);
	p.to_ms = to_ms(to_ns);
	table_init(&p.seen, REMOTE_ANNOTATIONS_MAX);
	arena_init(&p.texts, TEXTS_MAX_BYTES);
	buf_add_byte(ret_json, '[');
	ok = fetch(&p, ret_is_cut, e);
	buf_add_text(ret_json, "]\n");
	if (ok && ret_json->is_full)
		ok = err_set(e, ERR_INPUT, "%s: too many annotations", http_server(h));
	table_free(&p.seen);
	arena_free(&p.texts);
	buf_free(&p.text);
	return ok;
}
