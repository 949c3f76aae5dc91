#include "capture/log/unwrap.h"

#include <stdlib.h>

#include "capture/log/unwrap_private.h"

enum { LINE_MAX_BYTES = 64 << 20 };

struct unwrap {
	enum unwrap_kind frame, shell;
	struct buf partial[2]; /* CRI and docker, of stdout and stderr */
	bool was_whole[2]; /* the buffer was given, and begins anew */
	struct unwrap_json outer, inner;
	struct unwrap_parts *parts;
};

static const char *const names[] = {
	[UNWRAP_NONE] = "",
	[UNWRAP_CRI] = "Kubernetes container log",
	[UNWRAP_DOCKER] = "docker container log",
	[UNWRAP_CLOUDWATCH] = "CloudWatch export",
	[UNWRAP_SYSLOG] = "syslog",
	[UNWRAP_LOGPLEX] = "Heroku logplex",
	[UNWRAP_JOURNAL] = "journald JSON",
	[UNWRAP_CLOUD] = "cloud log JSON",
};

const char *unwrap_name(enum unwrap_kind kind)
{
	return names[kind];
}

struct unwrap *unwrap_new(enum unwrap_kind frame, enum unwrap_kind shell)
{
	struct unwrap *u = calloc(1, sizeof(*u));

	if (!u)
		return NULL;
	*u = (struct unwrap){ .frame = frame, .shell = shell, .was_whole = { true, true } };
	buf_init(&u->partial[0], LINE_MAX_BYTES);
	buf_init(&u->partial[1], LINE_MAX_BYTES);
	u->parts = unwrap_parts_new();
	if (u->parts)
		return u;
	unwrap_free(u);
	return NULL;
}

void unwrap_free(struct unwrap *u)
{
	if (!u)
		return;
	buf_free(&u->partial[0]);
	buf_free(&u->partial[1]);
	jsonline_free(&u->outer.json);
	jsonline_free(&u->inner.json);
	buf_free(&u->outer.bytes);
	buf_free(&u->inner.bytes);
	unwrap_parts_free(u->parts);
	free(u);
}

/* ---- frames: lines in lines */

/* A line is whole when its last part is there. */
static enum step join(
	struct unwrap *u, bool is_error, bool is_last, struct unwrapped *ret, const char **ret_why)
{
	struct buf *b = &u->partial[is_error];

	if (u->was_whole[is_error])
		buf_reset(b);
	bool is_alone = is_last && b->n == 0;
	u->was_whole[is_error] = is_last;
	if (is_alone)
		return STEP_ITEM;
	buf_add_slice(b, ret->text);
	if (b->is_full)
		return *ret_why = "line over 64 MiB", STEP_FAIL;
	ret->text = buf_slice(b);
	return is_last ? STEP_ITEM : STEP_MORE;
}

/* "2026-11-30T12:00:00.123456789Z stdout F text" */
static bool split_cri(
	struct slice line, struct unwrapped *ret, bool *ret_is_error, bool *ret_is_last)
{
	struct slice s = line;

	*ret = (struct unwrapped){ 0 };
	ret->has_utc = unwrap_eat_iso(&s, &ret->utc_ns);
	if (!ret->has_utc || s.n < 9 || memcmp(s.p, "std", 3) != 0 || s.p[6] != ' ')
		return false;
	*ret_is_error = memcmp(s.p, "stderr", 6) == 0;
	*ret_is_last = s.p[7] == 'F';
	if ((s.p[7] != 'F' && s.p[7] != 'P') || (s.p[8] != ' ' && s.p[8] != ':'))
		return false;
	ret->text = (struct slice){ s.p + 9, s.n - 9 };
	return true;
}

static enum step take_cri(
	struct unwrap *u, struct slice line, struct unwrapped *ret, const char **ret_why)
{
	bool is_error, is_last;

	*ret_why = "not a container log line";
	if (!split_cri(line, ret, &is_error, &is_last))
		return STEP_FAIL;
	return join(u, is_error, is_last, ret, ret_why);
}

static enum step take_docker(
	struct unwrap *u, struct slice line, struct unwrapped *ret, const char **ret_why)
{
	bool is_error;

	if (!unwrap_docker(&u->outer, line, ret, &is_error, ret_why))
		return STEP_FAIL;
	bool is_last = ret->text.p[ret->text.n - 1] == '\n';
	ret->text.n -= is_last;
	return join(u, is_error, is_last, ret, ret_why);
}

static bool is_day(struct slice s)
{
	return s.n > 10 && s.p[4] == '-' && s.p[7] == '-' && (s.p[10] == ' ' || s.p[10] == 'T') &&
	       s.p[0] >= '1' && s.p[0] <= '2';
}

/* "2026-11-30T12:00:00.000Z [stream ]text"; further lines of an event have no time. */
static enum step take_cloudwatch(struct slice line, struct unwrapped *ret)
{
	struct slice s = line;

	*ret = (struct unwrapped){ 0 };
	ret->has_utc = unwrap_eat_iso(&s, &ret->utc_ns);
	if (ret->has_utc && !is_day(s)) {
		const char *blank = s.n ? memchr(s.p, ' ', s.n) : NULL;
		size_t n = blank ? (size_t)(blank + 1 - s.p) : 0;

		if (n && is_day((struct slice){ s.p + n, s.n - n })) {
			s.p += n;
			s.n -= n;
		}
	}
	ret->text = s;
	return STEP_ITEM;
}

