#include "correlate/stats_scan.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/cursor.h"
#include "core/model/rcap_code.h"
#include "core/model/rcap_pack.h"

enum { SEARCH_BYTES = 64 << 10 };

struct stats_scan {
	int fd;
	char name[256];
	uint64_t at, size; /* where the next block begins; length when opened */
	uint64_t torn, damaged;
	uint32_t next_number;
	bool is_lost; /* differences cannot be followed until the next key round */
	bool is_finished;
	struct stats_table table;
	struct json *head;
	struct rcap_packer packer;
	struct buf stored;
};

/* ---- bytes */

static bool read_at(struct stats_scan *s, uint64_t at, void *to, size_t n, struct err *e)
{
	char *p = to;

	for (size_t done = 0; done < n;) {
		ssize_t k = pread(s->fd, p + done, n - done, (off_t)(at + done));

		if (k < 0 && errno == EINTR)
			continue;
		if (k == 0) {
			err_set(e, ERR_INPUT, "the file became shorter while it was read");
			return err_in(e, "%s", s->name);
		}
		if (k < 0)
			return err_os(e, ERR_ENV, errno, "could not read '%s'", s->name);
		done += (size_t)k;
	}
	return true;
}

static bool is_header(const unsigned char *bytes, struct rcap_block_header *h)
{
	return rcap_read_block_header(h, bytes);
}

/* Moves to the next place that has a whole header; to the end when there is none. */
static bool search(struct stats_scan *s, struct err *e)
{
	unsigned char *window = malloc(SEARCH_BYTES);
	struct rcap_block_header h;
	bool ok = window || err_set(e, ERR_ENV, "out of memory");

	s->damaged++;
	s->is_lost = true;
	while (ok && s->size - s->at >= RCAP_BLOCK_HEADER) {
		size_t n =
			s->size - s->at < SEARCH_BYTES ? (size_t)(s->size - s->at) : SEARCH_BYTES;

		ok = read_at(s, s->at, window, n, e);
		for (size_t i = 1; ok && i + RCAP_BLOCK_HEADER <= n; i++)
			if (is_header(window + i, &h)) {
				s->at += i;
				free(window);
				return true;
			}
		s->at += n - RCAP_BLOCK_HEADER + 1;
		if (n < SEARCH_BYTES)
			break;
	}
	s->at = s->size;
	free(window);
	return ok;
}

/* The next whole block: its header and payload. */
static enum step next_block(
	struct stats_scan *s, struct rcap_block_header *h, struct slice *ret, struct err *e)
{
	while (s->at < s->size) {
		unsigned char header[RCAP_BLOCK_HEADER];

		s->torn = s->size - s->at;
		if (s->torn < sizeof(header))
			return STEP_END;
		if (!read_at(s, s->at, header, sizeof(header), e))
			return STEP_FAIL;
		if (!is_header(header, h)) {
			if (!search(s, e))
				return STEP_FAIL;
			continue;
		}
		if (s->torn - sizeof(header) < h->stored_bytes)
			return STEP_END;
		buf_reset(&s->stored);
		char *to = buf_room(&s->stored, h->stored_bytes);
		if (!to) {
			err_set(e, ERR_ENV, "out of memory");
			return STEP_FAIL;
		}
		if (!read_at(s, s->at + sizeof(header), to, h->stored_bytes, e))
			return STEP_FAIL;
		s->at += sizeof(header) + h->stored_bytes;
		s->torn = 0;
		s->is_lost |= h->number != s->next_number;
		s->next_number = h->number + 1;
		if (rcap_unpack(&s->packer, h, (struct slice){ to, h->stored_bytes }, ret))
			return STEP_ITEM;
		s->damaged++;
		s->is_lost = true;
	}
	return STEP_END;
}

/* ---- birth and death */

void stats_scan_close(struct stats_scan *s)
{
	if (!s)
		return;
	if (s->fd >= 0)
		close(s->fd);
	stats_table_free(&s->table);
	json_free(s->head);
	rcap_packer_free(&s->packer);
	buf_free(&s->stored);
	free(s);
}

