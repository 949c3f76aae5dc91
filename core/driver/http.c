#include "core/driver/http.h"

#include <curl/curl.h>
#include <errno.h>
#include <stdlib.h>

#include "core/base/file.h"

enum { REDIRECTS_MAX = 5, REFUSAL_MAX = 4096, HEADERS_MAX_BYTES = 64 << 10, CONNECT_MS = 10000 };

struct http {
	CURL *curl;
	CURLU *base; /* as given, without user, password and query */
	struct curl_slist *headers;
	char *path; /* of the base, without a slash at its end */
	char server[300];
	char host[256]; /* as curl wants it: [::1] in brackets */
	char port[8];
	struct buf refusal;
	size_t max_bytes;
	int64_t timeout_ns;
	const struct run *run;
	/* Of the question under way. */
	const struct http_sink *sink;
	struct err *e;
	size_t got;
	bool is_past_cap, is_sink_done;
};

/* ---- where it leads */

static bool bad_url(struct err *e)
{
	err_set(e, ERR_USAGE, "cannot read the server's address");
	return err_hint(e, "write it as http://host:port or https://user@host/path; '@', ':', '/' "
			   "and '?' inside of a user or password are %%40, %%3A, %%2F and %%3F");
}

static bool take_part(CURLU *u, CURLUPart part, unsigned flags, char *to, size_t size)
{
	char *text = NULL;
	bool ok = curl_url_get(u, part, &text, flags) == CURLUE_OK && strlen(text) < size;

	if (ok)
		memcpy(to, text, strlen(text) + 1);
	curl_free(text);
	return ok;
}

static bool is_loopback(const char *host)
{
	return strcmp(host, "localhost") == 0 || strncmp(host, "127.", 4) == 0 ||
	       strcmp(host, "[::1]") == 0;
}

/* Takes the credentials out of the address: they go to curl alone. */
static bool take_credentials(struct http *h)
{
	char *user = NULL, *password = NULL;

	curl_url_get(h->base, CURLUPART_USER, &user, CURLU_URLDECODE);
	curl_url_get(h->base, CURLUPART_PASSWORD, &password, CURLU_URLDECODE);
	if (user)
		curl_easy_setopt(h->curl, CURLOPT_USERNAME, user);
	if (password)
		curl_easy_setopt(h->curl, CURLOPT_PASSWORD, password);
	if (!user)
		curl_easy_setopt(h->curl, CURLOPT_NETRC, (long)CURL_NETRC_OPTIONAL);
	if (password)
		explicit_bzero(password, strlen(password));
	curl_free(user);
	curl_free(password);
	return curl_url_set(h->base, CURLUPART_USER, NULL, 0) == CURLUE_OK &&
	       curl_url_set(h->base, CURLUPART_PASSWORD, NULL, 0) == CURLUE_OK &&
	       curl_url_set(h->base, CURLUPART_QUERY, NULL, 0) == CURLUE_OK &&
	       curl_url_set(h->base, CURLUPART_FRAGMENT, NULL, 0) == CURLUE_OK;
}

static bool take_address(struct http *h, const char *url, struct err *e)
{
	char scheme[16], path[2048];

	if (strncmp(url, "http://", 7) != 0 && strncmp(url, "https://", 8) != 0)
		return bad_url(e);
	if (curl_url_set(h->base, CURLUPART_URL, url, 0) != CURLUE_OK || !take_credentials(h) ||
		!take_part(h->base, CURLUPART_SCHEME, 0, scheme, sizeof(scheme)) ||
		!take_part(h->base, CURLUPART_HOST, 0, h->host, sizeof(h->host)) ||
		!take_part(h->base, CURLUPART_PORT, CURLU_DEFAULT_PORT, h->port, sizeof(h->port)) ||
		!take_part(h->base, CURLUPART_PATH, 0, path, sizeof(path)))
		return bad_url(e);
	while (path[0] && path[strlen(path) - 1] == '/')
		path[strlen(path) - 1] = '\0';
	h->path = strdup(path);
	snprintf(h->server, sizeof(h->server), "%s://%s:%s", scheme, h->host, h->port);
	return h->path || err_set(e, ERR_ENV, "out of memory");
}

/* ---- headers from a file */

static struct slice trim(struct slice s)
{
	while (s.n && (s.p[s.n - 1] == '\r' || s.p[s.n - 1] == ' ' || s.p[s.n - 1] == '\t'))
		s.n--;
	while (s.n && (s.p[0] == ' ' || s.p[0] == '\t')) {
		s.p++;
		s.n--;
	}
	return s;
}

