#include "correlate/stats_file.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "core/base/cursor.h"
#include "core/model/rcap_pack.h"

/* As PNG's signature: not text, and broken by line-end or 7-bit conversion. */
static const unsigned char file_magic[8] = { 0x89, 'R', 'S', 'T', 'A', '\r', '\n', 0x1a };

struct stats_writer {
	int fd;
	char name[256];
	uint64_t whole_bytes;
	uint32_t block_number;
	struct stats_table table;
	struct rcap_packer packer;
	struct buf payload, rows, packed;
	uint32_t records, row_count;
	uint32_t last_name;
	size_t section; /* of the rows that were put */
	int64_t t_ns, key_ns; /* of this round; of the last key round */
	bool is_key, is_broken;
};

/* ---- file header */

void stats_write_file_header(unsigned char to[STATS_FILE_HEADER])
{
	uint32_t crc;

	memcpy(to, file_magic, sizeof(file_magic));
	to[8] = STATS_VERSION;
	to[9] = to[10] = to[11] = 0;
	crc = rcap_crc(to, 12);
	for (int i = 0; i < 4; i++)
		to[12 + i] = (unsigned char)(crc >> 8 * i);
}

bool stats_check_file_header(struct slice s, struct err *e)
{
	struct cursor c = cursor_of(s.p, s.n);

	if (s.n == 0)
		return err_set(e, ERR_INPUT, "the file is empty");
	if (s.n < STATS_FILE_HEADER && memcmp(s.p, file_magic, s.n < 8 ? s.n : 8) == 0)
		return err_set(e, ERR_INPUT, "the recording ends within its header");
	if (s.n < STATS_FILE_HEADER || memcmp(s.p, file_magic, 8) != 0) {
		err_set(e, ERR_INPUT, "not a recording of statistics (.rstat)");
		return err_hint(e, "'reprod correlate watch DSN -o F.rstat' makes one");
	}
	cursor_skip(&c, 8);
	unsigned major = cursor_u16le(&c);
	cursor_skip(&c, 2);
	if (cursor_u32le(&c) != rcap_crc(s.p, 12))
		return err_set(e, ERR_INPUT, "offset 0: the file header is damaged (checksum)");
	if (major == STATS_VERSION)
		return true;
	err_set(e, ERR_INPUT, "version %u of the recording is not known (this reads %u)", major,
		(unsigned)STATS_VERSION);
	return err_hint(e, "read it with the reprod that wrote it, or a newer one");
}

/* ---- bytes */

/* All or nothing: what a full disk let through is taken back. */
static bool write_whole(struct stats_writer *w, const void *bytes, size_t n, struct err *e)
{
	const char *p = bytes;
	size_t done = 0;

	while (done < n) {
		ssize_t k = write(w->fd, p + done, n - done);

		if (k < 0 && errno == EINTR)
			continue;
		if (k <= 0) {
			int os_errno = k < 0 ? errno : ENOSPC;

			if (ftruncate(w->fd, (off_t)w->whole_bytes) == 0)
				(void)lseek(w->fd, (off_t)w->whole_bytes, SEEK_SET);
			err_os(e, ERR_ENV, os_errno, "could not write");
			err_hint(e, "the first %llu bytes are kept and readable",
				(unsigned long long)w->whole_bytes);
			return err_in(e, "%s", w->name);
		}
		done += (size_t)k;
	}
	w->whole_bytes += n;
	return true;
}

static bool write_block(
	struct stats_writer *w, uint8_t kind, struct slice raw, uint32_t records, struct err *e)
{
	if (!rcap_pack(&w->packer, kind, w->block_number, records, raw, &w->packed)) {
		err_set(e, ERR_ENV, "out of memory");
		return err_in(e, "%s", w->name);
	}
	if (!write_whole(w, w->packed.p, w->packed.n, e))
		return false;
	w->block_number++;
	return true;
}

static bool write_head(struct stats_writer *w, const struct json *head, struct err *e)
{
	struct buf text CLEANUP(buf_free) = { 0 };
	unsigned char header[STATS_FILE_HEADER];

	stats_write_file_header(header);
	json_write(head, false, &text);
	return write_whole(w, header, sizeof(header), e) &&
	       write_block(w, STATS_BLOCK_HEAD, buf_slice(&text), 1, e);
}

