#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <zstd.h>

#include "core/model/rcap.h"
#include "core/model/rcap_block.h"
#include "core/model/rcap_code.h"
#include "core/model/rcap_dict.h"

enum {
	/* Times and values hardly compress. Of pgbench requests: level 1 takes 430 ns CPU
	 * each for 20.4 bytes, -3 245 ns for 22.9, -6 220 ns for 25.7. */
	ZSTD_LEVEL = -3,
	DICTIONARY_PENDING_MAX = RCAP_RAW_MAX / 2,
	COUNTS_SPILL = RCAP_BLOCK_FULL,
	/* A head is rewritten when the file has grown by so many times its size, else
	 * with each tenth flush: over a quiet night it would be most of the file. */
	HEAD_GROWTH = 4,
	HEAD_EVERY_FLUSHES = 10,
	STALL_MS =
		2000, /* a pipe that took nothing for so long when we end: its reader stands still */
};

static const size_t route_text_bytes = (size_t)32 << 20;
static const size_t template_text_bytes = (size_t)256 << 20;
static const size_t hist_slots_most = (size_t)8 << 20; /* 64 MiB over all routes */
/* What entries cost beside their text: 40 and 56 bytes of keys and index, of which twice as
 * many are there after a doubling; a route has its counts too. */
static const size_t route_entry_bytes = 512, template_entry_bytes = 128;

/* What was counted since the last flush. */
struct route_count {
	uint64_t requests, errors, rows, bytes_in, bytes_out;
	struct hist latency_us;
	bool is_touched;
};

struct rcap_writer {
	int fd;
	char name[256];
	bool is_regular;
	uint64_t whole_bytes; /* end of the last whole block */
	uint32_t block_number;
	unsigned headless_flushes;
	uint64_t head_end, head_bytes; /* of the last head */
	struct rcap_dict routes, templates;
	struct buf dictionary, records, counts, packed;
	uint32_t dictionary_records, record_records;
	struct rcap_state state;
	struct route_count *by_route;
	uint32_t *touched;
	uint32_t by_route_room, touched_count;
	size_t hist_slots, hist_slots_max; /* in use; where counts are written early */
	uint64_t refused; /* texts that became "other" */
	/* Since the beginning */
	uint64_t sessions, last_session, requests, errors, stored;
	ZSTD_CCtx *zstd;
	rcap_route_seen *route_seen;
	void *route_seen_data;
	const volatile sig_atomic_t *stop; /* or NULL */
	bool is_stalled; /* the output took nothing any more when we had to end */
};

/* ---- birth and death */

static void destroy(struct rcap_writer *w)
{
	if (!w)
		return;
	for (uint32_t i = 0; i < w->by_route_room; i++)
		hist_free(&w->by_route[i].latency_us);
	free(w->by_route);
	free(w->touched);
	rcap_dict_free(&w->routes);
	rcap_dict_free(&w->templates);
	buf_free(&w->dictionary);
	buf_free(&w->records);
	buf_free(&w->counts);
	buf_free(&w->packed);
	ZSTD_freeCCtx(w->zstd);
	if (w->fd >= 0)
		close(w->fd);
	free(w);
}

static bool prepare(struct rcap_writer *w)
{
	uint64_t seed = 0;

	if (getrandom(&seed, sizeof(seed), GRND_NONBLOCK) < 0)
		seed = (uint64_t)(uintptr_t)w;
	buf_init(&w->dictionary, RCAP_RAW_MAX);
	buf_init(&w->records, RCAP_RAW_MAX);
	buf_init(&w->counts, RCAP_RAW_MAX);
	buf_init(&w->packed, RCAP_BLOCK_HEADER + ZSTD_COMPRESSBOUND(RCAP_RAW_MAX));
	w->zstd = ZSTD_createCCtx();
	w->hist_slots_max = hist_slots_most;
	return w->zstd &&
	       !ZSTD_isError(
		       ZSTD_CCtx_setParameter(w->zstd, ZSTD_c_compressionLevel, ZSTD_LEVEL)) &&
	       rcap_dict_init(&w->routes, RCAP_ROUTES_MAX, route_text_bytes, seed) &&
	       rcap_dict_init(&w->templates, RCAP_TEMPLATES_MAX, template_text_bytes, seed);
}

