#include "core/format/zone.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/base/buf.h"
#include "core/base/clock.h"
#include "core/base/cursor.h"
#include "core/base/file.h"
#include "core/format/zone_rule.h"

enum {
	TRANSITIONS_MAX = 20000,
	TYPES_MAX = 256,
	FILE_MAX = 1 << 20,
	NAME_MAX_BYTES = 200,
	YEAR_MAX = 2201,
	RULE_MAX = 2 * (YEAR_MAX - 1970)
};

struct counts {
	uint32_t isut, isstd, leap, transitions, types, letters;
};

static bool read_counts(struct cursor *c, struct counts *n)
{
	struct slice magic = cursor_bytes(c, 4);

	if (!slice_is(magic, "TZif") || cursor_u8(c) < '2')
		return false;
	cursor_skip(c, 15);
	n->isut = cursor_u32be(c);
	n->isstd = cursor_u32be(c);
	n->leap = cursor_u32be(c);
	n->transitions = cursor_u32be(c);
	n->types = cursor_u32be(c);
	n->letters = cursor_u32be(c);
	return !c->is_short && n->transitions <= TRANSITIONS_MAX && n->types >= 1 &&
	       n->types <= TYPES_MAX && n->letters <= 4096 && n->leap <= 4096 &&
	       n->isut <= TYPES_MAX && n->isstd <= TYPES_MAX;
}

static void read_types(struct zone *z, struct cursor *c, const struct counts *n)
{
	uint8_t at[TYPES_MAX] = { 0 };

	for (uint32_t i = 0; i < n->types; i++) {
		z->types[i].offset_ns = (int32_t)cursor_u32be(c) * NS_PER_S;
		z->types[i].is_dst = cursor_u8(c) != 0;
		at[i] = cursor_u8(c);
	}
	struct slice letters = cursor_bytes(c, n->letters);
	for (uint32_t i = 0; i < n->types && at[i] < letters.n; i++)
		snprintf(z->types[i].abbreviation, sizeof(z->types[i].abbreviation), "%.*s",
			(int)(letters.n - at[i]), letters.p + at[i]);
}

/* The type of a rule's season; a new one where the file had none. */
static int rule_type(struct zone *z, const struct zone_rule *r, bool is_dst)
{
	for (size_t i = 0; i < z->type_count; i++)
		if (z->types[i].is_dst == is_dst &&
			z->types[i].offset_ns == r->offset_s[is_dst] * NS_PER_S &&
			strcmp(z->types[i].abbreviation, r->abbreviation[is_dst]) == 0)
			return (int)i;
	if (z->type_count == TYPES_MAX)
		return -1;
	struct zone_type *t = &z->types[z->type_count];
	t->offset_ns = r->offset_s[is_dst] * NS_PER_S;
	t->is_dst = is_dst;
	memcpy(t->abbreviation, r->abbreviation[is_dst], sizeof(t->abbreviation));
	return (int)z->type_count++;
}

static void add_change(struct zone *z, int64_t at_s, int type)
{
	size_t n = z->transition_count;

	if (n && z->starts_s[n - 1] >= at_s)
		return;
	z->starts_s[n] = at_s;
	z->which[n] = (uint8_t)type;
	z->transition_count++;
}

/* Years after the last transition go by the rule. */
static void extend(struct zone *z, const struct zone_rule *r)
{
	int types[2] = { rule_type(z, r, false), r->has_summer ? rule_type(z, r, true) : 0 };
	int year = 1970, month, day;

	if (!r->has_summer || types[0] < 0 || types[1] < 0)
		return;
	if (z->transition_count)
		clock_civil(z->starts_s[z->transition_count - 1] / 86400, &year, &month, &day);
	for (year = year < 1970 ? 1970 : year; year < YEAR_MAX; year++) {
		int64_t start = zone_rule_change(r, year, true);
		int64_t end = zone_rule_change(r, year, false);
		bool is_north = start < end;

		add_change(z, is_north ? start : end, types[is_north]);
		add_change(z, is_north ? end : start, types[!is_north]);
	}
}

static void read_rule(struct zone *z, struct cursor *c, const struct counts *n)
{
	struct zone_rule rule;

	cursor_skip(c, n->leap * 12 + n->isstd + n->isut);
	struct slice rest = cursor_bytes(c, cursor_left(c));
	if (rest.n < 2 || *rest.p != '\n')
		return;
	const char *end = memchr(rest.p + 1, '\n', rest.n - 1);
	if (end && zone_rule_parse((struct slice){ rest.p + 1, (size_t)(end - rest.p - 1) }, &rule))
		extend(z, &rule);
}

