/*
 * fuzz_policy.c - the three files of rules that a user hands in: the policy, the routes and
 * the sampling rules, told apart by the first byte. Laws: what is refused has a message
 * and leaves nothing; what is accepted can be asked.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "capture/samplerules.h"
#include "core/model/httproutes.h"
#include "core/model/policy.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static void must(bool holds, const char *law)
{
	if (holds)
		return;
	fprintf(stderr, "broken: %s\n", law);
	abort();
}

static void check_told(bool ok, const struct err *e)
{
	must(ok || (e->kind != ERR_NONE && e->what[0]), "what is refused has a message");
}

static void try_policy(const char *path)
{
	struct policy p = { 0 };
	struct err e = { 0 };
	bool ok = policy_load(&p, path, &e);

	check_told(ok, &e);
	if (ok)
		for (int scope = 0; scope <= POLICY_COLUMN; scope++)
			(void)policy_has(&p, (enum policy_scope)scope);
	policy_free(&p);
}

static void try_routes(const char *path)
{
	struct err e = { 0 };
	struct httproutes *r = httproutes_load(path, &e);
	struct slice found;

	check_told(r != NULL, &e);
	if (!r)
		return;
	found = httproutes_match(r, SLICE("GET"), SLICE("/shop/17/label"));
	must(found.n == 0 || found.p[0] == '/', "a pattern is a path");
	(void)httproutes_is_word(r, SLICE("zeisig"));
	httproutes_free(r);
}

static void try_rules(struct slice text)
{
	struct sample_rules *r = calloc(1, sizeof(*r));
	struct err e = { 0 };
	bool ok;

	if (!r)
		return;
	ok = sample_rules_parse(r, text, "rules", &e);
	check_told(ok, &e);
	if (ok) {
		int rule = sample_rules_find(r, 7, SLICE("GET /shop/{id}"));
		double rate = sample_rules_rate(r, rule);

		must(rate >= 0 && rate <= 1, "a rate is a share");
		(void)sample_rules_name(r, rule);
	}
	sample_rules_free(r);
	free(r);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	char path[64];
	int fd;

	if (size == 0)
		return 0;
	if (bytes[0] == 's') {
		try_rules((struct slice){ (const char *)bytes + 1, size - 1 });
		return 0;
	}
	fd = memfd_create("rules", 0);
	must(fd >= 0 && write(fd, bytes + 1, size - 1) == (ssize_t)(size - 1), "a file is made");
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (bytes[0] == 'r')
		try_routes(path);
	else
		try_policy(path);
	close(fd);
	return 0;
}
