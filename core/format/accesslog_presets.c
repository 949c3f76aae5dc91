/* The formats that servers write when nobody changes them, and telling them apart. */
#include <stdio.h>

#include "core/format/accesslog_private.h"

struct preset {
	const char *name;
	const char *spec; /* a format string, or NULL */
	const char *fields; /* JSON paths, or NULL */
	bool has_rest; /* newer versions add columns */
};

#define NGINX_COMBINED                                                                             \
	"$remote_addr - $remote_user [$time_local] \"$request\" $status $body_bytes_sent "         \
	"\"$http_referer\" \"$http_user_agent\""

/* Tried in this order: what says more comes first. */
static const struct preset presets[] = {
	/* Kubernetes' ingress-nginx, its default log-format-upstream */
	{ .name = "ingress-nginx",
		.spec = NGINX_COMBINED
		" $request_length $request_time [$proxy_upstream_name] [$proxy_alternative] "
		"$upstream_addr $upstream_response_length $upstream_response_time "
		"$upstream_status $req_id" },
	/* Traefik's CLF: its own tail is number, router, server, milliseconds */
	{ .name = "traefik",
		.spec = "%h - %u %t \"%r\" %s %O \"%{Referer}i\" \"%{User-Agent}i\" %k \"%f\" "
			"\"%f\" %{ms}T",
		.has_rest = true },
	{ .name = "nginx-main-time",
		.spec = NGINX_COMBINED " \"$http_x_forwarded_for\" $request_time" },
	{ .name = "nginx-main", .spec = NGINX_COMBINED " \"$http_x_forwarded_for\"" },
	{ .name = "combined-time", .spec = NGINX_COMBINED " $request_time" },
	{ .name = "combined-rt", .spec = NGINX_COMBINED " rt=$request_time", .has_rest = true },
	/* Debian's vhost_combined */
	{ .name = "vhost-combined",
		.spec = "%v:%p %h %l %u %t \"%r\" %>s %O \"%{Referer}i\" \"%{User-Agent}i\"" },
	{ .name = "combined",
		.spec = "%h %l %u %t \"%r\" %>s %b \"%{Referer}i\" \"%{User-Agent}i\"" },
	{ .name = "common", .spec = "%h %l %u %t \"%r\" %>s %b" },
	/* Istio's text, then Envoy's own default */
	{ .name = "istio",
		.spec = "[%START_TIME%] \"%REQ(:METHOD)% %REQ(X-ENVOY-ORIGINAL-PATH?:PATH)% "
			"%PROTOCOL%\" %RESPONSE_CODE% %RESPONSE_FLAGS% %RESPONSE_CODE_DETAILS% "
			"%CONNECTION_TERMINATION_DETAILS% "
			"\"%UPSTREAM_TRANSPORT_FAILURE_REASON%\" %BYTES_RECEIVED% %BYTES_SENT% "
			"%DURATION% %UPSTREAM_SERVICE_TIME% \"%FORWARDED_FOR%\" "
			"\"%REQ(USER-AGENT)%\" \"%REQUEST_ID%\" \"%REQ(:AUTHORITY)%\" "
			"\"%UPSTREAM_HOST%\" %UPSTREAM_CLUSTER% %UPSTREAM_LOCAL_ADDRESS% "
			"%DOWNSTREAM_LOCAL_ADDRESS% %DOWNSTREAM_REMOTE_ADDRESS% "
			"%REQUESTED_SERVER_NAME% %ROUTE_NAME%" },
	{ .name = "envoy",
		.spec = "[%START_TIME%] \"%REQ(:METHOD)% %REQ(X-ENVOY-ORIGINAL-PATH?:PATH)% "
			"%PROTOCOL%\" %RESPONSE_CODE% %RESPONSE_FLAGS% %BYTES_RECEIVED% "
			"%BYTES_SENT% %DURATION% %UPSTREAM_SERVICE_TIME% \"%FORWARDED_FOR%\" "
			"\"%REQ(USER-AGENT)%\" \"%REQUEST_ID%\" \"%REQ(:AUTHORITY)%\" "
			"\"%UPSTREAM_HOST%\"",
		.has_rest = true },
	/* AWS, "Access logs for your Application Load Balancer" */
	{ .name = "alb" },
	{ .name = "elb" },
	/* HAProxy's option httplog, with up to two blocks of captured headers */
	{ .name = "haproxy-captures-2" },
	{ .name = "haproxy-captures" },
	{ .name = "haproxy" },
	{ .name = "caddy",
		.fields = "end=.ts,method=.request.method,target=.request.uri,"
			  "protocol=.request.proto,host=.request.host,status=.status,"
			  "bytes_in=.bytes_read,bytes_out=.size,address=.request.remote_ip,"
			  "address=.request.remote_addr,port=.request.remote_port,user=.user_id,"
			  "agent=.request.headers.User-Agent,duration=.duration" },
	{ .name = "traefik-json",
		.fields = "start=.StartUTC,method=.RequestMethod,target=.RequestPath,"
			  "protocol=.RequestProtocol,host=.RequestHost,status=.DownstreamStatus,"
			  "bytes_in=.RequestContentSize,bytes_out=.DownstreamContentSize,"
			  "address=.ClientHost,port=.ClientPort,user=.ClientUsername,"
			  "agent=.request_User-Agent,duration_ns=.Duration" },
	{ .name = "envoy-json",
		.fields = "start=.start_time,method=.method,target=.path,protocol=.protocol,"
			  "host=.authority,status=.response_code,bytes_in=.bytes_received,"
			  "bytes_out=.bytes_sent,address=.downstream_remote_address,"
			  "agent=.user_agent,connection=.connection_id,duration_ms=.duration" },
	/* JSON whose keys are nginx's variables, as most write it */
	{ .name = "nginx-json",
		.fields = "end=.time_local,end=.time_iso8601,end=.msec,end=.time,"
			  "end=.timestamp,end=.@timestamp,request=.request,"
			  "method=.request_method,method=.method,target=.request_uri,"
			  "path=.uri,query=.args,protocol=.server_protocol,status=.status,"
			  "bytes_in=.request_length,bytes_out=.body_bytes_sent,"
			  "bytes_out=.bytes_sent,host=.http_host,host=.host,"
			  "address=.remote_addr,port=.remote_port,user=.remote_user,"
			  "agent=.http_user_agent,connection=.connection,"
			  "connection_requests=.connection_requests,duration=.request_time" },
	/* Google Cloud's load balancer, exported from its logging */
	{ .name = "gclb",
		.fields = "start=.timestamp,method=.httpRequest.requestMethod,"
			  "target=.httpRequest.requestUrl,protocol=.httpRequest.protocol,"
			  "status=.httpRequest.status,bytes_in=.httpRequest.requestSize,"
			  "bytes_out=.httpRequest.responseSize,address=.httpRequest.remoteIp,"
			  "agent=.httpRequest.userAgent,duration=.httpRequest.latency" },
};

