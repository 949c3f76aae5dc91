/*
 * syslog files, line by line: RFC 3164 ("Nov 30 12:00:01 host CRON[12]: ..."), RFC 5424
 * ("<78>1 2026-11-30T12:00:01Z host CRON 12 - - ...") and RFC 3164 with an RFC 3339 stamp
 * (rsyslog, journalctl -o short-iso). RFC 3164 tells neither year nor zone: the zone
 * must be given, the year is the one that brings the line nearest to the traffic.
 */
#include <stdio.h>
#include <stdlib.h>

#include "core/base/clock.h"
#include "correlate/events_parts.h"

struct syslog_line {
	bool is_local;
	int month, day;
	int64_t in_day_ns;
	struct slice stamp; /* of an RFC 3339 one */
	struct slice ident, message;
	uint64_t pid;
};

static struct slice eat_word(struct slice *s)
{
	struct slice word = { s->p, 0 };

	while (s->n && *s->p != ' ') {
		s->p++;
		s->n--;
		word.n++;
	}
	while (s->n && *s->p == ' ') {
		s->p++;
		s->n--;
	}
	return word;
}

static bool eat_int(struct slice *s, int *ret)
{
	size_t n = 0;

	for (*ret = 0; n < 4 && s->n && *s->p >= '0' && *s->p <= '9'; n++) {
		*ret = *ret * 10 + (*s->p - '0');
		s->p++;
		s->n--;
	}
	return n > 0;
}

static bool eat_char(struct slice *s, char c)
{
	if (!s->n || *s->p != c)
		return false;
	s->p++;
	s->n--;
	return true;
}

/* "12:00:01" or with decimals (journalctl -o short-precise). */
static bool eat_clock(struct slice *s, int64_t *ret_ns)
{
	int hour, minute, second;
	int64_t unit = NS_PER_S / 10, fraction = 0;

	if (!eat_int(s, &hour) || !eat_char(s, ':') || !eat_int(s, &minute) || !eat_char(s, ':') ||
		!eat_int(s, &second) || hour > 23 || minute > 59 || second > 60)
		return false;
	if (eat_char(s, '.'))
		for (; s->n && *s->p >= '0' && *s->p <= '9'; s->p++, s->n--, unit /= 10)
			fraction += unit * (*s->p - '0');
	*ret_ns = (hour * 3600 + minute * 60 + second) * NS_PER_S + fraction;
	return eat_char(s, ' ');
}

static bool eat_local(struct slice *s, struct syslog_line *l)
{
	static const char months[] = "JanFebMarAprMayJunJulAugSepOctNovDec";
	struct slice rest = *s;
	const char *at = rest.n > 15 ? memmem(months, 36, rest.p, 3) : NULL;

	if (!at || (at - months) % 3 || rest.p[3] != ' ')
		return false;
	l->month = (int)(at - months) / 3 + 1;
	rest.p += 4;
	rest.n -= 4;
	eat_char(&rest, ' ');
	if (!eat_int(&rest, &l->day) || l->day < 1 || l->day > 31 || !eat_char(&rest, ' ') ||
		!eat_clock(&rest, &l->in_day_ns))
		return false;
	l->is_local = true;
	*s = rest;
	return true;
}

/* "<78>" or "<78>1 " */
static bool eat_priority(struct slice *s, bool *is_5424)
{
	int priority;

	*is_5424 = false;
	if (!eat_char(s, '<'))
		return true;
	if (!eat_int(s, &priority) || priority > 191 || !eat_char(s, '>'))
		return false;
	if (s->n > 2 && s->p[0] == '1' && s->p[1] == ' ') {
		*is_5424 = true;
		s->p += 2;
		s->n -= 2;
	}
	return true;
}

static uint64_t number_of(struct slice s)
{
	uint64_t v = 0;

	for (size_t i = 0; i < s.n && i < 18 && s.p[i] >= '0' && s.p[i] <= '9'; i++)
		v = v * 10 + (uint64_t)(s.p[i] - '0');
	return v;
}

