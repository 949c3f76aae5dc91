#include "core/driver/target.h"

#include <ifaddrs.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "core/base/file.h"

const char *const target_proof_sql =
	"SELECT p.proof, p.system_identifier, p.data_directory, p.database_oid, p.is_in_recovery "
	"FROM reprod.proof() AS p";

#define MARK_HINT                                                                                    \
	"only databases made by 'reprod snapshot build' or marked by 'reprod snapshot mark' can be " \
	"targets"

static bool refuse(struct err *e, const char *what)
{
	err_set(e, ERR_REFUSED, "the target %s", what);
	return err_hint(e, MARK_HINT);
}

/* ---- the mark against the live server */

static bool is_text(const char *cell, const char *expected)
{
	return strcmp(cell ? cell : "", expected) == 0;
}

static bool read_proof(const char *text, struct mark *m, struct err *e)
{
	struct err why = { 0 };
	struct json *document = json_parse(slice_of(text), "the target's mark", &why);
	bool ok = document && mark_read(m, document, &why);

	json_free(document);
	if (ok)
		return true;
	err_set(e, ERR_REFUSED, "the target has no valid mark: %s", why.what);
	return err_hint(e, MARK_HINT);
}

bool target_judge(const char *const cells[5], struct mark *ret_mark, struct err *e)
{
	char oid[16];

	if (!cells[0])
		return refuse(e, "has no mark");
	if (!read_proof(cells[0], ret_mark, e))
		return false;
	snprintf(oid, sizeof(oid), "%u", ret_mark->database_oid);
	if (!is_text(cells[1], ret_mark->system_identifier))
		return refuse(
			e, "carries the mark of another server (its system identifier differs)");
	if (!is_text(cells[2], ret_mark->data_directory))
		return refuse(e, "carries the mark of another data directory");
	if (!is_text(cells[3], oid))
		return refuse(e, "carries the mark of another database");
	if (!cells[4] || strcmp(cells[4], "f") != 0)
		return refuse(e, "is in recovery: it is or was a standby");
	if (strcmp(ret_mark->tier, "plan") == 0)
		return refuse(e, "is a plan twin: it has no rows, only EXPLAIN makes sense there");
	if (strcmp(ret_mark->tier, "test") != 0 && !ret_mark->is_neutralised)
		return refuse(e, "is a copy of another server and was not neutralised");
	return true;
}

bool target_check(struct pg *c, struct mark *ret_mark, struct err *e)
{
	CLEANUP(pg_rows_cleanup) struct pg_rows *rows = pg_query(c, e, target_proof_sql, NULL);
	const char *cells[5];

	/* An answer with an error means that there is no such function: no mark. */
	if (!rows)
		return pg_sqlstate(c)[0] && !pg_is_dead(c) ? refuse(e, "has no mark") : false;
	if (pg_row_count(rows) != 1)
		return refuse(e, "has no mark");
	for (size_t i = 0; i < LENGTH(cells); i++)
		cells[i] = pg_cell(rows, 0, i);
	return target_judge(cells, ret_mark, e);
}

/* ---- the captured server's address */

/* IPv4 as IPv4-mapped IPv6, so that both spellings compare. */
static bool to_binary(const struct sockaddr *from, unsigned char to[16])
{
	static const unsigned char mapped[12] = { [10] = 0xff, [11] = 0xff };

	if (from->sa_family == AF_INET6) {
		memcpy(to, &((const struct sockaddr_in6 *)(const void *)from)->sin6_addr, 16);
		return true;
	}
	if (from->sa_family != AF_INET)
		return false;
	memcpy(to, mapped, 12);
	memcpy(to + 12, &((const struct sockaddr_in *)(const void *)from)->sin_addr, 4);
	return true;
}

