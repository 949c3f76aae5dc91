/* Format strings of servers: nginx log_format, Apache LogFormat, Envoy's. */
#include <stdio.h>

#include "core/format/accesslog_private.h"

struct named {
	const char *name;
	struct accesslog_element el;
};

/* ---- nginx: ngx_http_log_module and the variables of the core */

struct accesslog_element accesslog_nginx_variable(struct slice name)
{
	static const struct named variables[] = {
		{ "remote_addr", { FIELD_ADDRESS, 0, 0, { 0 } } },
		{ "remote_port", { FIELD_PORT, 0, 0, { 0 } } },
		{ "remote_user", { FIELD_USER, 0, 0, { 0 } } },
		{ "time_local", { FIELD_TIME, MARK_END, 0, { 0 } } },
		{ "time_iso8601", { FIELD_TIME, MARK_END, 0, { 0 } } },
		{ "msec", { FIELD_TIME, MARK_END, NS_PER_S, { 0 } } },
		{ "request", { FIELD_REQUEST, 0, 0, { 0 } } },
		{ "request_method", { FIELD_METHOD, 0, 0, { 0 } } },
		{ "request_uri", { FIELD_TARGET, 0, 0, { 0 } } },
		{ "uri", { FIELD_PATH, 0, 0, { 0 } } },
		{ "document_uri", { FIELD_PATH, 0, 0, { 0 } } },
		{ "args", { FIELD_QUERY, 0, 0, { 0 } } },
		{ "query_string", { FIELD_QUERY, 0, 0, { 0 } } },
		{ "server_protocol", { FIELD_PROTOCOL, 0, 0, { 0 } } },
		{ "status", { FIELD_STATUS, 0, 0, { 0 } } },
		{ "body_bytes_sent", { FIELD_BYTES_OUT, 0, 0, { 0 } } },
		{ "bytes_sent", { FIELD_BYTES_OUT, 0, 0, { 0 } } },
		{ "request_length", { FIELD_BYTES_IN, 0, 0, { 0 } } },
		{ "host", { FIELD_HOST, 0, 0, { 0 } } },
		{ "http_host", { FIELD_HOST, 0, 0, { 0 } } },
		{ "server_name", { FIELD_SERVER_NAME, 0, 0, { 0 } } },
		{ "http_user_agent", { FIELD_AGENT, 0, 0, { 0 } } },
		{ "request_time", { FIELD_DURATION, NEEDS_POINT, NS_PER_S, { 0 } } },
		{ "connection", { FIELD_CONNECTION, 0, 0, { 0 } } },
		{ "connection_requests", { FIELD_CONNECTION_REQUESTS, 0, 0, { 0 } } },
	};

	for (size_t i = 0; i < LENGTH(variables); i++)
		if (slice_is(name, variables[i].name))
			return variables[i].el;
	bool is_list = name.n > 9 && memcmp(name.p, "upstream_", 9) == 0;
	return (struct accesslog_element){ .field = is_list ? FIELD_UPSTREAM : FIELD_IGNORED };
}

static bool is_name_byte(char c)
{
	return ((c | 32) >= 'a' && (c | 32) <= 'z') || (c >= '0' && c <= '9') || c == '_';
}

/* The variable at p ("$name", "${name}"); NULL when there is none. */
static const char *nginx_field(const char *p, struct accesslog_element *ret)
{
	if (*p != '$')
		return NULL;
	bool is_braced = p[1] == '{';
	const char *name = p + 1 + is_braced, *end = name;

	while (is_name_byte(*end))
		end++;
	if (end == name || (is_braced && *end != '}'))
		return NULL;
	*ret = accesslog_nginx_variable((struct slice){ name, (size_t)(end - name) });
	return end + is_braced;
}

/* ---- Apache: mod_log_config, "Custom Log Formats" */

static struct accesslog_element apache_header(struct slice name)
{
	struct accesslog_element el = { 0 };

	if (name.n == 10 && strncasecmp(name.p, "User-Agent", 10) == 0)
		el.field = FIELD_AGENT;
	else if (name.n == 4 && strncasecmp(name.p, "Host", 4) == 0)
		el.field = FIELD_HOST;
	return el;
}

/* "%{begin:msec}t": the stamps that are numbers. */
static struct accesslog_element apache_time(struct slice spec)
{
	struct accesslog_element el = { FIELD_TIME, MARK_START, NS_PER_S, { 0 } };

