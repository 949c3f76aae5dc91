#include "capture/shed.h"

enum {
	OVER_NEEDED = 2,
	CALM_FIRST = 5,
	CALM_MAX = 80,
	TOO_SHORT = 10, /* windows: a step down that lasted less was a mistake */
	EXHAUSTED = 10,
};

static const struct {
	const char *name;
	unsigned kept; /* sixteenths of the sessions */
} levels[SHED_LEVELS] = {
	[SHED_NONE] = { "none", 16 },
	[SHED_DETAIL] = { "detail", 16 },
	[SHED_HALF] = { "half", 8 },
	[SHED_QUARTER] = { "quarter", 4 },
	[SHED_EIGHTH] = { "eighth", 2 },
	[SHED_SIXTEENTH] = { "sixteenth", 1 },
	[SHED_HEADERS] = { "headers", 0 },
};

/* Fibonacci hashing (Knuth, TAOCP 6.4): Linux gives connect() only every second port,
 * so that the low bits alone would keep all sessions or none. BPF's registers have 32
 * bits and wrap as this does. */
unsigned shed_hash(uint16_t a, uint16_t b)
{
	return (uint32_t)(a ^ b) * UINT32_C(2654435761) >> 28;
}

unsigned shed_kept(enum shed_level level)
{
	return levels[level].kept;
}

const char *shed_name(enum shed_level level)
{
	return levels[level].name;
}

/* Only what is a TCP packet beyond doubt is turned away: fragments, extension headers, tags
 * and tunnels go on to the same hash behind the decoder. Ours stands before the filter that
 * was asked for, since 'vlan' in that one moves the offsets of all that follows it. tcp[...]
 * is IPv4 only in pcap-filter(7). */
void shed_filter(enum shed_level level, const char *base, struct buf *to)
{
	static const char v4[] = "ip proto 6 and ip[6:2] & 0x3fff = 0";
	static const char v6[] = "ip6 and ip6[6] = 6";
	unsigned kept = levels[level].kept;

	if (level == SHED_HEADERS)
		buf_addf(to,
			"not (%s and tcp[13] & 7 = 0) and not (%s and ip6[53] & 7 = 0) and (%s)",
			v4, v6, base);
	else if (kept == 16)
		buf_add_text(to, base);
	else
		buf_addf(to,
			"not (%s and ((tcp[0:2] ^ tcp[2:2]) * 2654435761) >> 28 >= %u) and "
			"not (%s and ((ip6[40:2] ^ ip6[42:2]) * 2654435761) >> 28 >= %u) and (%s)",
			v4, kept, v6, kept, base);
}

/* ---- the decision */

static void note_interval(struct shed *s, int64_t wall_ns)
{
	if (s->count && !s->intervals[s->count - 1].end_ns)
		s->intervals[s->count - 1].end_ns = wall_ns;
	if (s->level == SHED_NONE)
		return;
	if (s->count == SHED_INTERVALS_MAX) {
		struct shed_interval *last = &s->intervals[s->count - 1];

		s->left_out++;
		last->end_ns = 0;
		if (s->level > last->level)
			last->level = s->level;
		return;
	}
	s->intervals[s->count++] =
		(struct shed_interval){ .start_ns = wall_ns, .level = s->level, .why = s->why };
}

static bool move(struct shed *s, int step, int64_t wall_ns)
{
	s->level = (enum shed_level)((int)s->level + step);
	s->over = s->calm = s->held = 0;
	s->was_lowered = step < 0;
	note_interval(s, wall_ns);
	return true;
}

bool shed_step(struct shed *s, enum budget_state state, int64_t wall_ns)
{
	bool is_over = state == BUDGET_OVER_CPU || state == BUDGET_OVER_MEM;

	if (!s->calm_needed)
		s->calm_needed = CALM_FIRST;
	s->held++;
	s->over = is_over ? s->over + 1 : 0;
	s->calm = state == BUDGET_CALM ? s->calm + 1 : 0;
	if (s->over >= OVER_NEEDED && s->level < SHED_HEADERS) {
		if (s->was_lowered && s->held <= TOO_SHORT && s->calm_needed < CALM_MAX)
			s->calm_needed *= 2;
		s->why = state;
		return move(s, 1, wall_ns);
	}
	return s->level > SHED_NONE && s->calm >= s->calm_needed && move(s, -1, wall_ns);
}

bool shed_is_exhausted(const struct shed *s)
{
	return s->level == SHED_HEADERS && s->over >= EXHAUSTED;
}

/* ---- the head */

static struct json *interval_json(const struct shed_interval *i)
{
	struct json *j = json_object();

	json_set_time(j, "start", i->start_ns);
	if (i->end_ns)
		json_set_time(j, "end", i->end_ns);
	else
		json_set_null(j, "end");
	json_set_text(j, "level", shed_name(i->level));
	json_set_number(j, "sessions_kept", shed_kept(i->level) / 16.0);
	json_set_text(j, "why", i->why == BUDGET_OVER_MEM ? "memory" : "cpu");
	return j;
}

struct json *shed_json(const struct shed *s)
{
	struct json *j = json_object(), *list = json_array();

	for (size_t i = 0; i < s->count; i++)
		json_append(list, interval_json(&s->intervals[i]));
	json_set_text(j, "level", shed_name(s->level));
	json_set(j, "intervals", list);
	json_set_int(j, "intervals_left_out", (int64_t)s->left_out);
	return j;
}