/* ---- birth and death */

void stats_abandon(struct stats_writer *w)
{
	if (!w)
		return;
	if (w->fd >= 0)
		close(w->fd);
	stats_table_free(&w->table);
	rcap_packer_free(&w->packer);
	buf_free(&w->payload);
	buf_free(&w->rows);
	buf_free(&w->packed);
	free(w);
}

static int open_file(const char *path, bool is_forced, struct err *e)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | (is_forced ? O_TRUNC : O_EXCL), 0600);

	if (fd >= 0)
		return fd;
	if (errno != EEXIST) {
		err_os(e, ERR_ENV, errno, "could not create '%s'", path);
		return -1;
	}
	err_set(e, ERR_USAGE, "'%s' exists", path);
	err_hint(e, "name another file with -o, or overwrite it with --force");
	return -1;
}

struct stats_writer *stats_create(const char *path, bool is_forced,
	const struct stats_section *sections, size_t section_count, const struct json *head,
	struct err *e)
{
	struct stats_writer *w = calloc(1, sizeof(*w));
	bool has_room = w && stats_table_init(&w->table);

	if (w)
		w->fd = -1;
	for (size_t i = 0; has_room && i < section_count; i++)
		has_room = stats_table_add_section(&w->table, &sections[i]);
	if (!has_room) {
		err_set(e, ERR_ENV, "out of memory");
		goto failed;
	}
	snprintf(w->name, sizeof(w->name), "%s", path);
	w->payload.max = w->rows.max = RCAP_RAW_MAX;
	w->fd = open_file(path, is_forced, e);
	if (w->fd < 0 || !write_head(w, head, e))
		goto failed;
	return w;
failed:
	stats_abandon(w);
	return NULL;
}

bool stats_finish(struct stats_writer *w, uint64_t *ret_bytes, struct err *e)
{
	struct buf end CLEANUP(buf_free) = { 0 };

	buf_add_varint(&end, w->whole_bytes);
	bool ok = write_block(w, STATS_BLOCK_END, buf_slice(&end), 0, e);
	*ret_bytes = w->whole_bytes;
	if (ok && fsync(w->fd) != 0 && errno != EINVAL && errno != EROFS) {
		err_os(e, ERR_ENV, errno, "could not write '%s'", w->name);
		ok = false;
	}
	stats_abandon(w);
	return ok;
}

const struct stats_table *stats_written(const struct stats_writer *w)
{
	return &w->table;
}

uint64_t stats_bytes(const struct stats_writer *w)
{
	return w->whole_bytes;
}

/* ---- records */

static void frame(struct stats_writer *w, uint8_t kind, const struct buf *record)
{
	w->payload.is_full |= record->is_full;
	buf_add_byte(&w->payload, kind);
	buf_add_counted(&w->payload, buf_slice(record));
	w->records++;
}

static void add_schema(struct stats_writer *w, size_t number)
{
	const struct stats_section *s = &w->table.sections[number].schema;
	struct buf record CLEANUP(buf_free) = { 0 };

	buf_add_counted(&record, slice_of(s->name));
	buf_add_varint(&record, s->flags);
	buf_add_varint(&record, s->column_count);
	for (size_t i = 0; i < s->column_count; i++) {
		buf_add_counted(&record, slice_of(s->columns[i].name));
		buf_add_counted(&record, slice_of(s->columns[i].unit));
		buf_add_byte(&record, s->columns[i].kind);
	}
	frame(w, STATS_RECORD_SECTION, &record);
}

static void begin_anew(struct stats_writer *w)
{
	w->is_key = true;
	w->key_ns = w->t_ns;
	if (!stats_table_reset(&w->table, true))
		w->is_broken = true;
	for (size_t i = 0; i < w->table.section_count; i++)
		add_schema(w, i);
}