static enum step take_frame(
	struct unwrap *u, struct slice line, struct unwrapped *ret, const char **ret_why)
{
	switch (u->frame) {
	case UNWRAP_CRI:
		return take_cri(u, line, ret, ret_why);
	case UNWRAP_DOCKER:
		return take_docker(u, line, ret, ret_why);
	case UNWRAP_CLOUDWATCH:
		return take_cloudwatch(line, ret);
	default:
		*ret = (struct unwrapped){ .text = line };
		return STEP_ITEM;
	}
}

/* ---- shells */

static bool open_shell(
	struct unwrap *u, struct slice line, struct unwrapped *ret, const char **ret_why)
{
	switch (u->shell) {
	case UNWRAP_SYSLOG:
		return unwrap_syslog_header(line, ret, ret_why);
	case UNWRAP_LOGPLEX:
		return unwrap_logplex_header(line, ret, ret_why);
	case UNWRAP_JOURNAL:
		return unwrap_journal(&u->inner, line, ret, ret_why);
	default:
		return unwrap_cloud(&u->inner, line, ret, ret_why);
	}
}

enum step unwrap_line(
	struct unwrap *u, struct slice line, struct unwrapped *ret, const char **ret_why)
{
	struct unwrapped inner;
	enum step step;

	if (line.n && line.p[line.n - 1] == '\r')
		line.n--;
	step = take_frame(u, line, ret, ret_why);
	if (step != STEP_ITEM || u->shell == UNWRAP_NONE)
		return step;
	if (!open_shell(u, ret->text, &inner, ret_why))
		return STEP_FAIL;
	if (!inner.has_utc && !inner.has_local) {
		inner.has_utc = ret->has_utc;
		inner.utc_ns = ret->utc_ns;
	}
	*ret = inner;
	/* Cloud SQL has [n-m] from the prefix, not from syslog, and one entry a message. */
	return u->shell == UNWRAP_CLOUD ? STEP_ITEM
					: unwrap_parts_put(u->parts, &inner, ret, ret_why);
}

enum step unwrap_end(struct unwrap *u, struct unwrapped *ret)
{
	for (int i = 0; i < 2; i++)
		if (!u->was_whole[i] && u->shell == UNWRAP_NONE) {
			u->was_whole[i] = true;
			*ret = (struct unwrapped){ .text = buf_slice(&u->partial[i]) };
			return STEP_ITEM;
		}
	return unwrap_parts_end(u->parts, ret);
}

/* ---- detection */

static bool holds(struct slice s, const char *text)
{
	return s.n && memmem(s.p, s.n, text, strlen(text));
}

static struct slice first_line(struct slice s)
{
	const char *end = s.n ? memchr(s.p, '\n', s.n) : NULL;

	return end ? (struct slice){ s.p, (size_t)(end - s.p) } : s;
}

/* A JSON line may be longer than what is there. */
static enum unwrap_kind json_shell(struct slice s)
{
	if (!s.n || s.p[0] != '{')
		return UNWRAP_NONE;
	if (holds(s, "\"__REALTIME_TIMESTAMP\""))
		return UNWRAP_JOURNAL;
	if (holds(s, "\"error_severity\"") || holds(s, "\"record\""))
		return UNWRAP_NONE;
	if (holds(s, "\"textPayload\"") || holds(s, "\"jsonPayload\"") ||
		holds(s, "\"@message\"") || (holds(s, "\"message\"") && holds(s, "timestamp\"")))
		return UNWRAP_CLOUD;
	return UNWRAP_NONE;
}

static enum unwrap_kind shell_of(struct slice line)
{
	struct unwrapped u;
	const char *why;

	/* Postgres writes a blank into its stamps, syslog a T or the name of a month. */
	if (unwrap_logplex_header(line, &u, &why) && holds(line, "app[postgres"))
		return UNWRAP_LOGPLEX;
	if (holds(line, " app postgres.") && unwrap_logplex_header(line, &u, &why))
		return UNWRAP_LOGPLEX;
	if (unwrap_syslog_header(line, &u, &why) || strcmp(why, "not of Postgres") == 0)
		return UNWRAP_SYSLOG;
	return json_shell(line);
}

static bool is_docker(struct slice line)
{
	return line.n && line.p[0] == '{' && holds(line, "\"log\":") &&
	       holds(line, "\"stream\":\"std");
}

/* A frame's first line tells of the shell inside it, cut or not. */
void unwrap_detect(
	struct slice first_bytes, enum unwrap_kind *ret_frame, enum unwrap_kind *ret_shell)
{
	struct slice line = first_line(first_bytes), s = line;
	struct unwrapped u;
	bool is_error, is_last;
	int64_t unused;

	*ret_frame = *ret_shell = UNWRAP_NONE;
	if (split_cri(line, &u, &is_error, &is_last)) {
		*ret_frame = UNWRAP_CRI;
		*ret_shell = shell_of(u.text);
	} else if (is_docker(line)) {
		*ret_frame = UNWRAP_DOCKER;
	} else if (unwrap_eat_iso(&s, &unused) && is_day(s)) {
		/* before syslog, whose host and tag this might be */
		*ret_frame = UNWRAP_CLOUDWATCH;
	} else if ((*ret_shell = shell_of(line)) == UNWRAP_NONE && s.p != line.p &&
		   holds(s, ":  ")) {
		*ret_frame = UNWRAP_CLOUDWATCH;
	}
}