static bool open_file(struct stats_scan *s, const char *path, struct err *e)
{
	unsigned char first[STATS_FILE_HEADER];
	struct stat st;

	snprintf(s->name, sizeof(s->name), "%s", path);
	s->fd = open(path, O_RDONLY | O_CLOEXEC);
	if (s->fd < 0 || fstat(s->fd, &st) != 0)
		return err_os(e, errno == ENOENT ? ERR_INPUT : ERR_ENV, errno,
			"could not open '%s'", path);
	if (!S_ISREG(st.st_mode))
		return err_set(e, ERR_INPUT, "'%s' is no file", path);
	s->size = (uint64_t)st.st_size;
	size_t n = s->size < sizeof(first) ? (size_t)s->size : sizeof(first);
	if (!read_at(s, 0, first, n, e))
		return false;
	if (!stats_check_file_header((struct slice){ (const char *)first, n }, e))
		return err_in(e, "%s", path);
	s->at = sizeof(first);
	return true;
}

static bool read_head(struct stats_scan *s, struct err *e)
{
	struct rcap_block_header h;
	struct slice payload;
	struct err ignored = { 0 };
	enum step step = next_block(s, &h, &payload, e);

	if (step == STEP_FAIL)
		return false;
	if (step == STEP_ITEM && h.kind == STATS_BLOCK_HEAD)
		s->head = json_parse(payload, s->name, &ignored);
	else if (step == STEP_ITEM)
		s->at -= RCAP_BLOCK_HEADER + h.stored_bytes;
	if (!s->head)
		s->head = json_object();
	return s->head || err_set(e, ERR_ENV, "out of memory");
}

struct stats_scan *stats_scan_open(const char *path, struct err *e)
{
	struct stats_scan *s = calloc(1, sizeof(*s));

	if (s)
		s->fd = -1;
	if (!s || !stats_table_init(&s->table))
		err_set(e, ERR_ENV, "out of memory");
	else if (open_file(s, path, e) && read_head(s, e)) {
		s->is_lost = true;
		return s;
	}
	stats_scan_close(s);
	return NULL;
}

const struct stats_table *stats_scan_table(const struct stats_scan *s)
{
	return &s->table;
}

const struct json *stats_scan_head(const struct stats_scan *s)
{
	return s->head;
}

uint64_t stats_scan_torn_bytes(const struct stats_scan *s)
{
	return s->torn;
}

uint64_t stats_scan_damaged(const struct stats_scan *s)
{
	return s->damaged;
}

bool stats_scan_is_finished(const struct stats_scan *s)
{
	return s->is_finished;
}

/* ---- records: false when one says what cannot be */

static void copy_text(struct slice from, char *to, size_t size)
{
	snprintf(to, size, "%.*s", (int)from.n, from.p ? from.p : "");
}

static bool read_section(struct stats_scan *s, struct slice record)
{
	struct cursor c = cursor_of(record.p, record.n);
	struct stats_section section = { 0 };

	copy_text(cursor_counted(&c), section.name, sizeof(section.name));
	section.flags = (uint32_t)cursor_varint(&c);
	section.column_count = cursor_varint(&c);
	if (section.column_count > STATS_COLUMNS_MAX)
		return false;
	for (size_t i = 0; i < section.column_count; i++) {
		struct stats_column *column = &section.columns[i];

		copy_text(cursor_counted(&c), column->name, sizeof(column->name));
		copy_text(cursor_counted(&c), column->unit, sizeof(column->unit));
		column->kind = cursor_u8(&c);
	}
	return !c.is_short && stats_table_add_section(&s->table, &section);
}

static bool read_name(struct stats_scan *s, struct slice record)
{
	uint32_t number;
	bool is_new;

	return stats_table_name(&s->table, record, &number, &is_new) && is_new;
}

static int64_t changed(int64_t before, int64_t change)
{
	if (before == STATS_NONE)
		return change;
	return change ? (int64_t)((uint64_t)before + (uint64_t)change) : STATS_NONE;
}