void rcap_limit(struct rcap_writer *w, size_t bytes)
{
	size_t quarter = bytes / 4;

	rcap_dict_limit(&w->routes, quarter / route_entry_bytes, quarter / 2);
	rcap_dict_limit(&w->templates, quarter / template_entry_bytes, quarter);
	if (w->hist_slots_max > quarter / sizeof(uint64_t))
		w->hist_slots_max = quarter / sizeof(uint64_t);
}

uint64_t rcap_refused_texts(const struct rcap_writer *w)
{
	return w->refused;
}

void rcap_heed_stop(struct rcap_writer *w, const volatile sig_atomic_t *stop)
{
	w->stop = stop;
}

static bool is_ending(const struct rcap_writer *w)
{
	return w->stop && *w->stop && !w->is_regular;
}

/* As much as a pipe with room takes without waiting; errno when there is none. */
static bool can_write(struct rcap_writer *w, size_t *piece)
{
	struct pollfd p = { .fd = w->fd, .events = POLLOUT };

	if (!w->is_stalled && poll(&p, 1, STALL_MS) <= 0)
		w->is_stalled = true;
	if (*piece > PIPE_BUF)
		*piece = PIPE_BUF;
	errno = ETIMEDOUT;
	return !w->is_stalled;
}

/* All or nothing: what a full disk let through of it is taken back, so that the
 * file ends with a whole block. */
static bool write_whole(struct rcap_writer *w, const char *p, size_t n, struct err *e)
{
	size_t done = 0;

	while (done < n) {
		size_t piece = n - done;
		bool may_write = !is_ending(w) || can_write(w, &piece);
		ssize_t k = may_write ? write(w->fd, p + done, piece) : -1;

		if (k < 0 && may_write && errno == EINTR)
			continue;
		if (k <= 0) {
			int os_errno = k < 0 ? errno : ENOSPC;

			if (w->is_regular && ftruncate(w->fd, (off_t)w->whole_bytes) == 0)
				(void)lseek(w->fd, (off_t)w->whole_bytes, SEEK_SET);
			err_os(e, ERR_ENV, os_errno,
				w->is_stalled ? "the output takes nothing any more"
					      : "could not write");
			err_hint(e, "the first %llu bytes are kept and readable%s",
				(unsigned long long)w->whole_bytes,
				os_errno == ENOSPC ? "; make room, or write elsewhere with -o"
						   : "");
			return err_in(e, "%s", w->name);
		}
		done += (size_t)k;
	}
	w->whole_bytes += n;
	return true;
}

struct rcap_writer *rcap_create_fd(int fd, const char *name, struct err *e)
{
	struct rcap_writer *w = calloc(1, sizeof(*w));
	struct stat st;
	unsigned char header[RCAP_FILE_HEADER];

	if (!w) {
		close(fd);
		err_set(e, ERR_ENV, "out of memory");
		return NULL;
	}
	w->fd = fd;
	snprintf(w->name, sizeof(w->name), "%s", name);
	w->is_regular = fstat(fd, &st) == 0 && S_ISREG(st.st_mode);
	rcap_write_file_header(header);
	if (!prepare(w)) {
		err_set(e, ERR_ENV, "out of memory");
		goto failed;
	}
	if (!write_whole(w, (const char *)header, sizeof(header), e))
		goto failed;
	return w;
failed:
	destroy(w);
	return NULL;
}

struct rcap_writer *rcap_create(const char *path, bool is_forced, struct err *e)
{
	if (strcmp(path, "-") == 0) {
		int out = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 0);

		if (out < 0) {
			err_os(e, ERR_ENV, errno, "could not write to standard output");
			return NULL;
		}
		return rcap_create_fd(out, "standard output", e);
	}
	int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | (is_forced ? O_TRUNC : O_EXCL), 0600);
	if (fd < 0) {
		if (errno == EEXIST) {
			err_set(e, ERR_USAGE, "'%s' exists", path);
			err_hint(e, "name another file with -o, or overwrite it with --force");
		} else {
			err_os(e, ERR_ENV, errno, "could not create '%s'", path);
		}
		return NULL;
	}
	return rcap_create_fd(fd, path, e);
}