static bool parse_address(const char *text, unsigned char to[16])
{
	const struct addrinfo hints = { .ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICHOST };
	struct addrinfo *list = NULL;
	bool ok;

	if (!text[0] || getaddrinfo(text, NULL, &hints, &list) != 0)
		return false;
	ok = to_binary(list->ai_addr, to);
	freeaddrinfo(list);
	return ok;
}

/* A connection to 0.0.0.0 or :: goes to this machine too. */
static bool is_loopback(const unsigned char a[16])
{
	static const unsigned char six[16] = { [15] = 1 }, any[16] = { 0 };
	static const unsigned char any_four[16] = { [10] = 0xff, [11] = 0xff };

	return memcmp(a, six, 16) == 0 || memcmp(a, any, 16) == 0 || memcmp(a, any_four, 16) == 0 ||
	       (memcmp(a, any_four, 12) == 0 && a[12] == 127);
}

/* An address of this machine. */
static bool is_local(const unsigned char address[16])
{
	struct ifaddrs *list = NULL;
	unsigned char binary[16];
	bool found = is_loopback(address);

	if (found || getifaddrs(&list) != 0)
		return found;
	for (const struct ifaddrs *i = list; i && !found; i = i->ifa_next)
		found = i->ifa_addr && to_binary(i->ifa_addr, binary) &&
			memcmp(binary, address, 16) == 0;
	freeifaddrs(list);
	return found;
}

/* Whether any address that a host name stands for is the captured one. When that is this
 * machine's, any of this machine's is it: one server listens on all of them at one port. */
static bool leads_to(const char *host, const unsigned char captured[16])
{
	struct addrinfo *list = NULL;
	const struct addrinfo hints = { .ai_socktype = SOCK_STREAM };
	const bool is_here = is_local(captured);
	unsigned char binary[16];
	bool found = false;

	if (getaddrinfo(host, NULL, &hints, &list) != 0)
		return false;
	for (const struct addrinfo *a = list; a && !found; a = a->ai_next)
		found = to_binary(a->ai_addr, binary) &&
			(memcmp(binary, captured, 16) == 0 || (is_here && is_local(binary)));
	freeaddrinfo(list);
	return found;
}

static bool is_socket_folder(const char *host)
{
	return !host[0] || host[0] == '/' || host[0] == '@';
}

/* A lab's socket lives in a folder of its own, whatever its port number says. */
static bool is_private_folder(const char *host)
{
	return strncmp(host, "/tmp/reprod-", 12) == 0 && !strchr(host + 12, '/');
}

static bool is_captured(
	const char *host, const char *port, const unsigned char captured[16], int64_t captured_port)
{
	if (atoll(port) != captured_port)
		return false;
	if (is_socket_folder(host))
		return !is_private_folder(host) && is_local(captured);
	return leads_to(host, captured);
}

/* The i-th of a comma list, the only one when there is only one. */
static void list_item(const char *list, size_t i, char *to, size_t size)
{
	const char *at = list;

	for (; i && strchr(at, ','); i--)
		at = strchr(at, ',') + 1;
	if (i && !strchr(list, ','))
		at = list;
	snprintf(to, size, "%.*s", (int)strcspn(at, ","), at);
}

static size_t list_count(const char *list)
{
	size_t n = 1;

	for (; (list = strchr(list, ',')); list++)
		n++;
	return n;
}

static bool is_not_server(const struct pg_address *to, const struct json *server, struct err *e)
{
	int64_t port = json_int(json_get(server, "port"), 0);
	unsigned char captured[16];

	if (!parse_address(json_text(json_get(server, "address"), ""), captured))
		return true; /* a log has no address; the identifier is compared later */
	for (size_t i = 0; i < list_count(to->hosts); i++) {
		char host[256], host_port[32];

		list_item(to->hosts, i, host, sizeof(host));
		list_item(to->ports, i, host_port, sizeof(host_port));
		if (!is_captured(host, host_port, captured, port))
			continue;
		err_set(e, ERR_REFUSED, "the target is the captured server itself (port %lld)",
			(long long)port);
		return err_hint(e, "replay against a lab: reprod snapshot build ... --into DIR");
	}
	return true;
}