/* ---- formats that no format string of a server tells */

struct column {
	uint8_t field, mark;
	int64_t unit_ns;
	const char *after;
};

static bool add_columns(
	struct accesslog *a, const char *before, const struct column *c, size_t count)
{
	buf_add_text(&a->literals, before);
	a->before = buf_slice(&a->literals);
	for (size_t i = 0; i < count; i++) {
		struct accesslog_element el = { c[i].field, c[i].mark, c[i].unit_ns, { 0 } };

		if (!accesslog_add(a, el, slice_of(c[i].after)))
			return false;
	}
	return true;
}

/* The balancer's stamp is when it answered; it took the request at request_creation_time,
 * which the second "time" is. */
static bool load_alb(struct accesslog *a)
{
	static const struct column columns[] = {
		{ FIELD_IGNORED, 0, 0, " " }, /* type */
		{ FIELD_TIME, MARK_END, 0, " " },
		{ FIELD_IGNORED, 0, 0, " " }, /* balancer */
		{ FIELD_ADDRESS, 0, 0, " " },
		{ FIELD_IGNORED, 0, 0, " " }, /* target */
		{ FIELD_DURATION_PART, 0, NS_PER_S, " " },
		{ FIELD_DURATION_PART, 0, NS_PER_S, " " },
		{ FIELD_DURATION_PART, 0, NS_PER_S, " " },
		{ FIELD_STATUS, 0, 0, " " },
		{ FIELD_IGNORED, 0, 0, " " }, /* target's status */
		{ FIELD_BYTES_IN, 0, 0, " " },
		{ FIELD_BYTES_OUT, 0, 0, " \"" },
		{ FIELD_REQUEST, 0, 0, "\" \"" },
		{ FIELD_AGENT, 0, 0, "\" " },
		{ FIELD_IGNORED, 0, 0, " " }, /* cipher */
		{ FIELD_IGNORED, 0, 0, " " }, /* TLS version */
		{ FIELD_IGNORED, 0, 0, " \"" }, /* target group */
		{ FIELD_IGNORED, 0, 0, "\" \"" }, /* trace id */
		{ FIELD_IGNORED, 0, 0, "\" \"" }, /* domain */
		{ FIELD_IGNORED, 0, 0, "\" " }, /* certificate */
		{ FIELD_IGNORED, 0, 0, " " }, /* priority */
		{ FIELD_TIME, MARK_START, 0, " " },
	};

	a->has_rest = true;
	return add_columns(a, "", columns, LENGTH(columns));
}

