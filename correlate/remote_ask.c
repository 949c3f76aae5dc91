#include "correlate/remote_ask.h"

#include <strings.h>

struct http *remote_ask_open(
	const struct remote_url *url, const struct remote *remote, size_t max_bytes, struct err *e)
{
	struct http_options options = { .header_file = remote->header_file,
		.timeout_ns = HTTP_TIMEOUT_NS,
		.max_bytes = max_bytes,
		.run = remote->run };
	struct http *h;

	if (!remote_url_duration(url, "timeout", NS_PER_S, &options.timeout_ns, e))
		return NULL;
	h = http_open(url->address, &options, e);
	if (!h)
		err_in(e, "%s", url->word);
	return h;
}

static struct slice skip_blank(struct slice text)
{
	while (text.n &&
		(strchr(" \t\r\n", text.p[0]) || (unsigned char)text.p[0] == 0xef ||
			(unsigned char)text.p[0] == 0xbb || (unsigned char)text.p[0] == 0xbf)) {
		text.p++;
		text.n--;
	}
	return text;
}

bool remote_ask_is_html(struct slice text)
{
	text = skip_blank(text);
	return text.n && text.p[0] == '<';
}

void remote_ask_words(struct slice refusal, char words[201])
{
	size_t n = 0;

	refusal = skip_blank(refusal);
	for (size_t i = 0; i < refusal.n && n < 200; i++) {
		unsigned char c = (unsigned char)refusal.p[i];

		if (c == '\n' && n)
			break;
		words[n++] = c < 0x20 || c == 0x7f ? ' ' : (char)c;
	}
	words[n] = '\0';
}

/* Prometheus: {"status":"error","errorType":"bad_data","error":"..."}; Grafana: {"message"}. */
static void add_their_words(const struct http *h, struct err *e)
{
	struct err unread = { 0 };
	struct json *doc = json_parse(http_refusal(h), "", &unread);
	const char *text = json_text(json_get(doc, "error"), NULL);
	char words[201];

	if (!text)
		text = json_text(json_get(doc, "message"), NULL);
	if (text) {
		remote_ask_words(slice_of(text), words);
		err_set(e, ERR_INPUT, "%s refused the question: %s", http_server(h), words);
		err_hint(e, "try the query in its own console first");
	}
	json_free(doc);
}

static struct json *parse(struct http *h, struct slice text, struct err *e)
{
	struct err why = { 0 };
	struct json *doc;

	if (remote_ask_is_html(text)) {
		err_set(e, ERR_INPUT, "%s answered with a web page, not with JSON", http_server(h));
		err_hint(e,
			"a login page (then a token: --header-file), or the address lacks a path");
		return NULL;
	}
	doc = json_parse(text, http_server(h), &why);
	if (doc)
		return doc;
	err_set(e, ERR_INPUT, "the answer of %s is no whole JSON document (%s)", why.where,
		why.what);
	err_hint(e, "cut off by a proxy on the way, or another kind of server");
	return NULL;
}

struct json *remote_ask(struct http *h, const char *path, size_t *ret_bytes, struct err *e)
{
	struct buf text = { 0 };
	struct json *doc = NULL;
	long status;

	buf_init(&text, (size_t)1 << 30);
	if (http_get_whole(h, path, &text, &status, e))
		doc = parse(h, buf_slice(&text), e);
	else if (status == 400 || status == 422 || status == 503)
		add_their_words(h, e);
	if (ret_bytes)
		*ret_bytes = text.n;
	buf_free(&text);
	return doc;
}
