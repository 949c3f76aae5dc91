/* The key log file: lines "LABEL client_random secret" in hexadecimal. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "capture/wire/tls_parts.h"
#include "core/base/hex.h"
#include "core/base/table.h"

enum {
	ENTRIES_MAX = 1 << 17, /* connections; then the oldest make room */
	ENTRIES_STEP = 256, /* taken and locked at once */
	LINE_MAX = 1024,
	READ_MAX = 16384,
};

#define LOOK_NS (10 * NS_PER_MS)

struct entry {
	unsigned char random[TLS_RANDOM_N];
	unsigned char secrets[TLS_LABELS][TLS_SECRET_MAX];
	uint8_t n[TLS_LABELS];
};

/* All of it lies in locked memory, and so do the entries. */
struct tls_keys {
	int fd;
	off_t at;
	char path[256];
	struct table by_random;
	struct entry *steps[ENTRIES_MAX / ENTRIES_STEP];
	size_t used, secrets, lines, odd_lines, forgotten;
	int64_t looked_ns;
	size_t held_n;
	bool is_growing;
	size_t line_n; /* of a line that is not whole yet */
	char line[LINE_MAX];
	char input[READ_MAX];
	unsigned char plain[TLS_BODY_MAX];
};

static const char *const labels[TLS_LABELS] = {
	[TLS_CLIENT_RANDOM] = "CLIENT_RANDOM",
	[TLS_CLIENT_EARLY] = "CLIENT_EARLY_TRAFFIC_SECRET",
	[TLS_CLIENT_HANDSHAKE] = "CLIENT_HANDSHAKE_TRAFFIC_SECRET",
	[TLS_SERVER_HANDSHAKE] = "SERVER_HANDSHAKE_TRAFFIC_SECRET",
	[TLS_CLIENT_TRAFFIC] = "CLIENT_TRAFFIC_SECRET_0",
	[TLS_SERVER_TRAFFIC] = "SERVER_TRAFFIC_SECRET_0",
};

/* Where the limit on locked memory is low the log's secrets stay unlocked: they lie in a
 * file anyway. Dumps and children never have them. */
static void *map_private(size_t n)
{
	void *p = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		return NULL;
	(void)mlock(p, n);
	(void)madvise(p, n, MADV_DONTDUMP);
	(void)madvise(p, n, MADV_WIPEONFORK);
	return p;
}

static void unmap_wiped(void *p, size_t n)
{
	if (!p)
		return;
	explicit_bzero(p, n);
	munmap(p, n);
}

/* ---- entries */

static struct slice random_of(const struct entry *entry)
{
	return (struct slice){ (const char *)entry->random, TLS_RANDOM_N };
}

static struct entry *take_entry(struct tls_keys *k)
{
	size_t at = k->used % ENTRIES_MAX;
	struct entry **step = &k->steps[at / ENTRIES_STEP];
	struct entry *entry;

	if (!*step)
		*step = map_private(ENTRIES_STEP * sizeof **step);
	if (!*step)
		return NULL;
	entry = *step + at % ENTRIES_STEP;
	if (k->used++ >= ENTRIES_MAX) {
		table_remove(&k->by_random, random_of(entry));
		explicit_bzero(entry, sizeof *entry);
		k->forgotten++;
	}
	return entry;
}

static struct entry *entry_of(struct tls_keys *k, const unsigned char random[TLS_RANDOM_N])
{
	struct slice key = { (const char *)random, TLS_RANDOM_N };
	struct entry *entry = table_get(&k->by_random, key);

	if (entry)
		return entry;
	entry = take_entry(k);
	if (!entry)
		return NULL;
	memcpy(entry->random, random, TLS_RANDOM_N);
	return table_put(&k->by_random, random_of(entry), entry) ? entry : NULL;
}

/* ---- lines */

/* How many bytes a word of hexadecimal digits has; 0: it is none, or too long. */
static size_t read_hex(struct slice word, unsigned char *to, size_t max)
{
	if (!word.n || word.n % 2 || word.n / 2 > max)
		return 0;
	for (size_t i = 0; i < word.n; i += 2) {
		int high = hex_value(word.p[i]), low = hex_value(word.p[i + 1]);

		if (high < 0 || low < 0)
			return 0;
		to[i / 2] = (unsigned char)(high << 4 | low);
	}
	return word.n / 2;
}

