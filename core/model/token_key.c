/* The one-shot and EVP forms keep keyed state in OpenSSL's own heap, which is
 * neither locked nor left out of dumps; SHA256_CTX lies where we put it. */
#define OPENSSL_SUPPRESS_DEPRECATED

#include "core/model/token_key.h"

#include <errno.h>
#include <fcntl.h>
#include <openssl/sha.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "tokens are the same on every machine");

enum { KEY_BYTES_MIN = 32, KEY_FILE_MAX = 4096, BLOCK = 64 };

struct hmac_state {
	SHA256_CTX inner, outer;
};

struct token_key {
	struct hmac_state master;
	struct hmac_state tokens;
	SHA256_CTX *scratch; /* in the same page */
	SHA256_CTX running;
	uint64_t sip[2];
	char id[17];
	bool is_fresh;
	unsigned char input[KEY_FILE_MAX];
};

static void *map_locked(size_t n, struct err *e)
{
	void *p = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED) {
		err_os(e, ERR_ENV, errno, "could not get memory for the key");
		return NULL;
	}
	if (mlock(p, n) != 0) {
		err_os(e, ERR_ENV, errno, "could not lock the key in memory");
		err_hint(e, "raise the limit on locked memory (ulimit -l) to 64 KiB");
		munmap(p, n);
		return NULL;
	}
	/* Old kernels lack these; the key is then only as private as the process. */
	(void)madvise(p, n, MADV_DONTDUMP);
	(void)madvise(p, n, MADV_WIPEONFORK);
	return p;
}

static void hmac_init(struct hmac_state *h, const unsigned char *key, size_t n)
{
	unsigned char pad[BLOCK] = { 0 };

	if (n > BLOCK)
		SHA256(key, n, pad);
	else
		memcpy(pad, key, n);
	for (size_t i = 0; i < BLOCK; i++)
		pad[i] ^= 0x36;
	SHA256_Init(&h->inner);
	SHA256_Update(&h->inner, pad, BLOCK);
	for (size_t i = 0; i < BLOCK; i++)
		pad[i] ^= 0x36 ^ 0x5c;
	SHA256_Init(&h->outer);
	SHA256_Update(&h->outer, pad, BLOCK);
	explicit_bzero(pad, sizeof(pad));
}

static void hmac(const struct hmac_state *h, SHA256_CTX *scratch, struct slice a, struct slice b,
	unsigned char out[32])
{
	*scratch = h->inner;
	if (a.n)
		SHA256_Update(scratch, a.p, a.n);
	if (b.n)
		SHA256_Update(scratch, b.p, b.n);
	SHA256_Final(out, scratch);
	*scratch = h->outer;
	SHA256_Update(scratch, out, 32);
	SHA256_Final(out, scratch);
}

/* Purposes get keys of their own, so that no output says anything of another. */
static void derive(struct token_key *k, size_t n)
{
	unsigned char out[32];
	const struct slice none = { NULL, 0 };

	k->scratch = &k->running;
	hmac_init(&k->master, k->input, n);
	hmac(&k->master, k->scratch, SLICE("reprod token short 1"), none, out);
	memcpy(k->sip, out, sizeof(k->sip));
	hmac(&k->master, k->scratch, SLICE("reprod token long 1"), none, out);
	hmac_init(&k->tokens, out, sizeof(out));
	hmac(&k->master, k->scratch, SLICE("reprod key id 1"), none, out);
	for (size_t i = 0; i < 8; i++)
		snprintf(k->id + 2 * i, 3, "%02x", out[i]);
	explicit_bzero(out, sizeof(out));
	explicit_bzero(k->input, sizeof(k->input));
	explicit_bzero(&k->master, sizeof(k->master));
}

struct token_key *token_key_fresh(struct err *e)
{
	struct token_key *k = map_locked(sizeof(*k), e);

	if (!k)
		return NULL;
	if (getrandom(k->input, KEY_BYTES_MIN, 0) != KEY_BYTES_MIN) {
		err_os(e, ERR_ENV, errno, "could not get random bytes for a key");
		token_key_free(k);
		return NULL;
	}
	derive(k, KEY_BYTES_MIN);
	k->is_fresh = true;
	return k;
}

struct token_key *token_key_of(const unsigned char bytes[32], struct err *e)
{
	struct token_key *k = map_locked(sizeof(*k), e);

	if (!k)
		return NULL;
	memcpy(k->input, bytes, 32);
	derive(k, 32);
	return k;
}

