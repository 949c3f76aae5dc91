#include "capture/log/log_shape.h"

#include <stdio.h>

enum { SAMPLE_MAX = 4 << 20 };

struct forced_name {
	const char *name;
	enum unwrap_kind frame, shell;
	enum pglog_format format; /* NONE: looked for */
};

static const struct forced_name forced_names[] = {
	{ "csvlog", UNWRAP_NONE, UNWRAP_NONE, PGLOG_CSV },
	{ "jsonlog", UNWRAP_NONE, UNWRAP_NONE, PGLOG_JSON },
	{ "stderr", UNWRAP_NONE, UNWRAP_NONE, PGLOG_STDERR },
	{ "rds", UNWRAP_NONE, UNWRAP_NONE, PGLOG_STDERR },
	{ "cloudnativepg", UNWRAP_NONE, UNWRAP_NONE, PGLOG_JSON },
	{ "cloudsql", UNWRAP_NONE, UNWRAP_CLOUD, PGLOG_STDERR },
	{ "cloudwatch", UNWRAP_CLOUDWATCH, UNWRAP_NONE, PGLOG_STDERR },
	{ "heroku", UNWRAP_NONE, UNWRAP_LOGPLEX, PGLOG_STDERR },
	{ "syslog", UNWRAP_NONE, UNWRAP_SYSLOG, PGLOG_STDERR },
	{ "journald", UNWRAP_NONE, UNWRAP_JOURNAL, PGLOG_STDERR },
	{ "cri", UNWRAP_CRI, UNWRAP_NONE, PGLOG_NONE },
	{ "docker", UNWRAP_DOCKER, UNWRAP_NONE, PGLOG_NONE },
};

static const struct forced_name *find_name(const char *name)
{
	for (size_t i = 0; i < LENGTH(forced_names); i++)
		if (strcmp(forced_names[i].name, name) == 0)
			return &forced_names[i];
	return NULL;
}

bool log_shape_is_name(const char *name)
{
	return find_name(name) != NULL;
}

const char *log_shape_names(void)
{
	return "csvlog, jsonlog, stderr, rds, cloudsql, cloudwatch, cloudnativepg, heroku, syslog, "
	       "journald, cri or docker";
}

/* ---- a sample of lines without their shells */

struct sample {
	struct buf texts;
	size_t starts[PGLOG_LEARN_LINES + 1];
	struct slice lines[PGLOG_LEARN_LINES];
	size_t count;
};

/* An entry of several lines counts by its first. */
static void add(struct sample *s, struct slice text)
{
	const char *end = text.n ? memchr(text.p, '\n', text.n) : NULL;

	if (s->count == PGLOG_LEARN_LINES || !text.n)
		return;
	s->starts[s->count++] = s->texts.n;
	buf_add(&s->texts, text.p, end ? (size_t)(end - text.p) : text.n);
	s->starts[s->count] = s->texts.n;
}

static void take_lines(struct sample *s, struct unwrap *u, struct slice bytes)
{
	struct unwrapped out;
	const char *why, *end;

	while (bytes.n && s->count < PGLOG_LEARN_LINES) {
		end = memchr(bytes.p, '\n', bytes.n);
		struct slice line = { bytes.p, end ? (size_t)(end - bytes.p) : bytes.n };
		size_t used = end ? line.n + 1 : line.n;

		if (unwrap_line(u, line, &out, &why) == STEP_ITEM)
			add(s, out.text);
		bytes.p += used;
		bytes.n -= used;
	}
	while (unwrap_end(u, &out) == STEP_ITEM)
		add(s, out.text);
	for (size_t i = 0; i < s->count; i++)
		s->lines[i] = (struct slice){ s->texts.p + s->starts[i],
			s->starts[i + 1] - s->starts[i] };
}

static bool make_sample(
	struct sample *s, const struct log_shape *shape, struct slice bytes, struct err *e)
{
	struct unwrap *u = unwrap_new(shape->frame, shape->shell);

	if (!u)
		return err_set(e, ERR_ENV, "out of memory");
	*s = (struct sample){ 0 };
	buf_init(&s->texts, SAMPLE_MAX);
	take_lines(s, u, bytes);
	unwrap_free(u);
	return true;
}