	if (spec.n > 4 && memcmp(spec.p, "end:", 4) == 0) {
		el.mark = MARK_END;
		spec = (struct slice){ spec.p + 4, spec.n - 4 };
	} else if (spec.n > 6 && memcmp(spec.p, "begin:", 6) == 0) {
		spec = (struct slice){ spec.p + 6, spec.n - 6 };
	}
	if (slice_is(spec, "msec"))
		el.unit_ns = NS_PER_MS;
	else if (slice_is(spec, "usec"))
		el.unit_ns = NS_PER_US;
	else if (slice_is(spec, "msec_frac") || slice_is(spec, "usec_frac"))
		el.field = FIELD_IGNORED;
	return el;
}

static struct accesslog_element apache_letter(char letter, struct slice arg)
{
	switch (letter) {
	case 'h':
	case 'a':
		return (struct accesslog_element){ .field = FIELD_ADDRESS };
	case 'u':
		return (struct accesslog_element){ .field = FIELD_USER };
	case 't':
		return apache_time(arg);
	case 'r':
		return (struct accesslog_element){ .field = FIELD_REQUEST };
	case 's':
		return (struct accesslog_element){ .field = FIELD_STATUS };
	case 'b':
	case 'B':
	case 'O':
		return (struct accesslog_element){ .field = FIELD_BYTES_OUT };
	case 'I':
		return (struct accesslog_element){ .field = FIELD_BYTES_IN };
	case 'D':
		return (struct accesslog_element){ .field = FIELD_DURATION, .unit_ns = NS_PER_US };
	case 'T':
		return (struct accesslog_element){ .field = FIELD_DURATION,
			.unit_ns = slice_is(arg, "ms")   ? NS_PER_MS
				   : slice_is(arg, "us") ? NS_PER_US
							 : NS_PER_S };
	case 'm':
		return (struct accesslog_element){ .field = FIELD_METHOD };
	case 'U':
		return (struct accesslog_element){ .field = FIELD_PATH };
	case 'q':
		return (struct accesslog_element){ .field = FIELD_QUERY };
	case 'H':
		return (struct accesslog_element){ .field = FIELD_PROTOCOL };
	case 'v':
	case 'V':
		return (struct accesslog_element){ .field = FIELD_SERVER_NAME };
	case 'k':
		return (struct accesslog_element){ .field = FIELD_IGNORED };
	case 'p':
		return (struct accesslog_element){
			.field = slice_is(arg, "remote") ? FIELD_PORT : FIELD_IGNORED
		};
	case 'i':
		return apache_header(arg);
	default:
		return (struct accesslog_element){ .field = FIELD_IGNORED };
	}
}

/* "%>s", "%400,501{Referer}i", "%^FB". */
static const char *apache_field(const char *p, struct accesslog_element *ret)
{
	struct slice arg = { 0 };

	if (*p != '%' || p[1] == '%')
		return NULL;
	p++;
	p += strspn(p, "!0123456789,<>");
	if (*p == '{') {
		const char *end = strchr(p, '}');

		if (!end)
			return NULL;
		arg = (struct slice){ p + 1, (size_t)(end - p - 1) };
		p = end + 1;
	}
	if (*p == '^')
		return p[1] && p[2] ? p + 3 : NULL;
	if (!((*p | 32) >= 'a' && (*p | 32) <= 'z'))
		return NULL;
	*ret = apache_letter(*p, arg);
	return p + 1;
}

/* ---- Envoy: "Access logging", command operators */

