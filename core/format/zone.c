#include "core/format/zone.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/base/buf.h"
#include "core/base/cursor.h"
#include "core/base/file.h"

enum { TRANSITIONS_MAX = 20000, TYPES_MAX = 256, FILE_MAX = 1 << 20, NAME_MAX_BYTES = 200 };

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
		cursor_skip(c, 1);
		at[i] = cursor_u8(c);
	}
	struct slice letters = cursor_bytes(c, n->letters);
	for (uint32_t i = 0; i < n->types && at[i] < letters.n; i++)
		snprintf(z->types[i].abbreviation, sizeof(z->types[i].abbreviation), "%.*s",
			(int)(letters.n - at[i]), letters.p + at[i]);
}

/* The first block has 32-bit times and is stepped over (RFC 8536, 3.1). */
static bool parse(struct zone *z, struct slice bytes)
{
	struct cursor c = cursor_of(bytes.p, bytes.n);
	struct counts n;

	if (!read_counts(&c, &n))
		return false;
	cursor_skip(
		&c, n.transitions * 5 + n.types * 6 + n.letters + n.leap * 8 + n.isstd + n.isut);
	if (!read_counts(&c, &n))
		return false;
	z->types = calloc(n.types, sizeof(*z->types));
	z->starts_s = calloc(n.transitions + 1, sizeof(*z->starts_s));
	z->which = calloc(n.transitions + 1, 1);
	if (!z->types || !z->starts_s || !z->which)
		return false;
	z->type_count = n.types;
	z->transition_count = n.transitions;
	for (uint32_t i = 0; i < n.transitions; i++)
		z->starts_s[i] = (int64_t)cursor_u64be(&c);
	for (uint32_t i = 0; i < n.transitions; i++)
		if ((z->which[i] = cursor_u8(&c)) >= n.types)
			return false;
	read_types(z, &c, &n);
	return !c.is_short;
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
		  parse(z, buf_slice(&file));
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

static size_t type_at(const struct zone *z, int64_t utc_s)
{
	size_t low = 0, high = z->transition_count;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (z->starts_s[middle] <= utc_s)
			low = middle + 1;
		else
			high = middle;
	}
	return low ? z->which[low - 1] : 0;
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