/* "[a@1 k=\"v\"][b@1]" or "-", which a message follows. */
static void skip_structured(struct slice *s)
{
	if (s->n && *s->p == '-') {
		eat_word(s);
		return;
	}
	while (s->n && *s->p == '[') {
		bool is_quoted = false;

		for (; s->n && (is_quoted || *s->p != ']'); s->p++, s->n--) {
			if (*s->p == '\\' && s->n > 1) {
				s->p++;
				s->n--;
			} else if (*s->p == '"') {
				is_quoted = !is_quoted;
			}
		}
		eat_char(s, ']');
	}
	eat_char(s, ' ');
}

/* "CRON[12]:" */
static void take_tag(struct syslog_line *l, struct slice tag)
{
	if (tag.n && tag.p[tag.n - 1] == ':')
		tag.n--;
	const char *open = tag.n ? memchr(tag.p, '[', tag.n) : NULL;
	l->ident = tag;
	if (!open)
		return;
	l->ident.n = (size_t)(open - tag.p);
	l->pid = number_of((struct slice){ open + 1, tag.n - l->ident.n - 1 });
}

static bool parse(struct slice s, struct syslog_line *l)
{
	bool is_5424;
	int64_t unused_ns;
	size_t used;

	*l = (struct syslog_line){ 0 };
	if (!eat_priority(&s, &is_5424))
		return false;
	if (!eat_local(&s, l)) {
		l->stamp = eat_word(&s);
		/* A blank for the T would be another format's. */
		if (!events_wall(l->stamp, &unused_ns, &used) || l->stamp.p[10] != 'T' || !s.n)
			return false;
	}
	eat_word(&s); /* the host */
	struct slice tag = eat_word(&s);
	if (is_5424) {
		l->ident = tag;
		l->pid = number_of(eat_word(&s));
		eat_word(&s);
		skip_structured(&s);
	} else {
		take_tag(l, tag);
	}
	l->message = s;
	return true;
}

bool events_is_syslog(struct slice line)
{
	struct syslog_line l;

	return parse(line, &l) && l.ident.n > 0;
}

/* In the year that brings it nearest to the traffic; 0 days away when within. */
static int64_t nearest(const struct events *ev, const struct syslog_line *l)
{
	int64_t middle_ns = ev->o.first_ns + (ev->o.last_ns - ev->o.first_ns) / 2;
	int64_t best_ns = 0, best = INT64_MAX;
	int year, month, day;

	clock_civil(middle_ns / NS_PER_S / 86400, &year, &month, &day);
	for (int y = year - 1; y <= year + 1; y++) {
		int64_t local_ns =
			clock_days(y, l->month, l->day) * 86400 * NS_PER_S + l->in_day_ns;
		int64_t away = llabs(local_ns - middle_ns);

		if (away < best) {
			best = away;
			best_ns = local_ns;
		}
	}
	return best_ns;
}

static bool time_of(struct events *ev, const struct syslog_line *l, int64_t *ret_ns, struct err *e)
{
	if (!l->is_local)
		return events_time(ev, l->stamp, NULL, ret_ns, e);
	if (!ev->o.zone) {
		err_set(e, ERR_INPUT, "syslog's times do not say their zone");
		return err_hint(e, "name the zone of the machine that wrote them with --zone, "
				   "as Europe/Berlin or UTC");
	}
	*ret_ns = zone_local_to_utc(&ev->zone, nearest(ev, l), ev->zoned_ns);
	ev->zoned_ns = *ret_ns;
	ev->is_year_guessed = true;
	return true;
}

static bool take_line(struct events *ev, struct slice text, struct err *e)
{
	struct syslog_line l;
	int64_t t_ns;

	if (!parse(text, &l))
		return err_set(e, ERR_INPUT, "not a line of syslog");
	if (!time_of(ev, &l, &t_ns, e))
		return false;
	events_saw(ev, t_ns);
	ev->objects++;
	return events_take_message(ev, t_ns, l.ident, l.pid, l.message, e);
}

bool events_read_syslog(struct events *ev, struct textlines *t, struct err *e)
{
	struct slice line;
	enum step step;

	ev->dialect = "syslog";
	ev->is_log = true;
	while ((step = textlines_next(t, &line, e)) == STEP_ITEM) {
		struct err bad = { 0 };

		if (ev->o.run && run_stopped(ev->o.run))
			return true;
		if (line.n && !take_line(ev, line, &bad))
			events_bad(ev, textlines_number(t), &bad);
	}
	return step == STEP_END;
}
