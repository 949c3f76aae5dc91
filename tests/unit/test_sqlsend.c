/*
 * test_sqlsend DSN: sends each line of standard input three times: as one text, with its
 * values as text binds, and as binary binds of their types. For end-to-end tests; without
 * arguments it tests what it sends.
 *
 *   SELECT * FROM t WHERE id = $1 AND name = $2 | int4:5 | text:Anna
 *
 * A line without values is sent once, as text. Prints "FORM ROWS TEXT" for each.
 */
#include "tests/lib/unit.h"

#include <arpa/inet.h>
#include <postgresql/libpq-fe.h>
#include <stdio.h>

#include "core/base/base.h"

enum { VALUES_MAX = 8 };

struct bind {
	const char *type, *text;
	unsigned oid;
	char bytes[64];
	int length;
};

struct line {
	char *sql;
	struct bind binds[VALUES_MAX];
	int count;
};

static const struct {
	const char *name;
	unsigned oid;
} types[] = {
	{ "bool", 16 },
	{ "int8", 20 },
	{ "int4", 23 },
	{ "text", 25 },
	{ "uuid", 2950 },
};

static char *trim(char *s)
{
	while (*s == ' ')
		s++;
	for (char *end = s + strlen(s); end > s && (end[-1] == ' ' || end[-1] == '\n');)
		*--end = '\0';
	return s;
}

static void encode(struct bind *b)
{
	uint64_t v = strtoull(b->text, NULL, 10);

	b->length = (int)strlen(b->text);
	if (b->oid == 23 || b->oid == 20) {
		b->length = b->oid == 23 ? 4 : 8;
		for (int i = 0; i < b->length; i++)
			b->bytes[i] = (char)(v >> (8 * (b->length - 1 - i)));
	} else if (b->oid == 16) {
		b->bytes[0] = *b->text == 't';
		b->length = 1;
	} else if (b->oid == 2950) {
		b->length = 0;
		for (const char *p = b->text; *p && b->length < 16; p += *p == '-' ? 1 : 2)
			if (*p != '-')
				sscanf(p, "%2hhx", (unsigned char *)&b->bytes[b->length++]);
	}
}

static bool parse(char *text, struct line *ret)
{
	char *next = strstr(text, " | ");

	*ret = (struct line){ .sql = text };
	while (next && ret->count < VALUES_MAX) {
		struct bind *b = &ret->binds[ret->count++];

		*next = '\0';
		b->type = next + 3;
		next = strstr(b->type, " | ");
		if (next)
			*next = '\0';
		b->text = strchr(b->type, ':');
		if (!b->text)
			return false;
		*(char *)(uintptr_t)b->text++ = '\0';
		b->type = trim((char *)(uintptr_t)b->type);
		b->text = trim((char *)(uintptr_t)b->text);
		for (size_t i = 0; i < LENGTH(types); i++)
			if (strcmp(types[i].name, b->type) == 0)
				b->oid = types[i].oid;
		encode(b);
	}
	ret->sql = trim(ret->sql);
	return true;
}

/* $1 becomes 'value'. */
static void inlined(const struct line *l, char *to, size_t size)
{
	size_t n = 0;

	for (const char *p = l->sql; *p && n + 80 < size; p++) {
		if (*p == '$' && p[1] >= '1' && p[1] <= '9') {
			const struct bind *b = &l->binds[*++p - '1'];
			bool is_number = b->oid == 20 || b->oid == 23;

			n += (size_t)snprintf(to + n, size - n, is_number ? "%s" : "'%s'", b->text);
		} else {
			to[n++] = *p;
		}
	}
	to[n] = '\0';
}

static bool report(PGconn *c, PGresult *r, const char *form, const char *sql)
{
	ExecStatusType status = PQresultStatus(r);
	bool ok = status == PGRES_TUPLES_OK || status == PGRES_COMMAND_OK;

	printf("%s %s %s\n", form, *PQcmdTuples(r) ? PQcmdTuples(r) : "-", sql);
	if (!ok)
		fprintf(stderr, "%s: %s: %s", form, sql, PQerrorMessage(c));
	PQclear(r);
	return ok;
}

static bool send_line(PGconn *c, const struct line *l)
{
	const char *texts[VALUES_MAX], *binaries[VALUES_MAX];
	int lengths[VALUES_MAX], formats[VALUES_MAX];
	Oid oids[VALUES_MAX];
	char sql[4096];

	inlined(l, sql, sizeof(sql));
	bool ok = report(c, PQexec(c, sql), "simple", l->sql);
	if (!l->count)
		return ok;
	for (int i = 0; i < l->count; i++) {
		const struct bind *b = &l->binds[i];

		texts[i] = b->text;
		binaries[i] = b->oid && b->oid != 25 ? b->bytes : b->text;
		lengths[i] = b->length;
		formats[i] = b->oid != 0;
		oids[i] = b->oid;
	}
	ok &= report(
		c, PQexecParams(c, l->sql, l->count, NULL, texts, NULL, NULL, 0), "text", l->sql);
	ok &= report(c, PQexecParams(c, l->sql, l->count, oids, binaries, lengths, formats, 0),
		"binary", l->sql);
	return ok;
}

static int send_all(const char *dsn)
{
	PGconn *c = PQconnectdb(dsn);
	char *text = NULL;
	size_t size = 0;
	bool ok = PQstatus(c) == CONNECTION_OK;

	while (ok && getline(&text, &size, stdin) > 0) {
		struct line l;

		if (*text != '#' && *text != '\n')
			ok = parse(text, &l) && send_line(c, &l) && ok;
	}
	if (!ok)
		fprintf(stderr, "%s", PQerrorMessage(c));
	PQfinish(c);
	free(text);
	return !ok;
}

static void values_are_encoded_for_their_types(void **state)
{
	char text[] = "SELECT $1, $2 | int4:258 | uuid:00112233-4455-6677-8899-aabbccddeeff\n";
	char sql[256];
	struct line l;
	(void)state;

	assert_true(parse(text, &l));
	assert_int_equal(l.count, 2);
	assert_memory_equal(l.binds[0].bytes, "\0\0\1\2", 4);
	assert_int_equal(l.binds[1].length, 16);
	assert_int_equal((unsigned char)l.binds[1].bytes[15], 0xff);
	inlined(&l, sql, sizeof(sql));
	assert_string_equal(sql, "SELECT 258, '00112233-4455-6677-8899-aabbccddeeff'");
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(values_are_encoded_for_their_types),
	};

	if (argc == 2)
		return send_all(argv[1]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
