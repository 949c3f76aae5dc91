#include "correlate/tzif.h"

#include <stdlib.h>

#include "core/base/cursor.h"
#include "core/base/file.h"

enum { FILE_MAX_BYTES = 1 << 20, HEADER_BYTES = 44 };

struct counts {
	uint32_t utc, std, leap, time, type, chars;
};

static bool read_header(struct cursor *c, unsigned *ret_version, struct counts *n)
{
	struct slice magic = cursor_bytes(c, 4);

	*ret_version = cursor_u8(c);
	cursor_skip(c, 15);
	*n = (struct counts){ .utc = cursor_u32be(c),
		.std = cursor_u32be(c),
		.leap = cursor_u32be(c),
		.time = cursor_u32be(c),
		.type = cursor_u32be(c),
		.chars = cursor_u32be(c) };
	return !c->is_short && slice_is(magic, "TZif") && n->time <= 10000 && n->type >= 1 &&
	       n->type <= 256 && n->leap <= 1000 && n->chars <= 1000 && n->utc <= 256 &&
	       n->std <= 256;
}

static bool read_block(struct tzif *z, struct cursor *c, const struct counts *n)
{
	struct cursor times = cursor_of(c->p, cursor_left(c));

	cursor_skip(c, (size_t)n->time * 8);
	struct slice kinds = cursor_bytes(c, n->time);
	struct slice types = cursor_bytes(c, (size_t)n->type * 6);
	if (c->is_short)
		return false;
	z->changes = calloc(n->time + 1, sizeof(*z->changes));
	if (!z->changes)
		return false;
	for (uint32_t i = 0; i <= n->time; i++) {
		/* Before the first transition the first type holds. */
		uint8_t kind = i ? (uint8_t)kinds.p[i - 1] : 0;
		int64_t at = i ? (int64_t)cursor_u64be(&times) : INT64_MIN;

		if (kind >= n->type)
			return false;
		struct cursor type = cursor_of(types.p + (size_t)kind * 6, 6);
		z->changes[z->count++] = (struct tzif_change){ at, (int32_t)cursor_u32be(&type) };
	}
	return true;
}

static bool parse(struct tzif *z, struct slice file)
{
	struct cursor c = cursor_of(file.p, file.n);
	struct counts n;
	unsigned version;

	if (!read_header(&c, &version, &n) || version < '2')
		return false;
	cursor_skip(&c, (size_t)n.time * 5 + (size_t)n.type * 6 + n.chars + (size_t)n.leap * 8 +
				n.std + n.utc);
	return read_header(&c, &version, &n) && read_block(z, &c, &n);
}

static bool is_safe_name(const char *name)
{
	for (const char *p = name; *p; p++)
		if (!((*p >= 'a' && *p <= 'z') || (*p >= 'A' && *p <= 'Z') ||
			    (*p >= '0' && *p <= '9') || strchr("/_+-", *p)))
			return false;
	return *name && *name != '/';
}

bool tzif_open(struct tzif *z, const char *name, struct err *e)
{
	struct buf file CLEANUP(buf_free) = { 0 };
	char path[300];

	*z = (struct tzif){ 0 };
	if (!name || strcmp(name, "UTC") == 0)
		return true;
	if (!is_safe_name(name) || strlen(name) > 200)
		return err_set(e, ERR_USAGE, "'%.60s' is not the name of a time zone", name);
	snprintf(path, sizeof(path), "/usr/share/zoneinfo/%s", name);
	buf_init(&file, FILE_MAX_BYTES);
	if (!file_read(path, FILE_MAX_BYTES, &file, e)) {
		err_set(e, ERR_USAGE, "the system knows no time zone '%s'", name);
		return err_hint(e, "names are like Europe/Berlin; the package tzdata holds them");
	}
	if (parse(z, buf_slice(&file)))
		return true;
	tzif_close(z);
	return err_set(e, ERR_ENV, "'%s' is not a time zone file", path);
}

int32_t tzif_offset_s(const struct tzif *z, int64_t epoch_s)
{
	size_t low = 0, high = z->count;

	if (!z->count)
		return 0;
	while (high - low > 1) {
		size_t middle = low + (high - low) / 2;

		if (z->changes[middle].at_s <= epoch_s)
			low = middle;
		else
			high = middle;
	}
	return z->changes[low].offset_s;
}

void tzif_close(struct tzif *z)
{
	free(z->changes);
	*z = (struct tzif){ 0 };
}
