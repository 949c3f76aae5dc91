/*
 * sha.c - the digests of file.h, by libcrypto, which uses the CPU's SHA
 * instructions. Here because openssl headers stay in named files.
 */
#include "core/base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include <openssl/evp.h>

enum { PIECE = 256 * 1024 };

static void to_hex(const unsigned char *digest, size_t n, char *hex)
{
	static const char digits[] = "0123456789abcdef";

	for (size_t i = 0; i < n; i++) {
		hex[2 * i] = digits[digest[i] >> 4];
		hex[2 * i + 1] = digits[digest[i] & 15];
	}
	hex[2 * n] = '\0';
}

static bool digest_fd(
	int fd, EVP_MD_CTX *ctx, unsigned char *piece, const char *path, struct err *e)
{
	for (;;) {
		ssize_t n = read(fd, piece, PIECE);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return err_os(e, ERR_ENV, errno, "could not read '%s'", path);
		if (n == 0)
			return true;
		if (!EVP_DigestUpdate(ctx, piece, (size_t)n))
			return err_set(e, ERR_ENV, "could not compute the digest of '%s'", path);
	}
}

bool file_sha256(const char *path, char hex[65], struct err *e)
{
	CLEANUP(file_close_fd) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	unsigned char digest[EVP_MAX_MD_SIZE];
	unsigned n = 0;

	if (fd < 0)
		return err_os(e, errno == ENOENT ? ERR_INPUT : ERR_ENV, errno,
			"could not open '%s'", path);
	EVP_MD_CTX *ctx = EVP_MD_CTX_new();
	unsigned char *piece = malloc(PIECE);
	bool ok = false;
	if (!ctx || !piece || !EVP_DigestInit_ex(ctx, EVP_sha256(), NULL))
		err_set(e, ERR_ENV, "out of memory for the digest of '%s'", path);
	else if (digest_fd(fd, ctx, piece, path, e))
		ok = EVP_DigestFinal_ex(ctx, digest, &n) ||
		     err_set(e, ERR_ENV, "could not compute the digest of '%s'", path);
	if (ok)
		to_hex(digest, n, hex);
	free(piece);
	EVP_MD_CTX_free(ctx);
	return ok;
}

void file_sha256_bytes(struct slice bytes, char hex[65])
{
	unsigned char digest[EVP_MAX_MD_SIZE] = { 0 };
	unsigned n = 0;

	if (!EVP_Digest(bytes.n ? bytes.p : "", bytes.n, digest, &n, EVP_sha256(), NULL))
		n = 32; /* Out of memory: all zeros, which matches no real digest. */
	to_hex(digest, n, hex);
}