static const char *envoy_field(const char *p, struct accesslog_element *ret)
{
	static const struct named commands[] = {
		{ "START_TIME", { FIELD_TIME, MARK_START, 0, { 0 } } },
		{ "DURATION", { FIELD_DURATION, 0, NS_PER_MS, { 0 } } },
		{ "REQ(:METHOD)", { FIELD_METHOD, 0, 0, { 0 } } },
		{ "REQ(:PATH)", { FIELD_TARGET, 0, 0, { 0 } } },
		{ "REQ(X-ENVOY-ORIGINAL-PATH?:PATH)", { FIELD_TARGET, 0, 0, { 0 } } },
		{ "REQ(:AUTHORITY)", { FIELD_HOST, 0, 0, { 0 } } },
		{ "REQ(USER-AGENT)", { FIELD_AGENT, 0, 0, { 0 } } },
		{ "PROTOCOL", { FIELD_PROTOCOL, 0, 0, { 0 } } },
		{ "RESPONSE_CODE", { FIELD_STATUS, 0, 0, { 0 } } },
		{ "BYTES_RECEIVED", { FIELD_BYTES_IN, 0, 0, { 0 } } },
		{ "BYTES_SENT", { FIELD_BYTES_OUT, 0, 0, { 0 } } },
		{ "DOWNSTREAM_REMOTE_ADDRESS", { FIELD_ADDRESS, 0, 0, { 0 } } },
		{ "DOWNSTREAM_REMOTE_ADDRESS_WITHOUT_PORT", { FIELD_ADDRESS, 0, 0, { 0 } } },
		{ "CONNECTION_ID", { FIELD_CONNECTION, 0, 0, { 0 } } },
	};
	const char *end = *p == '%' ? strchr(p + 1, '%') : NULL;

	/* "%START_TIME(%Y-%m-%dT...)%" holds percent signs itself. */
	if (end && strncmp(p, "%START_TIME(", 12) == 0) {
		end = strchr(p, ')');
		end = end && end[1] == '%' ? end + 1 : NULL;
	}
	if (!end)
		return NULL;
	struct slice name = { p + 1, (size_t)(end - p - 1) };
	*ret = (struct accesslog_element){ 0 };
	if (name.n > 11 && memcmp(name.p, "START_TIME(", 11) == 0)
		name.n = 10;
	for (size_t i = 0; i < LENGTH(commands); i++)
		if (slice_is(name, commands[i].name))
			*ret = commands[i].el;
	return end + 1;
}

/* ---- the string as a whole */

typedef const char *take_field(const char *p, struct accesslog_element *ret);

/* Which server's it is: a dollar, or a percent sign that closes in capitals. */
static take_field *dialect_of(const char *spec)
{
	const char *percent = strchr(spec, '%');

	for (const char *p = strchr(spec, '$'); p; p = strchr(p + 1, '$'))
		if (is_name_byte(p[1]) || p[1] == '{')
			return nginx_field;
	if (!percent)
		return NULL;
	const char *p = percent + 1;
	while ((*p >= 'A' && *p <= 'Z') || *p == '_')
		p++;
	return p - percent > 2 && (*p == '%' || *p == '(') ? envoy_field : apache_field;
}

/* One byte of literal text; Apache's own escapes are those of its configuration. */
static const char *take_literal(take_field *take, const char *p, struct buf *to)
{
	if (take != nginx_field && p[0] == '%' && p[1] == '%')
		p++;
	else if (p[0] == '\\' && p[1] && strchr("\"'\\tn$", p[1])) {
		p++;
		buf_add_byte(to, *p == 't' ? '\t' : *p == 'n' ? '\n' : (unsigned char)*p);
		return p + 1;
	}
	buf_add_byte(to, (unsigned char)*p);
	return p + 1;
}

static bool add_field(struct accesslog *a, struct accesslog_element el, struct buf *literal,
	const char *at, struct err *e)
{
	if (literal->n == 0 && *at) {
		err_set(e, ERR_USAGE, "two fields touch in the log format before '%.40s'", at);
		return err_hint(e, "where one ends cannot be told: have a blank between them");
	}
	if (!accesslog_add(a, el, buf_slice(literal)))
		return err_set(e, ERR_USAGE, "the log format has more than %d fields",
			ACCESSLOG_ELEMENTS_MAX);
	return true;
}

static bool compile(struct accesslog *a, take_field *take, const char *p, struct err *e)
{
	CLEANUP(buf_free) struct buf literal = { 0 };
	struct accesslog_element el, next = { 0 };
	bool has_field = false;

	for (;;) {
		const char *end = *p ? take(p, &next) : NULL;

		if (*p && !end) {
			p = take_literal(take, p, &literal);
			continue;
		}
		bool is_bracketed =
			end && take == apache_field && next.field == FIELD_TIME && end[-2] != '}';
		if (is_bracketed)
			buf_add_byte(&literal, '[');
		while (!*p && literal.n && literal.p[literal.n - 1] == '\n')
			literal.n--;
		if (!has_field) {
			buf_add_slice(&a->literals, buf_slice(&literal));
			a->before = (struct slice){ a->literals.p, literal.n };
		} else if (!add_field(a, el, &literal, p, e)) {
			return false;
		}
		if (!*p)
			return true;
		buf_reset(&literal);
		/* Apache's plain %t writes its own brackets, and a blank within. */
		if (is_bracketed)
			buf_add_byte(&literal, ']');
		el = next;
		next = (struct accesslog_element){ 0 };
		has_field = true;
		p = end;
	}
}