bool target_is_not_source(const char *dsn, const struct json *head, struct err *e)
{
	const struct json *servers = json_get(head, "servers"); /* of a merged capture */
	struct pg_address to;

	if (!pg_address_of(dsn, &to, e))
		return false;
	if (to.has_service) {
		err_set(e, ERR_REFUSED, "the target is named by a service file");
		return err_hint(e,
			"name host and port, so that they can be compared with the captured "
			"server's before anything is connected");
	}
	for (size_t i = 0; i < json_count(servers); i++)
		if (!is_not_server(&to, json_at(servers, i), e))
			return false;
	return is_not_server(&to, json_get(head, "server"), e);
}

/* ---- does this capture fit this snapshot? */

/* Heads name the server by the SHA-256 of its identifier; one in clear is compared too. */
static bool is_source(const struct mark *m, const struct json *server)
{
	static const char *const keys[] = { "source_id", "system_identifier_sha256",
		"system_identifier" };
	char hex[65];

	file_sha256_bytes(slice_of(m->system_identifier), hex);
	for (size_t i = 0; i < LENGTH(keys); i++) {
		const char *id = json_text(json_get(server, keys[i]), "");

		if (strcmp(id, hex) == 0 || strcmp(id, m->system_identifier) == 0)
			return true;
	}
	return false;
}

static bool is_any_source(const struct mark *m, const struct json *head)
{
	const struct json *servers = json_get(head, "servers");

	for (size_t i = 0; i < json_count(servers); i++)
		if (is_source(m, json_at(servers, i)))
			return true;
	return is_source(m, json_get(head, "server"));
}

static bool is_copy(const struct mark *m)
{
	return strcmp(m->tier, "clone") == 0 || strcmp(m->tier, "scrubbed") == 0 ||
	       strcmp(m->tier, "restored") == 0;
}

static bool fits_key(const struct mark *m, const struct json *head, struct err *e)
{
	const char *key_id = json_text(json_get(head, "key_id"), "");
	const char *digest = json_text(json_get(head, "policy_digest"), "");

	if (!digest[0])
		digest = json_text(json_path(head, "policy.digest"), "");
	if (json_is_true(json_get(head, "predicates_kept"), false))
		return true;
	if (!m->key_id[0]) {
		err_set(e, ERR_REFUSED,
			"the capture looks for scrubbed values (key %s), the target holds unscrubbed ones",
			key_id[0] ? key_id : "unknown");
		return err_hint(e,
			"scrub the snapshot with the capture's key and policy, or capture "
			"with a policy that keeps every value used in a predicate");
	}
	if (strcmp(m->key_id, key_id) != 0) {
		err_set(e, ERR_REFUSED,
			"the capture was scrubbed with key %s, the target with key %s",
			key_id[0] ? key_id : "unknown", m->key_id);
		return err_hint(e, "capture and scrub with the same --key FILE%s",
			json_is_true(json_get(head, "is_key_fresh"), false)
				? "; this capture's key was made for it alone and thrown away"
				: "");
	}
	if (strcmp(m->policy_digest, digest) != 0) {
		err_set(e, ERR_REFUSED,
			"the capture and the target were scrubbed by different policies");
		return err_hint(e, "capture and scrub with the same --policy FILE");
	}
	return true;
}

bool target_fits_capture(const struct mark *m, const struct json *head, struct err *e)
{
	if (strcmp(m->tier, "plan") == 0)
		return refuse(e, "is a plan twin: it has no rows, only EXPLAIN makes sense there");
	if (is_any_source(m, head) && !(m->is_neutralised && is_copy(m)))
		return refuse(e,
			"has the captured server's system identifier and is no neutralised "
			"clone of it");
	return fits_key(m, head, e);
}
