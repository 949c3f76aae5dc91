#include "tests/lib/tlspair.h"

#include <openssl/err.h>
#include <openssl/rsa.h>
#include <openssl/x509.h>
#include <stdlib.h>

static const char psk[] = "0123456789abcdef";

static unsigned client_psk(SSL *ssl, const char *hint, char *identity, unsigned identity_max,
	unsigned char *key, unsigned key_max)
{
	(void)ssl, (void)hint, (void)key_max;
	snprintf(identity, identity_max, "reprod");
	memcpy(key, psk, 16);
	return 16;
}

static unsigned server_psk(SSL *ssl, const char *identity, unsigned char *key, unsigned key_max)
{
	(void)ssl, (void)identity, (void)key_max;
	memcpy(key, psk, 16);
	return 16;
}

/* The client's log alone, as in a browser: both would write the same. */
static void keep_key(const SSL *ssl, const char *line)
{
	struct tlspair *p = SSL_get_app_data(ssl);

	buf_add_text(&p->keylog, line);
	buf_add_byte(&p->keylog, '\n');
}

static int choose_alpn(SSL *ssl, const unsigned char **out, unsigned char *out_n,
	const unsigned char *in, unsigned in_n, void *data)
{
	(void)ssl, (void)data;
	*out = in + 1;
	*out_n = in[0];
	return in_n ? SSL_TLSEXT_ERR_OK : SSL_TLSEXT_ERR_NOACK;
}

static void add_certificate(SSL_CTX *ctx, EVP_PKEY *key)
{
	X509 *x = X509_new();

	ASN1_INTEGER_set(X509_get_serialNumber(x), 1);
	X509_gmtime_adj(X509_getm_notBefore(x), 0);
	X509_gmtime_adj(X509_getm_notAfter(x), 3600);
	X509_set_pubkey(x, key);
	X509_NAME_add_entry_by_txt(X509_get_subject_name(x), "CN", MBSTRING_ASC,
		(const unsigned char *)"t", -1, -1, 0);
	X509_set_issuer_name(x, X509_get_subject_name(x));
	X509_sign(x, key, EVP_sha256());
	SSL_CTX_use_certificate(ctx, x);
	SSL_CTX_use_PrivateKey(ctx, key);
	X509_free(x);
	EVP_PKEY_free(key);
}

static SSL_CTX *new_context(int version, const char *suites, const SSL_METHOD *method)
{
	SSL_CTX *ctx = SSL_CTX_new(method);

	SSL_CTX_set_security_level(ctx, 0);
	SSL_CTX_set_min_proto_version(ctx, version);
	SSL_CTX_set_max_proto_version(ctx, version);
	if (version == TLS1_3_VERSION && suites)
		SSL_CTX_set_ciphersuites(ctx, suites);
	else
		SSL_CTX_set_cipher_list(ctx, suites ? suites : "DEFAULT:@SECLEVEL=0");
	return ctx;
}

struct tlspair *tlspair_new(int version, const char *suites)
{
	static const unsigned char alpn[] = "\x08http/1.1";
	struct tlspair *p = calloc(1, sizeof *p);

	p->ctx[0] = new_context(version, suites, TLS_client_method());
	p->ctx[1] = new_context(version, suites, TLS_server_method());
	SSL_CTX_set_keylog_callback(p->ctx[0], keep_key);
	SSL_CTX_set_alpn_protos(p->ctx[0], alpn, sizeof alpn - 1);
	SSL_CTX_set_alpn_select_cb(p->ctx[1], choose_alpn, NULL);
	SSL_CTX_set_session_cache_mode(p->ctx[1], SSL_SESS_CACHE_SERVER);
	SSL_CTX_set_session_id_context(p->ctx[1], (const unsigned char *)"t", 1);
	SSL_CTX_set_dh_auto(p->ctx[1], 1);
	if (version < TLS1_3_VERSION) {
		SSL_CTX_set_psk_client_callback(p->ctx[0], client_psk);
		SSL_CTX_set_psk_server_callback(p->ctx[1], server_psk);
	}
	add_certificate(p->ctx[1], EVP_PKEY_Q_keygen(NULL, NULL, "EC", "P-256"));
	add_certificate(p->ctx[1], EVP_PKEY_Q_keygen(NULL, NULL, "RSA", (size_t)1024));
	tlspair_again(p, NULL);
	return p;
}

void tlspair_again(struct tlspair *p, SSL_SESSION *session)
{
	p->flight_count = 0;
	buf_reset(&p->sent);
	buf_reset(&p->keylog);
	for (int i = 0; i < 2; i++) {
		SSL_free(p->ssl[i]);
		buf_reset(&p->said[i]);
		p->ssl[i] = SSL_new(p->ctx[i]);
		SSL_set_app_data(p->ssl[i], p);
		SSL_set_bio(p->ssl[i], BIO_new(BIO_s_mem()), BIO_new(BIO_s_mem()));
	}
	SSL_set_connect_state(p->ssl[0]);
	SSL_set_accept_state(p->ssl[1]);
	if (session)
		SSL_set_session(p->ssl[0], session);
}

static bool move_from(struct tlspair *p, int side)
{
	char *bytes;
	BIO *from = SSL_get_wbio(p->ssl[side]);
	size_t n = (size_t)BIO_get_mem_data(from, &bytes);

	if (!n || p->flight_count == TLSPAIR_FLIGHTS_MAX)
		return false;
	buf_add(&p->sent, bytes, n);
	p->flights[p->flight_count++] = (struct tlspair_flight){ side, n };
	BIO_write(SSL_get_rbio(p->ssl[!side]), bytes, (int)n);
	(void)BIO_reset(from);
	return true;
}

static void read_all(struct tlspair *p, int side)
{
	char bytes[4096];
	int n;

	while ((n = SSL_read(p->ssl[side], bytes, sizeof bytes)) > 0)
		buf_add(&p->said[!side], bytes, (size_t)n);
	ERR_clear_error();
}

void tlspair_carry(struct tlspair *p)
{
	move_from(p, 0);
	move_from(p, 1);
}

void tlspair_move(struct tlspair *p)
{
	bool is_moving = true;

	while (is_moving) {
		is_moving = false;
		for (int side = 0; side < 2; side++) {
			if (!move_from(p, side))
				continue;
			is_moving = true;
			read_all(p, !side);
		}
	}
}

bool tlspair_handshake(struct tlspair *p)
{
	SSL_do_handshake(p->ssl[0]);
	tlspair_move(p);
	ERR_clear_error();
	return SSL_is_init_finished(p->ssl[0]) && SSL_is_init_finished(p->ssl[1]);
}

void tlspair_say(struct tlspair *p, int side, const char *text, size_t n)
{
	SSL_write(p->ssl[side], text, (int)n);
	tlspair_move(p);
}

void tlspair_close(struct tlspair *p)
{
	SSL_shutdown(p->ssl[0]);
	SSL_shutdown(p->ssl[1]);
	tlspair_move(p);
}

void tlspair_free(struct tlspair *p)
{
	for (int i = 0; i < 2; i++) {
		SSL_free(p->ssl[i]);
		SSL_CTX_free(p->ctx[i]);
		buf_free(&p->said[i]);
	}
	buf_free(&p->sent);
	buf_free(&p->keylog);
	free(p);
}