void rcap_abandon(struct rcap_writer *w)
{
	destroy(w);
}

uint64_t rcap_bytes(const struct rcap_writer *w)
{
	return w->whole_bytes + w->records.n;
}

/* ---- dictionaries */

static bool grow_counts(struct rcap_writer *w, uint32_t route)
{
	if (route < w->by_route_room)
		return true;
	uint32_t room = w->by_route_room ? 2 * w->by_route_room : 64;
	while (room <= route)
		room *= 2;
	struct route_count *by_route = realloc(w->by_route, room * sizeof(*by_route));
	if (!by_route)
		return false;
	w->by_route = by_route;
	memset(by_route + w->by_route_room, 0, (room - w->by_route_room) * sizeof(*by_route));
	uint32_t *touched = realloc(w->touched, room * sizeof(*touched));
	/* A shorter by_route_room only makes the next call try again. */
	if (!touched)
		return false;
	w->touched = touched;
	w->by_route_room = room;
	return true;
}

static void frame(struct buf *to, uint8_t kind, struct buf *payload)
{
	/* A record with a piece missing would make the rest of the block unreadable. */
	if (payload->is_full)
		to->is_full = true;
	buf_add_byte(to, kind);
	buf_add_counted(to, buf_slice(payload));
}

static bool dictionary_has_room(const struct rcap_writer *w, struct slice text)
{
	return text.n <= RCAP_RECORD_MAX && w->dictionary.n + text.n <= DICTIONARY_PENDING_MAX;
}

static void add_entry(
	struct rcap_writer *w, uint8_t kind, const struct buf *prefix, struct slice text)
{
	struct buf payload = { .max = RCAP_RAW_MAX };

	buf_add_slice(&payload, buf_slice(prefix));
	buf_add_counted(&payload, text);
	payload.is_full |= prefix->is_full;
	frame(&w->dictionary, kind, &payload);
	w->dictionary_records++;
	buf_free(&payload);
}

uint32_t rcap_add_route(
	struct rcap_writer *w, enum protocol protocol, uint64_t fingerprint, struct slice text)
{
	char key[9];
	bool is_new;

	if (!dictionary_has_room(w, text)) {
		w->refused++;
		return RCAP_OTHER;
	}
	key[0] = (char)protocol;
	memcpy(key + 1, &fingerprint, sizeof(fingerprint));
	uint32_t id = rcap_dict_add(&w->routes, (struct slice){ key, sizeof(key) }, &is_new);
	w->refused += id == RCAP_OTHER;
	if (is_new) {
		struct buf prefix = { .max = 64 };

		buf_add_varint(&prefix, id);
		buf_add_byte(&prefix, (unsigned char)protocol);
		buf_add_u64le(&prefix, fingerprint);
		add_entry(w, RCAP_RECORD_ROUTE, &prefix, text);
		buf_free(&prefix);
		if (w->route_seen)
			w->route_seen(w->route_seen_data, id, protocol, fingerprint, text);
	}
	return id;
}

void rcap_on_route(struct rcap_writer *w, rcap_route_seen *seen, void *data)
{
	w->route_seen = seen;
	w->route_seen_data = data;
}

uint32_t rcap_add_template(struct rcap_writer *w, struct slice text)
{
	bool is_new;

	if (text.n == 0)
		return RCAP_OTHER;
	if (!dictionary_has_room(w, text)) {
		w->refused++;
		return RCAP_OTHER;
	}
	uint32_t id = rcap_dict_add(&w->templates, text, &is_new);
	w->refused += id == RCAP_OTHER;
	if (is_new) {
		struct buf prefix = { .max = 64 };

		buf_add_varint(&prefix, id);
		add_entry(w, RCAP_RECORD_TEMPLATE, &prefix, text);
		buf_free(&prefix);
	}
	return id;
}

/* ---- blocks */