static bool read_row(struct stats_scan *s, size_t section, uint32_t name, struct cursor *c)
{
	struct stats_rows *rows = &s->table.sections[section];
	uint64_t mask = cursor_varint(c);
	size_t row;

	if (!stats_table_row(&s->table, section, name, &row))
		return false;
	rows->is_here[row] = mask & 1;
	int64_t *values = stats_values(rows, row);
	for (size_t i = 0; i < rows->schema.column_count; i++)
		if (mask >> (i + 1) & 1)
			values[i] = changed(values[i], cursor_svarint(c));
	return !c->is_short;
}

static bool read_rows(struct stats_scan *s, struct slice record, struct stats_round *round)
{
	struct cursor c = cursor_of(record.p, record.n);
	uint64_t section = cursor_varint(&c), count = cursor_varint(&c);
	int64_t name = 0;

	if (c.is_short || section >= s->table.section_count || count > STATS_ROWS_MAX)
		return false;
	for (uint64_t i = 0; i < count; i++) {
		int64_t change = cursor_svarint(&c);

		if (change < -STATS_NAMES_MAX || change > STATS_NAMES_MAX)
			return false;
		name += change;
		if (name < 0 || (uint64_t)name >= s->table.name_count ||
			!read_row(s, section, (uint32_t)name, &c))
			return false;
	}
	round->has_section[section] = true;
	return true;
}

static void read_gap(struct slice record, struct stats_round *round)
{
	struct cursor c = cursor_of(record.p, record.n);
	struct stats_gap gap = { .reason = (unsigned)cursor_varint(&c) };

	gap.from_ns = cursor_svarint(&c);
	gap.to_ns = cursor_svarint(&c);
	if (!c.is_short && round->gap_count < STATS_GAPS_MAX)
		round->gaps[round->gap_count++] = gap;
}

static bool read_record(
	struct stats_scan *s, uint8_t kind, struct slice record, struct stats_round *round)
{
	struct cursor c = cursor_of(record.p, record.n);

	switch (kind) {
	case STATS_RECORD_SECTION:
		return read_section(s, record);
	case STATS_RECORD_NAME:
		return read_name(s, record);
	case STATS_RECORD_ROUND:
		round->t_ns = cursor_svarint(&c);
		return !c.is_short;
	case STATS_RECORD_ROWS:
		return read_rows(s, record, round);
	case STATS_RECORD_GAP:
		read_gap(record, round);
		return true;
	default:
		return true;
	}
}

/* Times whose differences cannot overflow: 1902 to 2115. */
static bool is_time(int64_t ns)
{
	return ns > -(INT64_C(1) << 61) && ns < INT64_C(1) << 62;
}

static bool read_round(struct stats_scan *s, struct slice payload, struct stats_round *round)
{
	struct cursor c = cursor_of(payload.p, payload.n);
	struct slice record;
	uint8_t kind;
	enum step step;

	while ((step = rcap_next_record(&c, &kind, &record)) == STEP_ITEM)
		if (!read_record(s, kind, record, round))
			return false;
	return step == STEP_END && is_time(round->t_ns);
}

enum step stats_scan_next(struct stats_scan *s, struct stats_round *ret, struct err *e)
{
	struct rcap_block_header h;
	struct slice payload;
	enum step step;

	*ret = (struct stats_round){ 0 };
	while ((step = next_block(s, &h, &payload, e)) == STEP_ITEM) {
		bool is_key = h.kind == STATS_BLOCK_KEY;

		s->is_finished = h.kind == STATS_BLOCK_END;
		if (!is_key && (h.kind != STATS_BLOCK_ROUND || s->is_lost))
			continue;
		if (is_key && !stats_table_reset(&s->table, false)) {
			err_set(e, ERR_ENV, "out of memory");
			return STEP_FAIL;
		}
		s->is_lost = false;
		ret->is_new_table = is_key;
		if (read_round(s, payload, ret))
			return STEP_ITEM;
		s->damaged++;
		s->is_lost = true;
		*ret = (struct stats_round){ 0 };
	}
	return step;
}