/* "[db.example:8123]" or "[::1]": is it this server? */
static bool is_section_of(const struct http *h, struct slice line)
{
	char with_port[300];
	struct slice inside = { line.p + 1, line.n - 2 };

	snprintf(with_port, sizeof(with_port), "%s:%s", h->host, h->port);
	return slice_is(inside, h->host) || slice_is(inside, with_port) ||
	       slice_is(line, h->host); /* an IPv6 address has brackets of its own */
}

static bool add_header(struct http *h, struct slice line, struct err *e)
{
	const char *colon = memchr(line.p, ':', line.n);
	char *text = colon && colon > line.p ? strndup(line.p, line.n) : NULL;
	struct curl_slist *grown = text ? curl_slist_append(h->headers, text) : NULL;

	if (text)
		explicit_bzero(text, strlen(text));
	free(text);
	if (grown) {
		h->headers = grown;
		return true;
	}
	err_set(e, ERR_USAGE, "no 'Name: value'");
	return err_hint(e, "one header a line, like 'Authorization: Bearer TOKEN'; "
			   "[HOST] in front of those of one server");
}

static bool read_headers(struct http *h, struct slice text, const char *path, struct err *e)
{
	bool is_ours = true;

	for (unsigned number = 1; text.n; number++) {
		const char *end = memchr(text.p, '\n', text.n);
		size_t n = end ? (size_t)(end - text.p) : text.n;
		struct slice line = trim((struct slice){ text.p, n });

		text.p += end ? n + 1 : n;
		text.n -= end ? n + 1 : n;
		if (!line.n || line.p[0] == '#')
			continue;
		if (line.p[0] == '[' && line.p[line.n - 1] == ']')
			is_ours = is_section_of(h, line);
		else if (is_ours && !add_header(h, line, e))
			return err_in(e, "%s: line %u", path, number);
	}
	return true;
}

static bool load_headers(struct http *h, const char *path, struct err *e)
{
	struct buf text = { 0 };
	bool ok;

	if (!path)
		return true;
	ok = file_read(path, HEADERS_MAX_BYTES, &text, e) &&
	     read_headers(h, buf_slice(&text), path, e);
	if (text.p)
		explicit_bzero(text.p, text.cap);
	buf_free(&text);
	return ok;
}

/* ---- what curl calls */

static size_t take_bytes(char *bytes, size_t size, size_t n, void *data)
{
	struct http *h = data;
	long status = 0;

	n *= size;
	curl_easy_getinfo(h->curl, CURLINFO_RESPONSE_CODE, &status);
	if (status != 200) {
		size_t room = REFUSAL_MAX - h->refusal.n;

		buf_add(&h->refusal, bytes, n < room ? n : room);
		h->got += n;
		return h->got > h->max_bytes ? 0 : n;
	}
	h->got += n;
	if (h->got > h->max_bytes) {
		h->is_past_cap = true;
		return 0;
	}
	if (h->sink->feed(h->sink->data, (struct slice){ bytes, n }, h->e))
		return n;
	h->is_sink_done = true;
	return 0;
}

static int look_at_stop(void *data, curl_off_t a, curl_off_t b, curl_off_t c, curl_off_t d)
{
	const struct http *h = data;

	(void)a;
	(void)b;
	(void)c;
	(void)d;
	return h->run && run_stopped(h->run);
}

static void set_up(struct http *h)
{
	const char *authority = getenv("SSL_CERT_FILE");

	curl_easy_setopt(h->curl, CURLOPT_NOSIGNAL, 1L);
	curl_easy_setopt(h->curl, CURLOPT_PROTOCOLS_STR, "http,https");
	curl_easy_setopt(h->curl, CURLOPT_FOLLOWLOCATION, 0L);
	curl_easy_setopt(h->curl, CURLOPT_ACCEPT_ENCODING, "");
	curl_easy_setopt(h->curl, CURLOPT_USERAGENT, "reprod");
	curl_easy_setopt(h->curl, CURLOPT_HTTPAUTH, (long)CURLAUTH_BASIC);
	curl_easy_setopt(h->curl, CURLOPT_HTTPHEADER, h->headers);
	curl_easy_setopt(h->curl, CURLOPT_CONNECTTIMEOUT_MS, (long)CONNECT_MS);
	curl_easy_setopt(h->curl, CURLOPT_TIMEOUT_MS, (long)(h->timeout_ns / NS_PER_MS));
	curl_easy_setopt(h->curl, CURLOPT_WRITEFUNCTION, take_bytes);
	curl_easy_setopt(h->curl, CURLOPT_WRITEDATA, h);
	curl_easy_setopt(h->curl, CURLOPT_NOPROGRESS, 0L);
	curl_easy_setopt(h->curl, CURLOPT_XFERINFOFUNCTION, look_at_stop);
	curl_easy_setopt(h->curl, CURLOPT_XFERINFODATA, h);
	if (is_loopback(h->host))
		curl_easy_setopt(h->curl, CURLOPT_PROXY, "");
	if (authority && *authority)
		curl_easy_setopt(h->curl, CURLOPT_CAINFO, authority);
}