static struct slice next_word(struct slice *line)
{
	struct slice word;

	while (line->n && *line->p == ' ')
		line->p++, line->n--;
	word = (struct slice){ line->p, 0 };
	while (line->n && *line->p != ' ')
		line->p++, line->n--, word.n++;
	return word;
}

static bool is_label(struct slice word)
{
	for (size_t i = 0; i < word.n; i++)
		if (word.p[i] != '_' && (word.p[i] < 'A' || word.p[i] > 'Z') &&
			(word.p[i] < '0' || word.p[i] > '9'))
			return false;
	return word.n > 0;
}

/* Labels that nobody here needs (EXPORTER_SECRET, RSA, ECH_SECRET) are passed over. */
static bool take_line(struct tls_keys *k, struct slice line)
{
	unsigned char random[TLS_RANDOM_N], secret[TLS_SECRET_MAX];
	struct slice label, first, second;
	struct entry *entry;
	size_t n;
	int which = TLS_LABELS;

	if (line.n && line.p[line.n - 1] == '\r')
		line.n--;
	if (!line.n || *line.p == '#')
		return true;
	label = next_word(&line);
	first = next_word(&line);
	second = next_word(&line);
	while (--which >= 0 && !slice_is(label, labels[which]))
		;
	if (which < 0)
		return is_label(label) && first.n && second.n;
	n = read_hex(second, secret, sizeof secret);
	if (read_hex(first, random, sizeof random) != TLS_RANDOM_N ||
		(which == TLS_CLIENT_RANDOM ? n != 48 : n != 32 && n != 48))
		return false;
	entry = entry_of(k, random);
	if (entry) {
		k->secrets += !entry->n[which];
		memcpy(entry->secrets[which], secret, n);
		entry->n[which] = (uint8_t)n;
	}
	explicit_bzero(secret, sizeof secret);
	return true;
}

/* is_strict: the first line that is none is an error; otherwise it is counted. */
static bool end_line(struct tls_keys *k, bool is_strict, struct err *e)
{
	bool is_key = k->line_n < LINE_MAX && take_line(k, (struct slice){ k->line, k->line_n });

	k->lines++;
	k->line_n = 0;
	if (is_key)
		return true;
	k->odd_lines++;
	if (!is_strict)
		return true;
	err_set(e, ERR_INPUT, "no line of a TLS key log");
	err_in(e, "%s: line %zu", k->path, k->lines);
	return err_hint(e,
		"SSLKEYLOGFILE makes such a file: a label, 64 hexadecimal digits, a secret; "
		"comments begin with #");
}

static bool take_text(struct tls_keys *k, struct slice text, bool is_strict, struct err *e)
{
	for (size_t i = 0; i < text.n; i++) {
		if (text.p[i] == '\n') {
			if (!end_line(k, is_strict, e))
				return false;
		} else if (k->line_n < LINE_MAX) {
			k->line[k->line_n++] = text.p[i];
		}
	}
	return true;
}

/* The last line may lack its end; one that is still being written is no error. */
static void try_last_line(struct tls_keys *k)
{
	if (k->line_n < LINE_MAX)
		(void)take_line(k, (struct slice){ k->line, k->line_n });
}

/* ---- the file */

static bool read_on(struct tls_keys *k, bool is_strict, struct err *e)
{
	for (;;) {
		ssize_t n = pread(k->fd, k->input, sizeof k->input, k->at);
		bool ok;

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return err_os(
				e, ERR_ENV, errno, "could not read the key log '%s'", k->path);
		if (n == 0)
			break;
		k->at += n;
		ok = take_text(k, (struct slice){ k->input, (size_t)n }, is_strict, e);
		explicit_bzero(k->input, (size_t)n);
		if (!ok)
			return false;
	}
	try_last_line(k);
	return true;
}

static bool check_file(int fd, const char *path, struct err *e)
{
	struct stat st;

	if (fstat(fd, &st) != 0)
		return err_os(e, ERR_ENV, errno, "could not look at the key log '%s'", path);
	if (!S_ISREG(st.st_mode))
		return err_set(e, ERR_INPUT, "the key log '%s' is not a regular file", path);
	if (st.st_uid == geteuid() && st.st_mode & 077) {
		err_set(e, ERR_REFUSED, "the key log '%s' has mode %04o: others can use it", path,
			(unsigned)(st.st_mode & 07777));
		return err_hint(e, "chmod 600 '%s'", path);
	}
	return true;
}