static bool read_transitions(struct zone *z, struct cursor *c, const struct counts *n)
{
	for (uint32_t i = 0; i < n->transitions; i++)
		z->starts_s[i] = (int64_t)cursor_u64be(c);
	for (uint32_t i = 0; i < n->transitions; i++)
		if ((z->which[i] = cursor_u8(c)) >= n->types)
			return false;
	z->transition_count = n->transitions;
	return true;
}

/* The first block has 32-bit times and is stepped over (RFC 8536, 3.1). */
bool zone_parse(struct zone *z, struct slice bytes)
{
	struct cursor c = cursor_of(bytes.p, bytes.n);
	struct counts n;

	*z = (struct zone){ 0 };
	if (!read_counts(&c, &n))
		return false;
	cursor_skip(
		&c, n.transitions * 5 + n.types * 6 + n.letters + n.leap * 8 + n.isstd + n.isut);
	if (!read_counts(&c, &n))
		return false;
	z->types = calloc(n.types + 2, sizeof(*z->types));
	z->starts_s = calloc(n.transitions + RULE_MAX, sizeof(*z->starts_s));
	z->which = calloc(n.transitions + RULE_MAX, 1);
	if (!z->types || !z->starts_s || !z->which)
		return false;
	z->type_count = n.types;
	if (!read_transitions(z, &c, &n))
		return false;
	read_types(z, &c, &n);
	if (c.is_short)
		return false;
	read_rule(z, &c, &n);
	return true;
}

static bool is_safe_name(const char *name)
{
	for (const char *p = name; *p; p++)
		if (!isalnum((unsigned char)*p) && !strchr("/_+-", *p))
			return false;
	return *name && *name != '/' && strlen(name) <= NAME_MAX_BYTES;
}

static bool is_offset(const char *name)
{
	return (name[0] == '+' || name[0] == '-') && name[1] >= '0' && name[1] <= '9';
}

static bool set_offset(struct zone *z, const char *name)
{
	unsigned hours, minutes = 0;
	int used = 0;

	if (sscanf(name + 1, "%2u:%2u%n", &hours, &minutes, &used) < 2 &&
		sscanf(name + 1, "%2u%2u%n", &hours, &minutes, &used) < 2 &&
		sscanf(name + 1, "%2u%n", &hours, &used) < 1)
		return false;
	if (name[1 + used] || hours > 15 || minutes > 59)
		return false;
	z->types = calloc(1, sizeof(*z->types));
	if (!z->types)
		return false;
	z->type_count = 1;
	z->types[0].offset_ns = (hours * 3600 + minutes * 60) * NS_PER_S;
	if (name[0] == '-')
		z->types[0].offset_ns = -z->types[0].offset_ns;
	return true;
}

/* In minutes. Left out is what has two meanings: CST, CDT, IST, PST, MSK, SST, ... */
static const struct {
	char name[6];
	int16_t minutes;
} abbreviations[] = {
	{ "CET", 60 },
	{ "CEST", 120 },
	{ "WET", 0 },
	{ "WEST", 60 },
	{ "EET", 120 },
	{ "EEST", 180 },
	{ "BST", 60 },
	{ "EST", -300 },
	{ "EDT", -240 },
	{ "MST", -420 },
	{ "MDT", -360 },
	{ "PDT", -420 },
	{ "AKST", -540 },
	{ "AKDT", -480 },
	{ "HST", -600 },
	{ "AST", -240 },
	{ "ADT", -180 },
	{ "NST", -210 },
	{ "NDT", -150 },
	{ "JST", 540 },
	{ "HKT", 480 },
	{ "PKT", 300 },
	{ "WIB", 420 },
	{ "WITA", 480 },
	{ "WIT", 540 },
	{ "AWST", 480 },
	{ "ACST", 570 },
	{ "ACDT", 630 },
	{ "AEST", 600 },
	{ "AEDT", 660 },
	{ "NZST", 720 },
	{ "NZDT", 780 },
	{ "SAST", 120 },
	{ "EAT", 180 },
	{ "CAT", 120 },
	{ "WAT", 60 },
};

bool zone_abbreviation(struct slice abbreviation, int64_t *ret_offset_ns)
{
	for (size_t i = 0; i < LENGTH(abbreviations); i++)
		if (slice_is(abbreviation, abbreviations[i].name)) {
			*ret_offset_ns = abbreviations[i].minutes * 60 * NS_PER_S;
			return true;
		}
	return false;
}