static bool write_block(
	struct rcap_writer *w, uint8_t kind, struct slice raw, uint32_t records, struct err *e)
{
	struct rcap_block_header h = { .kind = kind,
		.raw_bytes = (uint32_t)raw.n,
		.number = w->block_number,
		.records = records };
	size_t bound = ZSTD_compressBound(raw.n);

	buf_reset(&w->packed);
	char *to = raw.n > RCAP_RAW_MAX ? NULL : buf_room(&w->packed, RCAP_BLOCK_HEADER + bound);
	if (!to) {
		err_set(e, ERR_ENV, "out of memory");
		return err_in(e, "%s", w->name);
	}
	char *payload = to + RCAP_BLOCK_HEADER;
	size_t n = ZSTD_compress2(w->zstd, payload, bound, raw.p, raw.n);
	h.codec = RCAP_ZSTD;
	if (ZSTD_isError(n) || n >= raw.n) {
		h.codec = RCAP_RAW;
		n = raw.n;
		if (n)
			memcpy(payload, raw.p, n);
	}
	h.stored_bytes = (uint32_t)n;
	h.payload_crc = rcap_crc(payload, n);
	rcap_write_block_header(&h, (unsigned char *)to);
	if (!write_whole(w, to, RCAP_BLOCK_HEADER + n, e))
		return false;
	w->block_number++;
	return true;
}

static bool write_dictionary(struct rcap_writer *w, struct err *e)
{
	if (w->dictionary.is_full) {
		err_set(e, ERR_ENV, "out of memory");
		return err_in(e, "%s", w->name);
	}
	if (w->dictionary.n == 0)
		return true;
	if (!write_block(
		    w, RCAP_BLOCK_DICTIONARY, buf_slice(&w->dictionary), w->dictionary_records, e))
		return false;
	buf_reset(&w->dictionary);
	w->dictionary_records = 0;
	return true;
}

/* The texts that the records use stand before them. */
static bool write_records(struct rcap_writer *w, struct err *e)
{
	if (!write_dictionary(w, e))
		return false;
	if (w->records.n == 0)
		return true;
	if (!write_block(w, RCAP_BLOCK_RECORDS, buf_slice(&w->records), w->record_records, e))
		return false;
	buf_reset(&w->records);
	w->record_records = 0;
	w->state = (struct rcap_state){ 0 };
	return true;
}

static bool make_room(struct rcap_writer *w, struct err *e)
{
	return (w->records.n < RCAP_BLOCK_FULL && w->dictionary.n < RCAP_BLOCK_FULL) ||
	       write_records(w, e);
}

static bool check_records(struct rcap_writer *w, size_t before, struct err *e)
{
	if (!w->records.is_full) {
		w->record_records++;
		return true;
	}
	w->records.n = before;
	w->records.is_full = false;
	err_set(e, ERR_ENV, "out of memory, or a record over %d bytes", RCAP_RECORD_MAX);
	return err_in(e, "%s", w->name);
}

/* ---- records */

static bool refuse_unsealed(const struct rcap_writer *w, const char *what, struct err *e)
{
	err_set(e, ERR_REFUSED, "refused to write a %s that did not pass the scrubber", what);
	return err_in(e, "%s", w->name);
}

void rcap_count_session(struct rcap_writer *w, const struct session_record *s)
{
	if (s->id <= w->last_session)
		return;
	w->last_session = s->id;
	w->sessions++;
}

bool rcap_put_session(struct rcap_writer *w, const struct session_record *s, struct err *e)
{
	if (!s->is_sealed)
		return refuse_unsealed(w, "session", e);
	if (!make_room(w, e))
		return false;
	size_t before = w->records.n;
	rcap_code_session(s, &w->records);
	if (!check_records(w, before, e))
		return false;
	rcap_count_session(w, s);
	return true;
}

static bool no_memory(const struct rcap_writer *w, struct err *e)
{
	err_set(e, ERR_ENV, "out of memory");
	return err_in(e, "%s", w->name);
}

/* The counts of a route since the last flush; NULL when memory ran out. */
static struct route_count *touch(struct rcap_writer *w, uint32_t route)
{
	if (!grow_counts(w, route))
		return NULL;
	struct route_count *c = &w->by_route[route];
	if (!c->is_touched) {
		c->is_touched = true;
		w->touched[w->touched_count++] = route;
	}
	return c;
}