/* ---- the format inside */

static enum pglog_format format_of(
	const struct sample *s, struct slice first_bytes, bool is_wrapped)
{
	enum pglog_format found = is_wrapped ? PGLOG_NONE : pglog_detect(first_bytes);

	for (size_t i = 0; !found && i < s->count; i++)
		found = pglog_detect(s->lines[i]);
	return found;
}

static void learn(struct log_shape *shape, const struct sample *s)
{
	shape->has_prefix = pglog_learn(s->lines, s->count, &shape->learned);
	if (shape->format == PGLOG_NONE && shape->learned.lines + shape->learned.foreign > 0)
		shape->format = PGLOG_STDERR;
}

static void set_name(struct log_shape *shape)
{
	static const char *const formats[] = { "", "csvlog", "jsonlog", "stderr log" };
	const char *outer = unwrap_name(shape->frame), *inner = unwrap_name(shape->shell);

	snprintf(shape->name, sizeof(shape->name), "%s%s%s%s%s", formats[shape->format],
		*inner ? " in " : "", inner, *outer ? " in " : "", outer);
}

bool log_shape_of(
	struct slice first_bytes, const char *forced, struct log_shape *ret, struct err *e)
{
	const struct forced_name *f = forced ? find_name(forced) : NULL;
	struct sample *s = &(struct sample){ 0 };

	*ret = (struct log_shape){ 0 };
	if (forced && !f) {
		err_set(e, ERR_USAGE, "format '%s' is not known", forced);
		return err_hint(e, "%s", log_shape_names());
	}
	if (f) {
		ret->frame = f->frame;
		ret->shell = f->shell;
	} else {
		unwrap_detect(first_bytes, &ret->frame, &ret->shell);
	}
	if (!make_sample(s, ret, first_bytes, e))
		return false;
	bool is_wrapped = ret->frame || ret->shell;
	ret->format = f && f->format ? f->format : format_of(s, first_bytes, is_wrapped);
	if (ret->format == PGLOG_NONE || ret->format == PGLOG_STDERR)
		learn(ret, s);
	ret->has_pid = ret->shell == UNWRAP_SYSLOG || ret->shell == UNWRAP_LOGPLEX ||
		       ret->shell == UNWRAP_JOURNAL;
	set_name(ret);
	buf_free(&s->texts);
	return true;
}

/* ---- the first time */

static bool is_shape(const char *p, const char *shape, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (shape[i] == 'd' ? p[i] < '0' || p[i] > '9'
				    : shape[i] != '?' && p[i] != shape[i])
			return false;
	return true;
}

static bool is_bsd(const char *p)
{
	static const char months[] = "JanFebMarAprMayJunJulAugSepOctNovDec";

	return p[3] == ' ' && is_shape(p + 6, " dd:dd:dd", 9) && memmem(months, 36, p, 3);
}

/* Without a year: the month's number, then what follows. */
static void bsd_key(const char *p, char ret[20])
{
	static const char months[] = "JanFebMarAprMayJunJulAugSepOctNovDec";
	const char *at = memmem(months, 36, p, 3);

	snprintf(ret, 20, "%02d %.12s", (int)((at - months) / 3), p + 4);
	for (char *c = ret + 3; *c; c++)
		if (*c == ' ' && c == ret + 3)
			*c = '0';
}

void log_shape_first_time(struct slice b, char ret[20])
{
	ret[0] = '\0';
	if (b.n >= 15 && is_bsd(b.p)) {
		bsd_key(b.p, ret);
		return;
	}
	for (size_t i = 0; i + 19 <= b.n; i++) {
		const char *p = b.p + i;

		if (!is_shape(p, "dddd-dd-dd?dd:dd:dd", 19) || (p[10] != ' ' && p[10] != 'T'))
			continue;
		memcpy(ret, p, 19);
		ret[10] = 'T';
		ret[19] = '\0';
		return;
	}
	if (b.n >= 14 && is_shape(b.p, "dddddddddd.ddd", 14))
		snprintf(ret, 20, "%.14s", b.p);
}