struct http *http_open(const char *url, const struct http_options *options, struct err *e)
{
	const struct http_options none = { 0 };
	const struct http_options *o = options ? options : &none;
	struct http *h = calloc(1, sizeof(*h));

	if (h) {
		h->max_bytes = o->max_bytes ? o->max_bytes : HTTP_ANSWER_MAX;
		h->timeout_ns = o->timeout_ns ? o->timeout_ns : HTTP_TIMEOUT_NS;
		h->run = o->run;
		h->curl = curl_easy_init();
		h->base = curl_url();
		buf_init(&h->refusal, REFUSAL_MAX + 1);
	}
	if (!h || !h->curl || !h->base)
		err_set(e, ERR_ENV, "out of memory");
	else if (take_address(h, url, e) && load_headers(h, o->header_file, e)) {
		set_up(h);
		return h;
	}
	http_close(h);
	return NULL;
}

void http_close(struct http *h)
{
	if (!h)
		return;
	for (struct curl_slist *l = h->headers; l; l = l->next)
		explicit_bzero(l->data, strlen(l->data));
	curl_slist_free_all(h->headers);
	curl_url_cleanup(h->base);
	curl_easy_cleanup(h->curl);
	buf_free(&h->refusal);
	free(h->path);
	free(h);
}

void http_cleanup(struct http **h)
{
	http_close(*h);
}

const char *http_server(const struct http *h)
{
	return h->server;
}

bool http_was_too_large(const struct http *h)
{
	return h->is_past_cap;
}

struct slice http_refusal(const struct http *h)
{
	return buf_slice(&h->refusal);
}

/* ---- what went wrong */

static bool say_late(const struct http *h, struct err *e)
{
	err_set(e, ERR_ENV, "%s did not answer within %lld s", h->server,
		(long long)(h->timeout_ns / NS_PER_S));
	return err_hint(e, "ask for less: a shorter range, fewer series; or give it more time with "
			   "timeout=");
}

static bool say_broken(const struct http *h, CURLcode code, struct err *e)
{
	if (h->run && run_stopped(h->run))
		return err_set(e, ERR_INTERRUPTED, "interrupted");
	if (h->is_sink_done)
		return false;
	if (h->is_past_cap) {
		err_set(e, ERR_INPUT, "the answer of %s is larger than %zu MiB", h->server,
			h->max_bytes >> 20);
		return err_hint(e, "ask for less: a shorter range, fewer series, a longer step");
	}
	switch (code) {
	case CURLE_OPERATION_TIMEDOUT:
		return say_late(h, e);
	case CURLE_PARTIAL_FILE:
	case CURLE_RECV_ERROR:
	case CURLE_GOT_NOTHING:
		err_set(e, ERR_ENV, "%s broke the connection off: %s", h->server,
			curl_easy_strerror(code));
		return err_hint(e, "its log, or that of a proxy between, may say why");
	case CURLE_PEER_FAILED_VERIFICATION:
	case CURLE_SSL_CACERT_BADFILE:
	case CURLE_SSL_CONNECT_ERROR:
		err_set(e, ERR_ENV, "could not trust %s: %s", h->server, curl_easy_strerror(code));
		return err_hint(e, "SSL_CERT_FILE=FILE names the authority that signed its "
				   "certificate");
	default:
		err_set(e, ERR_ENV, "could not reach %s: %s", h->server, curl_easy_strerror(code));
		return err_hint(
			e, "check that the server runs there and that this host may connect");
	}
}