static bool count(struct rcap_writer *w, const struct request_record *q, struct err *e)
{
	if (q->form == FORM_PREPARE)
		return true;
	struct route_count *c = touch(w, q->route);
	if (!c)
		return no_memory(w, e);
	bool has_failed = rcap_is_error(q);
	w->requests++;
	w->errors += has_failed;
	c->requests++;
	c->errors += has_failed;
	c->rows += q->rows;
	c->bytes_in += q->bytes_in;
	c->bytes_out += q->bytes_out;
	int64_t us = rcap_latency_us(q);
	if (us < 0)
		return true;
	size_t slots = c->latency_us.length;
	bool ok = hist_add(&c->latency_us, us, 1);
	w->hist_slots += c->latency_us.length - slots;
	return ok || no_memory(w, e);
}

bool rcap_count_route(
	struct rcap_writer *w, uint32_t route, const struct rcap_route *counted, struct err *e)
{
	struct route_count *c = touch(w, route);

	if (!c)
		return no_memory(w, e);
	w->requests += counted->requests;
	w->errors += counted->errors;
	c->requests += counted->requests;
	c->errors += counted->errors;
	c->rows += counted->rows;
	c->bytes_in += counted->bytes_in;
	c->bytes_out += counted->bytes_out;
	size_t slots = c->latency_us.length;
	bool ok = hist_merge(&c->latency_us, &counted->latency_us);
	w->hist_slots += c->latency_us.length - slots;
	return ok || no_memory(w, e);
}

void rcap_set_sessions(struct rcap_writer *w, uint64_t sessions)
{
	w->sessions = sessions;
}

static bool check_request(struct rcap_writer *w, const struct request_record *q, struct err *e)
{
	if (!q->is_sealed)
		return refuse_unsealed(w, "request", e);
	if (q->route < w->routes.count && q->template_id < w->templates.count)
		return true;
	err_set(e, ERR_REFUSED, "a request names route %u or template %u, which was never added",
		q->route, q->template_id);
	return err_in(e, "%s", w->name);
}

bool rcap_store_request(struct rcap_writer *w, const struct request_record *q, struct err *e)
{
	if (!check_request(w, q, e) || !make_room(w, e))
		return false;
	size_t before = w->records.n;
	rcap_code_request(&w->state, q, &w->records);
	if (!check_records(w, before, e))
		return false;
	w->stored++;
	return true;
}

/* ---- flush */

static void forget_counts(struct rcap_writer *w, struct route_count *c)
{
	struct hist kept = c->latency_us;

	if (w->hist_slots > w->hist_slots_max / 2) {
		w->hist_slots -= kept.length;
		hist_free(&kept);
	} else {
		hist_reset(&kept);
	}
	*c = (struct route_count){ .latency_us = kept };
}

static void add_route_counts(struct rcap_writer *w, uint32_t route, struct buf *payload)
{
	struct route_count *c = &w->by_route[route];

	buf_reset(payload);
	buf_add_varint(payload, route);
	buf_add_varint(payload, c->requests);
	buf_add_varint(payload, c->errors);
	buf_add_varint(payload, c->rows);
	buf_add_varint(payload, c->bytes_in);
	buf_add_varint(payload, c->bytes_out);
	hist_write(&c->latency_us, payload);
	frame(&w->counts, RCAP_RECORD_ROUTE_COUNTS, payload);
}

static bool write_counts_block(
	struct rcap_writer *w, uint32_t from, uint32_t to, uint32_t records, struct err *e)
{
	if (w->counts.is_full) {
		err_set(e, ERR_ENV, "out of memory");
		return err_in(e, "%s", w->name);
	}
	if (!write_block(w, RCAP_BLOCK_COUNTS, buf_slice(&w->counts), records, e))
		return false;
	for (uint32_t i = from; i < to; i++)
		forget_counts(w, &w->by_route[w->touched[i]]);
	buf_reset(&w->counts);
	return true;
}