static bool check_file(int fd, const char *path, struct err *e)
{
	struct stat st;

	if (fstat(fd, &st) != 0)
		return err_os(e, ERR_ENV, errno, "could not look at the key file '%s'", path);
	if (!S_ISREG(st.st_mode))
		return err_set(e, ERR_INPUT, "the key file '%s' is not a regular file", path);
	if (st.st_mode & 077) {
		err_set(e, ERR_REFUSED, "the key file '%s' has mode %04o: others can use it", path,
			(unsigned)(st.st_mode & 07777));
		return err_hint(e, "chmod 600 '%s'", path);
	}
	/* Under sudo the key may well be the calling user's own. */
	if (st.st_uid != geteuid() && geteuid() != 0) {
		err_set(e, ERR_REFUSED, "the key file '%s' belongs to user %u", path,
			(unsigned)st.st_uid);
		return err_hint(e, "use a key file of your own, mode 600");
	}
	return true;
}

static bool read_key(int fd, const char *path, struct token_key *k, size_t *ret_n, struct err *e)
{
	size_t n = 0;

	while (n < sizeof(k->input)) {
		ssize_t got = read(fd, k->input + n, sizeof(k->input) - n);

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return err_os(e, ERR_ENV, errno, "could not read the key file '%s'", path);
		if (got == 0)
			break;
		n += (size_t)got;
	}
	if (n < KEY_BYTES_MIN || n == sizeof(k->input)) {
		err_set(e, ERR_INPUT, "the key file '%s' must hold 32 to %d bytes", path,
			KEY_FILE_MAX - 1);
		return err_hint(e, "make one: (umask 077; head -c 32 /dev/urandom > '%s')", path);
	}
	/* "openssl rand -hex 32" and editors end the line; raw keys of 32 bytes stay. */
	if (n > KEY_BYTES_MIN && k->input[n - 1] == '\n')
		n--;
	*ret_n = n;
	return true;
}

struct token_key *token_key_load(const char *path, struct err *e)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);

	if (fd < 0) {
		err_os(e, ERR_ENV, errno, "could not open the key file '%s'", path);
		return NULL;
	}
	struct token_key *k = NULL;
	size_t n = 0;
	if (check_file(fd, path, e))
		k = map_locked(sizeof(*k), e);
	if (k && read_key(fd, path, k, &n, e)) {
		derive(k, n);
	} else {
		token_key_free(k);
		k = NULL;
	}
	close(fd);
	return k;
}

void token_key_free(struct token_key *k)
{
	if (!k)
		return;
	explicit_bzero(k, sizeof(*k));
	munmap(k, sizeof(*k));
}

const char *token_key_id(const struct token_key *k)
{
	return k->id;
}

bool token_key_is_fresh(const struct token_key *k)
{
	return k->is_fresh;
}

static uint64_t rotl(uint64_t x, unsigned n)
{
	return x << n | x >> (64 - n);
}

static void sip_rounds(uint64_t v[4], unsigned n)
{
	while (n--) {
		v[0] += v[1];
		v[2] += v[3];
		v[1] = rotl(v[1], 13) ^ v[0];
		v[3] = rotl(v[3], 16) ^ v[2];
		v[0] = rotl(v[0], 32);
		v[2] += v[1];
		v[0] += v[3];
		v[1] = rotl(v[1], 17) ^ v[2];
		v[3] = rotl(v[3], 21) ^ v[0];
		v[2] = rotl(v[2], 32);
	}
}

uint64_t token_prf64(const struct token_key *k, const void *bytes, size_t n)
{
	const unsigned char *p = bytes;
	uint64_t last = (uint64_t)n << 56;
	uint64_t v[4] = { k->sip[0] ^ UINT64_C(0x736f6d6570736575),
		k->sip[1] ^ UINT64_C(0x646f72616e646f6d), k->sip[0] ^ UINT64_C(0x6c7967656e657261),
		k->sip[1] ^ UINT64_C(0x7465646279746573) };

	for (; n >= 8; n -= 8, p += 8) {
		uint64_t m;

		memcpy(&m, p, 8);
		v[3] ^= m;
		sip_rounds(v, 2);
		v[0] ^= m;
	}
	for (size_t i = 0; i < n; i++)
		last |= (uint64_t)p[i] << (8 * i);
	v[3] ^= last;
	sip_rounds(v, 2);
	v[0] ^= last;
	v[2] ^= 0xff;
	sip_rounds(v, 4);
	return v[0] ^ v[1] ^ v[2] ^ v[3];
}

void token_prf256(const struct token_key *k, struct slice a, struct slice b, unsigned char out[32])
{
	hmac(&k->tokens, k->scratch, a, b, out);
}

uint64_t token_hash(const struct token_key *k, struct slice value)
{
	unsigned char out[32];
	uint64_t v = 0;

	token_prf256(k, SLICE("name"), value, out);
	for (size_t i = 0; i < 8; i++)
		v = v << 8 | out[i];
	return v;
}