/* The classic balancer stamps when it took the request. */
static bool load_elb(struct accesslog *a)
{
	static const struct column columns[] = {
		{ FIELD_TIME, MARK_START, 0, " " },
		{ FIELD_IGNORED, 0, 0, " " },
		{ FIELD_ADDRESS, 0, 0, " " },
		{ FIELD_IGNORED, 0, 0, " " },
		{ FIELD_DURATION_PART, 0, NS_PER_S, " " },
		{ FIELD_DURATION_PART, 0, NS_PER_S, " " },
		{ FIELD_DURATION_PART, 0, NS_PER_S, " " },
		{ FIELD_STATUS, 0, 0, " " },
		{ FIELD_IGNORED, 0, 0, " " },
		{ FIELD_BYTES_IN, 0, 0, " " },
		{ FIELD_BYTES_OUT, 0, 0, " \"" },
		{ FIELD_REQUEST, 0, 0, "\" \"" },
		{ FIELD_AGENT, 0, 0, "\" " },
	};

	a->has_rest = true;
	return add_columns(a, "", columns, LENGTH(columns));
}

/* HAProxy's manual, 8.2.3: TR/Tw/Tc/Tr/Ta; the stamp is that of the request's start. */
static bool load_haproxy(struct accesslog *a, size_t captures)
{
	static const struct column columns[] = {
		{ FIELD_ADDRESS, 0, 0, " [" }, { FIELD_TIME, MARK_START, 0, "] " },
		{ FIELD_IGNORED, 0, 0, " " }, /* frontend */
		{ FIELD_IGNORED, 0, 0, " " }, /* backend/server */
		{ FIELD_IGNORED, 0, 0, "/" }, { FIELD_IGNORED, 0, 0, "/" },
		{ FIELD_IGNORED, 0, 0, "/" }, { FIELD_IGNORED, 0, 0, "/" },
		{ FIELD_DURATION, 0, NS_PER_MS, " " }, { FIELD_STATUS, 0, 0, " " },
		{ FIELD_BYTES_OUT, 0, 0, " " }, { FIELD_IGNORED, 0, 0, " " }, /* cookies */
		{ FIELD_IGNORED, 0, 0, " " }, { FIELD_IGNORED, 0, 0, " " }, /* termination state */
		{ FIELD_IGNORED, 0, 0, " " }, /* connections */
		{ FIELD_IGNORED, 0, 0, NULL }, /* queues */
	};
	static const char *const tails[] = { " \"", " {", " {" };
	static const struct column block = { FIELD_IGNORED, 0, 0, "} {" };
	static const struct column last = { FIELD_IGNORED, 0, 0, "} \"" };
	static const struct column request = { FIELD_REQUEST, 0, 0, "\"" };

	a->is_loose = true;
	if (!add_columns(a, "]: ", columns, LENGTH(columns) - 1) ||
		!accesslog_add(a, (struct accesslog_element){ 0 }, slice_of(tails[captures])))
		return false;
	if (captures == 2 &&
		!accesslog_add(a, (struct accesslog_element){ 0 }, slice_of(block.after)))
		return false;
	if (captures && !accesslog_add(a, (struct accesslog_element){ 0 }, slice_of(last.after)))
		return false;
	return accesslog_add(
		a, (struct accesslog_element){ .field = FIELD_REQUEST }, slice_of(request.after));
}