static void add_totals(struct rcap_writer *w, struct buf *payload)
{
	buf_reset(payload);
	buf_add_varint(payload, w->sessions);
	buf_add_varint(payload, w->requests);
	buf_add_varint(payload, w->errors);
	buf_add_varint(payload, w->stored);
	frame(&w->counts, RCAP_RECORD_TOTALS, payload);
}

/* What could not be written stays counted for the next flush. */
static bool write_counts(struct rcap_writer *w, struct err *e)
{
	struct buf payload = { .max = RCAP_RAW_MAX };
	uint32_t written = 0;
	bool ok = true;

	buf_reset(&w->counts);
	for (uint32_t i = 0; ok && i < w->touched_count; i++) {
		add_route_counts(w, w->touched[i], &payload);
		if (w->counts.n >= COUNTS_SPILL) {
			ok = write_counts_block(w, written, i + 1, i + 1 - written, e);
			if (ok)
				written = i + 1;
		}
	}
	if (ok) {
		add_totals(w, &payload);
		ok = write_counts_block(
			w, written, w->touched_count, w->touched_count - written + 1, e);
		if (ok)
			written = w->touched_count;
	}
	w->touched_count -= written;
	if (written)
		memmove(w->touched, w->touched + written, w->touched_count * sizeof(*w->touched));
	buf_free(&payload);
	return ok;
}

bool rcap_put_request(struct rcap_writer *w, const struct request_record *q, struct err *e)
{
	return rcap_store_request(w, q, e) && rcap_count_request(w, q, e);
}

/* Counts are differences: where histograms take too much they are written before the flush. */
bool rcap_count_request(struct rcap_writer *w, const struct request_record *q, struct err *e)
{
	bool has_many = w->hist_slots > w->hist_slots_max;

	return check_request(w, q, e) && make_room(w, e) && count(w, q, e) &&
	       (!has_many || (write_records(w, e) && write_counts(w, e)));
}

static bool write_head(struct rcap_writer *w, const struct json *head, struct err *e)
{
	struct buf text = { .max = RCAP_RAW_MAX };

	json_write(head, false, &text);
	bool ok = !text.is_full;
	if (!ok) {
		err_set(e, ERR_ENV, "the head does not fit in memory or %d bytes", RCAP_RAW_MAX);
		err_in(e, "%s", w->name);
	}
	uint64_t before = w->whole_bytes;
	ok = ok && write_block(w, RCAP_BLOCK_HEAD, buf_slice(&text), 1, e);
	if (ok) {
		w->headless_flushes = 0;
		w->head_end = w->whole_bytes;
		w->head_bytes = w->whole_bytes - before;
	}
	buf_free(&text);
	return ok;
}

bool rcap_flush(struct rcap_writer *w, const struct json *head, struct err *e)
{
	bool has_news = w->records.n || w->dictionary.n || w->touched_count;

	if (!write_records(w, e))
		return false;
	if (has_news && !write_counts(w, e))
		return false;
	bool is_due = ++w->headless_flushes >= HEAD_EVERY_FLUSHES || !w->head_end ||
		      w->whole_bytes - w->head_end >= HEAD_GROWTH * w->head_bytes;
	return !head || !is_due || write_head(w, head, e);
}

static bool write_end(struct rcap_writer *w, struct err *e)
{
	struct buf payload = { .max = 64 };

	buf_add_varint(&payload, w->whole_bytes);
	buf_add_varint(&payload, w->requests);
	buf_add_varint(&payload, w->stored);
	bool ok = write_block(w, RCAP_BLOCK_END, buf_slice(&payload), 1, e);
	buf_free(&payload);
	return ok;
}

bool rcap_finish(struct rcap_writer *w, const struct json *head, struct err *e)
{
	w->headless_flushes = HEAD_EVERY_FLUSHES;
	bool ok = rcap_flush(w, head, e) && write_end(w, e);

	if (ok && w->is_regular && fsync(w->fd) != 0) {
		err_os(e, ERR_ENV, errno, "could not write to disk");
		ok = err_in(e, "%s", w->name);
	}
	if (close(w->fd) != 0 && ok) {
		err_os(e, ERR_ENV, errno, "could not close");
		ok = err_in(e, "%s", w->name);
	}
	w->fd = -1;
	destroy(w);
	return ok;
}