static struct tls_keys *new_keys(const char *path, int fd, struct err *e)
{
	struct tls_keys *k = map_private(sizeof *k);

	if (!k) {
		err_os(e, ERR_ENV, errno, "could not get memory for the key log");
		return NULL;
	}
	k->fd = fd;
	snprintf(k->path, sizeof k->path, "%s", path);
	table_init(&k->by_random, ENTRIES_MAX);
	return k;
}

struct tls_keys *tls_keys_load(const char *path, struct err *e)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	struct tls_keys *k = NULL;

	if (fd < 0) {
		err_os(e, ERR_ENV, errno, "could not open the key log '%s'", path);
		return NULL;
	}
	if (check_file(fd, path, e))
		k = new_keys(path, fd, e);
	if (!k) {
		close(fd);
		return NULL;
	}
	if (read_on(k, true, e))
		return k;
	tls_keys_free(k);
	return NULL;
}

struct tls_keys *tls_keys_of(struct slice text, struct err *e)
{
	struct tls_keys *k = new_keys("key log", -1, e);

	if (k && take_text(k, text, true, e)) {
		try_last_line(k);
		return k;
	}
	tls_keys_free(k);
	return NULL;
}

bool tls_keys_add(struct tls_keys *k, struct slice text, struct err *e)
{
	return take_text(k, text, true, e);
}

void tls_keys_free(struct tls_keys *k)
{
	if (!k)
		return;
	table_free(&k->by_random);
	for (size_t i = 0; i < LENGTH(k->steps); i++)
		unmap_wiped(k->steps[i], ENTRIES_STEP * sizeof(struct entry));
	if (k->fd >= 0)
		close(k->fd);
	unmap_wiped(k, sizeof *k);
}

/* A file that became shorter was begun anew. */
bool tls_keys_refresh(struct tls_keys *k, struct err *e)
{
	struct stat st;

	if (k->fd < 0)
		return true;
	if (fstat(k->fd, &st) != 0)
		return err_os(e, ERR_ENV, errno, "could not look at the key log '%s'", k->path);
	if (st.st_size == k->at)
		return true;
	if (st.st_size < k->at) {
		k->at = 0;
		k->line_n = 0;
	}
	return read_on(k, false, e);
}

void tls_keys_follow(struct tls_keys *k)
{
	k->is_growing = true;
}

bool tls_keys_is_growing(const struct tls_keys *k)
{
	return k->is_growing;
}

size_t tls_keys_count(const struct tls_keys *k)
{
	return k->secrets;
}

size_t tls_keys_odd_lines(const struct tls_keys *k)
{
	return k->odd_lines;
}

/* ---- for connections */

static struct slice find(
	const struct tls_keys *k, const unsigned char *random, enum tls_label label)
{
	struct slice key = { (const char *)random, TLS_RANDOM_N };
	const struct entry *entry = table_get(&k->by_random, key);

	if (!entry || !entry->n[label])
		return (struct slice){ 0 };
	return (struct slice){ (const char *)entry->secrets[label], entry->n[label] };
}

/* A log that cannot be read any more has no new keys: connections say so. */
void tls_keys_look(struct tls_keys *k)
{
	struct err ignored = { 0 };

	if (k->is_growing)
		(void)!tls_keys_refresh(k, &ignored);
}

struct slice tls_keys_find(struct tls_keys *k, const unsigned char random[TLS_RANDOM_N],
	enum tls_label label, int64_t now_ns)
{
	struct slice secret = find(k, random, label);

	if (secret.n || !k->is_growing ||
		(now_ns >= k->looked_ns && now_ns - k->looked_ns < LOOK_NS))
		return secret;
	k->looked_ns = now_ns;
	tls_keys_look(k);
	return find(k, random, label);
}

unsigned char *tls_keys_plain(struct tls_keys *k)
{
	return k->plain;
}

bool tls_keys_hold(struct tls_keys *k, size_t n)
{
	if (k->held_n + n > TLS_HELD_TOTAL_MAX)
		return false;
	k->held_n += n;
	return true;
}

void tls_keys_unhold(struct tls_keys *k, size_t n)
{
	k->held_n -= n;
}