void stats_begin(struct stats_writer *w, int64_t t_ns)
{
	struct buf record CLEANUP(buf_free) = { 0 };

	buf_reset(&w->payload);
	w->records = 0;
	w->t_ns = t_ns;
	w->is_key = false;
	w->is_broken = false;
	/* Names of statements and relations come and go: never close to the cap. */
	if (!w->key_ns || t_ns - w->key_ns >= STATS_KEY_EVERY_NS || t_ns < w->key_ns ||
		w->table.name_count > STATS_NAMES_MAX / 2)
		begin_anew(w);
	buf_add_svarint(&record, t_ns);
	frame(w, STATS_RECORD_ROUND, &record);
}

static bool find_row(struct stats_writer *w, size_t section, struct slice key, size_t *ret)
{
	uint32_t name;
	bool is_new;

	if (!stats_table_name(&w->table, key, &name, &is_new))
		return false;
	if (is_new) {
		struct buf record CLEANUP(buf_free) = { 0 };

		buf_add_slice(&record, w->table.names[name]);
		frame(w, STATS_RECORD_NAME, &record);
	}
	return stats_table_row(&w->table, section, name, ret);
}

static void add_row_number(struct stats_writer *w, const struct stats_rows *s, size_t row)
{
	buf_add_svarint(&w->rows, (int64_t)s->names[row] - (int64_t)w->last_name);
	w->last_name = s->names[row];
	w->row_count++;
}

/* 0 says "no value any more" of a column that had one: an unchanged one is not written. */
static void add_change(struct buf *to, int64_t before, int64_t now)
{
	uint64_t from = before == STATS_NONE ? 0 : (uint64_t)before;

	buf_add_svarint(to, now == STATS_NONE ? 0 : (int64_t)((uint64_t)now - from));
}

void stats_put(struct stats_writer *w, size_t section, struct slice key, const int64_t *values)
{
	struct stats_rows *s = &w->table.sections[section];
	uint64_t mask = 0;
	size_t row;

	assert(!w->row_count || w->section == section);
	w->section = section;
	if (!find_row(w, section, key, &row) || s->is_seen[row])
		return;
	int64_t *known = stats_values(s, row);
	for (size_t c = 0; c < s->schema.column_count; c++)
		if (known[c] != values[c])
			mask |= UINT64_C(1) << c;
	s->is_seen[row] = true;
	if (!mask && s->is_here[row])
		return;
	s->is_here[row] = true;
	add_row_number(w, s, row);
	buf_add_varint(&w->rows, mask << 1 | 1);
	for (size_t c = 0; c < s->schema.column_count; c++)
		if (mask >> c & 1)
			add_change(&w->rows, known[c], values[c]);
	memcpy(known, values, s->schema.column_count * sizeof(*known));
}

void stats_end_section(struct stats_writer *w, size_t section)
{
	struct stats_rows *s = &w->table.sections[section];
	struct buf record CLEANUP(buf_free) = { .max = RCAP_RAW_MAX };

	assert(!w->row_count || w->section == section);
	for (size_t row = 0; row < s->count; row++) {
		if (s->is_here[row] && !s->is_seen[row]) {
			s->is_here[row] = false;
			add_row_number(w, s, row);
			buf_add_varint(&w->rows, 0);
		}
		s->is_seen[row] = false;
	}
	buf_add_varint(&record, section);
	buf_add_varint(&record, w->row_count);
	buf_add_slice(&record, buf_slice(&w->rows));
	record.is_full |= w->rows.is_full;
	frame(w, STATS_RECORD_ROWS, &record);
	buf_reset(&w->rows);
	w->row_count = w->last_name = 0;
}

void stats_add_gap(
	struct stats_writer *w, int64_t from_ns, int64_t to_ns, enum stats_gap_reason why)
{
	struct buf record CLEANUP(buf_free) = { 0 };

	buf_add_varint(&record, why);
	buf_add_svarint(&record, from_ns);
	buf_add_svarint(&record, to_ns);
	frame(w, STATS_RECORD_GAP, &record);
}

bool stats_commit(struct stats_writer *w, struct err *e)
{
	if (w->payload.is_full || w->is_broken) {
		err_set(e, ERR_ENV, "out of memory");
		return err_in(e, "%s", w->name);
	}
	return write_block(w, w->is_key ? STATS_BLOCK_KEY : STATS_BLOCK_ROUND,
		buf_slice(&w->payload), w->records, e);
}