/* A whole directive as it stands in nginx.conf: the quoted pieces make one string. */
static void join_directive(const char *p, struct buf *to)
{
	while (*p) {
		char quote = *p++;

		if (quote != '\'' && quote != '"')
			continue;
		while (*p && *p != quote) {
			if (*p == '\\' && p[1] == quote)
				p++;
			buf_add_byte(to, (unsigned char)*p++);
		}
		p += *p != '\0';
	}
}

static bool take_word(const char **p, const char *word)
{
	size_t n = strlen(word);

	if (strncmp(*p, word, n) != 0)
		return false;
	*p += n;
	*p += strspn(*p, " \t\n");
	return true;
}

/* What nginx's directive says before its string. */
static const char *take_head(struct accesslog *a, const char *p, struct buf *joined)
{
	p += strspn(p, " \t\n");
	bool is_directive = take_word(&p, "log_format ") || take_word(&p, "LogFormat ");
	const char *escape = strstr(p, "escape=");

	if (escape && (escape == p || (is_directive && strcspn(p, "'\"") > (size_t)(escape - p)))) {
		a->escape =
			strncmp(escape, "escape=none", 11) == 0 ? ESCAPE_NONE : ESCAPE_BACKSLASH;
		if (escape == p)
			p += strcspn(p, " '\"");
		p += is_directive ? 0 : strspn(p, " \t");
	}
	if (!is_directive)
		return p;
	join_directive(p, joined);
	return buf_text(joined);
}

static bool tells(const struct accesslog *a, uint8_t first, uint8_t other)
{
	for (size_t i = 0; i < a->count; i++)
		if (a->elements[i].field == first || a->elements[i].field == other)
			return true;
	return false;
}

static bool check_needed(const struct accesslog *a, struct err *e)
{
	const char *missing = NULL;
	bool has_parts = tells(a, FIELD_METHOD, FIELD_METHOD) && tells(a, FIELD_TARGET, FIELD_PATH);

	if (!tells(a, FIELD_TIME, FIELD_TIME))
		missing = "no time ($time_local, $msec, %t, %START_TIME%, time=)";
	else if (!tells(a, FIELD_REQUEST, FIELD_REQUEST) && !has_parts)
		missing = "no request ($request, %r, %REQ(:METHOD)% and %REQ(:PATH)%, request=)";
	return !missing || err_set(e, ERR_USAGE, "the log format has %s", missing);
}

/* '{"t":"$msec","r":"$request"}': its lines are JSON, whatever their escape. */
static bool compile_json_string(struct accesslog *a, take_field *take, const char *p, struct err *e)
{
	CLEANUP(buf_free) struct buf path = { 0 };
	struct accesslog_element el;
	const char *key = NULL, *key_end = NULL;

	a->is_json = true;
	while (*p) {
		const char *end = take(p, &el);

		if (end && key) {
			buf_reset(&path);
			buf_add_byte(&path, '.');
			buf_add(&path, key, (size_t)(key_end - key));
			if (!accesslog_add(a, el, buf_slice(&path)))
				return err_set(e, ERR_USAGE, "the log format has too many fields");
			key = NULL;
			p = end;
		} else if (*p == '"' && (end = strchr(p + 1, '"')) &&
			   end[strspn(end + 1, " ") + 1] == ':') {
			key = p + 1;
			key_end = end;
			p = end + 1;
		} else {
			p = end && *p != '"' ? end : p + 1;
		}
	}
	return true;
}

bool accesslog_compile(struct accesslog *a, const char *spec, struct err *e)
{
	CLEANUP(buf_free) struct buf joined = { 0 };
	const char *text = take_head(a, spec, &joined);
	take_field *take = dialect_of(text);

	if (!take) {
		err_set(e, ERR_USAGE, "'%.60s' is no log format", spec);
		return err_hint(e, "give the string of nginx's log_format ('$remote_addr ...'), of "
				   "Apache's LogFormat ('%%h %%l ...') or of Envoy's");
	}
	bool is_json = text[strspn(text, " \t\n")] == '{';
	if (!(is_json ? compile_json_string(a, take, text, e) : compile(a, take, text, e)))
		return false;
	return check_needed(a, e);
}
