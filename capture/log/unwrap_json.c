#include "capture/log/unwrap_private.h"
#include "core/base/clock.h"

static bool holds(struct slice s, const char *text)
{
	return s.n && memmem(s.p, s.n, text, strlen(text));
}

static bool is_name(const struct jsonline_member *m, const char *name)
{
	return slice_is(m->name, name);
}

static bool parse_number(struct slice s, int64_t *ret)
{
	*ret = 0;
	for (size_t i = 0; i < s.n; i++) {
		if (s.p[i] < '0' || s.p[i] > '9' || *ret > INT64_MAX / 10 - 1)
			return false;
		*ret = 10 * *ret + (s.p[i] - '0');
	}
	return s.n > 0;
}

/* Microseconds, as journald has them; a number so large that it overflows is none. */
static bool parse_us(struct slice s, int64_t *ret_ns)
{
	int64_t us;

	if (!parse_number(s, &us) || us > INT64_MAX / 1000)
		return false;
	*ret_ns = us * NS_PER_US;
	return true;
}

/* RFC 3339; or milliseconds since 1970 (CloudWatch). */
static bool parse_any(struct slice s, int64_t *ret_ns)
{
	int64_t ms;

	if (s.n > 10 && s.p[4] == '-')
		return clock_parse(s, ret_ns);
	if (s.n < 12 || !parse_number(s, &ms) || ms > INT64_MAX / NS_PER_MS)
		return false;
	*ret_ns = ms * NS_PER_MS;
	return true;
}

/* "[76,79,71]": journald gives bytes that are not UTF-8 so. */
static bool numbers_to_bytes(struct unwrap_json *j, struct slice array, struct slice *ret)
{
	unsigned v = 0;
	bool has_digit = false;

	buf_reset(&j->bytes);
	for (size_t i = 1; i < array.n; i++) {
		char c = array.p[i];

		if (c >= '0' && c <= '9') {
			v = 10 * v + (unsigned)(c - '0');
			has_digit = true;
			if (v > 255)
				return false;
		} else if (c == ',' || c == ']') {
			if (has_digit)
				buf_add_byte(&j->bytes, (unsigned char)v);
			v = 0;
			has_digit = false;
		} else if (c != ' ') {
			return false;
		}
	}
	*ret = buf_slice(&j->bytes);
	return !j->bytes.is_full;
}

bool unwrap_journal(
	struct unwrap_json *j, struct slice line, struct unwrapped *ret, const char **ret_why)
{
	struct jsonline_member m;
	enum step step = STEP_FAIL;
	bool is_postgres = false, is_named = false;

	*ret = (struct unwrapped){ 0 };
	if (jsonline_open(&j->json, line))
		while ((step = jsonline_next(&j->json, &m)) == STEP_ITEM) {
			if (is_name(&m, "MESSAGE") && m.kind == JSONLINE_ARRAY) {
				if (!numbers_to_bytes(j, m.value, &ret->text))
					break;
			} else if (is_name(&m, "MESSAGE"))
				ret->text = m.value;
			else if (is_name(&m, "_PID") || is_name(&m, "SYSLOG_PID"))
				ret->pid = m.value;
			else if (is_name(&m, "__REALTIME_TIMESTAMP"))
				ret->has_utc = parse_us(m.value, &ret->utc_ns);
			else if (is_name(&m, "_COMM") || is_name(&m, "SYSLOG_IDENTIFIER") ||
				 is_name(&m, "_SYSTEMD_UNIT")) {
				is_named = true;
				is_postgres |=
					holds(m.value, "postgres") || holds(m.value, "postmaster");
			}
		}
	*ret_why = step != STEP_END ? "not a whole JSON line" : "not of Postgres";
	return step == STEP_END && (is_postgres || !is_named) && ret->text.n;
}

static bool is_message(const struct jsonline_member *m)
{
	if (m->kind != JSONLINE_STRING)
		return false;
	if (m->depth == 1)
		return is_name(m, "textPayload") || is_name(m, "message") ||
		       is_name(m, "@message") || is_name(m, "log");
	return m->depth == 2 && is_name(m, "message") && slice_is(m->parent, "jsonPayload");
}

bool unwrap_cloud(
	struct unwrap_json *j, struct slice line, struct unwrapped *ret, const char **ret_why)
{
	struct jsonline_member m;
	enum step step = STEP_FAIL;

	*ret = (struct unwrapped){ 0 };
	if (jsonline_open(&j->json, line))
		while ((step = jsonline_next(&j->json, &m)) == STEP_ITEM) {
			if (is_message(&m))
				ret->text = m.value;
			else if (m.depth == 1 &&
				 (is_name(&m, "timestamp") || is_name(&m, "@timestamp")))
				ret->has_utc = parse_any(m.value, &ret->utc_ns);
		}
	*ret_why = step != STEP_END ? "not a whole JSON line" : "without a message";
	while (ret->text.n && ret->text.p[ret->text.n - 1] == '\n')
		ret->text.n--;
	return step == STEP_END && ret->text.n;
}

bool unwrap_docker(struct unwrap_json *j, struct slice line, struct unwrapped *ret,
	bool *ret_is_error, const char **ret_why)
{
	struct jsonline_member m;
	enum step step = STEP_FAIL;

	*ret = (struct unwrapped){ 0 };
	*ret_is_error = false;
	if (jsonline_open(&j->json, line))
		while ((step = jsonline_next(&j->json, &m)) == STEP_ITEM) {
			if (m.depth != 1)
				continue;
			if (is_name(&m, "log"))
				ret->text = m.value;
			else if (is_name(&m, "time"))
				ret->has_utc = clock_parse(m.value, &ret->utc_ns);
			else if (is_name(&m, "stream"))
				*ret_is_error = slice_is(m.value, "stderr");
		}
	*ret_why = step != STEP_END ? "not a whole JSON line" : "without a message";
	return step == STEP_END && ret->text.n;
}