static bool set_abbreviation(struct zone *z, const char *name)
{
	int64_t offset_ns;

	zone_close(z);
	if (!zone_abbreviation(slice_of(name), &offset_ns) ||
		!(z->types = calloc(1, sizeof(*z->types))))
		return false;
	z->type_count = 1;
	z->types[0].offset_ns = offset_ns;
	snprintf(z->types[0].abbreviation, sizeof(z->types[0].abbreviation), "%s", name);
	return true;
}

bool zone_open(struct zone *z, const char *name, struct err *e)
{
	char path[NAME_MAX_BYTES + 32];
	struct buf file = { 0 };
	struct err why = { 0 };

	*z = (struct zone){ 0 };
	if (!name || strcmp(name, "UTC") == 0) {
		if (!set_offset(z, "+00"))
			return err_set(e, ERR_ENV, "out of memory");
		snprintf(z->types[0].abbreviation, sizeof(z->types[0].abbreviation), "UTC");
		return true;
	}
	if (is_offset(name))
		return set_offset(z, name) ||
		       err_set(e, ERR_USAGE, "'%s' is no offset from UTC, such as +02:00", name);
	/* Those that are files too ("CET") have the clock's changes in them. */
	snprintf(path, sizeof(path), "/usr/share/zoneinfo/%.*s", NAME_MAX_BYTES, name);
	buf_init(&file, FILE_MAX);
	bool ok = is_safe_name(name) && file_read(path, FILE_MAX, &file, &why) &&
		  zone_parse(z, buf_slice(&file));
	buf_free(&file);
	if (ok || set_abbreviation(z, name))
		return true;
	zone_close(z);
	err_set(e, ERR_USAGE, "time zone '%.60s' is not known here", name);
	return err_hint(e,
		"give a name of /usr/share/zoneinfo (package tzdata) such as Europe/Berlin, or an offset: +02:00");
}

void zone_close(struct zone *z)
{
	free(z->types);
	free(z->starts_s);
	free(z->which);
	*z = (struct zone){ 0 };
}

/* How many transitions lie at or before. */
static size_t passed(const struct zone *z, int64_t utc_s)
{
	size_t low = 0, high = z->transition_count;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (z->starts_s[middle] <= utc_s)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static size_t type_at(const struct zone *z, int64_t utc_s)
{
	size_t n = passed(z, utc_s);

	return n ? z->which[n - 1] : 0;
}

const struct zone_type *zone_at(
	const struct zone *z, int64_t utc_s, int64_t *ret_from_s, int64_t *ret_until_s)
{
	size_t n = passed(z, utc_s);

	if (ret_from_s)
		*ret_from_s = n ? z->starts_s[n - 1] : INT64_MIN;
	if (ret_until_s)
		*ret_until_s = n < z->transition_count ? z->starts_s[n] : INT64_MAX;
	return &z->types[n ? z->which[n - 1] : 0];
}

int64_t zone_offset_s(const struct zone *z, int64_t utc_s)
{
	return z->types[type_at(z, utc_s)].offset_ns / NS_PER_S;
}

bool zone_to_utc(const struct zone *z, int64_t local_ns, struct slice abbreviation, int64_t *ret_ns)
{
	for (size_t i = 0; i < z->type_count; i++) {
		int64_t utc_ns = local_ns - z->types[i].offset_ns;

		*ret_ns = utc_ns;
		/* An offset given by hand is believed. */
		if (z->transition_count == 0 && z->types[i].abbreviation[0] == '\0')
			return true;
		if (slice_is(abbreviation, z->types[i].abbreviation) &&
			type_at(z, utc_ns / NS_PER_S) == i)
			return true;
	}
	return false;
}

int64_t zone_local_to_utc(const struct zone *z, int64_t local_ns, int64_t after_ns)
{
	int64_t first = INT64_MAX, second = INT64_MAX;

	for (size_t i = 0; i < z->type_count; i++) {
		int64_t utc_ns = local_ns - z->types[i].offset_ns;

		if (z->types[type_at(z, utc_ns / NS_PER_S)].offset_ns != z->types[i].offset_ns ||
			utc_ns == first)
			continue;
		if (utc_ns < first) {
			second = first;
			first = utc_ns;
		} else if (utc_ns < second) {
			second = utc_ns;
		}
	}
	if (first == INT64_MAX)
		return local_ns - z->types[type_at(z, local_ns / NS_PER_S - 86400)].offset_ns;
	return second != INT64_MAX && first < after_ns ? second : first;
}