static bool load_columns(struct accesslog *a, const char *name)
{
	return strcmp(name, "alb") == 0                ? load_alb(a)
	       : strcmp(name, "elb") == 0              ? load_elb(a)
	       : strcmp(name, "haproxy") == 0          ? load_haproxy(a, 0)
	       : strcmp(name, "haproxy-captures") == 0 ? load_haproxy(a, 1)
						       : load_haproxy(a, 2);
}

/* ---- by name */

static const struct preset *find(struct slice name)
{
	for (size_t i = 0; i < LENGTH(presets); i++)
		if (slice_is(name, presets[i].name))
			return &presets[i];
	return NULL;
}

bool accesslog_is_preset(struct slice name)
{
	return find(name) != NULL;
}

void accesslog_preset_names(struct buf *to)
{
	for (size_t i = 0; i < LENGTH(presets); i++)
		buf_addf(to, "%s%s", i ? ", " : "", presets[i].name);
}

bool accesslog_load_preset(struct accesslog *a, const char *name, struct err *e)
{
	const struct preset *p = find(slice_of(name));
	bool ok;

	if (!p)
		return err_set(e, ERR_USAGE, "there is no access log format '%s'", name);
	ok = p->spec     ? accesslog_compile(a, p->spec, e)
	     : p->fields ? accesslog_compile_fields(a, p->fields, e)
			 : load_columns(a, name);
	a->has_rest |= p->has_rest;
	return ok || err_set(e, ERR_USAGE, "the format '%s' has too many fields", name);
}

/* ---- by its lines */

enum { LINES_TRIED = 32 };

static bool next_line(struct slice *rest, struct slice *ret)
{
	const char *end = rest->n ? memchr(rest->p, '\n', rest->n) : NULL;

	if (!end)
		return false;
	*ret = (struct slice){ rest->p, (size_t)(end - rest->p) };
	*rest = (struct slice){ end + 1, rest->n - ret->n - 1 };
	return true;
}

static void count_lines(
	struct accesslog *a, struct slice first, size_t *ret_lines, size_t *ret_read)
{
	struct slice rest = first, line;
	struct accesslog_line ignored;
	const char *why;

	*ret_lines = *ret_read = 0;
	/* A file without a newline is one line. */
	if (!memchr(first.p, '\n', first.n)) {
		*ret_lines = 1;
		*ret_read = accesslog_read(a, first, &ignored, &why) == STEP_ITEM;
		return;
	}
	while (*ret_lines < LINES_TRIED && next_line(&rest, &line)) {
		enum step step = accesslog_read(a, line, &ignored, &why);

		*ret_lines += step != STEP_END;
		*ret_read += step == STEP_ITEM;
	}
}

const char *accesslog_detect(struct slice first)
{
	const char *best = NULL;
	size_t best_read = 0;

	if (!first.n)
		return NULL;
	for (size_t i = 0; i < LENGTH(presets); i++) {
		struct accesslog_options o = { .preset = presets[i].name };
		struct err ignored;
		struct accesslog *a = accesslog_new(&o, &ignored);
		size_t lines, read;

		if (!a)
			continue;
		count_lines(a, first, &lines, &read);
		accesslog_free(a);
		if (read > best_read && 2 * read >= lines) {
			best = presets[i].name;
			best_read = read;
		}
	}
	return best;
}