static bool say_status(const struct http *h, long status, struct err *e)
{
	err_set(e, ERR_ENV, "%s answered with status %ld", h->server, status);
	if (status == 401 || status == 403)
		return err_hint(e,
			"it wants credentials, or others: in the URL (user:password@), in "
			"~/.netrc, or as a line 'Authorization: ...' of --header-file");
	if (status == 404)
		return err_hint(e,
			"nothing is there under %s/: is a path of the address missing, or is "
			"it another kind of server?",
			h->path);
	if (status == 429 || status >= 500)
		return err_hint(e,
			"the server, or a proxy in front of it, is in trouble or has enough: "
			"look into its log, and try again later with a shorter range");
	return err_hint(e, "the server refused the question");
}

/* ---- questions */

/* Same scheme, host and port: then it may be followed. */
static bool is_same_server(const struct http *h, const char *to)
{
	char scheme[16], host[256], port[8], server[300];
	CURLU *u = curl_url();
	bool ok = u && curl_url_set(u, CURLUPART_URL, to, 0) == CURLUE_OK &&
		  take_part(u, CURLUPART_SCHEME, 0, scheme, sizeof(scheme)) &&
		  take_part(u, CURLUPART_HOST, 0, host, sizeof(host)) &&
		  take_part(u, CURLUPART_PORT, CURLU_DEFAULT_PORT, port, sizeof(port));

	if (ok)
		snprintf(server, sizeof(server), "%s://%s:%s", scheme, host, port);
	curl_url_cleanup(u);
	return ok && strcmp(server, h->server) == 0;
}

static bool refuse_redirect(const struct http *h, const char *to, struct err *e)
{
	char host[256] = "another server";
	CURLU *u = curl_url();

	if (u && curl_url_set(u, CURLUPART_URL, to, 0) == CURLUE_OK)
		take_part(u, CURLUPART_HOST, 0, host, sizeof(host));
	curl_url_cleanup(u);
	err_set(e, ERR_ENV, "%s sends us on to %s", h->server, host);
	return err_hint(e,
		"credentials are for one server: give the address it means (a login page "
		"in front? then a token in --header-file)");
}

static bool ask(struct http *h, const char *url, long *ret_status, struct err *e)
{
	h->got = 0;
	h->is_past_cap = h->is_sink_done = false;
	buf_reset(&h->refusal);
	curl_easy_setopt(h->curl, CURLOPT_URL, url);
	CURLcode code = curl_easy_perform(h->curl);
	curl_easy_getinfo(h->curl, CURLINFO_RESPONSE_CODE, ret_status);
	if (code == CURLE_OK || (*ret_status != 200 && code == CURLE_WRITE_ERROR))
		return true;
	*ret_status = 0;
	return say_broken(h, code, e);
}

bool http_get(struct http *h, const char *path, const struct http_sink *sink, long *ret_status,
	struct err *e)
{
	struct buf url = { 0 };
	bool ok = false;

	h->sink = sink;
	h->e = e;
	*ret_status = 0;
	buf_addf(&url, "%s%s%s", h->server, h->path, path);
	for (int i = 0; !url.is_full && i < REDIRECTS_MAX; i++) {
		char *to = NULL;

		if (!ask(h, buf_text(&url), ret_status, e))
			goto out;
		curl_easy_getinfo(h->curl, CURLINFO_REDIRECT_URL, &to);
		if (!to || *ret_status < 300 || *ret_status > 399)
			break;
		if (!is_same_server(h, to)) {
			refuse_redirect(h, to, e);
			goto out;
		}
		buf_reset(&url);
		buf_add_text(&url, to);
	}
	ok = *ret_status == 200 || say_status(h, *ret_status, e);
out:
	buf_free(&url);
	return ok;
}

bool http_keep(void *data, struct slice bytes, struct err *e)
{
	struct buf *into = data;

	buf_add_slice(into, bytes);
	return !into->is_full || err_set(e, ERR_ENV, "out of memory");
}

bool http_get_whole(
	struct http *h, const char *path, struct buf *into, long *ret_status, struct err *e)
{
	const struct http_sink sink = { http_keep, into };

	return http_get(h, path, &sink, ret_status, e);
}

void http_add_encoded(struct buf *to, struct slice text)
{
	static const char plain[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~";

	for (size_t i = 0; i < text.n; i++) {
		if (text.p[i] && strchr(plain, text.p[i]))
			buf_add_byte(to, (unsigned char)text.p[i]);
		else
			buf_addf(to, "%%%02X", (unsigned char)text.p[i]);
	}
}
